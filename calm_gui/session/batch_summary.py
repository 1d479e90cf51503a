"""A batch's summary: a row for each picture and target, as CSV and Parquet."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calm_gui.core.explanation import AnyExplanation, Explanation
from calm_gui.core.geometry import Box
from calm_gui.core.threshold import CREDIBLE_MASS, component_boxes, credible_cells
from calm_gui.model.files import write_bytes, write_text
from calm_gui.model.parquet import as_parquet, has_parquet
from calm_gui.session.picture_result import Row
from calm_gui.session.request import parse_set
from calm_gui.session.summary_columns import COLUMNS

__all__ = ["summary_row", "write_summary"]

_TEXTS = {
    *("file", "name", "checkpoint", "predicted_wnid", "predicted_name", "truth_name"),
    *("target", "target_name", "contrast_name"),
}
_COUNTS = {"predicted_index", "truth_index", "target_size"}


def summary_row(
    explanation: AnyExplanation, target: str, contrast: str = "@runner-up", truth: Sequence[Box] = ()
) -> Row:
    """One picture's row of the summary for one target; see `calm_gui.session.summary_columns`.

    Parameters
    ----------
    explanation : Explanation or CamExplanation
    target, contrast : str
        As `parse_set` takes them.
    truth : sequence of Box
        Ground-truth boxes, in pixels of the upright picture.
    """
    from calm_gui.render.naming import set_name

    index, p_predicted = explanation.top(1)[0]
    info = explanation.classes[index]
    chosen = parse_set(target, explanation)
    against = parse_set(contrast, explanation, chosen)
    p = explanation.probability(chosen)
    row: Row = {
        "predicted_index": index,
        "predicted_wnid": info.wnid,
        "predicted_name": info.name,
        "p_predicted": p_predicted,
        "target": target,
        "target_name": set_name(chosen, explanation),
        "target_size": len(chosen),
        "p": p,
        "contrast_name": set_name(against, explanation),
        "p_contrast": explanation.probability(against),
    }
    if not isinstance(explanation, Explanation) or not chosen:
        return row
    shown = explanation.attribution(chosen)
    if not shown.values.any():
        return row
    peak = np.unravel_index(int(shown.values.argmax()), shown.values.shape)
    x, y = explanation.geometry.from_grid(peak[1] + 0.5, peak[0] + 0.5)
    cells = credible_cells(shown.values, CREDIBLE_MASS)
    box = component_boxes(cells, explanation.geometry)[0]
    row |= {"peak_x": float(x), "peak_y": float(y), "area": float(cells.mean())}
    row |= {"box_x0": box.x0, "box_y0": box.y0, "box_x1": box.x1, "box_y1": box.y1}
    if truth:
        region = explanation.region_from_box(truth[0].x0, truth[0].y0, truth[0].x1, truth[0].y1)
        for other in truth[1:]:
            region = region | explanation.region_from_box(other.x0, other.y0, other.x1, other.y1)
        mass = float((shown.values * region.weights).sum(dtype=np.float64))
        row |= {"mass_in_box": mass, "share_in_box": mass / shown.sum, "iou": max(_iou(box, other) for other in truth)}
    return row


def _iou(one: Box, other: Box) -> float:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    both = max(0.0, width) * max(0.0, height)
    return both / (one.width * one.height + other.width * other.height - both)


def write_summary(rows: Sequence[Row], path: str | Path, *, overwrite: bool = False) -> list[Path]:
    """Write summary rows as CSV, and as Parquet beside it where pyarrow is installed.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ExportError
        If a file can't be written.
    """
    path = Path(path)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue(), overwrite=overwrite)
    if not has_parquet():
        return [path]
    kinds = {key: str if key in _TEXTS else int if key in _COUNTS else float for key in COLUMNS}
    write_bytes(path.with_suffix(".parquet"), as_parquet(kinds, rows), overwrite=overwrite)
    return [path, path.with_suffix(".parquet")]
