"""The layout `folder`: one folder of pictures for each class."""

from pathlib import Path

from calm_gui.errors import DataError
from calm_gui.model.picture_suffixes import PICTURE_SUFFIXES
from calm_training.datasets.picture_set import PictureSet, Sample, class_table, natural_key

__all__ = ["read_folder"]


def read_folder(root: Path, split: str) -> PictureSet:
    """One folder of pictures for each class, below ``root/split`` if that exists, else below ``root``.

    Classes are sorted by folder name, numbers as numbers. Hidden files and files that aren't pictures by their
    extension are passed over.
    """
    base = root / split if (root / split).is_dir() else root
    folders = sorted((p for p in _entries(base) if p.is_dir() and p.name[0] != "."), key=lambda p: natural_key(p.name))
    if not folders:
        raise DataError(f"{base} has no folders; one folder of pictures for each class is expected")
    samples = [
        Sample(path, label)
        for label, folder in enumerate(folders)
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in PICTURE_SUFFIXES and path.name[0] != "."
    ]
    classes = class_table(folder.name for folder in folders)
    result = PictureSet(tuple(samples), classes)
    empty = [folder.name for folder, n in zip(folders, result.counts(), strict=True) if not n]
    if empty:
        raise DataError(f"{base}: no pictures in {len(empty)} of {len(folders)} class folders ({', '.join(empty[:3])})")
    return result


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise DataError(f"{folder} can't be read: {error.strerror}") from error
