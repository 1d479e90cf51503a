"""Figures: maps over their picture with titles, colour bars and captions, the same in every format.

Each panel is one image, composed by `render.overlay` for exactly the pixels that it covers at the figure's
resolution, as the window does on the screen. No reader of a PDF or SVG has to resample it, so none can smooth or
alias the map. Text, contours, boxes and outlines are vectors.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image

import calm_gui
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.region import Region
from calm_gui.core.threshold import component_boxes, threshold_cells, threshold_level
from calm_gui.errors import ExportError
from calm_gui.model.files import write_bytes
from calm_gui.render.colormap import colour_table
from calm_gui.render.contour import cell_outline, contour_lines
from calm_gui.render.drawing import drawing
from calm_gui.render.figure_spec import PRESETS, FigureSpec
from calm_gui.render.layout import Area, Bar, Layout, Line, Panel, arrange
from calm_gui.render.lettering import font_families, missing_glyphs, printable
from calm_gui.render.manifest import describe, write_export
from calm_gui.render.map_scale import scales_of
from calm_gui.render.mark_colours import FOUND, REGION, TRUTH
from calm_gui.render.naming import map_title
from calm_gui.render.overlay import map_picture, overlay_picture, unseen
from calm_gui.render.scale import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "FIGURE_SUFFIXES",
    "PRESETS",
    "FigureSpec",
    "MapFigure",
    "compose",
    "map_figure",
    "plot_map",
    "preview_png",
    "save_figure",
    "save_overlay",
]

FIGURE_SUFFIXES = (".png", ".svg", ".pdf", ".tif", ".tiff", ".jpg", ".jpeg")
"""Extensions that `save_figure` takes."""


class MapFigure(Figure):
    """A matplotlib Figure that saves alike every time, and knows what it shows.

    Attributes
    ----------
    manifest : dict
        What is written beside it.
    options : dict
        What it was drawn with; enough to draw it again.
    """

    manifest: Mapping[str, Any]
    options: Mapping[str, Any]
    ground: tuple[float, float, float]

    def _repr_png_(self) -> bytes:
        """The figure itself in a notebook's cell."""
        target = io.BytesIO()
        self.savefig(target, format="png", dpi=min(self.dpi, 110))
        return target.getvalue()

    def savefig(self, fname: Any, **options: Any) -> None:
        """As matplotlib's, without dates, in the figure's own resolution unless told otherwise, whole or not at all.

        Raises
        ------
        ExportError
            If the file can't be written.
        """
        named = Path(fname).suffix[1:] if isinstance(fname, (str, Path)) else ""
        kind = str(options.get("format") or named or "png").lower()
        stamps: dict[str, dict[str, Any]] = {
            "pdf": {"Creator": _creator(), "Producer": None, "CreationDate": None},
            "svg": {"Creator": _creator(), "Date": None},
            "png": {"Software": _creator()},
        }
        if kind in stamps:
            options["metadata"] = {**stamps[kind], **options.get("metadata", {})}
        elif kind in ("jpg", "jpeg"):
            options.setdefault("facecolor", self.ground)
            options["pil_kwargs"] = {"quality": 95, "subsampling": 0, **options.get("pil_kwargs", {})}
        elif kind in ("tif", "tiff"):
            options["pil_kwargs"] = {"compression": "tiff_deflate", **options.get("pil_kwargs", {})}
        raster = kind not in ("pdf", "svg", "ps", "eps")
        for text in self.findobj(Text):
            # Agg draws letters as hinted bitmaps at whole pixels unless they are paths, as the vector formats' are.
            text.set_path_effects([Normal()] if raster else [])
        target: Any = io.BytesIO() if isinstance(fname, (str, Path)) else fname
        with drawing():
            super().savefig(target, **{**options, "format": kind})
        if isinstance(fname, (str, Path)):
            path = fname if named or "format" in options else f"{fname}.{kind}"
            write_bytes(path, target.getvalue(), overwrite=True)

    def missing_glyphs(self) -> str:
        """Characters of the figure's texts that no font here can draw."""
        texts = [text for text in self.findobj(Text) if text.get_text()]
        return missing_glyphs((t.get_text() for t in texts), texts[0].get_fontfamily()[0]) if texts else ""


def _creator() -> str:
    return f"calm-gui {calm_gui.__version__}"


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
            _draw_panel(figure, layout, place.panel, place.image, explanation, spec, boxes, outlines)
        for bar in layout.bars:
            _draw_bar(figure, layout, bar)
        for area, code in layout.swatches:
            _draw_swatch(figure, layout, area, code)
        for line in layout.lines:
            _draw_line(figure, layout, line, spec.font)
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


def _draw_panel(
    figure: MapFigure,
    layout: Layout,
    panel: Panel,
    area: tuple[int, int, int, int],
    explanation: AnyExplanation,
    spec: FigureSpec,
    boxes: Sequence[Box],
    outlines: Sequence[tuple[str, Sequence[tuple[float, float]]]],
) -> None:
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
        _draw_threshold(axes, shown, spec)
    if about is explanation:
        _draw_boxes(axes, boxes, TRUTH, "solid")
        for _, points in outlines:
            _draw_lines(axes, [np.array([*points, points[0]], dtype=np.float64)], REGION)


