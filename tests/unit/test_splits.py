"""What is trained on, chosen on and tested on: the classes are training's, nothing is taken for a split silently."""

import csv
from pathlib import Path

import pytest
from PIL import Image

from calm_gui.errors import DataError
from calm_gui.model.known_classes import known_classes
from calm_gui.model.picture_folder import pictures_below, pictures_of
from calm_training.cli import main
from calm_training.config import Config, DataConfig
from calm_training.datasets.picture_set import PictureSet
from calm_training.datasets.splits import read_splits
from calm_training.methods.calm_em import CalmEm
from calm_training.network import checkpoint_info


def pictures(root: Path, **folders: int) -> Path:
    """Folders of pictures, ``train__cat=5`` for five in train/cat."""
    for name, number in folders.items():
        folder = root / name.replace("__", "/")
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(number):
            Image.new("RGB", (20, 20)).save(folder / f"{i}.png")
    return root


def named(pictures: PictureSet) -> list[tuple[str, str]]:
    """Folder of each picture, and the name of its class."""
    return [(sample.path.parent.name, pictures.classes[sample.label].name) for sample in pictures.samples]


def test_a_test_folder_with_some_of_the_classes_has_trainings_labels(tmp_path):
    six = {f"train__{name}": 4 for name in "abcdef"}
    splits = read_splits("folder", pictures(tmp_path, **six, test__c=3, test__f=2, val__e=1))
    assert [info.name for info in splits.test.classes] == list("abcdef")
    assert [sample.label for sample in splits.test.samples] == [2, 2, 2, 5, 5]
    assert named(splits.validation) == [("e", "e")]
    assert splits.notes == ()
    assert splits.test.counts() == [0, 0, 3, 0, 0, 2]


def test_classes_that_are_not_trained_are_refused(tmp_path):
    root = pictures(tmp_path, train__a=3, train__b=3, test__a=1, test__x=1, test__y=1)
    with pytest.raises(DataError, match=r"2 classes of the test pictures aren't trained \(x, y\)"):
        read_splits("folder", root)


@pytest.mark.parametrize("suffix", ["", "\tnumbers"])
def test_csv_tables_have_trainings_labels_too(tmp_path, suffix):
    def table(name: str, rows: list[tuple[str, ...]]) -> None:
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)

    if suffix:
        table("train", [("file", "class_index", "name"), ("a", "0", "ant"), ("b", "1", "bee"), ("c", "2", "cat")])
        table("val", [("file", "class_index"), ("d", "2")])
        table("test", [("file", "class_index", "name"), ("e", "1", "bee")])
    else:
        table("train", [("file", "class"), ("a", "ant"), ("b", "bee"), ("c", "cat")])
        table("val", [("file", "class"), ("d", "cat")])
        table("test", [("file", "class"), ("e", "bee")])
    splits = read_splits("csv", tmp_path)
    assert [sample.label for sample in splits.validation.samples] == [2]
    assert [sample.label for sample in splits.test.samples] == [1]
    assert splits.test.classes is splits.validation.classes is splits.train.classes
    wrong = [("file", "class_index"), ("e", "7")] if suffix else [("file", "class"), ("e", "dog")]
    table("test", wrong)
    with pytest.raises(DataError, match=r"1 classes of the test pictures aren't trained \((class 7|dog)\)"):
        read_splits("csv", tmp_path)
    if suffix:
        table("test", [("file", "class_index", "name"), ("e", "1", "cat")])  # another order of the same names
        with pytest.raises(DataError, match=r"aren't trained \(cat\)"):
            read_splits("csv", tmp_path)


def test_an_undivided_set_is_divided_for_ever_and_says_so(tmp_path):
    splits = read_splits("folder", pictures(tmp_path, cat=20, dog=10, owl=2))
    of = {name: {s.path for s in getattr(splits, name).samples} for name in ("train", "validation", "test")}
    assert sum(map(len, of.values())) == 32
    assert len(set().union(*of.values())) == 32
    assert splits.test.counts() == [4, 2, 1]
    assert splits.validation.counts() == [2, 1, 0]
    assert splits.train.counts() == [14, 7, 1]
    assert "7 pictures are for testing, 3 for validation, 22 for training" in splits.notes[0]
    again = read_splits("folder", tmp_path)
    assert (again.train.samples, again.test.samples) == (splits.train.samples, splits.test.samples)
    pictures(tmp_path, cat=21)  # one more picture leaves the others where they are, but for the share's rounding
    more = read_splits("folder", tmp_path)
    assert len({s.path for s in more.test.samples} ^ of["test"]) <= 2


def test_training_pictures_alone_keep_some_apart(tmp_path):
    splits = read_splits("folder", pictures(tmp_path, train__cat=20, train__dog=20))
    assert (splits.train.counts(), splits.validation.counts(), splits.test) == ([18, 18], [2, 2], None)
    assert "4 of the training pictures are kept apart" in splits.notes[0]
    assert not {s.path for s in splits.train.samples} & {s.path for s in splits.validation.samples}


@pytest.mark.parametrize("name", ["val", "valid", "validation"])
def test_a_validation_split_is_taken(tmp_path, name):
    root = pictures(tmp_path, train__cat=2, train__dog=2, **{f"{name}__cat": 3})
    splits = read_splits("folder", root)
    assert (splits.train.counts(), splits.validation.counts(), splits.test) == ([2, 2], [3, 0], None)
    chosen = read_splits("folder", root, validation="train", test=name)
    assert (chosen.validation.counts(), chosen.test.counts()) == ([2, 2], [3, 0])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"train": "trian"}, "no split 'trian'; it has t"),
        ({"test": "tset"}, "no split 'tset'; it has t"),
        ({"validation": "vall"}, "no split 'vall'; it has t"),
    ],
)
def test_a_typo_is_no_split(tmp_path, settings, reason):
    root = pictures(tmp_path, train__cat=2, train__dog=2, test__cat=1)
    with pytest.raises(DataError, match=reason):
        read_splits("folder", root, **settings)


