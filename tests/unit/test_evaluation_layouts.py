"""Every layout that training takes is evaluated on, with boxes or masks where it has them."""

import csv
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from synthetic import CLASSES
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.errors import DataError
from calm_gui.model.parquet import has_parquet
from calm_training.datasets.boxes import BoxedPicture
from calm_training.datasets.evaluation_set import annotations_of, layout_of, read_evaluation_set, with_labels_of
from calm_training.evaluate import main
from calm_training.evaluate.evaluation import Result
from calm_training.evaluate.scores_table import scores_files, write_scores

NAMES = [CLASSES[0].name, CLASSES[1].name]
WNIDS = [str(CLASSES[0].wnid), str(CLASSES[1].wnid)]


def save(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (12, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).resize((96, 72)).save(path)
    return path


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def folder(root: Path) -> None:
    for split in ("train", "test"):
        for label, name in enumerate(reversed(WNIDS)):  # another order than the checkpoint's
            save(root / split / name / "0.png", label)


def csv_with_names(root: Path) -> None:
    files = [save(root / f"{i}.png", i).name for i in range(2)]
    write(root / "index.csv", "file,class", *(f"{file},{name}" for file, name in zip(files, NAMES, strict=True)))


def csv_with_boxes(root: Path) -> None:
    files = [save(root / f"{i}.png", i).name for i in range(2)]
    rows = [f'{file},{name},96,72,"10 10 50 60"' for file, name in zip(files, NAMES, strict=True)]
    write(root / "index.csv", "file,class,width,height,boxes", *rows)


def cub(root: Path) -> None:
    files = [f"{name}/{i}.png" for i, name in enumerate(WNIDS)]
    for i, file in enumerate(files):
        save(root / "images" / file, i)
    write(root / "images.txt", *(f"{i + 1} {file}" for i, file in enumerate(files)))
    write(root / "image_class_labels.txt", "1 1", "2 2")
    write(root / "train_test_split.txt", "1 0", "2 0")
    write(root / "classes.txt", *(f"{i + 1} {name}" for i, name in enumerate(WNIDS)))
    write(root / "bounding_boxes.txt", "1 10.0 10.0 40.0 50.0", "2 0.0 0.0 96.4 30.0")


def ilsvrc(root: Path) -> None:
    for i in range(2):
        save(root / "images" / f"{i}.png", i)
    metadata = root / "metadata/test"
    write(metadata / "image_ids.txt", "0.png", "1.png")
    write(metadata / "class_labels.txt", "0.png,0", "1.png,1")
    write(metadata / "image_sizes.txt", "0.png,96,72", "1.png,96,72")
    write(metadata / "localization.txt", "0.png,10,10,50,60", "1.png,0,0,96,30")


def openimages(root: Path) -> None:
    for i in range(2):
        save(root / "images" / f"{i}.png", i)
        mask = np.zeros((72, 96), np.uint8)
        mask[10:40, 20:60] = 255
        Image.fromarray(mask).save(root / "images" / f"m{i}.png")
    metadata = root / "metadata/test"
    write(metadata / "image_ids.txt", "0.png", "1.png")
    write(metadata / "class_labels.txt", "0.png,0", "1.png,1")
    write(metadata / "localization.txt", "0.png,m0.png,", "1.png,m1.png,")


LAYOUTS = {
    folder: ("folder", {"labels"}),
    csv_with_names: ("csv", {"labels"}),
    csv_with_boxes: ("csv", {"labels", "boxes", "regions"}),
    cub: ("cub", {"labels", "boxes", "regions"}),
    ilsvrc: ("ilsvrc", {"labels", "boxes", "regions"}),
    openimages: ("openimages", {"labels", "masks", "regions"}),
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "tiny.safetensors"))


@pytest.mark.parametrize("make", LAYOUTS, ids=lambda make: make.__name__)
def test_every_layout_is_known_by_its_files_and_gives_the_checkpoint_s_classes(make, tmp_path):
    make(tmp_path)
    layout, there = LAYOUTS[make]
    assert layout_of(tmp_path, "test") == layout
    assert set(annotations_of(tmp_path, "test")) == there
    for reads in there:
        found = read_evaluation_set(reads, tmp_path, "test")
        pictures = with_labels_of(found, CLASSES, "x")
        labels = {picture.classes[0]: picture.path for picture in pictures}
        assert sorted(labels) == [0, 1] and all(path.is_file() for path in labels.values())
        if make is folder:
            assert labels[0].parent.name == WNIDS[0]
    for lacking in {"boxes", "masks"} - there:
        with pytest.raises(DataError):
            read_evaluation_set(lacking, tmp_path, "test")


