"""Labelled pictures: the pictures of one split of a data set, and its classes."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import DataError

__all__ = ["PictureSet", "Sample", "class_table", "natural_key"]


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


def class_table(names: Iterable[str]) -> ClassTable:
    """Classes of names in their order; a name that is a wnid, as of ImageNet's folders, is kept as such."""
    is_wnid = partial(re.fullmatch, r"n\d{8}")
    return ClassTable(ClassInfo(i, name, name if is_wnid(name) else None) for i, name in enumerate(names))
