"""Pixels of a picture from arrays and tensors in whatever layout can be told apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import PictureError

__all__ = ["is_tensor", "rgb_pixels"]

_CHANNELS = (1, 3, 4)
_SLACK = 1e-3
"""How far colours may lie outside 0..1, as interpolation leaves them."""


def is_tensor(value: object) -> bool:
    """Whether a value is a torch tensor."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def rgb_pixels(array: Any, name: str = "array") -> NDArray[np.uint8]:
    """Pixels (h,w,3), uint8, of an array or tensor.

    Parameters
    ----------
    array : ndarray or Tensor
        (h,w) grey, (h,w,c) or (c,h,w) with 1, 3 or 4 channels; uint8 in 0..255 or floating point in 0..1. Where the
        first and the last axis could both be channels, a tensor's are the first and an array's the last. The fourth
        channel is opacity over white.
    name : str
        What to call it in messages.

    Raises
    ------
    PictureError
        If it is of another shape, type or range; the message says what to give.
    """
    first = is_tensor(array)
    values = np.asarray(array.detach().cpu() if first else array)
    if values.ndim == 2:
        values, first = values[:, :, None], False
    if values.ndim != 3 or 0 in values.shape:
        raise PictureError(f"{name} has the shape {values.shape}; a picture is (h,w), (h,w,3) or (3,h,w)")
    leading, trailing = values.shape[0] in _CHANNELS, values.shape[2] in _CHANNELS
    if leading and (first or not trailing):
        values = values.transpose(1, 2, 0)
    elif not trailing:
        raise PictureError(
            f"{name} has the shape {values.shape}, with no axis of 1, 3 or 4 channels; a picture is (h,w,3) or (3,h,w)"
        )
    pixels = _bytes(values, name)
    if pixels.shape[2] == 1:
        return np.ascontiguousarray(np.repeat(pixels, 3, axis=2))
    if pixels.shape[2] == 4:
        over = Image.fromarray(np.ascontiguousarray(pixels))
        return np.array(Image.alpha_composite(Image.new("RGBA", over.size, "white"), over).convert("RGB"))
    return np.ascontiguousarray(pixels)


def _bytes(values: NDArray[Any], name: str) -> NDArray[np.uint8]:
    if values.dtype == np.uint8:
        return values
    if values.dtype.kind != "f":
        raise PictureError(f"{name} holds {values.dtype}; give uint8 in 0..255 or floating point in 0..1")
    low, high = float(values.min()), float(values.max())
    if not (low >= -_SLACK and high <= 1 + _SLACK):  # NaN too
        raise PictureError(
            f"{name} holds values from {low:.3g} to {high:.3g}; colours lie in 0..1, and what is normalised for the "
            "network already is explained with normalized=True"
        )
    return (values.clip(0, 1) * 255).round().astype(np.uint8)
