"""Data sets as lists of files with labels, the check before the first step, and the paper's transforms.

The transforms of a training picture depend on (seed, epoch, picture number) alone, so a resumed run sees exactly
what the uninterrupted one would have seen, with any number of workers and processes.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import DataError, PictureError
from calm_gui.model.info import InputSpec
from calm_gui.model.picture import load_picture

__all__ = [
    "READERS",
    "PictureSet",
    "Sample",
    "TrainingPictures",
    "bad_files",
    "global_batches",
    "natural_key",
    "network_input",
    "read_csv",
    "read_cub",
    "read_folder",
    "read_wsol",
    "training_input",
    "without_bad_files",
]

PICTURE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif"})
_RESIZED_TO = 256 / 224
"""The paper resizes to 256 before it crops 224."""


@dataclass(frozen=True)
class Sample:
    """One labelled picture.

    Attributes
    ----------
    path : Path
    label : int
        Class index.
    """

    path: Path
    label: int


@dataclass(frozen=True)
class PictureSet:
    """The pictures of one split, and the classes in the order of their indices."""

    samples: tuple[Sample, ...]
    classes: ClassTable

    def __post_init__(self) -> None:
        if not self.samples:
            raise DataError("the set holds no pictures")

    def counts(self) -> list[int]:
        """Number of pictures of every class."""
        found = Counter(sample.label for sample in self.samples)
        return [found[i] for i in range(len(self.classes))]


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Sort key by which numbers sort as numbers: 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def read_folder(root: Path, split: str) -> PictureSet:
    """One folder of pictures for each class, below ``root/split`` if that exists, else below ``root``.

    Classes are sorted by folder name, numbers as numbers. Hidden files and files that aren't pictures by their
    extension are passed over.
    """
    base = root / split if (root / split).is_dir() else root
    folders = sorted((p for p in _entries(base) if p.is_dir() and p.name[0] != "."), key=lambda p: natural_key(p.name))
    if not folders:
        raise DataError(f"{base} has no folders; one folder of pictures for each class is expected")
    samples = [
        Sample(path, label)
        for label, folder in enumerate(folders)
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in PICTURE_SUFFIXES and path.name[0] != "."
    ]
    classes = _class_table(folder.name for folder in folders)
    result = PictureSet(tuple(samples), classes)
    empty = [folder.name for folder, n in zip(folders, result.counts(), strict=True) if not n]
    if empty:
        raise DataError(f"{base}: no pictures in {len(empty)} of {len(folders)} class folders ({', '.join(empty[:3])})")
    return result


def read_csv(root: Path, split: str) -> PictureSet:
    """``root/<split>.csv``, else ``root/index.csv``: columns file (relative to root), and class_index or class.

    With class_index, names come from the column wnid or name, else from the index.
    """
    table = root / f"{split}.csv"
    table = table if table.exists() else root / "index.csv"
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise DataError(f"{table} can't be read: {error.strerror}") from error
    if not rows or "file" not in rows[0] or not {"class_index", "class"} & set(rows[0]):
        raise DataError(f"{table}: a header with the columns file and class_index or class is expected")
    if "class" in rows[0]:
        names = sorted({row["class"] for row in rows}, key=natural_key)
        index = {name: i for i, name in enumerate(names)}
        labels = [index[row["class"]] for row in rows]
        classes = _class_table(names)
    else:
        labels = [_whole_number(row["class_index"], table, i) for i, row in enumerate(rows, 2)]
        known = {label: row.get("wnid") or row.get("name") or "" for label, row in zip(labels, rows, strict=True)}
        classes = _class_table(known.get(i) or f"class {i}" for i in range(max(labels) + 1))
    paths = [root / row["file"] for row in rows]
    return PictureSet(tuple(Sample(p, c) for p, c in zip(paths, labels, strict=True)), classes)


def read_cub(root: Path, split: str) -> PictureSet:
    """CUB-200-2011 in its original layout; classes that have no picture are left out, the rest keep their order."""
    tables = [_numbered(root / name) for name in ("images.txt", "image_class_labels.txt", "train_test_split.txt")]
    files, classes_of, training = tables
    names = _numbered(root / "classes.txt")
    present = sorted({int(c) for c in classes_of.values()})
    index = {number: i for i, number in enumerate(present)}
    wanted = "1" if split == "train" else "0"
    samples = [
        Sample(root / "images" / file, index[int(classes_of[key])])
        for key, file in files.items()
        if training[key] == wanted
    ]
    return PictureSet(tuple(samples), _class_table(names[str(number)] for number in present))


def read_wsol(root: Path, split: str) -> PictureSet:
    """ILSVRC or OpenImages with the public benchmark's metadata: ``root/metadata/<split>`` and ``root/images``.

    ``image_ids.txt`` and ``class_labels.txt`` (id,label) list the pictures. Classes are named by number, except
    that 1,000 of them are ImageNet's.
    """
    folder = root / "metadata" / split
    labels: dict[str, int] = {}
    for number, line in enumerate(_lines(folder / "class_labels.txt"), 1):
        image, _, label = line.rpartition(",")
        labels[image] = _whole_number(label, folder / "class_labels.txt", number)
    ids = _lines(folder / "image_ids.txt")
    missing = [image for image in ids if image not in labels]
    if missing:
        raise DataError(f"{folder / 'class_labels.txt'} has no row for {missing[0]} ({len(missing)} in all)")
    count = max(labels.values()) + 1
    if count == 1000:
        from calm_gui.model.imagenet import imagenet_classes

        classes = imagenet_classes()
    else:
        classes = _class_table(f"class {i}" for i in range(count))
    return PictureSet(tuple(Sample(root / "images" / image, labels[image]) for image in ids), classes)


READERS: dict[str, Callable[[Path, str], PictureSet]] = {
    "folder": read_folder,
    "csv": read_csv,
    "cub": read_cub,
    "ilsvrc": read_wsol,
    "openimages": read_wsol,
}
"""Readers of the layouts that a recipe's ``data.layout`` may name."""


