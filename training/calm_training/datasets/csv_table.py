"""The layout `csv`: a table of files and classes."""

from pathlib import Path

from calm_gui.errors import DataError
from calm_training.datasets.picture_set import PictureSet, Sample, class_table, natural_key
from calm_training.datasets.text_table import csv_rows, whole_number

__all__ = ["read_csv"]


def read_csv(root: Path, split: str) -> PictureSet:
    """``root/<split>.csv``, else ``root/index.csv``: columns file (relative to root), and class_index or class.

    With class_index, names come from the column wnid or name, else from the index.
    """
    table = root / f"{split}.csv"
    table = table if table.exists() else root / "index.csv"
    rows = csv_rows(table)
    if not rows or "file" not in rows[0] or not {"class_index", "class"} & set(rows[0]):
        raise DataError(f"{table}: a header with the columns file and class_index or class is expected")
    if "class" in rows[0]:
        names = sorted({row["class"] for row in rows}, key=natural_key)
        index = {name: i for i, name in enumerate(names)}
        labels = [index[row["class"]] for row in rows]
        classes = class_table(names)
    else:
        labels = [whole_number(row["class_index"], table, i) for i, row in enumerate(rows, 2)]
        known = {label: row.get("wnid") or row.get("name") or "" for label, row in zip(labels, rows, strict=True)}
        classes = class_table(known.get(i) or f"class {i}" for i in range(max(labels) + 1))
    paths = [root / row["file"] for row in rows]
    return PictureSet(tuple(Sample(p, c) for p, c in zip(paths, labels, strict=True)), classes)
