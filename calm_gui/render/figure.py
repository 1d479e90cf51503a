"""Figures: maps over their picture with titles, colour bars and captions, the same in every format.

Each panel is one image, composed by `render.overlay` for exactly the pixels that it covers at the figure's
resolution, as the window does on the screen. No reader of a PDF or SVG has to resample it, so none can smooth or
alias the map. Text, contours, boxes and outlines are vectors.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.region import Region
from calm_gui.errors import ExportError
from calm_gui.render.drawing import drawing
from calm_gui.render.figure_file import MapFigure
from calm_gui.render.figure_parts import draw_bar, draw_line, draw_panel, draw_swatch, draw_threshold
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.layout import Layout, Panel, arrange
from calm_gui.render.lettering import font_families, printable
from calm_gui.render.manifest import describe
from calm_gui.render.map_scale import scales_of
from calm_gui.render.naming import map_title
from calm_gui.render.panel import compose
from calm_gui.render.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["map_figure", "plot_map", "preview_png"]


def map_figure(
    explanation: AnyExplanation,
    maps: Sequence[Map | WinnerMap | None],
    spec: FigureSpec | None = None,
    *,
    titles: Sequence[str] = (),
    captions: Sequence[str] = (),
    boxes: Sequence[Box] = (),
    outlines: Sequence[tuple[str, Sequence[tuple[float, float]]]] = (),
    regions: Sequence[Region] = (),
    table: Sequence[Sequence[str]] = (),
    scales: Sequence[Scale | None] = (),
    **options: Any,
) -> MapFigure:
    """A figure of maps over their pictures.

    Parameters
    ----------
    explanation : Explanation or CamExplanation
        Whose picture stands where a map is None, and beside the map in the layout "pair".
    maps : sequence of Map, WinnerMap or None
    spec : FigureSpec, optional
    titles : sequence of str, optional
        Instead of the reading with its sum; a line break starts the second, smaller line.
    captions : sequence of str, optional
        Below the panels.
    boxes : sequence of Box
        Ground truth, in pixels of the upright picture.
    outlines : sequence of (name, points)
        Regions as drawn, in pixels of the upright picture.
    regions : sequence of Region
        Their weights, for the manifest.
    table : sequence of rows of str
        Below everything; the first row is the heading.
    scales : sequence of Scale or None, optional
        Instead of those that the spec asks for; one for each map.
    **options
        Fields of `FigureSpec` that differ from `spec`.

    Returns
    -------
    MapFigure

    Raises
    ------
    ExportError
        If an option makes no sense or the size leaves no room for the panels.
    """
    spec = _with(spec or FigureSpec(), options)
    shown = _chosen(maps, spec)
    if not shown:
        raise ExportError("a figure needs at least one map")
    given = [*scales, *[None] * (len(shown) - len(scales))] if spec.layout != "pair" else [None, *scales, None][:2]
    wanted = scales_of(shown, spec.scale, spec.spacing, spec.relative)
    used = [a or b for a, b in zip(given, wanted, strict=False)]
    labels = [title.split("\n", 1) for title in titles]
    panels = [
        Panel(
            shown=one,
            scale=scale,
            size=(one.explanation if one else explanation).geometry.picture,
            title=tuple(labels[i]) if i < len(labels) else map_title(one),
            caption=captions[i] if i < len(captions) else "",
        )
        for i, (one, scale) in enumerate(zip(shown, used, strict=True))
    ]
    with drawing():
        layout = arrange(panels, spec, table)
        figure = _blank(layout, spec)
        for place in layout.places:
            draw_panel(figure, layout, place.panel, place.image, explanation, spec, boxes, outlines)
        for bar in layout.bars:
            draw_bar(figure, layout, bar)
        for area, code in layout.swatches:
            draw_swatch(figure, layout, area, code)
        for line in layout.lines:
            draw_line(figure, layout, line, spec.font)
    gaps = figure.missing_glyphs()
    warned = [f"no font here can draw {' '.join(gaps)}"] if gaps else []
    only_maps = [(p.shown, p.scale) for p in panels if p.shown is not None]
    figure.manifest = describe(
        explanation, [m for m, _ in only_maps], [s for _, s in only_maps], regions, spec.threshold_json, warned
    )
    figure.options = {
        "figure": spec.to_json(),
        "titles": list(titles),
        "captions": list(captions),
        "boxes": [[box.x0, box.y0, box.x1, box.y1] for box in boxes],
        "outlines": [[name, [list(point) for point in points]] for name, points in outlines],
        "table": [list(row) for row in table],
        "pictures_at": [i for i, one in enumerate(maps) if one is None],
    }
    return figure


def _with(spec: FigureSpec, options: Mapping[str, Any]) -> FigureSpec:
    if unknown := set(options) - {field.name for field in fields(FigureSpec)}:
        raise ExportError(f"a figure has no option {', '.join(sorted(unknown))}; see FigureSpec for those there are")
    return replace(spec, **options)


def _chosen(maps: Sequence[Map | WinnerMap | None], spec: FigureSpec) -> list[Map | WinnerMap | None]:
    if spec.layout == "single":
        return list(maps[:1])
    if spec.layout == "pair":
        return [None, *maps[:1]]
    return list(maps)


def _blank(layout: Layout, spec: FigureSpec) -> MapFigure:
    # A hair more than whole pixels, since matplotlib cuts fractions off.
    size = ((layout.width + 1e-6) / spec.dpi, (layout.height + 1e-6) / spec.dpi)
    figure = MapFigure(figsize=size, dpi=spec.dpi)
    FigureCanvasAgg(figure)
    figure.ground = to_rgb(spec.background)
    figure.set_facecolor("none" if spec.transparent else figure.ground)
    return figure


def plot_map(axes: "Axes", shown: Map | WinnerMap, **options: Any) -> None:
    """Draw one map over its picture into given Axes, in pixels of the upright picture.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    shown : Map or WinnerMap
    **options
        Fields of `FigureSpec` (those about size and font are the Axes' own matter).
    """
    spec = _with(FigureSpec(), options)
    width, height = shown.geometry.picture
    scale = scales_of([shown], spec.scale, spec.spacing, spec.relative)[0]
    with drawing():  # colours, lines and which way is up mustn't follow the settings; the title may
        axes.imshow(compose(shown.explanation, shown, scale, spec, (height, width)), extent=(0, width, height, 0))
        if isinstance(shown, Map):
            draw_threshold(axes, shown, spec)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    if spec.titles:
        ends = f"\ncolours from {scale.text(scale.low)} to {scale.text(scale.high)} {scale.unit}" if scale else ""
        title = printable("\n".join(line for line in map_title(shown) if line) + ends)
        axes.set_title(title, parse_math=False, usetex=False, fontfamily=font_families(title))


def preview_png(explanation: AnyExplanation, maps: Sequence[Map | WinnerMap]) -> bytes:
    """A small figure as PNG: the maps, or the picture beside its first guess's map."""
    if not maps:
        guess = explanation.top(1)[0][0]
        own = explanation.own_reading
        maps = [explanation.reading(own.key, guess)] if own else []
        layout: dict[str, Any] = {"layout": "pair", "width": 150.0}
    else:
        layout = {"width": 90.0 if len(maps) == 1 else 150.0}
    target = io.BytesIO()
    map_figure(explanation, maps, dpi=110, **layout).savefig(target, format="png")
    return target.getvalue()
