"""SmoothGrad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method
from calm_gui.methods.noise import BATCH, SAMPLES, noisy_gradients

if TYPE_CHECKING:
    from torch import Tensor, nn


class SmoothGrad(Method):
    """SmoothGrad (Smilkov et al. 2017): the mean of gradients under noise, through captum."""

    key = "smoothgrad"
    title = "SmoothGrad"
    blurred = True

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        return noisy_gradients("smoothgrad", score, inputs)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return SAMPLES // BATCH


METHODS.register(SmoothGrad())
