"""Labelled pictures: the pictures of one split of a data set, and its classes."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from calm_gui.core.classes import ClassTable
from calm_gui.errors import DataError

__all__ = ["SPLIT_NAMES", "TEST_NAMES", "VALIDATION_NAMES", "PictureSet", "Sample", "divided", "natural_key"]

VALIDATION_NAMES = ("val", "valid", "validation")
"""What a split for choosing settings is called."""

TEST_NAMES = ("test", "testing")
"""What a split for testing is called."""

SPLIT_NAMES = frozenset({"train", "training", *TEST_NAMES, *VALIDATION_NAMES})
"""Names by which splits are known from classes, in lower case."""


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
    """The pictures of one split, and the classes in the order of their indices.

    Attributes
    ----------
    samples : tuple of Sample
    classes : ClassTable
    numbered : bool
        Whether the data says the classes' indices itself; otherwise they are counted in the order of their names, and
        mean nothing in another split.
    """

    samples: tuple[Sample, ...]
    classes: ClassTable
    numbered: bool = False

    def __post_init__(self) -> None:
        if not self.samples:
            raise DataError("the set holds no pictures")

    def counts(self) -> list[int]:
        """Number of pictures of every class."""
        found = Counter(sample.label for sample in self.samples)
        return [found[i] for i in range(len(self.classes))]


def divided(names: Sequence[str], asked: Collection[str]) -> tuple[str, ...]:
    """The names of what lies side by side if one of them is a split's, or was asked for; else none."""
    return tuple(names) if any(name.casefold() in SPLIT_NAMES or name in asked for name in names) else ()


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Sort key by which numbers sort as numbers: 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]
