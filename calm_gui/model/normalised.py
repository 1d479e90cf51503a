"""Tensors that are a network's input already, with the picture and geometry that belong to them."""

from typing import Any

import numpy as np
from torch import Tensor

from calm_gui.core.geometry import Geometry
from calm_gui.errors import PictureError
from calm_gui.model.info import InputSpec
from calm_gui.model.picture import Picture, picture_from_array

__all__ = ["prepared_tensors"]


def prepared_tensors(
    tensor: Any, spec: InputSpec, grid: tuple[int, int]
) -> tuple[list[Picture], list[tuple[Tensor, Geometry]]]:
    """Pictures, and inputs with their geometry, of a normalised tensor.

    Parameters
    ----------
    tensor : Tensor (3,size,size) or (B,3,size,size)
    spec : InputSpec
        What it was normalised with: the pictures are its inverse, cut off at black and white.
    grid : (int, int)

    Raises
    ------
    PictureError
        For another shape or type.
    """
    side = spec.size
    if not isinstance(tensor, Tensor) or tensor.ndim not in (3, 4) or tuple(tensor.shape[-3:]) != (3, side, side):
        what = tuple(tensor.shape) if isinstance(tensor, Tensor) else type(tensor).__name__
        raise PictureError(
            f"normalized=True takes a tensor (3,{side},{side}) or (B,3,{side},{side}), as the network does, not {what}"
        )
    batch = tensor.detach().cpu().float().reshape(-1, 3, side, side)
    mean, std = (np.array(values, np.float32)[:, None, None] for values in (spec.mean, spec.std))
    colours = (batch.numpy() * std + mean).clip(0, 1)
    pictures = [picture_from_array(colour.transpose(1, 2, 0), "tensor") for colour in colours]
    geometry = Geometry.fit((side, side), (side, side), grid, spec.resize)
    return pictures, [(one[None], geometry) for one in batch]
