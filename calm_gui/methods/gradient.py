"""Gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn


class Gradient(Method):
    """Gradient of the input (Simonyan et al. 2013), largest of the channels, through captum."""

    key = "gradient"
    title = "Gradient"
    source = "Simonyan et al. 2013, through captum"
    blurred = True

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from captum.attr import Saliency

        return Saliency(score).attribute(inputs, target=0, abs=True)[0].amax(dim=0)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


METHODS.register(Gradient())
