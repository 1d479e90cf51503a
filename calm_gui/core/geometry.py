"""How upright picture, network input and native grid lie on one another, and upsampling between them.

Coordinates are continuous, with x to the right and y down. Pixel (row i, column j) covers [j, j+1) x [i, i+1).
The native grid's H x W cells tile the network input evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Box", "Geometry", "Resize", "interpolate", "interpolated_rows"]

Resize = Literal["squash", "crop", "pad"]

_ROUNDING = 1e-6
"""Pixels."""

_AT_ONCE = 2**15
"""Samples in a block: few enough to stay in the cache, and for BLAS to keep to one thread."""


@dataclass(frozen=True)
class Box:
    """Half-open rectangle [x0, x1) x [y0, y1) in pixels of the upright picture."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """x1 - x0."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """y1 - y0."""
        return self.y1 - self.y0


@dataclass(frozen=True)
class Geometry:
    """The map from the upright picture to the network input, both ways.

    Input coordinate = picture coordinate * scale + offset, for x and y.

    Attributes
    ----------
    picture : (int, int)
        Width and height of the upright picture in pixels.
    input : (int, int)
        Width and height of the network input in pixels.
    grid : (int, int)
        Rows H and columns W of the native grid.
    scale, offset : (float, float)
        For x and y.
    """

    picture: tuple[int, int]
    input: tuple[int, int]
    grid: tuple[int, int]
    scale: tuple[float, float]
    offset: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def fit(
        cls, picture: tuple[int, int], input_size: tuple[int, int], grid: tuple[int, int], resize: Resize
    ) -> Geometry:
        """Geometry of a way to bring a picture to the network's size.

        Parameters
        ----------
        picture, input_size : (int, int)
            Width and height.
        grid : (int, int)
            Rows and columns.
        resize : {"squash", "crop", "pad"}
            Squash changes the aspect ratio; crop scales the short side and keeps the centre; pad scales the
            long side and centres the picture on a ground.
        """
        if resize not in get_args(Resize):
            raise ValueError(f"resize must be one of {get_args(Resize)}, not {resize!r}")
        ratios = (input_size[0] / picture[0], input_size[1] / picture[1])
        if resize == "squash":
            return cls(picture, input_size, grid, ratios)
        ratio = max(ratios) if resize == "crop" else min(ratios)
        offset = ((input_size[0] - picture[0] * ratio) / 2, (input_size[1] - picture[1] * ratio) / 2)
        return cls(picture, input_size, grid, (ratio, ratio), offset)

    @property
    def seen(self) -> Box:
        """The part of the picture that the network saw."""
        x0, x1 = self._seen_along(0)
        y0, y1 = self._seen_along(1)
        return Box(x0, y0, x1, y1)

    def _seen_along(self, axis: Literal[0, 1]) -> tuple[float, float]:
        side, offset, scale = self.picture[axis], self.offset[axis], self.scale[axis]
        start, stop = -offset / scale, (self.input[axis] - offset) / scale
        # An edge that rounding alone took off the picture's is the picture's.
        return start if start > _ROUNDING else 0.0, stop if stop < side - _ROUNDING else float(side)

    @property
    def sees_all(self) -> bool:
        """Whether no part of the picture was cut off."""
        return self.seen == Box(0.0, 0.0, float(self.picture[0]), float(self.picture[1]))

    def to_grid(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Grid coordinates (column, row; continuous, cell j covers [j, j+1)) of picture coordinates."""
        column = (np.asarray(x) * self.scale[0] + self.offset[0]) * self.grid[1] / self.input[0]
        row = (np.asarray(y) * self.scale[1] + self.offset[1]) * self.grid[0] / self.input[1]
        return column, row

    def from_grid(self, column: Any, row: Any) -> tuple[Any, Any]:
        """Picture coordinates (x, y) of grid coordinates; the inverse of `to_grid`."""
        x = (np.asarray(column) * self.input[0] / self.grid[1] - self.offset[0]) / self.scale[0]
        y = (np.asarray(row) * self.input[1] / self.grid[0] - self.offset[1]) / self.scale[1]
        return x, y

    def cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Row and column of the cell that holds a point of the picture, or None where nothing was seen."""
        seen = self.seen
        if not (seen.x0 <= x < seen.x1 and seen.y0 <= y < seen.y1):
            return None
        column, row = self.to_grid(x, y)
        return min(int(row), self.grid[0] - 1), min(int(column), self.grid[1] - 1)

    def cell_box(self, row: int, column: int) -> Box:
        """The rectangle of the picture that a cell covers."""
        x0, y0 = self.from_grid(column, row)
        x1, y1 = self.from_grid(column + 1, row + 1)
        return Box(float(x0), float(y0), float(x1), float(y1))

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "picture": list(self.picture),
            "input": list(self.input),
            "grid": list(self.grid),
            "scale": list(self.scale),
            "offset": list(self.offset),
        }


def _taps(centres: NDArray[np.float64], n: int, nearest: bool) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The first of the one or two cells that count for each sample, and their weights; clamped at the edges."""
    if nearest or n == 1:
        return np.clip(np.floor(centres).astype(np.intp), 0, n - 1), np.ones((len(centres), 1), np.float32)
    position = np.clip(centres - 0.5, 0.0, n - 1)
    first = np.minimum(position.astype(np.intp), n - 2)
    second = (position - first).astype(np.float32)
    return first, np.stack([1 - second, second], axis=1)


def interpolate(
    values: NDArray[np.float32],
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    nearest: bool = False,
) -> NDArray[np.float32]:
    """Sample a map on a rectangular lattice, bilinearly with half-pixel centres (``align_corners=False``).

    Parameters
    ----------
    values : ndarray (H,W), float32
    columns : ndarray (w,)
        Grid coordinates of the lattice's columns; the centre of cell j is j + 0.5. Values are clamped.
    rows : ndarray (h,)
        Likewise for rows.
    nearest : bool
        Take the cell a sample lies in instead.

    Returns
    -------
    ndarray (h,w), float32
    """
    result = np.empty((len(rows), len(columns)), np.float32)
    for part, block in interpolated_rows(values, columns, rows, nearest):
        result[part] = block
    return result


def interpolated_rows(
    values: NDArray[np.float32],
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    nearest: bool = False,
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """The rows of `interpolate` in blocks, for work that is faster while they are in the cache.

    Parameters
    ----------
    values, columns, rows, nearest
        As for `interpolate`.

    Yields
    ------
    slice
        Which rows.
    ndarray (n,w), float32
        Their samples; the next block overwrites them.
    """
    height, width = values.shape
    j, across = _taps(columns, width, nearest)
    i, down = _taps(rows, height, nearest)
    wide = np.add.reduce([values[:, j + tap] * across[:, tap] for tap in range(across.shape[1])])
    at_once = max(1, _AT_ONCE // max(1, len(columns)))
    block = np.empty((min(at_once, len(rows)), len(columns)), np.float32)
    bounds = np.flatnonzero(np.diff(i)) + 1  # between them, rows share their cells
    for first in range(0, len(rows), at_once):
        last = min(first + at_once, len(rows))
        start = first
        for end in (*bounds[(bounds > first) & (bounds < last)].tolist(), last):
            cells = wide[i[start] : i[start] + down.shape[1]]
            np.matmul(down[start:end], cells, out=block[start - first : end - first])
            start = end
        yield slice(first, last), block[: last - first]
