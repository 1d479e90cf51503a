"""Maps as 32-bit ARGB pixels that Qt draws as they are. A person waits for this at every click, so it is fast:

rows are worked on in blocks that stay in the cache, buffers are used again, and one look-up colours two pixels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from calm_gui.core.geometry import interpolated_rows
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.late import np
from calm_gui.render.colormap import premultiplied, premultiplied_table
from calm_gui.render.overlay import winner_colours
from calm_gui.render.scale import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Argb = NDArray[np.uint32]

__all__ = ["dim", "even_shape", "map_argb", "winner_argb"]

_BYTES_AT_ONCE = 2**16


def even_shape(width: int, height: int) -> tuple[int, int]:
    """Rows and columns of pixels for a width and height: an odd width gets one column more, which isn't drawn."""
    return height, width + width % 2


@lru_cache(maxsize=16)
def _pairs(colour_map: str, opacity: float) -> NDArray[np.uint64]:
    """Both pixels of any two neighbouring colour indices, (65536,)."""
    pixels = premultiplied_table(colour_map, opacity).astype(np.uint64)
    pairs = ((pixels[:, None] << np.uint64(32)) | pixels).ravel()
    pairs.flags.writeable = False
    return pairs


def map_argb(
    shown: Map,
    scale: Scale,
    colour_map: str,
    opacity: float,
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    out: Argb,
    nearest: bool = False,
    least: float | None = None,
    under: Argb | None = None,
) -> None:
    """Colour a map on a lattice of pixels.

    Parameters
    ----------
    shown : Map
    scale : Scale
    colour_map : str
    opacity : float
    columns, rows : ndarray (w,), (h,)
        Grid coordinates of the pixels' centres; w is even.
    out : ndarray (h,w), uint32, contiguous
        Gets premultiplied ARGB.
    nearest : bool
        Native cells instead of a smooth map.
    least : float, optional
        Pixels of lesser values (of lesser magnitudes, in a signed map) are left transparent.
    under : ndarray (h,w), uint32, optional
        Added to the pixels, as `dim` gives it with the same opacity.
    """
    pairs = _pairs(colour_map, opacity)
    places = np.empty((0, len(columns) // 2), np.intp)
    linear = scale.spacing == "linear"
    grid = scale.steps(shown.values) if linear else shown.values  # interpolation may come after what is linear
    clip = not (linear and grid.min() >= 0 and grid.max() < 256)
    for part, block in interpolated_rows(grid, columns, rows, nearest):
        steps = block if linear else scale.steps(block)
        indices = (scale.clipped(steps) if clip else steps).astype(np.uint8)
        if len(places) < len(indices):
            places = np.empty((len(indices), len(columns) // 2), np.intp)
        place = places[: len(indices)]
        place[...] = indices.view(np.uint16)
        np.take(pairs, place, out=out[part].view(np.uint64), mode="clip")  # this mode alone has no second buffer
        if under is not None:
            out[part] += under[part]
    if least is not None:
        for part, block in interpolated_rows(shown.values, columns, rows, nearest):
            out[part][(np.abs(block) if shown.signed else block) < least] = 0


def winner_argb(
    shown: WinnerMap, opacity: float, columns: NDArray[np.float64], rows: NDArray[np.float64], out: Argb
) -> None:
    """Colour a winner map's cells on a lattice of pixels; cells without a winner are left transparent.

    Parameters
    ----------
    shown : WinnerMap
    opacity : float
    columns, rows : ndarray (w,), (h,)
        Grid coordinates of the pixels' centres.
    out : ndarray (h,w), uint32, contiguous
        Gets premultiplied ARGB.
    """
    pixels = premultiplied(winner_colours(shown)[0], opacity)
    pixels[shown.winner < 0] = 0
    i = np.clip(rows.astype(np.intp), 0, pixels.shape[0] - 1)
    j = np.clip(columns.astype(np.intp), 0, pixels.shape[1] - 1)
    np.take(pixels[:, j], i, axis=0, out=out, mode="clip")


def dim(picture: Argb, opacity: float, out: Argb) -> None:
    """Leave of a picture's bytes the part that a map of an opacity lets through, so that both add up to 255 at most.

    Parameters
    ----------
    picture : ndarray (h,w), uint32
    opacity : float
    out : ndarray (h,w) or (h,w+1), uint32, contiguous
        A column more is left as it is.
    """
    left = 255 - round(opacity * 255)
    width = 4 * picture.shape[1]
    source, target = picture.view(np.uint8), out.view(np.uint8)
    at_once = max(1, _BYTES_AT_ONCE // max(1, width))
    for start in range(0, len(picture), at_once):
        part = slice(start, start + at_once)
        block = source[part].astype(np.uint16)
        block *= np.uint16(left)
        block += np.uint16(127)
        block //= np.uint16(255)
        target[part, :width] = block
