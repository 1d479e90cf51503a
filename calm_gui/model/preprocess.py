"""From an upright picture to the network's input, with the geometry that leads back."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from calm_gui.core.geometry import Geometry
from calm_gui.model.info import InputSpec
from calm_gui.model.picture import Picture

__all__ = ["prepare"]

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
        Padding is the mean colour, so 0 after normalisation.
    """
    geometry = Geometry.fit(picture.size, (spec.size, spec.size), grid, spec.resize)
    seen = geometry.seen
    x0, y0 = (
        round(seen.x0 * geometry.scale[0] + geometry.offset[0]),
        round(seen.y0 * geometry.scale[1] + geometry.offset[1]),
    )
    width = max(1, round(seen.width * geometry.scale[0]))
    height = max(1, round(seen.height * geometry.scale[1]))
    resized = Image.fromarray(picture.pixels).resize(
        (width, height), _FILTERS[spec.interpolation], box=(seen.x0, seen.y0, seen.x1, seen.y1)
    )
    # A row holds the channels of all its pixels in turn: numpy is slow where the last axis is as short as 3.
    canvas = np.zeros((spec.size, 3 * spec.size), dtype=np.float32)
    values = canvas[y0 : y0 + height, 3 * x0 : 3 * (x0 + width)]
    pixels = np.asarray(resized).reshape(height, 3 * width)
    values[...] = pixels[: values.shape[0], : values.shape[1]]
    values /= 255
    values -= np.resize(np.array(spec.mean, np.float32), values.shape[1])
    values /= np.resize(np.array(spec.std, np.float32), values.shape[1])
    return torch.from_numpy(canvas.reshape(spec.size, spec.size, 3)).permute(2, 0, 1)[None], geometry
