"""Annotations that are almost right are reported with file, line and reason, before any network runs."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from calm_gui.errors import DataError
from calm_training.datasets.boxes import read_boxes_csv, read_boxes_wsol
from calm_training.datasets.masks import read_masks_csv, read_masks_wsol
from calm_training.evaluate import main

WSOL_FILES = ("image_ids", "class_labels", "image_sizes")


@pytest.fixture
def split(tmp_path: Path) -> tuple[Path, Path]:
    """A split's folder without localization.txt, and its pictures and masks."""
    metadata, images = tmp_path / "metadata/test", tmp_path / "images"
    metadata.mkdir(parents=True)
    images.mkdir()
    (metadata / "image_ids.txt").write_text("a.png\nb.png\n")
    (metadata / "class_labels.txt").write_text("a.png,0\nb.png,1\n")
    (metadata / "image_sizes.txt").write_text("a.png,224,224\nb.png,448,112\n")
    for name, size in (("a", (224, 224)), ("b", (448, 112))):
        Image.new("RGB", size).save(images / f"{name}.png")
        mask = np.zeros(size[::-1], np.uint8)
        mask[10:30, 20:60] = 255
        Image.fromarray(mask).save(images / f"{name}_mask.png")
    return metadata, images


def localize(split: tuple[Path, Path], text: str) -> None:
    (split[0] / "localization.txt").write_text(text)


def test_a_split_in_order(split):
    localize(split, "a.png,50,60,149,109\na.png,10,180,39,199\nb.png,100,30,299,54\n")
    first, second = read_boxes_wsol(*split)
    assert (first.label, second.label, second.size) == (0, 1, (448, 112))
    assert first.boxes.tolist() == [[50, 60, 149, 109], [10, 180, 39, 199]]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("b.png,1,1,5,5\na.png,149,109,50,60\n", 2, "reversed corners 149 109 50 60"),
        ("a.png,50,60,400,300\nb.png,1,1,5,5\n", 1, "box 50 60 400 300 reaches outside 224 x 224"),
        ("a.png,50,60,70\nb.png,1,1,5,5\n", 1, "5 columns expected, 4 found"),
        ("a.png,50,60,70,x\nb.png,1,1,5,5\n", 1, "could not convert string to float"),
        ("a.png,1,1,5,nan\nb.png,1,1,5,5\n", 1, "isn't made of numbers"),
    ],
)
def test_faulty_boxes_are_reported_with_their_line(split, text, line, reason):
    localize(split, text)
    with pytest.raises(DataError, match=rf"localization.txt, line {line}: .*{reason}"):
        read_boxes_wsol(*split)


def test_a_picture_without_row_a_missing_file_and_a_repeated_id(split):
    localize(split, "a.png,1,1,5,5\n")
    with pytest.raises(DataError, match=r"image_ids.txt, line 2: b.png has no row in localization.txt"):
        read_boxes_wsol(*split)
    localize(split, "a.png,1,1,5,5\nb.png,1,1,5,5\n")
    (split[1] / "b.png").unlink()
    with pytest.raises(DataError, match=r"image_ids.txt, line 2: there is no file .*b.png"):
        read_boxes_wsol(*split)
    (split[0] / "image_ids.txt").write_text("a.png\n\na.png\n")
    with pytest.raises(DataError, match=r"image_ids.txt, line 3: a.png is listed twice"):
        read_boxes_wsol(*split)


def test_windows_line_ends_and_a_byte_order_mark_are_read_like_others(split):
    localize(split, "a.png,50,60,149,109\nb.png,100,30,299,54\n")
    plain = read_boxes_wsol(*split)
    for path in split[0].iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    for one, other in zip(plain, read_boxes_wsol(*split), strict=True):
        assert (one.path, one.label, one.size) == (other.path, other.label, other.size)
        assert one.boxes.tolist() == other.boxes.tolist()


