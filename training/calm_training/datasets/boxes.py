"""Pictures with true boxes: our CSV tables and the public benchmark's metadata, checked before anything is computed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import why_unreadable
from calm_training.datasets.faults import without_faults
from calm_training.datasets.picture_set import PictureSet
from calm_training.datasets.text_table import csv_rows, listed, text_lines, text_table, whole

__all__ = ["BoxedPicture", "read_boxes_csv", "read_boxes_cub", "read_boxes_wsol"]


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

    @property
    def classes(self) -> tuple[int, ...]:
        """The class alone."""
        return (self.label,)


def read_boxes_csv(table: Path, labels: Mapping[str, int] | None = None) -> list[BoxedPicture]:
    """Rows of a CSV with the columns file (relative to it), class_index, width, height, boxes (``x0 y0 x1 y1;...``).

    Parameters
    ----------
    table : Path
    labels : mapping, optional
        Labels of the names in the column class, which is then read instead of class_index.

    Raises
    ------
    DataError
        With file, line and reason: all faults of the table, at most ten of them listed.
    """
    pictures, faults = [], []
    for line, row in enumerate(csv_rows(table), 2):
        try:
            size = whole(row["width"]), whole(row["height"])
            boxes = [[float(v) for v in box.split()] for box in row["boxes"].split(";")]
            label = whole(row["class_index"]) if labels is None else labels[row["class"]]
            picture = BoxedPicture(table.parent / row["file"], label, size, _boxes(boxes))
        except (KeyError, ValueError, AttributeError, TypeError) as error:
            faults.append(f"{table}, line {line}: {why_unreadable(error)}")
            continue
        faults += [f"{table}, line {line}: {fault}" for fault in _faults(picture)]
        pictures.append(picture)
    return without_faults(pictures, faults, table)


def read_boxes_wsol(metadata: Path, images: Path) -> list[BoxedPicture]:
    """The benchmark's text files ``image_ids``, ``class_labels``, ``image_sizes`` and ``localization`` of one split.

    ``localization.txt`` holds one row ``id,x0,y0,x1,y1`` for each box; several of a picture all count.

    Raises
    ------
    DataError
        With file, line and reason: all faults of the files, at most ten of them listed.
    """
    faults: list[str] = []
    labels = text_table(metadata / "class_labels.txt", 1, faults, whole)
    sizes = text_table(metadata / "image_sizes.txt", 2, faults, whole)
    boxes = text_table(metadata / "localization.txt", 4, faults, float)
    pictures = []
    for line, image in listed(metadata, {"class_labels": labels, "image_sizes": sizes, "localization": boxes}, faults):
        (_, (width, height)), (_, (label,)) = sizes[image][0], labels[image][0]
        size, path = (width, height), images / image
        if not path.is_file():
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: there is no file {path}")
        where = f"{metadata / 'image_sizes.txt'}, line {sizes[image][0][0]}"
        faults += [f"{where}: {image}: {fault}" for fault in _size_faults(size)]
        for row, box in boxes[image]:
            where = f"{metadata / 'localization.txt'}, line {row}"
            faults += [f"{where}: {image}: {fault}" for fault in _box_faults(box, size)]
        unique = list(dict.fromkeys(tuple(box) for _, box in boxes[image]))
        pictures.append(BoxedPicture(path, label, size, np.array(unique, float)))
    return without_faults(pictures, faults, metadata)


def read_boxes_cub(root: Path, pictures: PictureSet) -> list[BoxedPicture]:
    """The boxes that CUB has for pictures of it, ``bounding_boxes.txt``: id, x, y, width, height.

    Raises
    ------
    DataError
        With file, line and reason.
    """
    table, faults = root / "bounding_boxes.txt", list[str]()
    ids = {root / "images" / line.split()[-1]: line.split()[0] for _, line in text_lines(root / "images.txt")}
    rows = {line.split()[0]: (number, line.split()[1:]) for number, line in text_lines(table)}
    found = []
    for sample in pictures.samples:
        number, row = rows.get(ids[sample.path], (0, []))
        try:
            x, y, width, height = map(float, row)
            size = _size_of(sample.path) or (math.ceil(x + width), math.ceil(y + height))
        except (OSError, ValueError) as error:
            faults.append(f"{table}, line {number}: {sample.path.name}: {why_unreadable(error)}")
            continue
        # Some boxes reach over the edge by a part of a pixel.
        box = (max(x, 0.0), max(y, 0.0), min(x + width, size[0]), min(y + height, size[1]))
        picture = BoxedPicture(sample.path, sample.label, size, np.array([box]))
        faults += [f"{table}, line {number}: {fault}" for fault in _faults(picture)]
        found.append(picture)
    return without_faults(found, faults, table)


def _size_of(path: Path) -> tuple[int, int] | None:
    """A picture's size; none if it is damaged, which is told when it is measured."""
    try:
        with Image.open(path) as file:
            return file.size
    except FileNotFoundError:
        raise
    except Exception:
        return None


def _boxes(rows: list[list[float]]) -> NDArray[np.float64]:
    if any(len(row) != 4 for row in rows):
        raise ValueError("a box has four numbers, x0 y0 x1 y1")
    return np.array(rows, np.float64)


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
    if x1 <= 1 and y1 <= 1 and min(width, height) > 1:
        return [f"box {text} lies within 0 to 1, as fractions of the picture do; boxes are in pixels"]
    # A corner may lie on the edge itself (width, height): sets differ in that by one pixel.
    if x0 < 0 or y0 < 0 or x1 > width or y1 > height:
        return [f"box {text} reaches outside {width} x {height}"]
    return []
