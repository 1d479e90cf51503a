"""The files that one explanation's maps become: which there are, what they are called, and writing them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.threshold import component_boxes, threshold_cells
from calm_gui.errors import ExportError
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.naming import map_slug

__all__ = ["PlannedExport", "planned_exports", "write_exports"]

_FIGURES = ("png", "svg", "pdf", "tiff", "jpeg")


@dataclass(frozen=True, eq=False)
class PlannedExport:
    """A file to be written: its name, and what writes it to a path."""

    name: str
    write: Callable[[Path], None]


def planned_exports(
    explanation: AnyExplanation,
    maps: Sequence[Map | WinnerMap],
    formats: Sequence[str],
    figure: FigureSpec,
    name: str,
    truth: Sequence[Box] = (),
) -> list[PlannedExport]:
    """The files that the formats make of an explanation's maps.

    Parameters
    ----------
    explanation : Explanation or CamExplanation
    maps : sequence of Map or WinnerMap
    formats : sequence of str
        Keys of `FORMATS`.
    figure : FigureSpec
        With the layout "panes" or "strip" one figure holds all maps; otherwise each map gets its own.
    name : str
        What all file names begin with.
    truth : sequence of Box
        Drawn into figures, in pixels of the upright picture.
    """
    planned = []
    together = figure.layout in ("panes", "strip") and len(maps) > 1
    for kind in formats:
        if kind == "csv":
            planned.append(PlannedExport(f"{name}.classes.csv", _probabilities(explanation)))
        elif kind in _FIGURES and together:
            planned.append(PlannedExport(f"{name}.{figure.layout}.{kind}", _figure(explanation, maps, figure, truth)))
        else:
            for shown in maps:
                planned += _of_map(explanation, shown, kind, figure, f"{name}.{map_slug(shown)}", truth)
    return planned


def _of_map(
    explanation: AnyExplanation,
    shown: Map | WinnerMap,
    kind: str,
    figure: FigureSpec,
    base: str,
    truth: Sequence[Box],
) -> list[PlannedExport]:
    if kind in _FIGURES:
        return [PlannedExport(f"{base}.{kind}", _figure(explanation, [shown], figure, truth))]
    if kind == "npz":
        return [PlannedExport(f"{base}.npz", _arrays(shown))]
    if kind == "overlay":
        return [PlannedExport(f"{base}.overlay.png", _overlay(shown, figure))]
    if isinstance(shown, WinnerMap):  # has neither mask nor boxes
        return []
    if kind == "mask":
        return [PlannedExport(f"{base}.mask.png", _mask(shown, figure))]
    return [PlannedExport(f"{base}.boxes.json", _boxes(shown, figure))]


# What draws is imported when the first file is written, since it takes longer than the rest of the program.


def _figure(
    explanation: AnyExplanation, maps: Sequence[Map | WinnerMap], spec: FigureSpec, truth: Sequence[Box]
) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from calm_gui.render.figure import map_figure
        from calm_gui.render.figure_file import save_figure

        save_figure(map_figure(explanation, maps, spec, boxes=truth), path)

    return write


def _arrays(shown: Map | WinnerMap) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from calm_gui.render.arrays import save_map

        save_map(shown, path)

    return write


def _overlay(shown: Map | WinnerMap, spec: FigureSpec) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from calm_gui.render.panel import save_overlay

        save_overlay(shown, path, spec)

    return write


def _probabilities(explanation: AnyExplanation) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from calm_gui.render.arrays import save_probabilities

        save_probabilities(explanation, path)

    return write


def _mask(shown: Map, spec: FigureSpec) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from calm_gui.render.arrays import save_mask

        cells, threshold = _chosen_cells(shown, spec)
        save_mask(shown, cells, path, threshold)

    return write


def _boxes(shown: Map, spec: FigureSpec) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from calm_gui.render.arrays import save_boxes

        cells, threshold = _chosen_cells(shown, spec)
        save_boxes(shown, component_boxes(cells, shown.geometry), path, threshold)

    return write


def _chosen_cells(shown: Map, spec: FigureSpec) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """The cells of the figure's threshold, or of 90 % of the mass where it has none, and that threshold's JSON."""
    kind, value = ("mass", 0.9) if spec.threshold == "none" else (spec.threshold, spec.threshold_value)
    cells = threshold_cells(shown.values, kind, value)  # type: ignore[arg-type]  # one of ThresholdKind
    if cells is None:
        raise ExportError("a map that isn't finite has no mask and no boxes")
    return cells, {"kind": kind, "value": value}


def write_exports(planned: Sequence[PlannedExport], out: Path, names: Sequence[str]) -> None:
    """Write planned files into a folder under the names chosen for them, one for each.

    Raises
    ------
    ExportError
        If a file can't be written.
    """
    for export, name in zip(planned, names, strict=True):
        export.write(out / name)
