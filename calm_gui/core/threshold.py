"""From a map to a set of cells: by value, by credible mass, by the paper's min-max threshold; boxes around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from calm_gui.core.geometry import Box, Geometry
from calm_gui.errors import ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CREDIBLE_MASS",
    "ThresholdKind",
    "component_boxes",
    "credible_cells",
    "credible_level",
    "min_max_level",
    "threshold_cells",
    "threshold_level",
]

CREDIBLE_MASS = 0.9
"""Share of a map's mass where none is asked for."""

ThresholdKind = Literal["none", "value", "mass", "min-max"]


def credible_level(values: NDArray[np.floating], mass: float) -> float:
    """Value of the last cell of the smallest set of cells that holds a share of the map's mass.

    Parameters
    ----------
    values : ndarray (H,W)
        Not negative.
    mass : float
        Share of the sum, in (0, 1].

    Returns
    -------
    float
        Cells at or above it hold at least the share; infinity for a map that is zero everywhere.

    Raises
    ------
    ReadingError
        If a value is negative or the share isn't in (0, 1].
    """
    if not 0.0 < mass <= 1.0:
        raise ReadingError(f"credible mass must lie above 0 and at most at 1, not at {mass:g}")
    flat = np.sort(np.asarray(values, dtype=np.float64), axis=None)[::-1]
    if flat[-1] < 0:
        raise ReadingError("credible mass needs a map without negative values; take the absolute difference")
    running = np.cumsum(flat)
    if running[-1] == 0:
        return float("inf")
    # The share is reached up to rounding: 90 % of ten equal cells are nine of them.
    enough = int(np.searchsorted(running, mass * running[-1] * (1 - 1e-12)))
    return float(flat[min(enough, flat.size - 1)])


def credible_cells(values: NDArray[np.floating], mass: float) -> NDArray[np.bool_]:
    """The smallest set of cells that holds a share of the mass; ties enter together.

    Parameters and errors as for `credible_level`. Zero cells are never part of the set.

    Returns
    -------
    ndarray (H,W), bool
    """
    cells: NDArray[np.bool_] = (np.asarray(values, dtype=np.float64) >= credible_level(values, mass)) & (values > 0)
    return cells


def min_max_level(values: NDArray[np.floating], tau: float) -> float:
    """Value at tau of the way from the map's minimum to its maximum (the paper's WSOL threshold).

    Parameters
    ----------
    values : ndarray (H,W)
    tau : float
        In [0, 1].
    """
    low, high = float(np.min(values)), float(np.max(values))
    return low + tau * (high - low)


def component_boxes(mask: NDArray[np.bool_], geometry: Geometry | None = None) -> list[Box]:
    """Boxes around the 8-connected parts of a mask, largest part first.

    Parameters
    ----------
    mask : ndarray (H,W), bool
        On the native grid, or of any size if no geometry is given.
    geometry : Geometry, optional
        To give boxes in pixels of the upright picture; otherwise in cells.

    Returns
    -------
    list of Box
        Half-open: a box ends where its last cell ends.
    """
    from scipy import ndimage  # off the start-up path

    labels, count = ndimage.label(mask, structure=np.ones((3, 3)))
    sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    boxes = []
    for part in np.argsort(-sizes, kind="stable"):
        rows, columns = ndimage.find_objects(labels, max_label=count)[part]
        x0, y0, x1, y1 = columns.start, rows.start, columns.stop, rows.stop
        if geometry is not None:
            (x0, y0), (x1, y1) = geometry.from_grid(x0, y0), geometry.from_grid(x1, y1)
        boxes.append(Box(float(x0), float(y0), float(x1), float(y1)))
    return boxes


def threshold_level(values: NDArray[np.floating], kind: ThresholdKind, value: float) -> float | None:
    """The value at which a threshold cuts a map, judged by size whatever the sign; None for no threshold.

    Parameters
    ----------
    values : ndarray (H,W)
    kind : {"none", "value", "mass", "min-max"}
        The value itself, the credible mass, or tau of the paper's min-max threshold.
    value : float
    """
    size = np.abs(values)
    if kind == "none" or not np.isfinite(size).all():
        return None
    if kind == "mass":
        return credible_level(size, value)
    return min_max_level(size, value) if kind == "min-max" else value


def threshold_cells(values: NDArray[np.floating], kind: ThresholdKind, value: float) -> NDArray[np.bool_] | None:
    """The cells that a threshold chooses, (H,W); parameters as for `threshold_level`. None for no threshold."""
    level = threshold_level(values, kind, value)
    if level is None:
        return None
    size = np.asarray(np.abs(values), dtype=np.float64)
    cells: NDArray[np.bool_] = (size >= level) & (size > 0) if kind == "mass" else size >= level
    return cells
