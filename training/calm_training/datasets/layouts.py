"""The layouts of data sets that a recipe's ``data.layout`` may name.

Another layout is one file like `calm_training.datasets.cub` and one line in `LAYOUTS`.
"""

from calm_training.datasets.csv_table import CSV
from calm_training.datasets.cub import CUB
from calm_training.datasets.folder import FOLDER
from calm_training.datasets.layout import Layout
from calm_training.datasets.wsol import WSOL

__all__ = ["LAYOUTS"]

LAYOUTS: dict[str, Layout] = {
    "folder": FOLDER,
    "csv": CSV,
    "cub": CUB,
    "ilsvrc": WSOL,
    "openimages": WSOL,
}
"""Layouts by name."""
