"""Ground truth: classes from folder names or a table, boxes from a table."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.comparison import class_named, contradiction, normal_path, path_names, several_named
from calm_gui.core.geometry import Box
from calm_gui.errors import DataError
from calm_gui.model.files import read_bounded

__all__ = ["GroundTruth", "boxes_outside", "class_of_folder", "read_truth", "true_class"]

_MAX_BYTES = 200_000_000


@dataclass(frozen=True)
class GroundTruth:
    """What is known of pictures, by path or any end of it (`calm_gui.core.comparison.normal_path`).

    Attributes
    ----------
    classes : mapping of str to int
    boxes : mapping of str to tuple of Box
        Pixels of the stored picture.
    """

    classes: Mapping[str, int] = field(default_factory=dict)
    boxes: Mapping[str, tuple[Box, ...]] = field(default_factory=dict)

    def class_of(self, picture: str) -> int | None:
        """Class index of a picture, or None."""
        if not self.classes:
            return None
        return next((self.classes[key] for key in path_names(picture) if key in self.classes), None)

    def boxes_of(self, picture: str) -> tuple[Box, ...]:
        """Boxes of a picture."""
        if not self.boxes:
            return ()
        return next((self.boxes[key] for key in path_names(picture) if key in self.boxes), ())

    @property
    def digest(self) -> str:
        """A hash of all that is known; empty where nothing is."""
        if not self.classes and not self.boxes:
            return ""
        boxes = {key: [[b.x0, b.y0, b.x1, b.y1] for b in several] for key, several in self.boxes.items()}
        known = json.dumps([dict(self.classes), boxes], sort_keys=True)
        return hashlib.sha256(known.encode()).hexdigest()

    def covers_each(self, pictures: Sequence[str]) -> bool:
        """Whether something is known of every one of some pictures, and no name of the table stands for several."""
        named = {**self.classes, **self.boxes}
        return all(any(key in named for key in path_names(picture)) for picture in pictures) and not several_named(
            named, pictures
        )

    def coverage(self, pictures: Sequence[str]) -> str:
        """A sentence that says for how many of some pictures something is known."""
        named = {**self.classes, **self.boxes}
        known = sum(any(key in named for key in path_names(picture)) for picture in pictures)
        said = f"the table has ground truth for {known or 'none'} of {len(pictures)} pictures"
        for name, same in several_named(named, pictures).items():
            return f"{said}; but {name} names {len(same)} of them ({same[0]}, {same[1]}), so give it with its folder"
        if known or not pictures or not named:
            return said
        return f"{said}: it names {next(iter(named))}, for example, and the first of these is {Path(pictures[0]).name}"


def boxes_outside(boxes: Iterable[Box], size: tuple[int, int]) -> tuple[Box, ...]:
    """Boxes of which nothing lies in a picture of this width and height."""
    width, height = size
    return tuple(box for box in boxes if box.x1 <= 0 or box.y1 <= 0 or box.x0 >= width or box.y0 >= height)


def class_of_folder(picture: str, classes: ClassTable) -> int | None:
    """Class that a picture's folder names, as `calm_gui.core.comparison.class_named` finds it."""
    info = class_named(Path(picture).parent.name, classes)
    return info.index if info else None


def true_class(truth: GroundTruth, picture: str, classes: ClassTable) -> int | None:
    """Class that a picture shows, by a table or else by the name of its folder; None if neither says."""
    known = truth.class_of(picture)
    return class_of_folder(picture, classes) if known is None else known


def read_truth(path: str | Path, classes: ClassTable) -> GroundTruth:
    """Read a table with a header line.

    Columns: ``file``; then any of ``class_index``, ``wnid``, ``class`` (a name); and ``boxes`` (``x0 y0 x1 y1``,
    several separated by ``;``) or ``x0,y0,x1,y1``. Several rows of one file add their boxes.

    Raises
    ------
    DataError
        With file, line and reason, if the table can't be used.
    """
    path = Path(path)
    data = read_bounded(path, _MAX_BYTES, DataError, "tables")
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
        columns = set(rows[0]) if rows else set()
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path.name} isn't a CSV table in UTF-8 ({error})") from error
    if "file" not in columns:
        raise DataError(f"{path.name} needs a header line with a column 'file'")
    if not columns & {"class_index", "wnid", "class", "boxes", "x0"}:
        raise DataError(f"{path.name} has neither classes (class_index, wnid, class) nor boxes (boxes, or x0,y0,x1,y1)")
    found: dict[str, int] = {}
    boxes: dict[str, tuple[Box, ...]] = {}
    for line, row in enumerate(rows, start=2):
        where, name = f"{path.name}, line {line}", (row.get("file") or "").strip()
        if not name:
            raise DataError(f"{where}: the file is missing")
        name = normal_path(name)
        index = _class_in_row(row, classes, where)
        if index is not None and found.setdefault(name, index) != index:
            raise DataError(f"{where}: another row says that {name} is of class {found[name]}, not {index}")
        if here := _boxes_in_row(row, where):
            boxes[name] = tuple(dict.fromkeys((*boxes.get(name, ()), *here)))
    if boxes and all(max(box.x1, box.y1) <= 1 for several in boxes.values() for box in several):
        raise DataError(f"{path.name}: all boxes lie within 0 to 1, as fractions of the picture do; give pixels")
    return GroundTruth(found, boxes)


def _class_in_row(row: Mapping[str, str | None], classes: ClassTable, where: str) -> int | None:
    """The class that a row names by wnid, index or name; where it says several of them, they must be one class."""
    wnid, number, name = ((row.get(column) or "").strip() for column in ("wnid", "class_index", "class"))
    own: ClassInfo | None = None
    if number:
        if not number.isdecimal() or int(number) >= len(classes):
            raise DataError(f"{where}: there is no class {number}; the checkpoint has {len(classes)}")
        own = classes[int(number)]
    else:
        own = classes.by_wnid(wnid) or (class_named(name, classes) if name else None)
    if own is None and name:
        raise DataError(f"{where}: {name!r} names {len(classes.named(name))} classes of the checkpoint")
    if own is None and wnid:
        raise DataError(f"{where}: the checkpoint has no class with the wnid {wnid!r}")
    if own is not None and (differs := contradiction(ClassInfo(own.index, name, wnid), own, classes)):
        raise DataError(f"{where}: it says {differs[0]}, but the checkpoint's class {own.index} is {differs[1]}")
    return own.index if own else None


def _boxes_in_row(row: Mapping[str, str | None], where: str) -> list[Box]:
    if text := (row.get("boxes") or "").strip():
        corners = [part.split() for part in text.split(";") if part.strip()]
    elif row.get("x0"):
        corners = [[(row.get(key) or "").strip() for key in ("x0", "y0", "x1", "y1")]]
    else:
        return []
    boxes = []
    for values in corners:
        try:
            x0, y0, x1, y1 = (float(v) for v in values)
        except ValueError as error:
            raise DataError(f"{where}: {' '.join(values)!r} isn't a box x0 y0 x1 y1") from error
        if not (x0 < x1 and y0 < y1):
            raise DataError(f"{where}: the corners of {x0:g} {y0:g} {x1:g} {y1:g} are reversed or the box is empty")
        boxes.append(Box(x0, y0, x1, y1))
    return boxes
