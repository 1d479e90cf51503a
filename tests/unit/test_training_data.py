"""Readers of the data layouts, the check of files, transforms, and batches that don't depend on the processes."""

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import DataError
from calm_gui.model.info import InputSpec
from calm_training.datasets import faults as faults_module
from calm_training.datasets.batches import global_batches
from calm_training.datasets.boxes import read_boxes_csv, read_boxes_wsol
from calm_training.datasets.csv_table import read_csv
from calm_training.datasets.cub import read_cub
from calm_training.datasets.faults import bad_files, without_bad_files
from calm_training.datasets.folder import read_folder
from calm_training.datasets.picture_set import PictureSet, Sample
from calm_training.datasets.split import split_by_hash
from calm_training.datasets.training_pictures import TrainingPictures
from calm_training.datasets.wsol import read_wsol


def picture(path: Path, size: tuple[int, int] = (40, 30)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, "green").save(path)
    return path


def test_folders_sort_numbers_as_numbers_and_pass_over_what_is_no_picture(tmp_path):
    for name in ("10", "9", "n02124075", "1 one"):
        picture(tmp_path / "train" / name / "a.JPG")
    (tmp_path / "train/9/.DS_Store").write_text("")
    (tmp_path / "train/9/notes.txt").write_text("")
    (tmp_path / "train/9/Thumbs.db").write_text("")
    picture(tmp_path / "train/9/._a.jpg")
    picture(tmp_path / "train/9/.trash/a.jpg")
    picture(tmp_path / "train/.git/a.jpg")
    picture(tmp_path / "train/__MACOSX/9/a.jpg")
    found = read_folder(tmp_path, "train")
    assert [c.name for c in found.classes] == ["1 one", "9", "10", "n02124075"]
    assert found.classes[3].wnid == "n02124075"
    assert found.counts() == [1, 1, 1, 1]
    (tmp_path / "train/empty").mkdir()
    with pytest.raises(DataError, match="empty"):
        read_folder(tmp_path, "train")
    with pytest.raises(DataError, match="no folders"):
        read_folder(picture(tmp_path / "flat/a.jpg").parent, "")


def test_csv_tables(tmp_path):
    (tmp_path / "index.csv").write_bytes("\ufefffile,class\r\na.jpg,owl\r\nb.jpg,cat\r\n".encode())
    found = read_csv(tmp_path, "")
    assert [c.name for c in found.classes] == ["cat", "owl"]
    assert [(s.path.name, s.label) for s in found.samples] == [("a.jpg", 1), ("b.jpg", 0)]
    (tmp_path / "train.csv").write_text("file,class_index,wnid\na.jpg,2,n02124075\n")
    assert [c.name for c in read_csv(tmp_path, "train").classes] == ["class 0", "class 1", "n02124075"]
    (tmp_path / "train.csv").write_text("file,class_index\na.jpg,2\nb.jpg,-1\n")
    with pytest.raises(DataError, match=r"train\.csv, line 3"):
        read_csv(tmp_path, "train")
    with pytest.raises(DataError, match=r"index\.csv can't be read"):
        read_csv(tmp_path / "nowhere", "")


@pytest.mark.shared
def test_cub_crops(shared):
    root = shared / "data/cub/crops/CUB_200_2011"
    train, test = read_cub(root, "train"), read_cub(root, "test")
    assert (len(train.samples), len(test.samples), len(train.classes)) == (1000, 500, 50)
    assert set(train.counts()) == {20}
    assert train.classes[0].name == "004.Groove_billed_Ani"
    assert all(sample.path.exists() for sample in train.samples[::100])
    assert all(train.classes[s.label].name == s.path.parent.name for s in train.samples)


def test_wsol_metadata(tmp_path):
    folder = tmp_path / "metadata/val"
    folder.mkdir(parents=True)
    (folder / "image_ids.txt").write_text("val/a, b.jpg\r\nval/c.jpg\r\n")
    (folder / "class_labels.txt").write_text("val/a, b.jpg,1\r\nval/c.jpg,0\r\n")
    found = read_wsol(tmp_path, "val")
    assert [(s.path, s.label) for s in found.samples] == [
        (tmp_path / "images/val/a, b.jpg", 1),
        (tmp_path / "images/val/c.jpg", 0),
    ]
    (folder / "class_labels.txt").write_text("val/c.jpg,0\n")
    with pytest.raises(DataError, match=r"no row for val/a, b\.jpg"):
        read_wsol(tmp_path, "val")


def test_bad_files_are_listed_and_too_many_refused(tmp_path):
    paths = [picture(tmp_path / f"{i}.png") for i in range(9)]
    broken = tmp_path / "broken.png"
    broken.write_text("<html>")
    samples = tuple(Sample(path, 0) for path in [*paths, broken])
    bad = bad_files(samples)
    assert [path for path, _ in bad] == [broken]
    assert "broken.png" in bad[0][1]
    pictures = PictureSet(samples, ClassTable([ClassInfo(0, "only")]))
    assert len(without_bad_files(pictures, bad, 0.1).samples) == 9
    with pytest.raises(DataError, match="1 of 10 pictures"):
        without_bad_files(pictures, bad, 0.05)


