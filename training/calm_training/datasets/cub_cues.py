"""Pairs of CUB-200-2011 classes and the masks of the cues that tell them apart (the paper's section 5.1).

Two classes that differ in few attributes differ in few parts of the body; those parts are the cue that the
counterfactual map of the pair should mark.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import DataError
from calm_training.metrics.pxap import resize_mask

__all__ = ["PARTS", "CubCues", "CuePair", "part_of_attribute"]

PARTS = ("head", "back", "belly", "breast", "tail", "leg", "wing")
"""The seven parts, in the order in which they win a pixel that lies equally near to several."""

Within = Literal["segmentation", "box", "picture"]

_PART_WORDS = {
    "head": ("bill", "crown", "eye", "forehead", "head", "nape", "throat"),
    **{part: (part,) for part in PARTS[1:]},
}
_POINTS_OF_PART = {
    "head": ("beak", "crown", "forehead", "left eye", "right eye", "nape", "throat"),
    "leg": ("left leg", "right leg"),
    "wing": ("left wing", "right wing"),
}
_HAS_ATTRIBUTE = 50.0
"""Percentage of annotators from which on a class has an attribute."""


@dataclass(frozen=True)
class CuePair:
    """Two classes and the parts they differ in.

    Attributes
    ----------
    classes : (int, int)
        CUB's class numbers, from 1, ascending.
    parts : tuple of str
        Of `PARTS`, in that order.
    """

    classes: tuple[int, int]
    parts: tuple[str, ...]


class CubCues:
    """Class pairs and cue masks of a CUB folder in its original layout.

    Parameters
    ----------
    cub_root : str or Path
        Folder with ``images.txt``, ``images/``, ``parts/`` and ``attributes/``; may hold a part of the pictures.
    size : int
        Side of the masks in pixels.
    within : {"segmentation", "box", "picture"}, optional
        What masks are cut to: the bird's segmentation as in the paper, its bounding box, or nothing. Default is
        the segmentation where the folder ``segmentations`` exists, else the box; `within` says which, and a
        report must.

    Raises
    ------
    DataError
        If a file is missing or a row can't be read; the message names both.
    """

    def __init__(self, cub_root: str | Path, size: int = 224, within: Within | None = None) -> None:
        self.root = Path(cub_root)
        self.size = size
        has_segmentations = (self.root / "segmentations").is_dir()
        self.within: Within = within or ("segmentation" if has_segmentations else "box")
        if self.within == "segmentation" and not has_segmentations:
            raise DataError(f"{self.root} has no folder segmentations; cut the masks to the box instead")

    @cached_property
    def files(self) -> dict[int, str]:
        """File name below ``images`` of every image id."""
        return {int(row[0]): row[1] for row in self._rows("images.txt", 2)}

    @property
    def all_files(self) -> list[Path]:
        """The tables, pictures and segmentations, those that are there."""
        tables = [
            path for folder in (".", "parts", "attributes") for path in sorted((self.root / folder).glob("*.txt"))
        ]
        pictures = [self.root / "images" / name for name in self.files.values()]
        masks = [(self.root / "segmentations" / name).with_suffix(".png") for name in self.files.values()]
        return [*tables, *(path for path in (*pictures, *masks) if path.is_file())]

    @cached_property
    def class_of(self) -> dict[int, int]:
        """Class number, from 1, of every image id."""
        return {int(row[0]): int(row[1]) for row in self._rows("image_class_labels.txt", 2)}

    @cached_property
    def is_training(self) -> dict[int, bool]:
        """Whether an image id belongs to the training split."""
        return {int(row[0]): row[1] == "1" for row in self._rows("train_test_split.txt", 2)}

    @cached_property
    def attribute_parts(self) -> list[str | None]:
        """Part of each of the 312 attributes, or None."""
        return [part_of_attribute(row[1]) for row in self._rows("attributes/attributes.txt", 2)]

    @cached_property
    def differing_parts(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """Parts in which each pair of classes differs, at least one attribute of 50 % each."""
        name = "attributes/class_attribute_labels_continuous.txt"
        table = np.array([[float(v) for v in row] for row in self._rows(name, len(self.attribute_parts))])
        has = table >= _HAS_ATTRIBUTE
        of_part = np.array([[part == name for name in self.attribute_parts] for part in PARTS])
        result = {}
        for a, b in combinations(range(len(has)), 2):
            differs = np.flatnonzero((of_part & (has[a] != has[b])).any(1))
            result[a + 1, b + 1] = tuple(PARTS[i] for i in differs)
        return result

    def pairs(self, n_parts: int) -> list[CuePair]:
        """Class pairs that differ in exactly `n_parts` parts; 31, 64 and 96 for 1, 2 and 3 on the whole CUB."""
        return [CuePair(pair, parts) for pair, parts in self.differing_parts.items() if len(parts) == n_parts]

    def pictures(self, pair: CuePair, *, training: bool = False) -> list[int]:
        """Image ids of both classes in one split, as far as they are listed."""
        return [i for i, c in self.class_of.items() if c in pair.classes and self.is_training[i] == training]

    def seeds(self, image_id: int) -> list[tuple[str, int, int]]:
        """Visible parts of a picture as (part, x, y) at mask size: the head's points as their mean, both legs and
        both wings on their own.
        """
        width, height = self._picture_size(image_id)
        scale = np.array([self.size / width, self.size / height])
        points = self._points.get(image_id, {})
        seeds = []
        for part in PARTS:
            visible = [points[name] * scale for name in _POINTS_OF_PART.get(part, (part,)) if name in points]
            if part == "head" and visible:
                visible = [np.mean(visible, 0)]
            seeds += [(part, int(x), int(y)) for x, y in visible]
        return seeds

    def mask(self, image_id: int, pair: CuePair) -> NDArray[np.uint8] | None:
        """Cue mask of a picture: the pixels whose nearest visible part is one the pair differs in.

        Parameters
        ----------
        image_id : int
            CUB's image id.
        pair : CuePair

        Returns
        -------
        ndarray (size,size) uint8 of 0 and 1, or None
            None where none of the differing parts is visible; the picture is left out then.
        """
        seeds = self.seeds(image_id)
        if not any(part in pair.parts for part, _, _ in seeds):
            return None
        rows, columns = np.mgrid[: self.size, : self.size]
        distances = np.stack([(columns - x) ** 2 + (rows - y) ** 2 for _, x, y in seeds])
        differs = np.array([part in pair.parts for part, _, _ in seeds])
        return (differs[distances.argmin(0)] & self._bird(image_id)).astype(np.uint8)

    @cached_property
    def _points(self) -> dict[int, dict[str, NDArray[np.float64]]]:
        """Visible key points of every image id by name, in pixels of the picture."""
        names = {int(row[0]): " ".join(row[1:]) for row in self._rows("parts/parts.txt")}
        points: dict[int, dict[str, NDArray[np.float64]]] = {}
        for row in self._rows("parts/part_locs.txt", 5):
            if row[4] == "1":
                points.setdefault(int(row[0]), {})[names[int(row[1])]] = np.array([float(row[2]), float(row[3])])
        return points

    @cached_property
    def _boxes(self) -> dict[int, tuple[float, ...]]:
        return {int(row[0]): tuple(float(v) for v in row[1:]) for row in self._rows("bounding_boxes.txt", 5)}

    def _picture_size(self, image_id: int) -> tuple[int, int]:
        path = self.root / "images" / self.files[image_id]
        try:
            with Image.open(path) as picture:
                return picture.size
        except OSError as error:
            raise DataError(f"{path} can't be read as a picture: {error}") from error

    def _bird(self, image_id: int) -> NDArray[np.bool_]:
        """Where the bird is, as `within` says, (size,size)."""
        bird = np.ones((self.size, self.size), np.bool_)
        if self.within == "box":
            width, height = self._picture_size(image_id)
            x, y, box_width, box_height = self._boxes[image_id]
            columns = (np.arange(self.size) + 0.5) * width / self.size
            rows = (np.arange(self.size) + 0.5) * height / self.size
            bird &= ((columns >= x) & (columns < x + box_width))[None, :]
            bird &= ((rows >= y) & (rows < y + box_height))[:, None]
        elif self.within == "segmentation":
            path = (self.root / "segmentations" / self.files[image_id]).with_suffix(".png")
            with Image.open(path) as segmentation:
                bird &= resize_mask(np.asarray(segmentation.convert("L")), self.size) > 0
        return bird

    def _rows(self, name: str, columns: int | None = None) -> list[list[str]]:
        """Rows of a text file, split at blanks."""
        path = self.root / name
        try:
            rows = [line.split() for line in path.read_text().splitlines() if line.strip()]
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror}") from error
        for number, row in enumerate(rows, 1):
            if columns is not None and len(row) != columns:
                raise DataError(f"{path}, line {number}: {columns} columns expected, {len(row)} found")
        return rows


def part_of_attribute(name: str) -> str | None:
    """Part that an attribute is about, by the words in its name; None for size, shape, upper parts and the like."""
    return next((part for part, words in _PART_WORDS.items() if any(word in name for word in words)), None)
