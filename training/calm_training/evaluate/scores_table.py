"""Scores of every picture as a table beside an evaluation's results: CSV, and Parquet where pyarrow is installed."""

import csv
import io
import math
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from calm_gui.model.files import write_bytes, write_text
from calm_gui.model.parquet import as_parquet, has_parquet
from calm_training.evaluate.evaluation import Results

__all__ = ["scores_files", "write_scores"]


def scores_files(results: Path) -> list[Path]:
    """The tables' files beside the JSON file of the results."""
    return [results.with_suffix(suffix) for suffix in (".csv", *([".parquet"] if has_parquet() else []))]


def write_scores(results: Results, path: Path, *, overwrite: bool = False) -> None:
    """One row for each checkpoint, map and picture; the columns are the scores by their names.

    A score that a picture doesn't have is left blank.

    Parameters
    ----------
    results : mapping
        By checkpoint.
    path : Path
        The JSON file that `scores_files` lie beside.
    overwrite : bool

    Raises
    ------
    ExportError
        If a file can't be written.
    """
    rows = [
        {"checkpoint": name, **{column: _cell(value) for column, value in row.items()}}
        for name, result in results.items()
        for row in result.pictures
    ]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    table, *parquet = scores_files(path)
    write_text(table, text.getvalue(), overwrite=overwrite)
    for file in parquet:
        kinds = {column: _kind([row.get(column) for row in rows]) for column in columns}
        write_bytes(file, as_parquet(kinds, rows), overwrite=overwrite)


def _cell(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _kind(values: Sequence[Any]) -> type:
    """What a column holds: truth, whole numbers, numbers, or else text."""
    there = [value for value in values if value is not None]
    kinds = {bool: bool, int: Integral, float: Real} if there else {float: Real}
    return next((kind for kind, check in kinds.items() if all(isinstance(value, check) for value in there)), str)
