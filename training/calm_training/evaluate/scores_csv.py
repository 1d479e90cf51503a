"""Scores of every picture as a CSV table beside an evaluation's results."""

import csv
import io
import math
from typing import Any

from calm_training.evaluate.evaluation import Results

__all__ = ["pictures_csv"]


def pictures_csv(results: Results) -> str:
    """One row for each checkpoint, map and picture; the columns are the scores by their names.

    A score that a picture doesn't have is left blank.
    """
    rows = [{"checkpoint": name, **row} for name, result in results.items() for row in result.pictures]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: _cell(value) for column, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if isinstance(value, float) and not math.isfinite(value) else value
