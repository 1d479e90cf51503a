"""Pictures with true boxes: the benchmark's metadata and our CSV tables, checked before the first forward pass."""

import csv
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import DataError, why_unreadable
from calm_training.metrics.pxap import unite_masks

__all__ = [
    "BoxedPicture",
    "MaskedPicture",
    "read_boxes_csv",
    "read_boxes_wsol",
    "read_masks_csv",
    "read_masks_wsol",
    "split_by_hash",
]

AnyPicture = TypeVar("AnyPicture", "BoxedPicture", "MaskedPicture")


@dataclass(frozen=True, eq=False)
class BoxedPicture:
    """A picture, its class and the boxes of that class.

    Attributes
    ----------
    path : Path
    label : int
    size : (int, int)
        Width and height that the boxes are in pixels of.
    boxes : ndarray (N,4) float64
        x0 y0 x1 y1.
    """

    path: Path
    label: int
    size: tuple[int, int]
    boxes: NDArray[np.float64]


@dataclass(frozen=True)
class MaskedPicture:
    """A picture and the mask of its object.

    Attributes
    ----------
    path : Path
    mask_paths : tuple of Path
        Their union is the object.
    classes : tuple of int
        Classes that mean the object.
    ignore_path : Path or None
        Marks pixels that don't count unless a mask covers them.
    """

    path: Path
    mask_paths: tuple[Path, ...]
    classes: tuple[int, ...]
    ignore_path: Path | None = None

    @property
    def files(self) -> list[Path]:
        """Every file that the picture needs."""
        return [self.path, *self.mask_paths, *([self.ignore_path] if self.ignore_path else [])]

    def mask(self) -> NDArray[np.uint8]:
        """The mask as `PxAP` takes it, (h,w): 255 in a file is the object, 0 is not, anything else doesn't count."""
        masks = [_gray(path) for path in self.mask_paths]
        unsure = np.any([(mask > 0) & (mask < 255) for mask in masks], 0)
        ignored = unsure if self.ignore_path is None else unsure | (_gray(self.ignore_path) > 0)
        return unite_masks([mask == 255 for mask in masks], ignored)


