"""Pictures with true boxes: the benchmark's metadata and our CSV tables, checked before the first forward pass."""

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import DataError
from calm_training.metrics.pxap import FOREGROUND, IGNORE

__all__ = ["BoxedPicture", "MaskedPicture", "read_boxes_csv", "read_boxes_wsol", "read_masks_csv", "split_by_hash"]

AnyPicture = TypeVar("AnyPicture")


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
    """A picture and the mask of one object.

    Attributes
    ----------
    path, mask_path : Path
    classes : tuple of int
        Classes that mean the object.
    """

    path: Path
    mask_path: Path
    classes: tuple[int, ...]

    def mask(self) -> NDArray[np.uint8]:
        """The mask as `PxAP` takes it, (h,w): 255 in the file is the object, 0 is not, anything else doesn't count."""
        with Image.open(self.mask_path) as file:
            values = np.asarray(file.convert("L"))
        return np.select([values == 255, values == 0], [FOREGROUND, 0], IGNORE).astype(np.uint8)


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
            picture = MaskedPicture(table.parent / row["file"], table.parent / row["mask"], classes)
        except (KeyError, ValueError) as error:
            faults.append(f"{table}, line {line}: {error!r}")
            continue
        missing = [path for path in (picture.path, picture.mask_path) if not path.is_file()]
        faults += [f"{table}, line {line}: there is no file {path}" for path in missing]
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
            faults.append(f"{table}, line {line}: {error if isinstance(error, ValueError) else repr(error)}")
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

    def numbers(name: str, count: int) -> dict[str, list[list[float]]]:
        rows: dict[str, list[list[float]]] = {}
        for line, text in enumerate(_text_lines(metadata / name), 1):
            image, *values = [part.strip() for part in text.rsplit(",", count)]
            try:
                if len(values) != count:
                    raise ValueError(f"{count + 1} columns expected, {len(values) + 1} found")
                rows.setdefault(image, []).append([float(v) for v in values])
            except ValueError as error:
                faults.append(f"{metadata / name}, line {line}: {error}")
        return rows

    labels, sizes, boxes = numbers("class_labels.txt", 1), numbers("image_sizes.txt", 2), numbers("localization.txt", 4)
    pictures = []
    for line, image in enumerate(_text_lines(metadata / "image_ids.txt"), 1):
        lacking = [
            name
            for name, table in (("class_labels", labels), ("image_sizes", sizes), ("localization", boxes))
            if image not in table
        ]
        if lacking:
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: {image} has no row in {', '.join(lacking)}.txt")
            continue
        (width, height), label = sizes[image][0], int(labels[image][0][0])
        unique = list(dict.fromkeys(tuple(box) for box in boxes[image]))
        picture = BoxedPicture(images / image, label, (int(width), int(height)), np.array(unique, float))
        faults += [f"{metadata / 'localization.txt'}: {image}: {fault}" for fault in _faults(picture)]
        pictures.append(picture)
    return _without_faults(pictures, faults, metadata)


def split_by_hash(pictures: Sequence[BoxedPicture], number: int) -> tuple[list[BoxedPicture], list[BoxedPicture]]:
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
    width, height = picture.size
    faults = [] if picture.path.is_file() else [f"there is no file {picture.path}"]
    if width < 1 or height < 1:
        return [*faults, f"a size of {width} x {height}"]
    for x0, y0, x1, y1 in picture.boxes:
        # A corner may lie on the edge itself (width, height): sets differ in that by one pixel.
        if x1 < x0 or y1 < y0:
            faults.append(f"reversed corners {x0:g} {y0:g} {x1:g} {y1:g}")
        elif x0 < 0 or y0 < 0 or x1 > width or y1 > height:
            faults.append(f"box {x0:g} {y0:g} {x1:g} {y1:g} reaches outside {width} x {height}")
    return faults


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


def _text_lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from error
