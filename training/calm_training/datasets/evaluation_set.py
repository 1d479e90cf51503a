"""Pictures to evaluate on, in every layout: with their classes, and boxes or masks where a layout has them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from calm_gui.core.classes import ClassTable
from calm_gui.core.comparison import class_named, class_positions, contradiction
from calm_gui.errors import DataError
from calm_training.datasets.boxes import read_boxes_csv, read_boxes_cub, read_boxes_wsol
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.layouts import LAYOUTS
from calm_training.datasets.masks import read_masks_csv, read_masks_wsol
from calm_training.datasets.picture_set import SPLIT_NAMES, PictureSet, divided
from calm_training.datasets.text_table import csv_columns

__all__ = [
    "AUTO",
    "EvaluationSet",
    "Labelled",
    "LabelledPicture",
    "annotations_of",
    "layout_of",
    "read_evaluation_set",
    "with_labels_of",
]

AUTO = "auto"
"""The layout that the folder's files say."""


class Labelled(Protocol):
    """A picture with its classes."""

    @property
    def path(self) -> Path:
        """Its file."""

    @property
    def classes(self) -> tuple[int, ...]:
        """Class indices that mean its object; the first one is its label."""


@dataclass(frozen=True)
class LabelledPicture:
    """A picture with its class alone."""

    path: Path
    label: int

    @property
    def classes(self) -> tuple[int, ...]:
        """The class alone."""
        return (self.label,)


@dataclass(frozen=True)
class EvaluationSet:
    """Annotated pictures.

    Attributes
    ----------
    pictures : sequence of Labelled, or CubCues
    classes : ClassTable or None
        What their labels index; None where they index the checkpoint's classes and nothing says what these are.
    numbered : bool
        Whether the labels index the checkpoint's classes all the same; the classes are then what the table says that
        those are.
    """

    pictures: Any
    classes: ClassTable | None = None
    numbered: bool = False


def layout_of(data: Path, split: str) -> str:
    """The layout of a folder, by what lies in it.

    Raises
    ------
    DataError
        If it is none that evaluation can read.
    """
    if (data / "images.txt").is_file() and (data / "image_class_labels.txt").is_file():
        return "cub"
    if _table(data, split).is_file():
        return "csv"
    metadata = data / "metadata" / split
    if metadata.is_dir():
        return "ilsvrc" if (metadata / "image_sizes.txt").is_file() else "openimages"
    splits = divided([path.stem for path in sorted(data.glob("*.csv"))], ())
    splits += tuple(sorted(path.name for path in (data / "metadata").glob("*") if path.is_dir()))
    if splits and not (data / split).is_dir():
        raise DataError(f"{data} has no split {split!r}; it has {', '.join(splits)}; choose one with --split")
    if data.is_dir() and any(path.is_dir() and path.name[0] != "." for path in data.iterdir()):
        return "folder"
    raise DataError(
        f"{data} can't be read as a data set: it holds no index.csv, no metadata/{split}, no CUB and no folders of "
        "classes, so there is nothing to measure"
    )


def annotations_of(data: Path, split: str, layout: str = AUTO) -> tuple[str, ...]:
    """What `read_evaluation_set` can read of a folder: of labels, boxes, masks, regions and cues those that are there.

    Raises
    ------
    DataError
        If the folder is no data set.
    """
    layout = layout_of(data, split) if layout == AUTO else layout
    metadata = data / "metadata" / split
    if layout == "cub":
        boxes = ("boxes", "regions") if (data / "bounding_boxes.txt").is_file() else ()
        return ("labels", *boxes, *(("cues",) if (data / "attributes").is_dir() else ()))
    if layout == "csv":
        columns = csv_columns(_table(data, split))
        if "mask" in columns:
            return ("masks", "regions")
        return ("labels", "boxes", "regions") if "boxes" in columns else ("labels",)
    if layout == "folder":
        return ("labels",)
    if (metadata / "image_sizes.txt").is_file():
        return ("labels", "boxes", "regions")
    return ("labels", "masks", "regions") if (metadata / "localization.txt").is_file() else ("labels",)


def read_evaluation_set(reads: str, data: Path, split: str, layout: str = AUTO) -> EvaluationSet:
    """The annotated pictures of a split, read and checked.

    Parameters
    ----------
    reads : {"labels", "boxes", "masks", "regions", "cues"}
        What pictures must carry; regions are boxes or masks where there are any.
    data : Path
    split : str
    layout : str
        Of `LAYOUTS`, or `AUTO`.

    Raises
    ------
    DataError
        With file, line and reason.
    """
    if reads == "cues":
        return EvaluationSet(CubCues(data))
    if layout == AUTO:
        layout = layout_of(data, split)
    elif layout not in LAYOUTS:
        raise DataError(f"there is no layout {layout!r}; there are {AUTO}, {', '.join(LAYOUTS)}")
    if layout == "csv":
        return _csv(reads, data, split)
    if layout in ("ilsvrc", "openimages"):
        return _metadata(reads, data, split)
    if reads == "masks" or (reads == "boxes" and layout != "cub"):
        raise DataError(f"the layout {layout} has no {reads}; put the pictures into a table, index.csv")
    if layout == "cub" and reads in ("boxes", "regions"):
        found = _read(layout, data, split)
        return EvaluationSet(read_boxes_cub(data, found), found.classes)
    return _labelled(_read(layout, data, split))


