"""Finer-CAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.methods.class_activation import class_activation
from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn

STRENGTH = 0.6
"""How much of the rivals' mean score is taken from the target's."""

RIVALS = 3
"""Classes outside the target whose scores are nearest to its own."""


class FinerCam(Method):
    """Finer-CAM (Zhang et al. 2025) over Grad-CAM at the last features, through torchcam.

    What is explained is log p(A|x) less 0.6 times the mean of the three classes whose log p is nearest.
    """

    key = "finer_cam"
    title = "Finer-CAM"
    question = "What tells A from its three nearest rivals, to this method, in units that no probability has."

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from torchcam.methods import FinerCAM

        from calm_gui.methods.rivals import Rivals

        rivals = Rivals(score)
        return class_activation(FinerCAM, rivals, backbone, inputs, gamma=STRENGTH, num_references=RIVALS)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


METHODS.register(FinerCam())
