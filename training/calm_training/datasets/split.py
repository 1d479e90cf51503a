"""A split of a list of pictures that never changes: by the hash of the file names."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

__all__ = ["CHOSEN_ON", "split_by_hash"]

CHOSEN_ON = 400
"""Pictures of `imagenet-val-boxes`, those of the lowest hashes, on which settings of the demo were chosen; the others
report."""


class HasPath(Protocol):
    """A picture of a data set."""

    @property
    def path(self) -> Path:
        """Its file."""


T = TypeVar("T", bound=HasPath)


def split_by_hash(pictures: Sequence[T], number: int) -> tuple[list[T], list[T]]:
    """The `number` pictures whose file names have the lowest SHA-256, and the others: a split that never changes."""
    ordered = sorted(pictures, key=lambda p: hashlib.sha256(p.path.name.encode()).hexdigest())
    return ordered[:number], ordered[number:]
