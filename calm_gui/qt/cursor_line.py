"""The status line: what is under the cursor."""

from __future__ import annotations

from calm_gui.core.explanation import CamExplanation, Explanation
from calm_gui.core.maps import Map
from calm_gui.late import np
from calm_gui.session.scene import Scene

__all__ = ["cursor_text"]


def cursor_text(scene: Scene, point: tuple[float, float] | None) -> str:
    """Pixel, cell, value, p(z|x) and the three best classes of the cell under the cursor.

    Parameters
    ----------
    scene : Scene
    point : (float, float) or None
        Pixels of the upright picture.
    """
    content = scene.active
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
            parts.append(f"{content.title.split(' — ')[0].lower()} {content.shown.values[own]:.2e}")
    if isinstance(explanation, Explanation):
        rows = explanation.joint[:, cell[0], cell[1]]
        here = float(rows.sum(dtype=np.float64))
        parts.append(f"p(z|x) {here:.2e}")
        if here > 0:
            best = np.argpartition(-rows, min(3, len(rows) - 1))[:3]
            best = best[np.argsort(-rows[best])]
            words = ", ".join(f"{explanation.classes[int(i)].name} {rows[i] / here:.2f}" for i in best)
            parts.append(f"here: {words}")
    elif isinstance(explanation, CamExplanation):
        rows = explanation.f[:, cell[0], cell[1]]
        best = np.argsort(-rows)[:3]
        parts.append("highest scores: " + ", ".join(f"{explanation.classes[int(i)].name} {rows[i]:.1f}" for i in best))
    return " · ".join(parts)
