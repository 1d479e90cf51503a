"""The classes of training, test and resumption are compared by name."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from calm_gui.errors import DataError
from calm_training.cli import main
from calm_training.datasets.csv_table import read_csv
from calm_training.datasets.identity import identity_of, refuse_others
from calm_training.datasets.layouts import LAYOUTS
from calm_training.datasets.same_classes import with_classes
from calm_training.datasets.splits import read_splits

COLOURS = {"ant": (200, 0, 0), "bee": (0, 200, 0), "cat": (0, 0, 200)}


def pictures(root: Path, split: str, *classes: str, number: int = 2) -> None:
    for name in classes:
        folder = root / split / name
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(number):
            colour = np.array(COLOURS.get(name, (90, 90, 90)), np.uint8)
            Image.fromarray(np.full((48, 48, 3), colour + i, np.uint8)).save(folder / f"{i}.png")


def test_labels_of_a_split_that_lacks_a_class_follow_the_training_classes(tmp_path):
    pictures(tmp_path, "train", "ant", "bee", "cat")
    pictures(tmp_path, "test", "bee", "cat")
    train, test = (LAYOUTS["folder"].read(tmp_path, split) for split in ("train", "test"))
    same = with_classes(test, train, "test")
    assert same.classes is train.classes
    assert [train.classes[s.label].name for s in same.samples] == [s.path.parent.name for s in same.samples]


def test_a_class_that_training_lacks_is_refused_before_the_first_step(tmp_path, capsys):
    pictures(tmp_path, "train", "ant", "bee")
    pictures(tmp_path, "test", "ant", "cat")
    for command in (["check"], ["train", "--out", str(tmp_path / "run"), "--quiet"]):
        settings = ["--recipe", "folder", "--data", str(tmp_path), "--set", "model.weights=none"]
        assert main([command[0], *settings, *command[1:]]) == 1
        assert "(cat)" in capsys.readouterr().err
    assert not list(tmp_path.glob("run/*.safetensors"))


@pytest.mark.parametrize("column", ["class", "class_index", "class_index,wnid"])
def test_tables_are_compared_likewise(tmp_path, column):
    values = {"class": "{0}", "class_index": "{1}", "class_index,wnid": "{1},n0000000{1}"}[column]
    for split, rows in (("train", (0, 1, 2)), ("test", (2, 0))):
        lines = [f"file,{column}", *(f"{i}.png,{values.format('abc'[i], i)}" for i in rows)]
        (tmp_path / f"{split}.csv").write_text("\n".join(lines) + "\n")
    train, test = (LAYOUTS["csv"].read(tmp_path, split) for split in ("train", "test"))
    assert [sample.label for sample in with_classes(test, train, "test").samples] == [2, 0]


def test_another_order_of_the_same_number_of_classes_is_mapped():
    from calm_gui.core.classes import ClassInfo, ClassTable
    from calm_training.datasets.picture_set import PictureSet, Sample

    order = ClassTable(ClassInfo(i, name) for i, name in enumerate(("1", "2", "10")))
    other = ClassTable(ClassInfo(i, name) for i, name in enumerate(("1", "10", "2")))
    test = PictureSet(tuple(Sample(Path(f"{info.name}/x.png"), info.index) for info in other), other)
    train = PictureSet((Sample(Path("1/x.png"), 0),), order)
    assert [sample.label for sample in with_classes(test, train, "test").samples] == [0, 2, 1]


def test_numbers_are_no_names(tmp_path):
    """A table of names, sorted by us, says nothing of what another table's numbers mean."""
    (tmp_path / "train.csv").write_text("file,class\na.png,ant\nb.png,zebra\n")
    (tmp_path / "test.csv").write_text("file,class_index\na.png,1\n")
    train, test = (LAYOUTS["csv"].read(tmp_path, split) for split in ("train", "test"))
    with pytest.raises(DataError, match=r"1 classes of the test pictures aren't trained \(class 1\)"):
        with_classes(test, train, "test")
    (tmp_path / "test.csv").write_text("file,class_index,name\na.png,0,zebra\n")
    assert [s.label for s in with_classes(LAYOUTS["csv"].read(tmp_path, "test"), train, "test").samples] == [1]


