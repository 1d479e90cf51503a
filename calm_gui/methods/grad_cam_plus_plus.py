"""Grad-CAM++."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.methods.class_activation import class_activation
from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn


class GradCamPlusPlus(Method):
    """Grad-CAM++ (Chattopadhyay et al. 2018) at the last features, through torchcam."""

    key = "grad_cam_plus_plus"
    title = "Grad-CAM++"
    source = "Chattopadhyay et al. 2018, through torchcam"

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from torchcam.methods import GradCAMpp

        return class_activation(GradCAMpp, score, backbone, inputs)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


METHODS.register(GradCamPlusPlus())
