"""HaS: squares of the input are hidden at random (Singh and Lee, Hide-and-Seek, ICCV 2017)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calm_training.draws import Range, log_uniform, uniform
from calm_training.methods.method import Batch, Step, TrainingMethod
from calm_training.settings import Section, setting

__all__ = ["Has", "HasSettings", "hidden"]


@dataclass(frozen=True)
class HasSettings(Section):
    """Of HaS.

    Attributes
    ----------
    grid_size : int
        Side of a square in pixels of the input.
    drop_rate : float
        Probability with which each square is hidden.
    """

    section: ClassVar[str] = "methods.has"

    grid_size: int = setting(4, low=1)
    drop_rate: float = setting(0.5, above=0, below=1)


class Has(TrainingMethod[HasSettings]):
    """Hides squares of every training picture, under any objective."""

    name = "has"
    title = "HaS"
    Settings = HasSettings
    ranges: ClassVar[dict[str, Range]] = {"grid_size": log_uniform(2, 1, 6, whole=True), "drop_rate": uniform(0, 1)}
    changes_pictures = True

    def change_batch(self, batch: Batch, step: Step) -> Batch:
        """Pictures with squares hidden, other ones in each."""
        number, _, height, width = batch.inputs.shape
        side = min(self.settings.grid_size, max(height, width))
        draws = step.generator.random((number * step.world, -(-height // side), -(-width // side)))
        return replace(batch, inputs=hidden(batch.inputs, step.own(draws), side, self.settings.drop_rate))


def hidden(inputs: Tensor, draws: NDArray[np.float64], grid_size: int, drop_rate: float) -> Tensor:
    """Pictures with squares hidden.

    Parameters
    ----------
    inputs : Tensor (B,3,h,w)
        Normalised, so that the mean colour is 0.
    draws : ndarray (B,rows,columns) in [0,1]
        One for each square; those at the lower and right edge may be cut off.
    grid_size : int
        Side of a square in pixels.
    drop_rate : float
        Squares whose draw is at most this are hidden.

    Returns
    -------
    Tensor (B,3,h,w)
        0 where a picture is hidden.
    """
    height, width = inputs.shape[2:]
    squares = torch.from_numpy(np.ascontiguousarray(draws <= drop_rate)).to(inputs.device)
    pixels = squares.repeat_interleave(grid_size, 1).repeat_interleave(grid_size, 2)[:, None, :height, :width]
    return inputs.masked_fill(pixels, 0)
