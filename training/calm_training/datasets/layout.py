"""What a layout of labelled pictures is."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from calm_training.datasets.picture_set import PictureSet

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """One way in which labelled pictures lie on disk.

    Attributes
    ----------
    splits : callable
        Names of the splits below a folder; none where it is one undivided set. It is divided where something is called
        as splits usually are, or as one that was asked for.
    read : callable
        The pictures of a split below a folder; of the undivided set where the name is empty. A `DataError` says what is
        wrong with the files.
    """

    splits: Callable[[Path, Collection[str]], tuple[str, ...]]
    read: Callable[[Path, str], PictureSet]
