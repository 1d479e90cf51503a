"""Occlusion."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method
from calm_gui.methods.parameter import Parameter

if TYPE_CHECKING:
    from torch import Tensor, nn

WINDOWS = Parameter("windows", 7, 2, 56, "windows of 1/{} of the side, half of one apart")
"""How many windows lie side by side."""

BATCH = 4
"""Places of the window in a forward pass."""


class Occlusion(Method):
    """Occlusion (Zeiler and Fergus 2014) by the mean colour, a seventh of the side at a time, through captum."""

    key = "occlusion"
    title = "Occlusion"
    source = "Zeiler and Fergus 2014, through captum"
    parameters = (WINDOWS,)

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        import torch
        from captum.attr import Occlusion

        window, step = self._window_and_step(inputs)
        with torch.no_grad():
            found = Occlusion(score).attribute(
                inputs,
                target=0,
                sliding_window_shapes=(3, window, window),
                strides=(3, step, step),
                perturbations_per_eval=BATCH,
            )
        return found[0, 0]

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`: the picture itself, then each place of the window."""
        window, step = self._window_and_step(inputs)
        places = [1 + ceil((side - window) / step) for side in inputs.shape[-2:]]
        return 1 + ceil(places[0] * places[1] / BATCH)

    def _window_and_step(self, inputs: Tensor) -> tuple[int, int]:
        """Side of the window, and how far it moves."""
        side, windows = int(inputs.shape[-1]), int(self.settings["windows"])
        return max(side // windows, 1), max(side // (2 * windows), 1)


METHODS.register(Occlusion())
