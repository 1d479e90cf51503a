"""Colour maps as tables of 256 colours. All are readable with colour-blind eyes unless noted."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import calm_resources
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CATEGORICAL",
    "DIVERGING",
    "SEQUENTIAL",
    "categorical_colour",
    "colour_table",
    "premultiplied",
    "premultiplied_table",
]

SEQUENTIAL = ("inferno", "viridis", "magma", "cividis", "gray")
"""For values from zero up; the first is the default. Any of matplotlib's maps can be added."""

DIVERGING = ("RdBu", "PuOr", "BrBG")
"""For differences; each is turned so that the warm end is positive."""

CATEGORICAL = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee7733", "#009988",
    "#332288", "#ddcc77", "#882255", "#44aa99",
)  # fmt: skip
"""For winner maps: Paul Tol's bright and muted qualitative colours, distinct to colour-blind eyes."""


@lru_cache(maxsize=32)
def colour_table(name: str) -> NDArray[np.uint8]:
    """The 256 colours of a map, lowest value first.

    Parameters
    ----------
    name : str
        One of `SEQUENTIAL` or `DIVERGING`.

    Returns
    -------
    ndarray (256,3), uint8, RGB
    """
    if name not in SEQUENTIAL + DIVERGING:
        raise ValueError(f"unknown colour map {name!r}; there are {', '.join(SEQUENTIAL + DIVERGING)}")
    if table := _tables().get(name):
        return np.frombuffer(bytes.fromhex(table), np.uint8).reshape(256, 3)
    from matplotlib import colormaps  # off the start-up path

    turned = f"{name}_r" if name in DIVERGING else name
    colours = np.round(255 * colormaps[turned](np.arange(256))[:, :3]).astype(np.uint8)
    colours.flags.writeable = False
    return colours


@cache
def _tables() -> dict[str, str]:
    """Matplotlib's tables from a file, since importing it would take half as long as the first frame."""
    found: dict[str, str] = json.loads(calm_resources.path("colour_maps.json").read_text("ascii"))
    return found


@lru_cache(maxsize=256)
def premultiplied_table(name: str, opacity: float) -> NDArray[np.uint32]:
    """A colour map as premultiplied ARGB words, for blending over a picture.

    Parameters
    ----------
    name : str
    opacity : float
        0..1, the same for all colours.

    Returns
    -------
    ndarray (256,), uint32
    """
    words = premultiplied(colour_table(name), opacity)
    words.flags.writeable = False
    return words


def premultiplied(colours: NDArray[np.uint8], opacity: float) -> NDArray[np.uint32]:
    """Colours (...,3) of one opacity as premultiplied ARGB words (...)."""
    alpha = round(opacity * 255)
    red, green, blue = np.moveaxis((colours.astype(np.uint32) * alpha + 127) // 255, -1, 0)
    return ((alpha << 24) | (red << 16) | (green << 8) | blue).astype(np.uint32)


def categorical_colour(index: int) -> tuple[int, int, int]:
    """RGB of the index-th group of a winner map; colours repeat after `CATEGORICAL` is used up."""
    code = CATEGORICAL[index % len(CATEGORICAL)]
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)