def test_what_is_no_text_is_reported(split):
    (split[0] / "localization.txt").write_bytes(b"a.png,1,1,5,\xff\n")
    with pytest.raises(DataError, match=r"localization.txt isn't text in UTF-8"):
        read_boxes_wsol(*split)


def test_masks_of_a_split(split):
    localize(split, "a.png,a_mask.png,\nb.png,b_mask.png,\n")
    first, _ = read_masks_wsol(*split)
    assert first.classes == (0,)
    assert (first.mask() == 1).sum() == 800
    ignore = np.zeros((224, 224), np.uint8)
    ignore[:20] = 255
    Image.fromarray(ignore).save(split[1] / "ignore.png")
    localize(split, "a.png,a_mask.png,ignore.png\nb.png,b_mask.png,\n")
    mask = read_masks_wsol(*split)[0].mask()
    assert [(mask == value).sum() for value in (1, 255)] == [800, 20 * 224 - 400]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a.png,a_mask.png,not_there.png\nb.png,b_mask.png,\n", 1, "there is no file .*not_there.png"),
        ("a.png,a_mask.png,\nb.png,b_mask.png\n", 2, "3 columns expected, 2 found"),
    ],
)
def test_faulty_masks_are_reported_with_their_line(split, text, line, reason):
    localize(split, text)
    with pytest.raises(DataError, match=rf"localization.txt, line {line}: {reason}"):
        read_masks_wsol(*split)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("boxes_two_per_image", None),
        ("boxes_reversed_corners", r"line 1: a.png: reversed corners"),
        ("boxes_outside_image", r"line 1: a.png: box .* reaches outside"),
        ("masks_blank_ignore", None),
        ("masks_missing_file", r"line 1: there is no file .*not_there.png"),
        ("masks_two_columns_only", r"line 1: 3 columns expected, 2 found"),
    ],
)
def test_the_given_files(shared, tmp_path, name, reason):
    source = shared / "inputs/wsol"
    for part in WSOL_FILES:
        shutil.copy(source / f"{part}.txt", tmp_path)
    shutil.copy(source / f"localization_{name}.txt", tmp_path / "localization.txt")
    read = read_boxes_wsol if name.startswith("boxes") else read_masks_wsol
    if reason is None:
        assert len(read(tmp_path, source)) == 2
    else:
        with pytest.raises(DataError, match=rf"localization.txt, {reason}"):
            read(tmp_path, source)


def test_tables_in_csv(tmp_path):
    Image.new("RGB", (96, 72)).save(tmp_path / "a.png")
    rows = {
        "a.png,0,96,72,50 10 10 60": "line 2: reversed corners",
        "a.png,0,96,72,1 1 97 60": "line 2: box 1 1 97 60 reaches outside 96 x 72",
        "gone.png,0,96,72,1 1 5 5": "line 2: there is no file",
        "a.png,0,96,72,1 1 5": "line 2: a box has four numbers",
        "a.png,0,96": "line 2: ",
    }
    for row, reason in rows.items():
        (tmp_path / "index.csv").write_bytes(f"file,class_index,width,height,boxes\r\n{row}\r\n".encode())
        with pytest.raises(DataError, match=rf"index.csv, {reason}"):
            read_boxes_csv(tmp_path / "index.csv")
    with (tmp_path / "index.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "mask", "is_main", "imagenet_classes"), ("a.png", "no.png", "1", "3 5-6")])
    with pytest.raises(DataError, match=r"index.csv, line 2: there is no file .*no.png"):
        read_masks_csv(tmp_path / "index.csv")


def test_the_command_reports_faults_before_it_loads_a_checkpoint(split, capsys):
    localize(split, "a.png,9,9,5,5\nb.png,1,1,5,5\n")
    # There is no such checkpoint, so a complaint about the data can only have come first.
    assert main(["wsol", "--checkpoint", "nowhere.safetensors", "--data", str(split[0].parents[1]), "--quiet"]) == 1
    assert "localization.txt, line 1: a.png: reversed corners 9 9 5 5" in capsys.readouterr().err