@pytest.mark.parametrize("change", ["a class more", "a class renamed", "a picture more", "a picture renamed"])
def test_a_run_goes_on_with_the_classes_and_pictures_it_was_begun_with(tmp_path, capsys, change):
    pictures(tmp_path, "train", "ant", "bee", number=4)
    pictures(tmp_path, "test", "ant", "bee")
    backbone = ["model.backbone=timm:test_efficientnet", "model.weights=none", "model.freeze=''", "model.dilated=true"]
    few = ["model.input.size=64", "optimizer.epochs=1", "optimizer.batch=4", "run.workers=0", "run.device=cpu"]
    settings = [word for setting in (*backbone, *few) for word in ("--set", setting)]
    command = ["train", "--recipe", "folder", "--data", str(tmp_path), "--out", str(tmp_path / "run"), "--quiet"]
    assert main([*command, *settings]) == 0, capsys.readouterr().err
    before = (tmp_path / "run/best.safetensors").read_bytes()
    assert main([*command, *settings, "--resume"]) == 0  # nothing has changed, nothing is left to do
    folder = tmp_path / "train"
    match change:
        case "a class more":
            pictures(tmp_path, "train", "cat")
        case "a class renamed":
            for split in ("train", "test"):
                (tmp_path / split / "ant").rename(tmp_path / split / "zebra")
        case "a picture more":
            shutil.copy(folder / "ant/0.png", folder / "ant/9.png")
        case "a picture renamed":
            (folder / "ant/0.png").rename(folder / "ant/9.png")
    capsys.readouterr()
    assert main([*command, *settings, "--resume"]) == 1
    said = capsys.readouterr().err
    assert ("the classes of train" if "class" in change else "the pictures") in said and "Traceback" not in said
    assert (tmp_path / "run/best.safetensors").read_bytes() == before


def test_a_data_set_may_be_moved(tmp_path):
    pictures(tmp_path / "here", "train", "ant", "bee")
    here = identity_of({"train": LAYOUTS["folder"].read(tmp_path / "here", "train")})
    (tmp_path / "here").rename(tmp_path / "there")
    there = identity_of({"train": LAYOUTS["folder"].read(tmp_path / "there", "train")})
    refuse_others(here, there)
    pictures(tmp_path / "there", "train", "cat")
    with pytest.raises(DataError, match="the run lacks cat"):
        refuse_others(here, identity_of({"train": LAYOUTS["folder"].read(tmp_path / "there", "train")}))


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        ("file,class", ["a.png,ant", "b.png,bee", "a.png,bee"], "line 4: a.png has another class here"),
        ("file,class", ["a.png,ant", "b.png,bee", "a.png,ant"], ""),
        (
            "file,class_index,name",
            ["a.png,0,ant", "b.png,1,bee", "c.png,0,bee"],
            "line 4: class 0 is bee here, but ant",
        ),
        ("file,class_index,wnid", ["a.png,0,n00000001", "b.png,0,n00000002"], "line 3: class 0 is n00000002 here"),
        ("file,class_index,name,wnid", ["a.png,0,ant,", "b.png,0,,n00000001", "c.png,0,ant,n00000001"], ""),
        ("file,class_index", ["a.png,0", "a.png,1"], "line 3: a.png has another class here"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(tmp_path, columns, rows, said):
    (tmp_path / "index.csv").write_text("\n".join([columns, *rows]))
    if not said:
        assert len(read_csv(tmp_path, "").samples) == len(rows)
        return
    with pytest.raises(DataError, match=said):
        read_csv(tmp_path, "")


def test_test_pictures_that_are_trained_on_are_reported(tmp_path):
    for split, names in (("train", "abcd"), ("val", "ef"), ("test", ("./c", "x"))):
        rows = [f"{name}.png,{('ant', 'bee')[number % 2]}" for number, name in enumerate(names)]
        (tmp_path / f"{split}.csv").write_text("\n".join(["file,class", *rows]))
    notes = read_splits("csv", tmp_path).notes
    assert notes == ("test has 1 picture that training has too, such as c.png",)
