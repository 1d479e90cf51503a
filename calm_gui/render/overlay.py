"""Laying a coloured map over a picture, pixel for pixel as the window shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.core.geometry import Geometry, interpolate
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.late import np
from calm_gui.render.colormap import DIVERGING, SEQUENTIAL, categorical_colour, colour_table
from calm_gui.render.scale import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["blend", "colourise", "default_colour_map", "map_picture", "overlay_picture", "unseen", "winner_colours"]

UNSEEN_DIM = 0.35
"""How much of a picture's brightness is left where the network saw nothing."""


def default_colour_map(signed: bool) -> str:
    """Diverging for differences, sequential for the rest."""
    return DIVERGING[0] if signed else SEQUENTIAL[0]


def unseen(geometry: Geometry, height: int, width: int) -> NDArray[np.bool_]:
    """Which pixels of a picture of this size the network didn't see, (height, width)."""
    seen = geometry.seen
    x = (np.arange(width) + 0.5) * geometry.picture[0] / width
    y = (np.arange(height) + 0.5) * geometry.picture[1] / height
    outside: NDArray[np.bool_] = ((y < seen.y0) | (y >= seen.y1))[:, None] | ((x < seen.x0) | (x >= seen.x1))[None, :]
    return outside


def colourise(
    shown: Map, scale: Scale, colour_map: str, size: tuple[int, int], nearest: bool = False
) -> NDArray[np.uint8]:
    """A map's colours, without picture.

    Parameters
    ----------
    shown : Map
    scale : Scale
    colour_map : str
    size : (int, int)
        Height and width wanted; the whole upright picture is covered.
    nearest : bool
        Native cells instead of a smooth map.

    Returns
    -------
    ndarray (height, width, 3), uint8
    """
    return colour_table(colour_map)[scale.indices(shown.upsampled(size, nearest))]


def blend(picture: NDArray[np.uint8], colours: NDArray[np.uint8], opacity: float) -> NDArray[np.uint8]:
    """Colours laid over a picture of the same shape (h,w,3) with one opacity, rounded to the nearest integer."""
    alpha = np.uint16(round(opacity * 255))
    mixed = picture.astype(np.uint16) * (np.uint16(255) - alpha) + colours.astype(np.uint16) * alpha
    return ((mixed + 127) // 255).astype(np.uint8)


def overlay_picture(
    picture: NDArray[np.uint8],
    shown: Map,
    scale: Scale,
    colour_map: str | None = None,
    opacity: float = 0.6,
    nearest: bool = False,
) -> NDArray[np.uint8]:
    """The picture with the map over what the network saw; the rest is dimmed.

    Parameters
    ----------
    picture : ndarray (h,w,3), uint8
        The upright picture, at any scale.
    shown : Map
    scale : Scale
    colour_map : str, optional
    opacity : float
        0..1.
    nearest : bool

    Returns
    -------
    ndarray (h,w,3), uint8
    """
    height, width = picture.shape[:2]
    colours = colourise(shown, scale, colour_map or default_colour_map(shown.signed), (height, width), nearest)
    return _with_unseen(picture, blend(picture, colours, opacity), shown.geometry)


def _with_unseen(picture: NDArray[np.uint8], result: NDArray[np.uint8], geometry: Geometry) -> NDArray[np.uint8]:
    if not geometry.sees_all:
        outside = unseen(geometry, *picture.shape[:2])
        result[outside] = (picture[outside] * UNSEEN_DIM).astype(np.uint8)
    return result


def winner_colours(shown: WinnerMap) -> tuple[NDArray[np.uint8], dict[int, tuple[int, int, int]]]:
    """Colours of a winner map on the native grid (H,W,3), and the colour of each winning node's index.

    Nodes get colours by their mass in the legend; cells without a winner are black.
    """
    order = [shown.nodes.index(node) for node, _, _ in shown.legend()]
    palette = {index: categorical_colour(rank) for rank, index in enumerate(order)}
    colours = np.zeros((*shown.winner.shape, 3), dtype=np.uint8)
    for index, colour in palette.items():
        colours[shown.winner == index] = colour
    return colours, palette


def map_picture(
    picture: NDArray[np.uint8], shown: Map | WinnerMap, scale: Scale | None, colour_map: str | None, opacity: float
) -> NDArray[np.uint8]:
    """Overlay of either kind of map; winner maps have no scale and are drawn in native cells."""
    if isinstance(shown, Map):
        if scale is None:
            raise ValueError("a map needs a scale")
        return overlay_picture(picture, shown, scale, colour_map, opacity)
    height, width = picture.shape[:2]
    colours, _ = winner_colours(shown)
    geometry = shown.geometry
    x = (np.arange(width) + 0.5) * geometry.picture[0] / width
    y = (np.arange(height) + 0.5) * geometry.picture[1] / height
    columns, rows = geometry.to_grid(x, y)
    planes = [interpolate(colours[:, :, c].astype(np.float32), columns, rows, nearest=True) for c in range(3)]
    return _with_unseen(picture, blend(picture, np.stack(planes, axis=-1).astype(np.uint8), opacity), geometry)
