"""Finer-CAM: what distinguishes a class from its nearest rivals, or from a contrast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.methods.class_activation import class_activation
from calm_gui.methods.method import METHODS, Method
from calm_gui.methods.parameter import Parameter

if TYPE_CHECKING:
    from torch import Tensor, nn

STRENGTH = Parameter("strength", 0.6, 0.0, 10.0, "strength {}")
"""How much of the rivals' mean score is taken from the target's."""

RIVALS = Parameter("rivals", 3, 1, 100_000, "rivals: {}")
"""Classes outside the target whose scores are nearest to its own."""


class FinerCam(Method):
    """Finer-CAM (Zhang et al. 2025) over Grad-CAM at the last features, through torchcam.

    What is explained is log p(A|x) less 0.6 times the mean of the three classes whose log p is nearest.
    """

    key = "finer_cam"
    title = "Finer-CAM"
    source = "Zhang et al. 2025, through torchcam"
    question = "Where does it see A rather than its nearest rivals? In a unit of its own; it is no probability."
    parameters = (RIVALS, STRENGTH)

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from torchcam.methods import FinerCAM

        from calm_gui.methods.rivals import Rivals

        strength, rivals = float(self.settings["strength"]), int(self.settings["rivals"])
        return class_activation(FinerCAM, Rivals(score), backbone, inputs, gamma=strength, num_references=rivals)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


class FinerCamOfContrast(Method):
    """Finer-CAM (Zhang et al. 2025) with the contrast as its one comparison, through torchcam.

    What is explained is log p(A|x) less 0.6 times log p(B|x).
    """

    key = "finer_cam_contrast"
    title = "Finer-CAM against B"
    source = "Zhang et al. 2025, through torchcam"
    question = "Where does it see A rather than B? In a unit of its own; it is no probability."
    takes_contrast = True
    parameters = (STRENGTH,)

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from torchcam.methods import FinerCAM

        from calm_gui.methods.rivals import Against

        strength = float(self.settings["strength"])
        return class_activation(FinerCAM, Against(score), backbone, inputs, gamma=strength, num_references=1)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


METHODS.register(FinerCam())
METHODS.register(FinerCamOfContrast())
