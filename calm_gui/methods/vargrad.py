"""VarGrad."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method
from calm_gui.methods.noise import BATCH, NOISE, SAMPLES, noisy_gradients

if TYPE_CHECKING:
    from torch import Tensor, nn


class VarGrad(Method):
    """VarGrad (Adebayo et al. 2018): the variance of gradients under noise, through captum."""

    key = "vargrad"
    title = "VarGrad"
    source = "Adebayo et al. 2018, through captum"
    parameters = (SAMPLES, NOISE)
    blurred = True

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        return noisy_gradients("vargrad", score, inputs, **self.settings)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return ceil(self.settings["samples"] / BATCH)


METHODS.register(VarGrad())
