"""The parts of a figure, drawn by matplotlib: panels, lines and boxes, colour bars, text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map
from calm_gui.core.threshold import component_boxes, threshold_cells, threshold_level
from calm_gui.render.colormap import colour_table
from calm_gui.render.contour import cell_outline, contour_lines
from calm_gui.render.figure_file import MapFigure
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.layout import Area, Bar, Layout, Line, Panel
from calm_gui.render.lettering import font_families, printable
from calm_gui.render.mark_colours import FOUND, REGION, TRUTH
from calm_gui.render.panel import compose

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_bar", "draw_line", "draw_panel", "draw_swatch", "draw_threshold"]


def _ink(ground: tuple[float, float, float], faint: bool = False) -> tuple[float, float, float]:
    """Black or white, whichever reads better on the ground; faint is a quarter of the way back to it.

    Solid colours, since not every reader of SVG honours transparency.
    """
    luminance = 0.2126 * ground[0] + 0.7152 * ground[1] + 0.0722 * ground[2]
    full = 0.0 if luminance > 0.45 else 1.0
    share = 0.25 if faint else 0.0
    red, green, blue = (full * (1 - share) + part * share for part in ground)
    return red, green, blue


def _axes(figure: MapFigure, layout: Layout, area: tuple[int, int, int, int]) -> "Axes":
    """Axes without decoration over whole pixels (left, top, width, height)."""
    left, top, width, height = area
    bottom = layout.height - top - height
    # Relative to the figure's size in pixels as matplotlib has it, so that the edges fall on whole pixels.
    full_width, full_height = figure.bbox.width, figure.bbox.height
    axes = figure.add_axes((left / full_width, bottom / full_height, width / full_width, height / full_height))
    axes.set_axis_off()
    return axes


def draw_panel(
    figure: MapFigure,
    layout: Layout,
    panel: Panel,
    area: tuple[int, int, int, int],
    explanation: ClassifiedPicture,
    spec: FigureSpec,
    boxes: Sequence[Box],
    outlines: Sequence[tuple[str, Sequence[tuple[float, float]]]],
) -> None:
    """Draw a picture with its map, and what lies over it, into an area of pixels."""
    shown = panel.shown
    about = shown.explanation if shown is not None else explanation
    axes = _axes(figure, layout, area)
    width, height = panel.size
    axes.imshow(
        compose(about, shown, panel.scale, spec, (area[3], area[2])),
        extent=(0, width, height, 0),
        interpolation="none",
        aspect="auto",
    )
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    if isinstance(shown, Map):
        draw_threshold(axes, shown, spec)
    if about is explanation or _one_picture(about, explanation):
        _draw_boxes(axes, boxes, TRUTH, "solid")
        for _, points in outlines:
            _draw_lines(axes, [np.array([*points, points[0]], dtype=np.float64)], REGION)


def _one_picture(first: ClassifiedPicture, second: ClassifiedPicture) -> bool:
    """Whether two explanations, perhaps of two checkpoints, are of the same picture."""
    one, other = (explanation.source.get("picture", {}).get("sha256") for explanation in (first, second))
    return one is not None and one == other


def draw_threshold(axes: "Axes", shown: Map, spec: FigureSpec) -> None:
    """Draw the line around what the threshold chooses, and boxes around its parts, as the spec asks."""
    level = threshold_level(shown.values, spec.threshold, spec.threshold_value)
    cells = threshold_cells(shown.values, spec.threshold, spec.threshold_value)
    if level is None or cells is None:
        return
    if spec.contour:
        smooth = np.abs(shown.values)
        lines = cell_outline(cells, shown.geometry) if spec.native else contour_lines(smooth, level, shown.geometry)
        _draw_lines(axes, lines, "white")
    if spec.found_boxes:
        _draw_boxes(axes, component_boxes(cells, shown.geometry), FOUND, (0, (4, 2)))


def _draw_lines(axes: "Axes", lines: Sequence[NDArray[np.float64]], colour: str) -> None:
    if lines:
        for code, width in (("black", 1.4), (colour, 0.7)):
            axes.add_collection(LineCollection(list(lines), colors=code, linewidths=width, snap=False), autolim=False)


def _draw_boxes(axes: "Axes", boxes: Sequence[Box], colour: str, style: Any) -> None:
    for box in boxes:
        corner = (box.x0, box.y0)
        for code, width, dashes in (("black", 1.4, "solid"), (colour, 0.8, style)):
            look: dict[str, Any] = {"edgecolor": code, "linewidth": width, "linestyle": dashes}
            axes.add_patch(Rectangle(corner, box.width, box.height, fill=False, snap=False, **look))


def draw_bar(figure: MapFigure, layout: Layout, bar: Bar) -> None:
    """Draw a colour bar and its ticks; their labels are lines of the layout."""
    axes = _axes(figure, layout, bar.area)
    across, along = bar.area[2:] if not bar.lying else bar.area[:1:-1]
    steps = np.round((1 - (np.arange(along) + 0.5) / along) * 255).astype(np.uint8)
    if not bar.scale.high > bar.scale.low:
        steps[:] = bar.scale.flat
    colours = np.repeat(colour_table(bar.colour_map)[steps][:, None], across, axis=1)
    marks = [[(1.0, position), (1.35, position)] for position, _ in bar.ticks]
    if bar.lying:
        colours = colours[::-1].swapaxes(0, 1)
        marks = [[(position, 1 - x) for x, position in mark] for mark in marks]
    axes.imshow(colours, extent=(0, 1, 0, 1), interpolation="none", aspect="auto")
    ink = _ink(figure.ground)
    axes.add_collection(LineCollection(marks, colors=[ink], linewidths=0.5, clip_on=False, snap=False), autolim=False)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def draw_swatch(figure: MapFigure, layout: Layout, area: Area, code: str) -> None:
    """Fill an area with a colour of a legend."""
    left, top, width, height = area
    corner = (left / layout.width, 1 - (top + height) / layout.height)
    size = (width / layout.width, height / layout.height)
    figure.add_artist(Rectangle(corner, *size, transform=figure.transFigure, facecolor=code, edgecolor="none"))


def draw_line(figure: MapFigure, layout: Layout, line: Line, font: str) -> None:
    """Write a line of text, never as mathematics."""
    text = printable(line.text)
    families = font_families(text, font)
    figure.text(
        line.x / layout.width,
        1 - line.y / layout.height,
        text,
        fontsize=line.size,
        fontfamily=families,
        fontweight="bold" if line.strong and len(families) == 1 else "normal",  # stand-ins have no bold
        color=_ink(figure.ground, line.faint),
        ha=line.align,
        va="baseline",
        rotation=line.rotation,
        rotation_mode="anchor",
        parse_math=False,
    )
