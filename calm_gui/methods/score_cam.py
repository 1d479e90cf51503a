"""Score-CAM."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from calm_gui.methods.class_activation import class_activation
from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn

BATCH = 8
"""Masked pictures in a forward pass."""


class ScoreCam(Method):
    """Score-CAM (Wang et al. 2020) at the last features, through torchcam: a forward pass for each channel."""

    key = "score_cam"
    title = "Score-CAM"
    source = "Wang et al. 2020, through torchcam"

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        from torchcam.methods import ScoreCAM

        return class_activation(ScoreCAM, score, backbone, inputs, batch_size=BATCH)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return channels and 2 + ceil(channels / BATCH)  # twice the picture without a mask


METHODS.register(ScoreCam())
