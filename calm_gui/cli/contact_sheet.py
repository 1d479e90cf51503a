"""The sheet of a batch's lowest and highest pictures by a column, or of those that meet a condition."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calm_gui.cli.loading import load
from calm_gui.core.classes import ClassTable
from calm_gui.errors import DataError, why_unexpected
from calm_gui.render.manifest import check_suffix, describe_pictures
from calm_gui.render.naming import value_text
from calm_gui.session.output_names import free_name, names_of_inputs
from calm_gui.session.pane import CLASSIFIER_MAP
from calm_gui.session.request import parse_set
from calm_gui.session.summary_columns import COLUMNS
from calm_gui.session.truth import GroundTruth

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.render.sheet import SheetItem

__all__ = ["check_sheet", "write_sheet"]

_SIDE = 12
"""Pictures of the lowest, and as many of the highest."""

Row = dict[str, Any]


def check_sheet(options: argparse.Namespace) -> None:
    """Refuse a sheet that can't be written.

    Raises
    ------
    CalmError
        If its name has another suffix, or there is no such column.
    """
    check_suffix(Path(options.contact_sheet), (".png", ".pdf"))
    if options.by not in COLUMNS:
        raise DataError(f"there is no column {options.by!r}; there are {', '.join(COLUMNS)}")


def write_sheet(
    options: argparse.Namespace,
    labels: Mapping[str, str],
    rows: Sequence[Row],
    matches: Sequence[Row] | None,
    truth_of: Callable[[ClassTable], GroundTruth | None],
    inputs: Sequence[str | Path] = (),
) -> str:
    """Write the sheet; returns its path.

    Parameters
    ----------
    options : Namespace
    labels : mapping
        Of checkpoints, as rows name them, by what the command line called them.
    rows : sequence of dict
        The summary.
    matches : sequence of dict or None
        Those that meet the condition, if there is one: then they are shown.
    truth_of : callable
        Ground truth for a checkpoint's classes.
    inputs : sequence of str or Path
        Files that are never replaced.
    """
    from calm_gui.render.sheet import contact_sheet, save_sheet

    column = options.by
    known = [row for row in (rows if matches is None else matches) if row.get(column) not in (None, "")]
    known.sort(key=lambda row: row[column])
    half = 2 * _SIDE if matches is not None else _SIDE
    lowest, highest = known[:half], known[half:][-half:][::-1] if matches is None else []
    sections = [(f"Lowest {column}", lowest), (f"Highest {column}", highest)]
    items = _items(options, labels, [row for _, chosen in sections for row in chosen], truth_of)
    shown = [(title, [items[id(row)] for row in chosen if id(row) in items]) for title, chosen in sections]
    figure = contact_sheet([(title, chosen) for title, chosen in shown if chosen])
    path = Path(options.contact_sheet)
    taken = names_of_inputs(inputs, path.parent)
    path = path.with_name(free_name(path.name, path.parent, options.overwrite or options.resume, taken))
    listed = {"column": column, "question": options.where, "lowest": lowest, "highest": highest}
    save_sheet(figure, path, describe_pictures(listed))
    return str(path)


def _items(
    options: argparse.Namespace,
    labels: Mapping[str, str],
    rows: Sequence[Row],
    truth_of: Callable[[ClassTable], GroundTruth | None],
) -> "dict[int, SheetItem]":
    """A thumbnail of each row's picture with the map of its target; explained once more, since few are shown."""
    items: dict[int, SheetItem] = {}
    for checkpoint in dict.fromkeys(row["checkpoint"] for row in rows):
        name = next(name for name, label in labels.items() if label == checkpoint)
        model = load(name, argparse.Namespace(**{**vars(options), "quiet": True}))
        truth = truth_of(model.classes)
        for row in (row for row in rows if row["checkpoint"] == checkpoint):
            try:
                items[id(row)] = _item(row, options.by, model, truth)
            except Exception as error:  # the sheet goes on without it
                print(f"calm-explain: {row['file']} isn't on the sheet: {why_unexpected(error)}", file=sys.stderr)
    return items


def _item(row: Row, column: str, model: "LoadedModel", truth: GroundTruth | None) -> "SheetItem":
    from calm_gui.render.sheet import SheetItem, thumbnail

    explanation = model.explain(row["file"])
    target, own = parse_set(row["target"], explanation), explanation.own_reading
    if own is None:
        shown: Any = CLASSIFIER_MAP.map(model, row["file"], target, explanation=explanation)
    else:
        shown = explanation.reading(own.key, target)
    value = row[column]
    number = value_text(value) if isinstance(value, float) else str(value)
    lines = (row["name"], row["target_name"], f"{column} {number}")
    boxes = truth.boxes_of(row["file"]) if truth else ()
    return SheetItem(thumbnail(shown, boxes=boxes), lines)
