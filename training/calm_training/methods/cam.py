"""CAM: cross-entropy of the class maps' means (the paper's section 3, Zhou et al., CVPR 2016)."""

from typing import Any

from torch import Tensor

from calm_gui.model.calm import CamHead
from calm_training.methods.method import Batch, NoSettings, Objective
from calm_training.objectives import cam

__all__ = ["Cam"]


class Cam(Objective[NoSettings]):
    """Class branch alone, its mean the logits."""

    name = "cam"
    title = "CAM"
    reads_as = "cam"

    def make_head(self, channels: int, classes: int) -> CamHead:
        """A class branch."""
        return CamHead(channels, classes)

    def loss(self, outputs: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Cross-entropy of outputs (f, None)."""
        return cam(outputs[0], batch.target, label_smoothing=label_smoothing)

    def scores(self, outputs: tuple[Tensor, Tensor | None]) -> Tensor:
        """Logits (B,C)."""
        return outputs[0].float().mean((2, 3))
