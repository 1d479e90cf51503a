"""The layout `folder`: one folder of pictures for each class."""

from collections.abc import Collection
from pathlib import Path

from calm_gui.errors import DataError
from calm_gui.model.class_names import class_table
from calm_gui.model.picture_folder import is_hidden, pictures_below
from calm_training.datasets.layout import Layout
from calm_training.datasets.picture_set import PictureSet, Sample, divided, natural_key

__all__ = ["FOLDER", "folder_splits", "read_folder"]


def folder_splits(root: Path, asked: Collection[str] = ()) -> tuple[str, ...]:
    """All folders below `root` if one is named like a split, or as asked; else none."""
    return divided(sorted(folder.name for folder in _folders(root)), asked)


def read_folder(root: Path, split: str) -> PictureSet:
    """One folder of pictures for each class, below ``root/split``, or below `root` itself where `split` is empty.

    Classes are sorted by folder name, numbers as numbers. Hidden files and folders, and files that aren't pictures by
    their extension, are passed over.
    """
    base = root / split
    folders = sorted(_folders(base), key=lambda folder: natural_key(folder.name))
    if not folders:
        raise DataError(f"{base} has no folders; one folder of pictures for each class is expected")
    samples = [Sample(path, label) for label, folder in enumerate(folders) for path in pictures_below(folder)]
    names = [folder.name for folder in folders]
    counts = [0] * len(folders)
    for sample in samples:
        counts[sample.label] += 1
    empty = [name for name, count in zip(names, counts, strict=True) if not count]
    if empty:
        raise DataError(f"{base}: no pictures in {len(empty)} of {len(folders)} class folders ({', '.join(empty[:3])})")
    return PictureSet(tuple(samples), class_table(tuple(names)))


FOLDER = Layout(folder_splits, read_folder)


def _folders(base: Path) -> list[Path]:
    try:
        return [entry for entry in base.iterdir() if entry.is_dir() and not is_hidden(entry.name)]
    except OSError as error:
        raise DataError(f"{base} can't be read: {error.strerror}") from error
