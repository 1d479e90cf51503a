"""ACoL: a second branch learns from what the first one doesn't look at (Zhang et al., CVPR 2018)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from calm_gui.model.acol import AcolHead
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.choices import ACOL_WIDTH, Method
from calm_training.draws import Range, uniform
from calm_training.methods.method import Batch, Objective
from calm_training.objectives import cam
from calm_training.settings import Section, setting

__all__ = ["Acol", "AcolSettings"]


@dataclass(frozen=True)
class AcolSettings(Section):
    """Of ACoL.

    Attributes
    ----------
    threshold : float
        Places where the first branch's map, between its extremes, is at least this are hidden from the second.
    width : int
        Channels of the convolutions of both branches.
    """

    section: ClassVar[str] = "methods.acol"

    threshold: float = setting(0.7, above=0, high=1)
    width: int = setting(ACOL_WIDTH, low=1)


class Acol(Objective[AcolSettings]):
    """Two branches of three convolutions, each trained by cross-entropy."""

    name = "acol"
    title = "ACoL"
    Settings = AcolSettings
    ranges: ClassVar[dict[str, Range]] = {"threshold": uniform(0, 1)}
    reads_as: ClassVar[Method] = "acol"

    @property
    def head_options(self) -> dict[str, Any]:
        """Its width."""
        return {"width": self.settings.width}

    def stands_on(self, backbone: str) -> str:
        """VGG's conv5 with an average pool, Inception's Mixed_6e; the others' last features."""
        return {"vgg16": "vgg16_conv5", "inception_v3": "inception_v3_mixed6e"}.get(backbone, backbone)

    def make_head(self, channels: int, classes: int) -> AcolHead:
        """Both branches."""
        return AcolHead(channels, classes, self.settings.threshold, self.settings.width)

    def outputs(self, trained: HeadNetwork, batch: Batch) -> tuple[Tensor, Tensor]:
        """Class scores of both branches, the second without what the first one sees of the labels."""
        assert isinstance(trained.head, AcolHead)
        return trained.head.both(trained.backbone(batch.inputs), batch.labels)

    def loss(self, outputs: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Sum of both cross-entropies."""
        first, second = (cam(scores, batch.target, label_smoothing=label_smoothing) for scores in outputs)
        return first + second

    def scores(self, outputs: tuple[Tensor, Tensor | None]) -> Tensor:
        """Logits (B,C) of the first branch."""
        return outputs[0].float().mean((2, 3))