def _gray(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as file:
        return np.asarray(file.convert("L"))


def read_masks_csv(table: Path) -> list[MaskedPicture]:
    """Rows of a CSV with the columns file, mask, is_main and imagenet_classes (``65 70-72``).

    Only the main object of each picture counts, and only if there is a class for it.

    Raises
    ------
    DataError
        With file, line and reason: all faults of the table, at most ten of them listed.
    """
    pictures, faults = [], []
    for line, row in enumerate(_csv_rows(table), 2):
        try:
            if row["is_main"] != "1" or not row["imagenet_classes"]:
                continue
            classes = _classes(row["imagenet_classes"])
            picture = MaskedPicture(table.parent / row["file"], (table.parent / row["mask"],), classes)
        except (KeyError, ValueError) as error:
            faults.append(f"{table}, line {line}: {why_unreadable(error)}")
            continue
        faults += [f"{table}, line {line}: there is no file {path}" for path in picture.files if not path.is_file()]
        pictures.append(picture)
    return _without_faults(pictures, faults, table)


def read_boxes_csv(table: Path) -> list[BoxedPicture]:
    """Rows of a CSV with the columns file (relative to it), class_index, width, height, boxes (``x0 y0 x1 y1;...``).

    Raises
    ------
    DataError
        With file, line and reason: all faults of the table, at most ten of them listed.
    """
    pictures, faults = [], []
    for line, row in enumerate(_csv_rows(table), 2):
        try:
            size = int(row["width"]), int(row["height"])
            boxes = [[float(v) for v in box.split()] for box in row["boxes"].split(";")]
            picture = BoxedPicture(table.parent / row["file"], int(row["class_index"]), size, _boxes(boxes))
        except (KeyError, ValueError, AttributeError, TypeError) as error:
            faults.append(f"{table}, line {line}: {why_unreadable(error)}")
            continue
        faults += [f"{table}, line {line}: {fault}" for fault in _faults(picture)]
        pictures.append(picture)
    return _without_faults(pictures, faults, table)


def read_boxes_wsol(metadata: Path, images: Path) -> list[BoxedPicture]:
    """The benchmark's text files ``image_ids``, ``class_labels``, ``image_sizes`` and ``localization`` of one split.

    ``localization.txt`` holds one row ``id,x0,y0,x1,y1`` for each box; several of a picture all count.

    Raises
    ------
    DataError
        With file, line and reason: all faults of the files, at most ten of them listed.
    """
    faults: list[str] = []
    labels = _table(metadata / "class_labels.txt", 1, faults, float)
    sizes = _table(metadata / "image_sizes.txt", 2, faults, float)
    boxes = _table(metadata / "localization.txt", 4, faults, float)
    pictures = []
    for line, image in _listed(metadata, {"class_labels": labels, "image_sizes": sizes, "localization": boxes}, faults):
        (_, (width, height)), (_, (label,)) = sizes[image][0], labels[image][0]
        size, path = (int(width), int(height)), images / image
        if not path.is_file():
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: there is no file {path}")
        where = f"{metadata / 'image_sizes.txt'}, line {sizes[image][0][0]}"
        faults += [f"{where}: {image}: {fault}" for fault in _size_faults(size)]
        for row, box in boxes[image]:
            where = f"{metadata / 'localization.txt'}, line {row}"
            faults += [f"{where}: {image}: {fault}" for fault in _box_faults(box, size)]
        unique = list(dict.fromkeys(tuple(box) for _, box in boxes[image]))
        pictures.append(BoxedPicture(path, int(label), size, np.array(unique, float)))
    return _without_faults(pictures, faults, metadata)


def read_masks_wsol(metadata: Path, images: Path, masks: Path | None = None) -> list[MaskedPicture]:
    """The benchmark's text files of a split with masks (OpenImages): ``image_ids``, ``class_labels``, ``localization``.

    ``localization.txt`` holds one row ``id,mask,ignore`` for each mask; the ignore file may be left blank.

    Parameters
    ----------
    metadata, images : Path
    masks : Path, optional
        Folder of the masks; by default that of the pictures.

    Raises
    ------
    DataError
        With file, line and reason: all faults of the files, at most ten of them listed.
    """
    faults: list[str] = []
    masks = masks or images
    labels = _table(metadata / "class_labels.txt", 1, faults, float)
    rows = _table(metadata / "localization.txt", 2, faults, str)
    pictures = []
    for line, image in _listed(metadata, {"class_labels": labels, "localization": rows}, faults):
        found, ignored = tuple(masks / mask for _, (mask, _) in rows[image]), {row[1] for _, row in rows[image]} - {""}
        picture = MaskedPicture(
            images / image, found, (int(labels[image][0][1][0]),), masks / min(ignored) if ignored else None
        )
        if not picture.path.is_file():
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: there is no file {picture.path}")
        for row, names in rows[image]:
            missing = [masks / name for name in names if name and not (masks / name).is_file()]
            faults += [f"{metadata / 'localization.txt'}, line {row}: there is no file {path}" for path in missing]
        pictures.append(picture)
    return _without_faults(pictures, faults, metadata)


Rows = dict[str, list[tuple[int, list[Any]]]]
"""Line number and values of each row, by the picture's id."""


def _table(path: Path, count: int, faults: list[str], convert: Callable[[str], Any]) -> Rows:
    """Rows ``id,value,...`` of a text file; what can't be read is added to the faults."""
    rows: Rows = {}
    for line, text in _text_lines(path):
        image, *values = [part.strip() for part in text.rsplit(",", count)]
        try:
            if len(values) != count:
                raise ValueError(f"{count + 1} columns expected, {len(values) + 1} found")
            rows.setdefault(image, []).append((line, [convert(value) for value in values]))
        except ValueError as error:
            faults.append(f"{path}, line {line}: {error}")
    return rows


def _listed(metadata: Path, tables: dict[str, Rows], faults: list[str]) -> Iterator[tuple[int, str]]:
    """Line number and id of each picture that every table has a row of; the others are added to the faults."""
    seen = set()
    for line, image in _text_lines(metadata / "image_ids.txt"):
        lacking = [name for name, table in tables.items() if image not in table]
        if lacking:
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: {image} has no row in {', '.join(lacking)}.txt")
        elif image in seen:
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: {image} is listed twice")
        else:
            yield line, image
        seen.add(image)


def split_by_hash(pictures: Sequence[AnyPicture], number: int) -> tuple[list[AnyPicture], list[AnyPicture]]:
    """The `number` pictures whose file names have the lowest SHA-256, and the others: a split that never changes."""
    ordered = sorted(pictures, key=lambda p: hashlib.sha256(p.path.name.encode()).hexdigest())
    return ordered[:number], ordered[number:]


def _boxes(rows: list[list[float]]) -> NDArray[np.float64]:
    if any(len(row) != 4 for row in rows):
        raise ValueError("a box has four numbers, x0 y0 x1 y1")
    return np.array(rows, np.float64)


def _classes(text: str) -> tuple[int, ...]:
    """Class indices of numbers and ranges, both ends included: ``65 70-72``."""
    parts = (part.partition("-") for part in text.split())
    return tuple(i for first, dash, last in parts for i in range(int(first), int(last if dash else first) + 1))


def _faults(picture: BoxedPicture) -> list[str]:
    """What is wrong with a picture and its boxes, in words."""
    faults = [] if picture.path.is_file() else [f"there is no file {picture.path}"]
    faults += _size_faults(picture.size)
    return faults + [fault for box in picture.boxes for fault in _box_faults(box, picture.size)]


def _size_faults(size: tuple[int, int]) -> list[str]:
    return [f"a size of {size[0]} x {size[1]}"] if min(size) < 1 else []


def _box_faults(box: Sequence[float] | NDArray[np.float64], size: tuple[int, int]) -> list[str]:
    (x0, y0, x1, y1), (width, height) = box, size
    text = f"{x0:g} {y0:g} {x1:g} {y1:g}"
    if not np.isfinite(box).all():
        return [f"box {text} isn't made of numbers"]
    if x1 < x0 or y1 < y0:
        return [f"reversed corners {text}"]
    # A corner may lie on the edge itself (width, height): sets differ in that by one pixel.
    if x0 < 0 or y0 < 0 or x1 > width or y1 > height:
        return [f"box {text} reaches outside {width} x {height}"]
    return []


def _without_faults(pictures: list[AnyPicture], faults: list[str], source: Path) -> list[AnyPicture]:
    if faults:
        more = f" and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise DataError(f"{len(faults)} faults: " + "; ".join(faults[:10]) + more)
    if not pictures:
        raise DataError(f"{source} lists no pictures")
    return pictures


def _csv_rows(table: Path) -> list[dict[str, str]]:
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise DataError(f"{table} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{table} isn't text in UTF-8: {error.reason} at byte {error.start}") from error


def _text_lines(path: Path) -> list[tuple[int, str]]:
    """Number, from 1, and text of each line that isn't empty, whatever ends the lines."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} isn't text in UTF-8: {error.reason} at byte {error.start}") from error
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