def test_splits_in_other_letters_are_not_taken_for_classes(tmp_path):
    with pytest.raises(DataError, match="no split 'train'; it has "):
        read_splits("folder", pictures(tmp_path, Train__cat=2, Train__dog=2, Test__cat=1))
    with pytest.raises(DataError, match="there is no folder"):
        read_splits("folder", tmp_path / "nowhere")
    with pytest.raises(DataError, match="no split 'training'; it has train, test"):
        read_splits("cub", tmp_path, train="training")


def test_splits_with_names_of_their_own_are_splits(tmp_path):
    root = pictures(tmp_path, fold1__cat=3, fold1__dog=3, fold2__dog=2, fold3__cat=1)
    splits = read_splits("folder", root, train="fold1", validation="fold2")
    assert [info.name for info in splits.train.classes] == ["cat", "dog"]
    assert (len(splits.train.samples), len(splits.validation.samples), splits.test) == (6, 2, None)
    assert splits.notes == (f"{root} also has fold3, which no split takes",)
    for settings in ({"train": "trian"}, {"test": "tset"}, {"validation": "vall"}):
        flat = pictures(tmp_path / "flat", cat=3, dog=3)
        with pytest.raises(DataError, match=f"no split '{next(iter(settings.values()))}'; it isn't divided"):
            read_splits("folder", flat, **settings)
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("file,class\na.png,cat\nb.png,dog\nc.png,cat\nd.png,dog\n")
    named_so = read_splits("csv", tmp_path, train="one", test="two")
    assert named_so.test is not None and len(named_so.test.samples) == 4


def test_splits_in_capitals_are_found_and_the_rest_is_named(tmp_path):
    root = pictures(tmp_path, train__cat=3, train__dog=3, Val__cat=1, Testing__dog=2, tset__dog=1)
    splits = read_splits("folder", root)
    assert splits.test is not None
    assert (len(splits.validation.samples), len(splits.test.samples)) == (1, 2)
    assert splits.notes == (f"{root} also has tset, which no split takes",)


def test_tables_are_refused_where_they_are_cut_off_or_have_one_class(tmp_path):
    (tmp_path / "index.csv").write_text("file,class\na.png,cat\nb.png,\n")
    with pytest.raises(DataError, match=r"index\.csv, line 3: the column class is empty"):
        read_splits("csv", tmp_path)
    (tmp_path / "index.csv").write_text("file,class_index\n" + "".join(f"{i}.png,1\n" for i in range(4)))
    with pytest.raises(DataError, match="one class, class 1; there is nothing to distinguish"):
        read_splits("csv", tmp_path)


def test_a_folder_called_like_a_picture_is_none(tmp_path):
    root = pictures(tmp_path, cat=3, dog=3)
    (root / "cat/0.png.png").mkdir()
    assert len(read_splits("folder", root).train.samples) == 2
    assert pictures_below(root / "cat") == pictures_of(root / "cat") == [root / f"cat/{i}.png" for i in range(3)]


def test_one_class_is_refused(tmp_path):
    with pytest.raises(DataError, match="one class, cat; there is nothing to distinguish"):
        read_splits("folder", pictures(tmp_path, train__cat=5, test__cat=1))
    with pytest.raises(DataError, match="one picture of each class"):
        read_splits("folder", pictures(tmp_path / "few", train__cat=1, train__dog=1))


def test_the_command_says_what_it_divided(tmp_path, capsys):
    root = pictures(tmp_path, cat=10, dog=10)
    assert main(["check", "--recipe", "folder", "--data", str(root), "--set", "run.workers=0"]) == 0
    said = capsys.readouterr().out
    assert "isn't divided" in said
    assert "training: 14 pictures, 2 classes" in said
    assert "test: 4 pictures" in said


def test_folders_called_by_wnids_become_classes_with_names_and_hierarchy(tmp_path):
    root = pictures(tmp_path, train__n02012849=2, train__n02088364=2, train__n01503061=2, train__n03126707=2)
    classes = read_splits("folder", root).train.classes
    known = known_classes(classes)
    assert [info.wnid for info in known.classes] == [info.wnid for info in classes]
    assert known.classes[0].name == "bird"
    assert known.classes[2].name == "beagle"
    birds = known.hierarchy["n01503061"].classes
    assert sorted(birds) == [0, 1]  # the class bird itself, and the crane that is one
    info = checkpoint_info(Config("x", DataConfig()), CalmEm(), known, {})
    assert type(info).from_json(info.to_json()).hierarchy["n02084071"].classes == known.hierarchy["n02088364"].classes
    for folders in ({"n99999999": 9, "n02088364": 9}, {"cat": 9, "dog": 9}, {"n02088364": 9, "dog": 9}):
        root = pictures(tmp_path / "-".join(folders), **folders)
        assert known_classes(read_splits("folder", root).train.classes).hierarchy is None


def test_export_writes_safetensors_and_nothing_else(tmp_path, capsys):
    assert main(["export", "demo", "--out", str(tmp_path / "x.onnx")]) == 1
    assert "x.onnx doesn't end in .safetensors" in capsys.readouterr().err
    assert not (tmp_path / "x.onnx").exists()
