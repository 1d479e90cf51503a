"""Evaluations of sets that are odd but plausible: several right classes, names twice, cut-off tables, other splits."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.errors import DataError
from calm_gui.model.loaded import load_model
from calm_training.datasets.cub import read_cub
from calm_training.datasets.evaluation_set import LabelledPicture, layout_of, read_evaluation_set
from calm_training.datasets.masks import MaskedPicture
from calm_training.evaluate import main
from calm_training.evaluate.accuracy import accuracy
from calm_training.evaluate.evaluation import EVALUATIONS, Plan
from calm_training.evaluate.intervals import Estimate
from calm_training.evaluate.journal import Journal
from calm_training.evaluate.plan import digest_of, read_set
from calm_training.evaluate.plot import plot_of
from calm_training.evaluate.removal import removal_curves
from calm_training.evaluate.report import Part, run_part
from calm_training.evaluate.sweep import picture_names


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "tiny.safetensors")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    (tmp_path / "set").mkdir()
    return write_tiny_set(tmp_path / "set", 3)


def command(name: str, checkpoint: Path | str, data: Path, *more: str) -> list[str]:
    return [name, "--checkpoint", str(checkpoint), "--data", str(data), "--quiet", "--device", "cpu", *more]


def test_any_class_that_means_the_object_is_right(tiny, pictures):
    model = load_model(tiny, "cpu")
    path = pictures / "0.png"
    mask = pictures / "mask.png"
    Image.new("L", (96, 72), 255).save(mask)
    predicted, other = (index for index, _ in model.explain(path).top(2))
    for classes, right in (((other,), 0.0), ((other, predicted), 1.0)):
        found = accuracy(model, [replace(LabelledPicture(path, 0), label=other)]) if len(classes) == 1 else None
        both = [MaskedPicture(path, (mask,), classes)]
        result = accuracy(model, both)
        assert result.top_one == right
        assert found is None or found.top_one == right
        first = removal_curves(model, both, maps=["attribution"], shares=(0.0,), random_seeds=(0,))
        assert first.maps["attribution"].accuracy[0] == right


def test_pictures_of_one_name_have_their_folders_before_it(tiny, tmp_path):
    assert picture_names([Path("a/1.png"), Path("a/2.png")]) == ["1.png", "2.png"]
    assert picture_names([Path("s/a/1.png"), Path("s/b/1.png"), Path("s/b/2.png")]) == ["a/1.png", "b/1.png", "b/2.png"]
    assert picture_names([]) == []
    data = tmp_path / "set"
    for name in ("dog", "cat"):
        (data / name).mkdir(parents=True)
        Image.new("RGB", (40, 40), (name == "dog" and "red") or "blue").save(data / name / "1.png")
    (data / "index.csv").write_text("file,class_index\ndog/1.png,0\ncat/1.png,1\n")
    assert main(command("accuracy", tiny, data, "--out", str(tmp_path / "a.json"))) == 0
    with (tmp_path / "a.csv").open() as file:
        assert [row["picture"] for row in csv.DictReader(file)] == ["dog/1.png", "cat/1.png"]


def test_an_interrupted_evaluation_is_kept_until_another_counts_a_picture(tmp_path, tiny, pictures, capsys):
    path = tmp_path / "a.json.journal"
    journal = Journal(path, {"a": 1})
    journal.add("x", "1.png", {})
    before = path.read_text()
    assert main(command("accuracy", "nowhere.safetensors", pictures, "--out", str(tmp_path / "a.json"), "--overwrite"))
    assert path.read_text() == before
    Journal(path, {"a": 2}, overwrite=True).add("x", "2.png", {})
    assert "2.png" in path.read_text() and "1.png" not in path.read_text()


def test_results_outlive_a_comparison_that_has_no_sides(tiny, pictures, tmp_path, capsys):
    out = tmp_path / "a.json"
    names = ["--checkpoint", "nowhere.safetensors", "--compare", str(tiny), "nowhere.safetensors"]
    assert main(command("accuracy", tiny, pictures, *names, "--out", str(out))) == 1
    said = capsys.readouterr()
    assert "top-1" in said.out and out.exists()
    assert "1 of 2 checkpoints have no results: nowhere.safetensors: " in said.err
    assert main(command("accuracy", tiny, pictures, "--compare", "attribution", "saliency")) == 1
    assert "there is nothing called 'attribution' to compare" in capsys.readouterr().err
    assert main(command("accuracy", "no1.safetensors", pictures, "--checkpoint", "no2.safetensors")) == 1
    said = capsys.readouterr().err
    assert "no1.safetensors" in said and "no2.safetensors" in said


def test_a_map_that_no_checkpoint_has_is_said(tiny, pictures, capsys):
    assert main(command("measures", tiny, pictures, "--map", "attribution", "--map", "cam", "--measure", "energy")) == 0
    said = capsys.readouterr()
    assert "| attribution |" in said.out and "no checkpoint has the map cam" in said.err


def test_the_same_set_by_another_path_is_the_same(pictures, monkeypatch):
    whole = digest_of(read_set(Plan("wsol", pictures)))
    monkeypatch.chdir(pictures.parent)
    assert digest_of(read_set(Plan("wsol", Path("set")))) == whole
    moved = pictures.rename(pictures.with_name("moved"))
    assert digest_of(read_set(Plan("wsol", moved))) == whole
    (moved / "0.png").write_bytes((moved / "1.png").read_bytes())
    assert digest_of(read_set(Plan("wsol", moved))) != whole


def test_a_finished_part_is_not_replaced_by_one_of_other_checkpoints(tiny, pictures, tmp_path):
    other = write_tiny_checkpoint(tmp_path / "other.safetensors", "cam")
    for name in (tiny, other):
        part = Part(Plan("accuracy", pictures), (str(name),), "accuracy")
        if name == tiny:
            run_part(part, tmp_path, lambda name: load_model(name, "cpu"))
        before = (tmp_path / "accuracy.json").read_bytes()
    with pytest.raises(DataError, match="holds results of other settings"):
        run_part(part, tmp_path, lambda name: load_model(name, "cpu"), resume=True)
    assert (tmp_path / "accuracy.json").read_bytes() == before


def test_the_report_tells_what_one_part_cannot_measure(tiny, tmp_path, capsys):
    """Composites need two classes."""
    data = tmp_path / "set"
    data.mkdir()
    write_tiny_set(data, 2, classes=1)
    command = ["report", str(tiny), "--data", str(data), "--out", str(tmp_path / "page"), "--quiet", "--device", "cpu"]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "is written, but" in said and "at least two classes" in said
    assert "Not measured: " in (tmp_path / "page/report.md").read_text()


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [("class_index", "3.7", "not '3.7'"), ("class_index", "-1", "not '-1'"), ("width", "nan", "not 'nan'")],
)
def test_numbers_of_boxes_are_whole(pictures, column, value, reason):
    with (pictures / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    rows[1][column] = value
    with (pictures / "index.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(DataError, match=f"line 3: a .*whole number from 0.*, {reason}"):
        read_evaluation_set("boxes", pictures, "test")


def test_tables_that_lack_rows_are_refused_with_their_names(tmp_path):
    (tmp_path / "index.csv").write_text("file,class\n")
    with pytest.raises(DataError, match=r"index\.csv lists no pictures"):
        read_evaluation_set("labels", tmp_path, "test")
    for name, text in {
        "images": "1 a/1.jpg\n2 a/2.jpg\n",
        "image_class_labels": "1 1\n2 1\n",
        "train_test_split": "1 1\n",
        "classes": "1 a\n",
    }.items():
        (tmp_path / f"{name}.txt").write_text(text)
    with pytest.raises(DataError, match=r"train_test_split\.txt has no row for picture 2 \(1 in all\)"):
        read_cub(tmp_path, "train")


def test_classes_and_ignored_places_of_masks_are_checked(tmp_path):
    (tmp_path / "index.csv").write_text("file,mask,is_main,imagenet_classes\na.png,m.png,1,72-70\n")
    with pytest.raises(DataError, match="line 2: classes such as 65 70-72 are expected, not '72-70'"):
        read_evaluation_set("masks", tmp_path, "test")
    for name, side in (("m", 8), ("ignore", 9)):
        Image.fromarray(np.full((side, side), 255, np.uint8)).save(tmp_path / f"{name}.png")
    picture = MaskedPicture(tmp_path / "a.png", (tmp_path / "m.png",), (1,), tmp_path / "ignore.png")
    with pytest.raises(DataError, match=r"8 x 8 pixels, but .*ignore\.png of one picture 9 x 9"):
        picture.mask()


def test_splits_that_are_there_are_named(tmp_path):
    (tmp_path / "train.csv").write_text("file,class\na.png,x\n")
    (tmp_path / "images").mkdir()
    with pytest.raises(DataError, match="no split 'test'; it has train; choose one with --split"):
        layout_of(tmp_path, "test")
    assert layout_of(tmp_path, "train") == "csv"
    (tmp_path / "test/x").mkdir(parents=True)
    assert layout_of(tmp_path, "test") == "folder"  # a table beside the folders of splits


def test_an_undivided_set_says_that_training_pictures_may_be_in_it(tiny, tmp_path, capsys):
    for split in ("", "test/"):
        data = tmp_path / f"set{len(split)}"
        for name in ("n02085620", "n02123045"):
            (data / split / name).mkdir(parents=True)
            Image.new("RGB", (40, 40)).save(data / split / name / "1.png")
        main(command("accuracy", tiny, data, "--json"))
        out = capsys.readouterr().out
        if out:
            assert ("may be among them" in json.loads(out)["conventions"]) is not bool(split)


def test_every_checkpoint_is_in_the_plot():
    """Also those whose names differ in the middle, where long names are cut."""

    def result():
        return type("Result", (), {"estimates": {"": {"top-1": Estimate(0.5)}}, "calibration": {"bins": []}})()

    middle = "runs/cub-resnet50-calm-em-lr0.1-seed{}/checkpoints-final-of-all/best.safetensors"
    seen = {}
    evaluation = type("Plotted", (), {"plot": staticmethod(lambda axes, results: seen.update(results))})
    plot_of(evaluation, {middle.format(i): result() for i in (1, 2)})
    assert len(seen) == 2
    assert EVALUATIONS  # they are registered by what is imported above
