"""From an upright picture to the network's input: the only preprocessing, whatever the input is for."""

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from calm_gui.core.geometry import Geometry
from calm_gui.model.info import InputSpec
from calm_gui.model.picture import Picture

__all__ = ["input_values", "network_input", "normalised", "prepare"]

_FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


def prepare(picture: Picture, spec: InputSpec, grid: tuple[int, int]) -> tuple[Tensor, Geometry]:
    """Network input and geometry of a picture.

    Parameters
    ----------
    picture : Picture
    spec : InputSpec
    grid : (int, int)
        Rows and columns of the network's native grid.

    Returns
    -------
    Tensor (1,3,size,size), float32, channels last in memory, and Geometry
        As `network_input`.
    """
    geometry = Geometry.fit(picture.size, (spec.size, spec.size), grid, spec.resize)
    return network_input(picture.pixels, spec)[None], geometry


def network_input(pixels: NDArray[np.uint8], spec: InputSpec) -> Tensor:
    """Network input of an upright picture.

    Parameters
    ----------
    pixels : ndarray (h,w,3) uint8
    spec : InputSpec

    Returns
    -------
    Tensor (3,size,size), float32, channels last in memory
        Normalised; padding is the mean colour, so 0.
    """
    rows = _rows(pixels, spec)
    rows -= _along(spec.mean, rows.shape[1])
    rows /= _along(spec.std, rows.shape[1])
    return torch.from_numpy(rows.reshape(spec.size, spec.size, 3)).permute(2, 0, 1)


def input_values(pixels: NDArray[np.uint8], spec: InputSpec) -> NDArray[np.float32]:
    """The colours that `network_input` normalises, for work that changes them first.

    Parameters
    ----------
    pixels : ndarray (h,w,3) uint8
    spec : InputSpec

    Returns
    -------
    ndarray (3,size,size) float32 in [0,1]
        Padding is the mean colour.
    """
    return _rows(pixels, spec).reshape(spec.size, spec.size, 3).transpose(2, 0, 1)


def normalised(values: NDArray[np.float32], spec: InputSpec) -> NDArray[np.float32]:
    """Colours as the network takes them: ``normalised(input_values(...))`` equals `network_input` bit for bit.

    Parameters
    ----------
    values : ndarray (...,3,h,w) float32 in [0,1]
    spec : InputSpec

    Returns
    -------
    ndarray of the same shape, float32
    """
    mean, std = (np.array(v, np.float32)[:, None, None] for v in (spec.mean, spec.std))
    return (values - mean) / std


def _rows(pixels: NDArray[np.uint8], spec: InputSpec) -> NDArray[np.float32]:
    """Colours (size, 3 size) in 0..1: a row holds the three of each pixel in turn.

    NumPy is slow where the last axis is as short as 3.
    """
    height, width = pixels.shape[:2]
    geometry = Geometry.fit((width, height), (spec.size, spec.size), (1, 1), spec.resize)
    seen = geometry.seen
    x0 = round(seen.x0 * geometry.scale[0] + geometry.offset[0])
    y0 = round(seen.y0 * geometry.scale[1] + geometry.offset[1])
    size = max(1, round(seen.width * geometry.scale[0])), max(1, round(seen.height * geometry.scale[1]))
    resized = Image.fromarray(pixels).resize(
        size, _FILTERS[spec.interpolation], box=(seen.x0, seen.y0, seen.x1, seen.y1)
    )
    rows = np.empty((spec.size, 3 * spec.size), np.float32)
    rows[...] = _along(spec.mean, 3 * spec.size)
    part = rows[y0 : y0 + size[1], 3 * x0 : 3 * (x0 + size[0])]
    part[...] = np.asarray(resized).reshape(size[1], 3 * size[0])[: part.shape[0], : part.shape[1]]
    part /= 255
    return rows


def _along(colour: tuple[float, float, float], length: int) -> NDArray[np.float32]:
    """A colour's three values over and over."""
    return np.resize(np.array(colour, np.float32), length)
