"""Figures of what the window shows, with the look that it has there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calm_gui.core.explanation import AnyExplanation, Explanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import AnyMap, Map
from calm_gui.errors import ExportError
from calm_gui.late import np
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.naming import counted, map_title, number_text
from calm_gui.session.marked_cells import make_region
from calm_gui.session.pane import Picture
from calm_gui.session.scene import PaneContent, Scene
from calm_gui.session.state import RegionShape

if TYPE_CHECKING:
    from calm_gui.render.figure_file import MapFigure

__all__ = ["WHAT", "active_map", "scene_figure", "view_spec"]

WHAT = {
    "panes": "All panes",
    "single": "The active pane",
    "pair": "Picture and active pane",
    "figure 1": "Figure 1: A, B, A − B",
    "winner": "Winner map with legend",
    "strip": "Hierarchy strip",
    "regions": "Active pane and table of regions",
}
"""What can be exported."""

_TABLE_CLASSES = 5


def view_spec(scene: Scene, what: str, **options: Any) -> FigureSpec:
    """The figure's look that is the window's.

    Parameters
    ----------
    scene : Scene
    what : str
        One of `WHAT`.
    **options
        Fields of `FigureSpec` that differ.

    Raises
    ------
    ExportError
        If an option makes no sense.
    """
    view = scene.state.view
    layouts = {"pair": "pair", "single": "single", "winner": "single", "regions": "single", "figure 1": "strip"}
    spec = FigureSpec(
        layout=layouts.get(what, "panes"),  # type: ignore[arg-type]
        opacity=view.opacity,
        overlay=view.overlay,
        sequential=view.sequential,
        diverging=view.diverging,
        native=view.native,
        spacing=view.spacing,
        relative=view.relative,
        threshold=view.threshold.kind,
        threshold_value=view.threshold.value,
        contour=view.contour,
        mask=view.mask,
        found_boxes=view.boxes,
    )
    return replace(spec, **options)


def scene_figure(scene: Scene, spec: FigureSpec, what: str, boxes: Sequence[Box] = (), caption: str = "") -> MapFigure:
    """The figure of what a scene shows.

    Parameters
    ----------
    scene : Scene
    spec : FigureSpec
    what : str
        One of `WHAT`.
    boxes : sequence of Box
        Ground truth, in pixels of the upright picture.
    caption : str
        Below the first panel.

    Raises
    ------
    ExportError
        If there is nothing to show yet.
    """
    from calm_gui.render.figure import map_figure

    explanation = scene.explanation
    if explanation is None:
        raise ExportError("the picture isn't explained yet")
    source = scene.source_of(scene.state.selection.checkpoint)
    common: dict[str, Any] = {"boxes": boxes, "captions": [caption] if caption else ()}
    if what == "strip":
        steps = scene.strip
        sizes = [counted(len(s.node.classes), "class", "classes") for s in steps]
        titles = [
            f"{s.node.name}\n{_with_source(source, f'{size}, p {number_text(s.probability)}')}"
            for s, size in zip(steps, sizes, strict=True)
        ]
        return map_figure(explanation, [s.shown for s in steps], spec, titles=titles, **common)
    if what in ("figure 1", "winner"):
        maps = _special(scene, what)
        letters = "ABA" if what == "figure 1" else "A"
        named = [map_title(shown, letter) for shown, letter in zip(maps, letters, strict=True)]
        titles = [f"{first}\n{_with_source(source, second)}" for first, second in named]
        return map_figure(explanation, maps, spec, titles=titles, **common)
    chosen = list(scene.panes) if what == "panes" else [scene.active]
    contents = [
        c for c in chosen if c.explanation is not None and (c.shown is not None or isinstance(c.pane.shows, Picture))
    ]
    if not contents:
        raise ExportError("there is no map to export in the chosen panes")
    if any(c.shown is None and c.pane.picture not in (None, scene.state.picture) for c in contents):
        raise ExportError("a figure shows another picture only with a map; give that pane a reading, or leave it out")
    titles = [_title(c) for c in contents]
    if what == "pair":
        titles = ["Picture", titles[0]] if contents[0].source else []
    own = _own(scene, contents) or explanation
    return map_figure(
        own,
        [c.drawn for c in contents],
        spec,
        titles=titles,
        scales=[c.scale for c in contents],
        outlines=[(shape.name, _corners(shape)) for shape in scene.state.regions_here()],
        regions=[make_region(shape, own) for shape, _ in scene.regions],
        table=_region_table(scene) if what == "regions" else (),
        **common,
    )


def active_map(scene: Scene) -> Map:
    """The active pane's map.

    Raises
    ------
    ExportError
        If the active pane shows none.
    """
    if not isinstance(scene.active.shown, Map):
        raise ExportError("the active pane shows no map; choose a reading")
    return scene.active.shown


def _own(scene: Scene, contents: Sequence[PaneContent]) -> AnyExplanation | None:
    """The explanation of panes that all show the current picture under one checkpoint, which may not be the chosen."""
    found = {id(c.explanation): c for c in contents}
    content = contents[0]
    return content.explanation if len(found) == 1 and content.pane.picture in (None, scene.state.picture) else None


def _title(content: PaneContent) -> str:
    return f"{content.title}\n{_with_source(content.source, content.subtitle)}"


def _with_source(source: str, words: str) -> str:
    """The smaller line of a panel's title, with its checkpoint where several are open."""
    return " · ".join(part for part in (source, words) if part)


def _special(scene: Scene, what: str) -> list[AnyMap]:
    """Maps that needn't be shown in a pane."""
    explanation = scene.explanation
    if not isinstance(explanation, Explanation):
        raise ExportError("that needs a CALM checkpoint")
    if what == "winner":
        return [explanation.winner(scene.winner_depth(explanation))]
    if not scene.target or not scene.contrast:
        raise ExportError("figure 1 needs a target A and a contrast B")
    a, b = scene.target, scene.contrast
    return [explanation.attribution(a), explanation.attribution(b), explanation.counterfactual(a, b)]


def _corners(shape: RegionShape) -> list[tuple[float, float]]:
    if shape.kind != "box":
        return list(shape.points)
    (x0, y0), (x1, y1) = shape.points
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def _region_table(scene: Scene) -> list[list[str]]:
    """Each region's area, p(A, z in R|x), and the classes with the most mass in it."""
    explanation = _own(scene, [scene.active]) or scene.explanation
    if not scene.regions or not isinstance(explanation, Explanation):
        raise ExportError("there is no region on this picture; draw one with Ctrl+R, Ctrl+L or Ctrl+B")
    target = scene.target_in(explanation)
    rows = [["region", "cells", "p(A, z in R|x)", "classes with the most mass"]]
    for shape, _ in scene.regions:
        region = make_region(shape, explanation)
        inside = explanation.region_probabilities(region)
        best = np.argsort(-inside)[:_TABLE_CLASSES]
        names = ", ".join(f"{explanation.classes[int(i)].name} {number_text(float(inside[i]))}" for i in best)
        mass = number_text(explanation.probability(target, region))
        rows.append([shape.name, f"{region.cells:.1f}", mass, names])
    return rows
