"""Integrated gradients."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method
from calm_gui.methods.parameter import Parameter

if TYPE_CHECKING:
    from torch import Tensor, nn

STEPS = Parameter("steps", 24, 2, 10_000, "{} steps")
"""Points on the way from the mean colour to the picture."""

BATCH = 4
"""Of them in a forward pass."""


class IntegratedGradients(Method):
    """Integrated gradients (Sundararajan et al. 2017) from the mean colour, through captum."""

    key = "integrated_gradients"
    title = "Integrated gradients"
    source = "Sundararajan et al. 2017, through captum"
    parameters = (STEPS,)
    blurred = True

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from captum.attr import IntegratedGradients

        steps = int(self.settings["steps"])
        found = IntegratedGradients(score).attribute(inputs, target=0, n_steps=steps, internal_batch_size=BATCH)
        return found[0].sum(dim=0).abs().float()

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return ceil(self.settings["steps"] / BATCH)


METHODS.register(IntegratedGradients())
