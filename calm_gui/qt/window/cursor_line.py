"""The status line: what is under the cursor."""

from __future__ import annotations

from calm_gui.core.cam_explanation import CamExplanation
from calm_gui.core.explanation import Explanation
from calm_gui.core.maps import Map
from calm_gui.late import np
from calm_gui.render.naming import number_text, value_text
from calm_gui.render.notation import Notation
from calm_gui.render.units import after_number
from calm_gui.session.scene import PaneContent, Scene

__all__ = ["cursor_text"]


def cursor_text(scene: Scene, point: tuple[float, float] | None, pane: int = -1) -> str:
    """Pixel, cell, value, p(z|x) and the three best classes of the cell under the cursor.

    Parameters
    ----------
    scene : Scene
    point : (float, float) or None
        Pixels of the upright picture.
    pane : int
        Position of the pane that the cursor is over; the active one's values are told where it's over none.
    """
    content = scene.panes[pane] if 0 <= pane < len(scene.panes) else scene.active
    explanation = content.explanation
    if point is None or explanation is None:
        return ""
    x, y = point
    cell = explanation.geometry.cell_at(x, y)
    parts = [f"x {int(x)}, y {int(y)}"]
    if cell is None:
        return f"{parts[0]} · not seen by the model"
    parts.append(f"cell ({cell[0]}, {cell[1]})")
    if isinstance(content.shown, Map):
        own = content.shown.geometry.cell_at(x, y)
        if own is not None:
            parts.append(_value(content, own))
    if isinstance(explanation, Explanation):
        rows = explanation.joint[:, cell[0], cell[1]]
        here = float(rows.sum(dtype=np.float64))
        parts.append(f"p(z|x) {number_text(here)}")
        if here > 0:
            best = np.argpartition(-rows, min(3, len(rows) - 1))[:3]
            best = best[np.argsort(-rows[best])]
            words = ", ".join(f"{explanation.classes[int(i)].name} {rows[i] / here:.2f}" for i in best)
            parts.append(f"here: {words}")
    elif isinstance(explanation, CamExplanation):
        rows = explanation.f[:, cell[0], cell[1]]
        best = np.argsort(-rows)[:3]
        words = ", ".join(f"{explanation.classes[int(i)].name} {value_text(float(rows[i]))}" for i in best)
        parts.append(f"highest scores: {words}")
    return " · ".join(parts)


def _value(content: PaneContent, cell: tuple[int, int]) -> str:
    """The map's value at a cell, as its scale writes numbers."""
    drawn = content.drawn
    assert isinstance(drawn, Map) and content.scale is not None
    number = Notation.of(content.scale).whole(float(drawn.values[cell]))
    return f"{content.label} {number} {after_number(content.scale.unit)}"
