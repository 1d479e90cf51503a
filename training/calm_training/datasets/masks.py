"""Pictures with the mask of their object: our CSV tables and the public benchmark's metadata, checked likewise."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import DataError, why_unreadable
from calm_training.datasets.faults import without_faults
from calm_training.datasets.text_table import csv_rows, listed, text_table, whole
from calm_training.metrics.pxap import unite_masks

__all__ = ["MaskedPicture", "read_masks_csv", "read_masks_wsol"]

_FEW = 32
"""So many different values, none of them 255, are numbers of something; more are a picture or a lossy mask."""


@dataclass(frozen=True)
class MaskedPicture:
    """A picture and the mask of its object.

    Attributes
    ----------
    path : Path
    mask_paths : tuple of Path
        Their union is the object.
    classes : tuple of int
        Classes that mean the object.
    ignore_path : Path or None
        Marks pixels that don't count unless a mask covers them.
    """

    path: Path
    mask_paths: tuple[Path, ...]
    classes: tuple[int, ...]
    ignore_path: Path | None = None

    @property
    def files(self) -> list[Path]:
        """Every file that the picture needs."""
        return [self.path, *self.mask_paths, *([self.ignore_path] if self.ignore_path else [])]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the first mask; of all of them, as `mask` sees to."""
        try:
            with Image.open(self.mask_paths[0]) as file:
                return file.size
        except Exception as error:  # decoders of damaged files raise anything
            raise _unreadable(self.mask_paths[0], error) from error

    def mask(self) -> NDArray[np.uint8]:
        """The mask as `PxAP` takes it, (h,w): 255 in a file is the object, 0 is not, anything else doesn't count.

        A file of 0 and 1 has 1 for the object; one with a palette, as VOC's, any index but 0, and 255 doesn't count.

        Raises
        ------
        DataError
            If a file has other values instead of 255, or the masks aren't of one size.
        """
        masks = [_mask(path) for path in self.mask_paths]
        ignore = None if self.ignore_path is None else _mask(self.ignore_path)
        every = [*zip(self.mask_paths, masks, strict=True), *([] if ignore is None else [(self.ignore_path, ignore)])]
        for path, mask in every:
            if mask.shape != masks[0].shape:
                (h0, w0), (h1, w1) = masks[0].shape, mask.shape
                raise DataError(f"{self.mask_paths[0]} has {w0} x {h0} pixels, but {path} of one picture {w1} x {h1}")
        ignored = np.any([(mask > 0) & (mask < 255) for mask in masks], 0)
        if ignore is not None:
            ignored |= ignore > 0
        return unite_masks([mask == 255 for mask in masks], ignored)


def _mask(path: Path) -> NDArray[np.uint8]:
    """A mask file as 0, 255 for the object, and anything else for what doesn't count."""
    try:
        with Image.open(path) as file:
            if file.mode == "P":
                index = np.asarray(file)
                return np.where(index == 0, 0, np.where(index == 255, 128, 255)).astype(np.uint8)
            values = np.asarray(file.convert("L"))
    except Exception as error:  # decoders of damaged files raise anything
        raise _unreadable(path, error) from error
    peak = int(values.max())
    if peak == 1:
        return values * np.uint8(255)
    if 1 < peak < 255 and len(np.unique(values)) <= _FEW:
        raise DataError(
            f"{path} holds no 255 for the object but values up to {peak}; write the object as 255 and the rest as 0"
        )
    return values


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} can't be read as a mask ({' '.join(str(error).split())})")


def read_masks_csv(table: Path) -> list[MaskedPicture]:
    """Rows of a CSV with the columns file, mask, is_main and imagenet_classes (``65 70-72``).

    Only the main object of each picture counts, and only if there is a class for it.

    Raises
    ------
    DataError
        With file, line and reason: all faults of the table, at most ten of them listed.
    """
    pictures, faults = [], []
    for line, row in enumerate(csv_rows(table), 2):
        try:
            if row["is_main"] != "1" or not row["imagenet_classes"]:
                continue
            classes = _classes(row["imagenet_classes"])
            picture = MaskedPicture(table.parent / row["file"], (table.parent / row["mask"],), classes)
        except (KeyError, ValueError) as error:
            faults.append(f"{table}, line {line}: {why_unreadable(error)}")
            continue
        faults += [f"{table}, line {line}: there is no file {path}" for path in picture.files if not path.is_file()]
        pictures.append(picture)
    return without_faults(pictures, faults, table)


def read_masks_wsol(metadata: Path, images: Path, masks: Path | None = None) -> list[MaskedPicture]:
    """The benchmark's text files of a split with masks (OpenImages): ``image_ids``, ``class_labels``, ``localization``.

    ``localization.txt`` holds one row ``id,mask,ignore`` for each mask; the ignore file may be left blank.

    Parameters
    ----------
    metadata, images : Path
    masks : Path, optional
        Folder of the masks; by default that of the pictures.

    Raises
    ------
    DataError
        With file, line and reason: all faults of the files, at most ten of them listed.
    """
    faults: list[str] = []
    masks = masks or images
    labels = text_table(metadata / "class_labels.txt", 1, faults, whole)
    rows = text_table(metadata / "localization.txt", 2, faults, str)
    pictures = []
    for line, image in listed(metadata, {"class_labels": labels, "localization": rows}, faults):
        found, ignored = tuple(masks / mask for _, (mask, _) in rows[image]), {row[1] for _, row in rows[image]} - {""}
        picture = MaskedPicture(
            images / image, found, (labels[image][0][1][0],), masks / min(ignored) if ignored else None
        )
        if not picture.path.is_file():
            faults.append(f"{metadata / 'image_ids.txt'}, line {line}: there is no file {picture.path}")
        for row, names in rows[image]:
            missing = [masks / name for name in names if name and not (masks / name).is_file()]
            faults += [f"{metadata / 'localization.txt'}, line {row}: there is no file {path}" for path in missing]
        pictures.append(picture)
    return without_faults(pictures, faults, metadata)


def _classes(text: str) -> tuple[int, ...]:
    """Class indices of numbers and ranges, both ends included: ``65 70-72``."""
    parts = (part.partition("-") for part in text.split())
    found = tuple(i for first, dash, last in parts for i in range(whole(first), whole(last if dash else first) + 1))
    if not found:
        raise ValueError(f"classes such as 65 70-72 are expected, not {text!r}")
    return found
