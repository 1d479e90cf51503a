"""Grad-CAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.errors import ReadingError
from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn


class GradCam(Method):
    """Grad-CAM (Selvaraju et al. 2017) at the last features, through captum."""

    key = "grad_cam"
    title = "Grad-CAM"
    source = "Selvaraju et al. 2017, through captum"

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from captum.attr import LayerGradCam

        try:
            found = LayerGradCam(score, backbone).attribute(inputs, target=0, relu_attributions=True)
        except AssertionError as error:  # captum's word for a layer that the score doesn't pass through
            raise ReadingError(
                "this network's output doesn't come from the features that were found in it, so Grad-CAM is undefined; "
                "choose another method, or name the features with from_module"
            ) from error
        return found[0, 0]

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


METHODS.register(GradCam())
