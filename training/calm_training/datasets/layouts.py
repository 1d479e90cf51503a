"""The layouts of data sets that a recipe's ``data.layout`` may name: one reader each.

Another layout is one file like `calm_training.datasets.cub` and one line in `LAYOUTS`.
"""

from pathlib import Path
from typing import Protocol

from calm_gui.errors import DataError
from calm_training.datasets.csv_table import read_csv
from calm_training.datasets.cub import read_cub
from calm_training.datasets.folder import read_folder
from calm_training.datasets.picture_set import PictureSet
from calm_training.datasets.wsol import read_wsol

__all__ = ["LAYOUTS", "Reader", "read_pictures"]


class Reader(Protocol):
    """Reads one split of a data set."""

    def __call__(self, root: Path, split: str, /) -> PictureSet:
        """Labelled pictures of the split `split` below `root`; a `DataError` says what is wrong with the files."""


LAYOUTS: dict[str, Reader] = {
    "folder": read_folder,
    "csv": read_csv,
    "cub": read_cub,
    "ilsvrc": read_wsol,
    "openimages": read_wsol,
}
"""Readers by the name of their layout."""


def read_pictures(layout: str, root: Path, split: str) -> PictureSet:
    """Labelled pictures of a split.

    Parameters
    ----------
    layout : str
        Key of `LAYOUTS`.
    root : Path
        Folder of the data set.
    split : str
        For example ``train``.

    Raises
    ------
    DataError
        If there is no such layout or the files can't be used.
    """
    if layout not in LAYOUTS:
        raise DataError(f"there is no layout {layout!r}; there are {', '.join(LAYOUTS)}")
    return LAYOUTS[layout](root, split)
