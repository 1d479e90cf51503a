"""Contour lines of a map, in pixels of the upright picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calm_gui.core.geometry import Geometry
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cell_outline", "contour_lines"]


def contour_lines(values: NDArray[np.floating], level: float, geometry: Geometry) -> list[NDArray[np.float64]]:
    """Lines along which the bilinearly upsampled map crosses a level.

    Parameters
    ----------
    values : ndarray (H,W)
    level : float
    geometry : Geometry

    Returns
    -------
    list of ndarray (n,2)
        x, y in pixels of the upright picture.
    """
    from contourpy import LineType, contour_generator  # comes with matplotlib

    if not np.isfinite(level) or not np.isfinite(values).all():
        return []
    height, width = values.shape
    # Upsampling is constant in the outer half of the border cells, so lines run on to the border.
    padded = np.pad(values, 1, mode="edge")
    columns = np.concatenate([[0.0], np.arange(width) + 0.5, [width]])
    rows = np.concatenate([[0.0], np.arange(height) + 0.5, [height]])
    lines: Any = contour_generator(columns, rows, padded, line_type=LineType.Separate).lines(level)
    return [np.stack(geometry.from_grid(line[:, 0], line[:, 1]), axis=1) for line in lines]


def cell_outline(cells: NDArray[np.bool_], geometry: Geometry) -> list[NDArray[np.float64]]:
    """Edges between chosen and other cells, each a segment (2,2) in pixels of the upright picture."""
    padded = np.pad(cells, 1)
    rows, columns = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    across = [((c, r), (c + 1, r)) for r, c in zip(rows, columns, strict=True)]
    rows, columns = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    down = [((c, r), (c, r + 1)) for r, c in zip(rows, columns, strict=True)]
    return [np.stack(geometry.from_grid(*np.array(segment, dtype=np.float64).T), axis=1) for segment in across + down]
