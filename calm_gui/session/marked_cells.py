"""The cells that a person marks: by drawing a region, or by a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.maps import Map
from calm_gui.core.region import Region, region_from_polygon, region_from_stroke
from calm_gui.core.threshold import threshold_cells
from calm_gui.late import np
from calm_gui.session.state import RegionShape, Threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["chosen_cells", "make_region"]


def make_region(shape: RegionShape, explanation: AnyExplanation) -> Region:
    """Weights of a drawn region on an explanation's grid."""
    if shape.kind == "box":
        (x0, y0), (x1, y1) = shape.points
        return explanation.region_from_box(x0, y0, x1, y1, shape.name)
    if shape.kind == "brush":
        return region_from_stroke(explanation.geometry, shape.points, shape.radius, shape.name)
    return region_from_polygon(explanation.geometry, shape.points, shape.name)


def chosen_cells(shown: Map, threshold: Threshold) -> NDArray[np.bool_] | None:
    """The cells that the view's threshold chooses, (H,W), or None for no threshold."""
    return threshold_cells(shown.values, threshold.kind, threshold.value)