def bad_files(samples: Sequence[Sample], workers: int = 0) -> list[tuple[Path, str]]:
    """Files that can't be opened as pictures, with the reason; every file is decoded, in parallel."""
    paths = [sample.path for sample in samples]
    if workers < 2 or len(paths) < 100:
        faults = [_fault(path) for path in paths]
    else:
        # Spawned, not forked: the caller may hold threads, as torch does.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            faults = list(pool.map(_fault, paths, chunksize=64))
    return [(path, fault) for path, fault in zip(paths, faults, strict=True) if fault]


def without_bad_files(pictures: PictureSet, bad: Iterable[tuple[Path, str]], allowed: float = 0.01) -> PictureSet:
    """The set without its bad files.

    Raises
    ------
    DataError
        If more than the share `allowed` of the files is bad.
    """
    reasons = dict(bad)
    if len(reasons) > allowed * len(pictures.samples):
        listed = "; ".join(f"{path.name}: {reason}" for path, reason in list(reasons.items())[:3])
        raise DataError(
            f"{len(reasons)} of {len(pictures.samples)} pictures can't be opened, more than {allowed:.0%} ({listed})"
        )
    return replace(pictures, samples=tuple(s for s in pictures.samples if s.path not in reasons))


def network_input(pixels: NDArray[np.uint8], spec: InputSpec) -> Tensor:
    """Test transform of the paper: squash to size x size, (3,size,size) float32 normalised."""
    resized = Image.fromarray(pixels).resize((spec.size, spec.size), Image.Resampling.BILINEAR)
    return _normalised(np.asarray(resized), spec)


def training_input(pixels: NDArray[np.uint8], spec: InputSpec, generator: np.random.Generator) -> Tensor:
    """Training transform of the paper: squash to 256/224 of the size, random crop, random flip."""
    side = round(spec.size * _RESIZED_TO)
    resized = np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR))
    y, x = generator.integers(0, side - spec.size + 1, 2)
    crop = resized[y : y + spec.size, x : x + spec.size]
    return _normalised(crop[:, ::-1] if generator.random() < 0.5 else crop, spec)


class TrainingPictures(Dataset[tuple[Tensor, int, int]]):
    """Inputs, labels and numbers of a set, for a `torch.utils.data.DataLoader`; it may be sent to other processes.

    Parameters
    ----------
    pictures : PictureSet
    spec : InputSpec
    seed : int or None
        Seed of the training transform, None for the test transform.

    Attributes
    ----------
    epoch : int
        Goes into the random choice of crops and flips.
    """

    def __init__(self, pictures: PictureSet, spec: InputSpec, seed: int | None = None) -> None:
        self.pictures = pictures
        self.spec = spec
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.pictures.samples)

    def __getitem__(self, number: int) -> tuple[Tensor, int, int]:
        sample = self.pictures.samples[number]
        pixels = load_picture(sample.path).pixels
        if self.seed is None:
            return network_input(pixels, self.spec), sample.label, number
        generator = np.random.default_rng((self.seed, self.epoch, number))
        return training_input(pixels, self.spec, generator), sample.label, number


def global_batches(
    count: int, batch: int, seed: int, epoch: int, rank: int = 0, world: int = 1
) -> list[NDArray[np.int64]]:
    """Picture numbers of every step of an epoch for one process, in random order.

    The global batches don't depend on the number of processes; each process takes an equal part of each. What is
    left over at the end of the epoch is dropped unless it is the only batch.

    Parameters
    ----------
    count : int
        Pictures in the set.
    batch : int
        Global batch, a multiple of `world`.
    seed, epoch : int
        Of the order.
    rank, world : int
        This process and the number of processes.
    """
    order = np.random.default_rng((seed, epoch)).permutation(count)
    size = min(batch, count - count % world)
    return [order[start : start + size][rank::world] for start in range(0, count - size + 1, size)]


def _normalised(pixels: NDArray[np.uint8], spec: InputSpec) -> Tensor:
    values = (pixels.astype(np.float32) / 255 - np.array(spec.mean, np.float32)) / np.array(spec.std, np.float32)
    return torch.from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1)))


def _fault(path: Path) -> str:
    try:
        load_picture(path)
    except PictureError as error:
        return str(error)
    return ""


def _class_table(names: Iterable[str]) -> ClassTable:
    """Classes of folder or list names; one that is a wnid, as in ImageNet's folders, is kept as such."""
    is_wnid = partial(re.fullmatch, r"n\d{8}")
    return ClassTable(ClassInfo(i, name, name if is_wnid(name) else None) for i, name in enumerate(names))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise DataError(f"{folder} can't be read: {error.strerror}") from error


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error


def _numbered(path: Path) -> dict[str, str]:
    """Rows ``number value`` of a CUB text file."""
    rows = [line.split() for line in _lines(path)]
    for number, row in enumerate(rows, 1):
        if len(row) != 2:
            raise DataError(f"{path}, line {number}: two columns expected, {len(row)} found")
    return {row[0]: row[1] for row in rows}


def _whole_number(text: str, path: Path, line: int) -> int:
    if not text.strip().isdigit():
        raise DataError(f"{path}, line {line}: a class index is a whole number from 0, not {text!r}")
    return int(text)
