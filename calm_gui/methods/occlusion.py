"""Occlusion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn


class Occlusion(Method):
    """Occlusion (Zeiler and Fergus 2014) by the mean colour, a seventh of the input at a time, through captum."""

    key = "occlusion"
    title = "Occlusion"

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        import torch
        from captum.attr import Occlusion

        window, step = inputs.shape[-1] // 7, inputs.shape[-1] // 14
        with torch.no_grad():
            found = Occlusion(score).attribute(
                inputs,
                target=0,
                sliding_window_shapes=(3, window, window),
                strides=(3, step, step),
                perturbations_per_eval=4,
            )
        return found[0, 0]


METHODS.register(Occlusion())