@given(
    count=st.integers(8, 200),
    batch=st.sampled_from([4, 8, 64]),
    world=st.sampled_from([1, 2, 4]),
    epoch=st.integers(0, 3),
)
def test_batches_are_the_same_pictures_whatever_the_processes(count, batch, world, epoch):
    alone = global_batches(count, batch, 0, epoch)
    shared = [global_batches(count, batch, 0, epoch, rank, world) for rank in range(world)]
    if count >= batch:
        for step, whole in enumerate(alone):
            assert sorted(whole) == sorted(np.concatenate([part[step] for part in shared]))
    assert len({len(part[0]) for part in shared}) == 1  # equal parts, so that the mean of means is the mean
    numbers = np.concatenate(alone)
    assert len(set(numbers)) == len(numbers)


def test_the_check_of_pictures_spawns_its_processes(tmp_path, monkeypatch):
    """A process that is forked has copies of locks that threads of its parent held, and may wait for ever."""
    begun = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, workers, mp_context):
            begun.append((workers, mp_context.get_start_method()))
            super().__init__(1)

        def map(self, *arguments, chunksize):
            return super().map(*arguments)

    monkeypatch.setattr(faults_module, "ProcessPoolExecutor", Pool)
    path = picture(tmp_path / "a.png")
    assert bad_files((Sample(path, 0),) * 100, workers=2) == []
    assert begun == [(2, "spawn")]


def test_training_inputs_depend_on_seed_epoch_and_number_alone(tmp_path):
    path = tmp_path / "noise.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (50, 60, 3), dtype=np.uint8)).save(path)
    pictures = PictureSet((Sample(path, 0), Sample(path, 0)), ClassTable([ClassInfo(0, "only")]))
    spec = InputSpec(size=32)
    first, second = TrainingPictures(pictures, spec, seed=1), TrainingPictures(pictures, spec, seed=1)
    assert torch.equal(first[1][0], second[1][0])
    assert first[1][0].shape == (3, 32, 32)
    assert not torch.equal(first[0][0], first[1][0])
    second.epoch = 1
    assert not torch.equal(first[1][0], second[1][0])
    test = TrainingPictures(pictures, spec)
    assert torch.equal(test[0][0], test[1][0])


@pytest.mark.shared
def test_boxes_of_the_bundled_formats(shared):
    pictures = read_boxes_csv(shared / "data/imagenet-val-boxes/index.csv")
    assert len(pictures) == 1412
    select, report = split_by_hash(pictures, 400)
    assert (len(select), len(report)) == (400, 1012)
    assert not {p.path for p in select} & {p.path for p in report}


@pytest.mark.parametrize(
    ("name", "row", "reason"),
    [
        ("localization.txt", "a.png,30,5,10,20", r"localization\.txt, line 1: a\.png: reversed"),
        (
            "localization.txt",
            "a.png,5,5,90,20",
            r"localization\.txt, line 1: a\.png: box 5 5 90 20 reaches outside 40 x",
        ),
        ("localization.txt", "a.png,5,5,nan,20", r"localization\.txt, line 1: a\.png: box 5 5 nan 20 isn't made"),
        ("localization.txt", "a.png,5,5", r"localization\.txt, line 1: 5 columns expected"),
        ("localization.txt", "other.png,5,5,10,20", r"image_ids\.txt, line 1: a\.png has no row in localization\.txt"),
        ("image_sizes.txt", "b.png,40,30", r"image_ids\.txt, line 1: a\.png has no row in image_sizes\.txt"),
        ("image_sizes.txt", "a.png,0,30", r"image_sizes\.txt, line 1: a\.png: a size of 0 x 30"),
        ("image_ids.txt", "a.png\nmissing.png", r"image_ids\.txt, line 2: missing\.png has no row"),
        ("image_ids.txt", "a.png\na.png", r"image_ids\.txt, line 2: a\.png is listed twice"),
        ("localization.txt", "a.png,9,5,5,9\na.png,5,5,90,20", r"2 faults: .*line 1: a\.png: rev.*line 2: a\.png: box"),
    ],
)
def test_metadata_that_is_almost_right_is_refused_by_file_and_reason(tmp_path, name, row, reason):
    metadata = tmp_path / "metadata"
    metadata.mkdir()
    picture(tmp_path / "images/a.png")
    right = {
        "image_ids.txt": "a.png",
        "class_labels.txt": "a.png,3",
        "image_sizes.txt": "a.png,40,30",
        "localization.txt": "a.png,5,5,10,20\r\na.png,5,5,10,20\r\na.png,1,1,3,3\r\n",
    }
    for file, content in right.items():
        (metadata / file).write_text(content)
    boxes = read_boxes_wsol(metadata, tmp_path / "images")[0].boxes
    assert boxes.tolist() == [[5, 5, 10, 20], [1, 1, 3, 3]]  # a row that stands twice counts once
    (metadata / name).write_text(row)
    with pytest.raises(DataError, match=reason):
        read_boxes_wsol(metadata, tmp_path / "images")


def test_csv_faults_are_all_listed(tmp_path):
    picture(tmp_path / "a.png")
    table = tmp_path / "index.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(
            [
                ["file", "class_index", "width", "height", "boxes"],
                ["a.png", 0, 40, 30, "1 1 5 5"],
                ["a.png", 0, 40, 30, "9 1 5 5"],
                ["gone.png", 0, 40, 30, "1 1 5 5"],
                ["a.png", 0, 40, 30, "1 1 5"],
            ]
        )
    with pytest.raises(DataError) as raised:
        read_boxes_csv(table)
    text = str(raised.value)
    assert "line 3: reversed" in text
    assert "line 4: there is no file" in text
    assert "line 5" in text
