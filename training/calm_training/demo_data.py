"""Pictures that the demo is trained on, and those of them that its second part leaves out."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from calm_gui.errors import DataError
from calm_training.datasets.split import split_by_hash

__all__ = ["HELD_OUT", "TRAINING_SETS", "TrainingPicture", "held_out", "training_pictures"]

TRAINING_SETS = ("imagenet-samples", "imagenette-train", "imagewoof-train", "imagenet-like-ccby")

HELD_OUT = 400
"""Training pictures kept out of the second part: of `imagenet-samples` and `imagenet-like-ccby`, which have all classes
alike, those with the lowest SHA-256 of the file name. The temperature is fitted on them."""


@dataclass(frozen=True)
class TrainingPicture:
    """A picture with its label, which only the temperature uses."""

    path: Path
    label: int


def training_pictures(shared: Path, every: int = 1) -> list[TrainingPicture]:
    """Pictures of `TRAINING_SETS` below ``shared/data``; of sets of ten classes every so many.

    Raises
    ------
    DataError
        If a set's ``index.csv`` is missing.
    """
    pictures = []
    for name in TRAINING_SETS:
        index = shared / "data" / name / "index.csv"
        try:
            with index.open(encoding="utf-8") as file:
                rows = list(csv.DictReader(file))[:: every if name.endswith("-train") else 1]
                pictures += [TrainingPicture(index.parent / row["file"], int(row["class_index"])) for row in rows]
        except OSError as error:
            raise DataError(f"{index} can't be read: {error.strerror}; --shared names the data folder") from error
    return pictures


def held_out(pictures: Sequence[TrainingPicture]) -> list[TrainingPicture]:
    """The pictures that the second part leaves out."""
    even = [p for p in pictures if p.path.parent.name in ("imagenet-samples", "imagenet-like-ccby")]
    return split_by_hash(even, HELD_OUT)[0]