def compose(
    explanation: AnyExplanation,
    shown: Map | WinnerMap | None,
    scale: Scale | None,
    spec: FigureSpec,
    size: tuple[int, int],
) -> NDArray[np.uint8]:
    """The pixels of one panel: the picture at this size with the map over it.

    Parameters
    ----------
    explanation : Explanation or CamExplanation
    shown : Map, WinnerMap or None
    scale : Scale or None
        None for a winner map or the picture alone.
    spec : FigureSpec
    size : (int, int)
        Height and width in pixels.

    Returns
    -------
    ndarray (height, width, 3), uint8
    """
    picture = _at_size(explanation, size)
    if shown is None:
        return picture
    opacity = spec.opacity if spec.overlay and explanation.picture is not None else 1.0
    if isinstance(shown, WinnerMap):
        return map_picture(picture, shown, None, None, opacity)
    if scale is None:
        raise ValueError("a map needs a scale")
    colour_map = spec.diverging if shown.signed else spec.sequential
    result = overlay_picture(picture, shown, scale, colour_map, opacity, spec.native)
    level = threshold_level(shown.values, spec.threshold, spec.threshold_value)
    if spec.mask and level is not None:
        outside = np.abs(shown.upsampled(size, spec.native)) < level
        outside &= ~unseen(shown.geometry, *size)
        result[outside] = picture[outside]
    return result


def _at_size(explanation: AnyExplanation, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The upright picture resampled; a light gray where an explanation has none."""
    if explanation.picture is None:
        return np.full((*size, 3), 235, dtype=np.uint8)
    pixels = explanation.picture
    if pixels.shape[:2] == size:
        return pixels
    # From four-fold on the pixels themselves are of interest, as in the window.
    enlarged = size[1] >= 4 * pixels.shape[1]
    how = Image.Resampling.NEAREST if enlarged else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(pixels).resize((size[1], size[0]), how))


def _draw_threshold(axes: "Axes", shown: Map, spec: FigureSpec) -> None:
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


def _draw_bar(figure: MapFigure, layout: Layout, bar: Bar) -> None:
    axes = _axes(figure, layout, bar.area)
    width, height = bar.area[2:]
    steps = np.round((1 - (np.arange(height) + 0.5) / height) * 255).astype(np.uint8)
    if not bar.scale.high > bar.scale.low:
        steps[:] = bar.scale.flat
    column = np.repeat(colour_table(bar.colour_map)[steps][:, None], width, axis=1)
    axes.imshow(column, extent=(0, 1, 0, 1), interpolation="none", aspect="auto")
    marks = [[(1.0, position), (1.35, position)] for position, _ in bar.ticks]
    ink = _ink(figure.ground)
    axes.add_collection(LineCollection(marks, colors=[ink], linewidths=0.5, clip_on=False, snap=False), autolim=False)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _draw_swatch(figure: MapFigure, layout: Layout, area: Area, code: str) -> None:
    left, top, width, height = area
    corner = (left / layout.width, 1 - (top + height) / layout.height)
    size = (width / layout.width, height / layout.height)
    figure.add_artist(Rectangle(corner, *size, transform=figure.transFigure, facecolor=code, edgecolor="none"))


def _draw_line(figure: MapFigure, layout: Layout, line: Line, font: str) -> None:
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


def save_figure(figure: MapFigure, path: str | Path, manifest: Mapping[str, Any] | None = None) -> None:
    """Write a figure and `<name>.json` beside it; the extension decides the format.

    Parameters
    ----------
    figure : MapFigure
    path : str or Path
        Ends in one of `FIGURE_SUFFIXES`.
    manifest : mapping, optional
        Instead of the figure's own.

    Raises
    ------
    ExportError
        If the file can't be written. An existing one is then as it was.
    """

    def write(temporary: Path) -> None:
        try:
            figure.savefig(temporary)
        except MemoryError as error:
            raise ExportError(f"{path} needs more memory than there is; lower the dpi") from error

    write_export(path, FIGURE_SUFFIXES, "figure", write, dict(manifest or figure.manifest), **figure.options)


def save_overlay(
    shown: Map | WinnerMap, path: str | Path, spec: FigureSpec | None = None, scale: Scale | None = None
) -> None:
    """Write the overlay alone as PNG, pixel for pixel of the upright picture's size.

    Parameters
    ----------
    shown : Map or WinnerMap
    path : str or Path
        Ends in ``.png``.
    spec : FigureSpec, optional
        Colour maps, opacity, scale and threshold; its size doesn't matter.
    scale : Scale, optional
        By default the one that the spec asks for.

    Raises
    ------
    ExportError
        If the file can't be written.
    """
    spec = spec or FigureSpec()
    width, height = shown.geometry.picture
    scale = scale or scales_of([shown], spec.scale, spec.spacing, spec.relative)[0]
    image = Image.fromarray(compose(shown.explanation, shown, scale, spec, (height, width)))
    manifest = describe(shown.explanation, [shown], [scale], threshold=spec.threshold_json)
    write_export(path, [".png"], "overlay", lambda temporary: image.save(temporary), manifest, figure=spec.to_json())


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
            _draw_threshold(axes, shown, spec)
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
