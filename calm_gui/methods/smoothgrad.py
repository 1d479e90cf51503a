"""SmoothGrad."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method
from calm_gui.methods.noise import BATCH, NOISE, SAMPLES, noisy_gradients

if TYPE_CHECKING:
    from torch import Tensor, nn


class SmoothGrad(Method):
    """SmoothGrad (Smilkov et al. 2017): the mean of gradients under noise, through captum."""

    key = "smoothgrad"
    title = "SmoothGrad"
    source = "Smilkov et al. 2017, through captum"
    parameters = (SAMPLES, NOISE)
    blurred = True

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        return noisy_gradients("smoothgrad", score, inputs, **self.settings)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return ceil(self.settings["samples"] / BATCH)


METHODS.register(SmoothGrad())