@pytest.mark.parametrize("make", LAYOUTS, ids=lambda make: make.__name__)
def test_commands_on_every_layout(make, tmp_path, tiny, capsys):
    make(tmp_path / "data")
    for command in ("accuracy", "removal", "axioms"):
        if make is openimages and command == "removal":
            continue  # the others have shown it
        more = ["--no-pixels"] if command == "axioms" else []
        out = tmp_path / f"{command}.json"
        arguments = [command, "--checkpoint", tiny, "--data", str(tmp_path / "data"), "--quiet", "--select", "1"]
        assert main([*arguments, "--out", str(out), *more]) == 0, capsys.readouterr().err

        def refuse(text: str) -> None:
            raise AssertionError(f"{text} is no JSON")

        assert json.loads(out.read_text(), parse_constant=refuse)["results"][tiny]["images"] == 1
        with out.with_suffix(".csv").open() as file:
            assert {row["checkpoint"] for row in csv.DictReader(file)} == {tiny}
    capsys.readouterr()


def test_scores_of_every_picture_are_csv_and_parquet(tmp_path):
    rows = [
        {"picture": 'a, "b".png', "map": "cam", "energy": 0.25, "right": True, "parts": 2},
        {"picture": "c.png", "map": "cam", "energy": math.nan, "right": False, "entropy": np.float32(0.5), "parts": 1},
    ]
    write_scores({"demo": Result(2, pictures=tuple(rows))}, tmp_path / "x.json")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    assert first == {"checkpoint": "demo", **{k: str(v) for k, v in rows[0].items()}, "entropy": ""}
    assert second["energy"] == "" and float(second["entropy"]) == 0.5
    assert scores_files(tmp_path / "x.json") == sorted(path for path in tmp_path.iterdir())
    if not has_parquet():
        return
    from pyarrow import parquet

    table = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    assert table[0] == {"checkpoint": "demo", **rows[0], "entropy": None}
    assert table[1]["energy"] is None and table[1]["entropy"] == 0.5 and type(table[1]["parts"]) is int


def test_boxes_of_cub(tmp_path):
    cub(tmp_path)
    first, second = read_evaluation_set("boxes", tmp_path, "test").pictures
    assert isinstance(first, BoxedPicture) and first.size == (96, 72)
    assert first.boxes.tolist() == [[10, 10, 50, 60]]
    assert second.boxes.tolist() == [[0, 0, 96, 30]]  # cut to the picture


def test_tick_labels_of_decades_are_readable(tmp_path, tiny, capsys):
    csv_with_names(tmp_path)
    out = tmp_path / "axioms.json"
    more = ["--data", str(tmp_path), "--quiet", "--no-pixels", "--out", str(out)]
    assert main(["axioms", "--checkpoint", tiny, *more]) == 0
    drawn = out.with_suffix(".svg").read_text()
    assert "mathdefault" not in drawn
    assert re.search(r"<!-- [\d.]+e-\d\d -->", drawn)  # how matplotlib notes what it draws
    capsys.readouterr()


def test_what_a_layout_lacks_is_said(tmp_path, tiny, capsys):
    folder(tmp_path)
    arguments = ["--checkpoint", tiny, "--data", str(tmp_path), "--quiet"]
    assert main(["wsol", *arguments]) == 1
    assert "the layout folder has no boxes" in capsys.readouterr().err
    assert main(["accuracy", *arguments, "--split", "val"]) == 1
    assert "has no split 'val'; it has test, train" in capsys.readouterr().err
    assert main(["measures", *arguments, "--measure", "pointing"]) == 1
    assert "needs boxes or masks" in capsys.readouterr().err
    assert main(["measures", *arguments]) == 0  # those that need neither
    assert "Entropy" in capsys.readouterr().out


def test_a_picture_that_is_listed_twice_is_refused(tmp_path, tiny, capsys):
    csv_with_names(tmp_path)
    table = tmp_path / "index.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines, lines[1]]) + "\n")
    assert main(["accuracy", "--checkpoint", tiny, "--data", str(tmp_path), "--quiet"]) == 1
    assert f" lists {lines[1].split(',')[0]} twice" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--select", "--batch"])
@pytest.mark.parametrize("number", ["0", "-3", "2.5", "many"])
def test_numbers_that_make_no_sense_are_refused(tmp_path, tiny, capsys, option, number):
    with pytest.raises(SystemExit) as stopped:
        main(["accuracy", "--checkpoint", tiny, "--data", str(tmp_path), f"{option}={number}"])
    assert stopped.value.code == 2
    assert f"'{number}' is no whole number of at least 1" in capsys.readouterr().err