def with_labels_of(found: EvaluationSet, classes: ClassTable, name: str) -> Any:
    """The pictures with their labels as indices into a checkpoint's classes.

    Raises
    ------
    DataError
        If a picture's class isn't one of them.
    """
    if found.classes is None or found.numbered:
        _refuse_contradictions(found, classes, name)
        return found.pictures
    positions = list(class_positions(classes, found.classes))
    for info in found.classes:
        if positions[info.index] is None and (named := class_named(info.name, classes)):
            positions[info.index] = named.index
    strange = {found.classes[p.label].name for p in found.pictures if positions[p.label] is None}
    if strange:
        listed = ", ".join(sorted(strange)[:5])
        raise DataError(
            f"{len(strange)} classes of {name} aren't the checkpoint's ({listed}); it has {len(classes)} classes "
            f"({', '.join(info.name for info in classes[:5])}, ...)"
        )
    return [replace(picture, label=positions[picture.label]) for picture in found.pictures]


def _refuse_contradictions(found: EvaluationSet, classes: ClassTable, name: str) -> None:
    """Refuse numbers that the checkpoint has no class for, or another than the one that stands beside them."""
    if isinstance(found.pictures, CubCues):
        return
    used = sorted({index for picture in found.pictures for index in picture.classes})
    if used and used[-1] >= len(classes):
        raise DataError(f"{name} has pictures of class {used[-1]}, but the checkpoint has {len(classes)} classes")
    theirs = found.classes or ()
    other = [(i, *said) for i in used if i < len(theirs) and (said := contradiction(theirs[i], classes[i], classes))]
    if other:
        i, one, two = other[0]
        raise DataError(
            f"{name} says that class {i} is {one}, but the checkpoint's class {i} is {two}"
            + (f" ({len(other)} classes differ)" if len(other) > 1 else "")
            + "; its numbers are of other classes, so give it a column class instead"
        )


def _labelled(found: PictureSet) -> EvaluationSet:
    pictures = _present([LabelledPicture(sample.path, sample.label) for sample in found.samples])
    return EvaluationSet(pictures, found.classes, found.numbered)


def _read(layout: str, data: Path, split: str) -> PictureSet:
    """The labelled pictures of a split, or of an undivided set."""
    kind = LAYOUTS[layout]
    splits = kind.splits(data, [split])
    if splits and split not in splits:
        raise DataError(f"{data} has no split {split!r}; it has {', '.join(splits)}; choose one with --split")
    if not splits and split.casefold() not in SPLIT_NAMES:
        raise DataError(f"{data} has no split {split!r}; it isn't divided")
    return kind.read(data, split if splits else "")


def _present(pictures: Sequence[LabelledPicture]) -> list[LabelledPicture]:
    missing = [picture.path for picture in pictures if not picture.path.is_file()]
    if missing:
        raise DataError(f"there is no file {missing[0]} ({len(missing)} of {len(pictures)} are missing)")
    return list(pictures)


def _table(data: Path, split: str) -> Path:
    table = data / f"{split}.csv"
    return table if table.is_file() else data / "index.csv"


def _csv(reads: str, data: Path, split: str) -> EvaluationSet:
    table = _table(data, split)
    columns = csv_columns(table)
    if reads == "masks" or (reads != "boxes" and "mask" in columns):
        return EvaluationSet(read_masks_csv(table))
    if reads == "boxes" or "boxes" in columns:
        found = _read("csv", data, split)
        if "class" not in columns:
            return EvaluationSet(read_boxes_csv(table), found.classes, numbered=True)
        labels = {info.name: info.index for info in found.classes}
        return EvaluationSet(read_boxes_csv(table, labels), found.classes)
    return _labelled(_read("csv", data, split))


def _metadata(reads: str, data: Path, split: str) -> EvaluationSet:
    metadata, images = data / "metadata" / split, data / "images"
    with_boxes = (metadata / "image_sizes.txt").is_file()
    if reads == "masks" or (reads == "regions" and not with_boxes):
        return EvaluationSet(read_masks_wsol(metadata, images))
    if reads == "boxes" or with_boxes:
        return EvaluationSet(read_boxes_wsol(metadata, images))
    return _labelled(_read("openimages", data, split))
