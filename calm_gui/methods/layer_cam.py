"""LayerCAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.methods.class_activation import class_activation
from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn


class LayerCam(Method):
    """LayerCAM (Jiang et al. 2021) at the last features, through torchcam."""

    key = "layer_cam"
    title = "LayerCAM"
    source = "Jiang et al. 2021, through torchcam"

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from torchcam.methods import LayerCAM

        return class_activation(LayerCAM, score, backbone, inputs)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


METHODS.register(LayerCam())
