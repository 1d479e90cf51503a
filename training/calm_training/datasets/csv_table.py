"""The layout `csv`: a table of files and classes."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from calm_gui.errors import DataError
from calm_gui.model.class_names import class_table
from calm_training.datasets.layout import Layout
from calm_training.datasets.picture_set import PictureSet, Sample, divided, natural_key
from calm_training.datasets.text_table import csv_columns, csv_rows, whole_number

__all__ = ["CSV", "csv_splits", "read_csv"]


def csv_splits(root: Path, asked: Collection[str] = ()) -> tuple[str, ...]:
    """The tables below `root` but ``index.csv`` if one is named like a split, or as asked; else none."""
    return divided([path.stem for path in sorted(root.glob("*.csv")) if path.stem != "index"], asked)


def read_csv(root: Path, split: str) -> PictureSet:
    """``root/<split>.csv``, or ``root/index.csv`` where `split` is empty.

    Columns are file (relative to root), and class_index or class. With class_index, names come from the column wnid or
    name, else from the index.
    """
    table = root / f"{split or 'index'}.csv"
    rows = csv_rows(table)
    columns = csv_columns(table)
    if "file" not in columns or not {"class_index", "class"} & set(columns):
        raise DataError(f"{table}: a header with the columns file and class_index or class is expected")
    if not rows:
        raise DataError(f"{table} lists no pictures")
    _refuse_cut_off(table, rows)
    if "class" in rows[0]:
        names = sorted({row["class"] for row in rows}, key=natural_key)
        index = {name: i for i, name in enumerate(names)}
        labels = [index[row["class"]] for row in rows]
        classes = class_table(tuple(names))
    else:
        labels = [whole_number(row["class_index"], table, i) for i, row in enumerate(rows, 2)]
        known = {label: row.get("wnid") or row.get("name") or "" for label, row in zip(labels, rows, strict=True)}
        classes = class_table(tuple(known.get(i) or f"class {i}" for i in range(max(labels) + 1)))
        _refuse_two_names(table, labels, rows)
    paths = [root / row["file"] for row in rows]
    _refuse_two_classes(table, paths, labels)
    samples = tuple(Sample(path, label) for path, label in zip(paths, labels, strict=True))
    return PictureSet(samples, classes, numbered="class" not in rows[0])


def _refuse_cut_off(table: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Refuse a row without a picture or a class."""
    for line, row in enumerate(rows, 2):
        if lacking := [column for column in ("file", "class") if not row.get(column, "-").strip()]:
            raise DataError(f"{table}, line {line}: the column {lacking[0]} is empty")


def _refuse_two_names(table: Path, labels: Sequence[int], rows: Sequence[Mapping[str, str]]) -> None:
    """Refuse a number that stands beside two names or two wnids."""
    for column in ("wnid", "name"):
        said: dict[int, str] = {}
        for line, (label, row) in enumerate(zip(labels, rows, strict=True), 2):
            text = row.get(column) or ""
            if text and said.setdefault(label, text) != text:
                raise DataError(f"{table}, line {line}: class {label} is {text} here, but {said[label]} further up")


def _refuse_two_classes(table: Path, paths: Sequence[Path], labels: Sequence[int]) -> None:
    """Refuse a picture that several rows give to different classes."""
    said: dict[Path, int] = {}
    for line, (path, label) in enumerate(zip(paths, labels, strict=True), 2):
        if said.setdefault(path, label) != label:
            raise DataError(f"{table}, line {line}: {path.name} has another class here than further up")


CSV = Layout(csv_splits, read_csv)
