"""A batch's rows as a table for other programs: CSV, tab-separated text, LaTeX."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from calm_gui.errors import ExportError

__all__ = ["SHOWN_COLUMNS", "TABLE_SUFFIXES", "table_text"]

SHOWN_COLUMNS = {
    "name": "file",
    "predicted_name": "predicted",
    "p_predicted": "p",
    "target_name": "target",
    "p": "p of target",
    "truth_name": "true class",
    "p_truth": "p of true class",
    "share_in_box": "share in box",
    "iou": "overlap (IoU)",
    "area": "spread",
}
"""The columns of the summary that a person reads, and their headings."""

TABLE_SUFFIXES = (".csv", ".tsv", ".tex")

_LATEX = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def table_text(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], suffix: str) -> str:
    """Rows as text.

    Parameters
    ----------
    rows : sequence of mapping
    columns : mapping of key to heading
        CSV and tab-separated tables have the keys as their first line, so that programs find them again; LaTeX has the
        headings.
    suffix : str
        One of `TABLE_SUFFIXES`. LaTeX needs the package booktabs, and numbers have three decimals in it.

    Raises
    ------
    ExportError
        For another suffix.
    """
    if suffix == ".tex":
        return _latex(rows, columns)
    if suffix not in TABLE_SUFFIXES:
        raise ExportError(f"a table can't be written as {suffix or 'a file without ending'}; use .csv, .tsv or .tex")
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if row.get(key) is None else row[key] for key in columns] for row in rows])
    return text.getvalue()


def _latex(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    numeric = [any(isinstance(row.get(key), float) for row in rows) for key in columns]
    lines = [
        r"\begin{tabular}{" + "".join("r" if number else "l" for number in numeric) + "}",
        r"\toprule",
        " & ".join(_escaped(heading) for heading in columns.values()) + r" \\",
        r"\midrule",
        *(" & ".join(_cell(row.get(key)) for key in columns) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else _escaped(str(value))


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
