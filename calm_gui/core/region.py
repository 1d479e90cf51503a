"""Regions: sets of grid cells with the part of each cell that a drawn shape covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calm_gui.core.geometry import Box, Geometry
from calm_gui.errors import ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image, ImageDraw

__all__ = ["Region", "region_from_box", "region_from_mask", "region_from_polygon", "region_from_stroke"]

_SUBCELLS = 32
"""Polygons are filled on a lattice of 32 x 32 points per cell: weights are right to about 1/64."""


@dataclass(frozen=True, eq=False, repr=False)
class Region:
    """Cells with weights.

    Attributes
    ----------
    weights : ndarray (H,W), float64
        Part of each cell, in [0,1], that the shape covers.
    name : str
    """

    weights: NDArray[np.float64]
    name: str = "region"

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or not np.all((self.weights >= 0) & (self.weights <= 1)):
            raise ReadingError(f"the weights of {self.name} must be a (H,W) array of numbers from 0 to 1")
        self.weights.flags.writeable = False

    def __or__(self, other: Region) -> Region:
        """Union; where both cover part of a cell, the larger part counts."""
        return Region(np.maximum(self.weights, other.weights), self.name)

    def complement(self) -> Region:
        """Everything else."""
        return Region(1.0 - self.weights, f"outside {self.name}")

    @property
    def cells(self) -> float:
        """Covered area in cells."""
        return float(self.weights.sum())

    def __repr__(self) -> str:
        rows, columns = self.weights.shape
        return f"<Region {self.name}: {self.cells:.1f} of {rows}x{columns} cells>"


def region_from_mask(geometry: Geometry, mask: Any, name: str = "region") -> Region:
    """Region of a mask.

    Parameters
    ----------
    geometry : Geometry
    mask : array
        (H,W) over the grid, or (height, width) over the upright picture: truth values, or what part of each belongs to
        the region, in [0,1].
    name : str

    Raises
    ------
    ReadingError
        If it has neither shape, or holds other values.
    """
    values = np.asarray(mask)
    width, height = geometry.picture
    if values.shape not in (geometry.grid, (height, width)) or values.dtype.kind not in "biuf":
        raise ReadingError(
            f"a mask must be an array of the grid's shape {geometry.grid} or the picture's {(height, width)}, "
            f"not {values.shape} of {values.dtype}"
        )
    values = values.astype(np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise ReadingError(f"the values of a mask must lie from 0 to 1, not from {values.min():g} to {values.max():g}")
    if values.shape == geometry.grid:
        return Region(values, name)
    down, across = _parts(geometry, 0), _parts(geometry, 1)
    return Region(np.clip(down @ values @ across.T, 0.0, 1.0), name)


def _parts(geometry: Geometry, axis: int) -> NDArray[np.float64]:
    """Which part of each cell along an axis each pixel covers, (cells, pixels)."""
    pixels = geometry.picture[1 - axis]
    edges = np.arange(pixels + 1, dtype=np.float64)
    on_grid = geometry.to_grid(edges, edges)[1 - axis]
    cells = np.arange(geometry.grid[axis], dtype=np.float64)[:, None]
    return np.clip(np.minimum(on_grid[1:], cells + 1) - np.maximum(on_grid[:-1], cells), 0.0, 1.0)


def region_from_box(geometry: Geometry, box: Box, name: str = "region") -> Region:
    """Region of a rectangle, exactly.

    Parameters
    ----------
    geometry : Geometry
    box : Box
        Pixels of the upright picture; corners in any order, cut to what the network saw.
    name : str
    """
    seen = geometry.seen
    x = np.clip(sorted((box.x0, box.x1)), seen.x0, seen.x1)
    y = np.clip(sorted((box.y0, box.y1)), seen.y0, seen.y1)
    columns, rows = geometry.to_grid(x, y)
    height, width = geometry.grid
    across = _overlap(columns[0], columns[1], width)
    down = _overlap(rows[0], rows[1], height)
    return Region(np.outer(down, across), name)


def _overlap(start: float, stop: float, n: int) -> NDArray[np.float64]:
    edges = np.arange(n + 1, dtype=np.float64)
    return np.clip(np.minimum(stop, edges[1:]) - np.maximum(start, edges[:-1]), 0.0, 1.0)


def region_from_polygon(geometry: Geometry, points: Sequence[tuple[float, float]], name: str = "region") -> Region:
    """Region of a closed polygon (a lasso).

    Parameters
    ----------
    geometry : Geometry
    points : sequence of (x, y)
        At least three, in pixels of the upright picture.
    name : str

    Raises
    ------
    ReadingError
        For fewer than three points.
    """
    if len(points) < 3:
        raise ReadingError("a region needs at least three points")
    canvas, draw, corners = _canvas(geometry, points)
    draw.polygon(corners, fill=1)
    return _filled(canvas, geometry, name)


def region_from_stroke(
    geometry: Geometry, points: Sequence[tuple[float, float]], radius: float, name: str = "region"
) -> Region:
    """Region of a brush stroke: everything within a radius of a line.

    Parameters
    ----------
    geometry : Geometry
    points : sequence of (x, y)
        At least one, in pixels of the upright picture.
    radius : float
        In pixels of the upright picture, along its width.
    name : str

    Raises
    ------
    ReadingError
        For no point, or a radius that isn't positive.
    """
    if not points or not radius > 0:
        raise ReadingError("a brush stroke needs at least one point and a radius above 0")
    canvas, draw, corners = _canvas(geometry, points)
    size = radius * geometry.scale[0] * geometry.grid[1] / geometry.input[0] * _SUBCELLS
    draw.line(corners, fill=1, width=max(1, round(2 * size)))
    for x, y in corners:
        draw.ellipse((x - size, y - size, x + size, y + size), fill=1)
    return _filled(canvas, geometry, name)


def _canvas(
    geometry: Geometry, points: Sequence[tuple[float, float]]
) -> tuple[Image.Image, ImageDraw.ImageDraw, list[tuple[float, float]]]:
    """An empty lattice of subcells, what draws on it, and the points (Pillow's whole numbers name pixel centres)."""
    from PIL import Image, ImageDraw  # off the start-up path

    height, width = geometry.grid
    columns, rows = geometry.to_grid(*np.asarray(points, dtype=np.float64).T)
    on_lattice = np.stack([columns * _SUBCELLS - 0.5, rows * _SUBCELLS - 0.5], axis=1).tolist()
    canvas = Image.new("1", (width * _SUBCELLS, height * _SUBCELLS))
    return canvas, ImageDraw.Draw(canvas), [(x, y) for x, y in on_lattice]


def _filled(canvas: Image.Image, geometry: Geometry, name: str) -> Region:
    height, width = geometry.grid
    filled = np.asarray(canvas, dtype=np.float64).reshape(height, _SUBCELLS, width, _SUBCELLS)
    weights: NDArray[np.float64] = filled.mean(axis=(1, 3))
    return Region(weights, name)
