"""CALM-ML: marginal likelihood (the paper's section 4.1)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from calm_gui.model.calm import CalmHead, log_conditional, log_saliency
from calm_gui.model.choices import Activation, Context, Method
from calm_training.methods.method import Batch, Objective
from calm_training.objectives import calm_ml
from calm_training.settings import Section, setting

__all__ = ["CalmMl", "CalmSettings"]


@dataclass(frozen=True)
class CalmSettings(Section):
    """Of every CALM.

    Attributes
    ----------
    saliency_activation : {"softplus", "relu"}
        Softplus in the paper's main text, ReLU in its supplement and the released code.
    normaliser_gradient : bool
        Whether the gradient flows through the sum of h; the released code holds it constant.
    context : {"none", "mean", "saliency"}
        What the class branch sees beside a place (`calm_gui.model.calm.CalmHead`); nothing in the paper.
    saliency_power : float
        Power of the saliency before it is normalised; 1 in the paper.
    """

    section: ClassVar[str] = "methods.calm-ml"

    saliency_activation: Activation = "softplus"
    normaliser_gradient: bool = True
    context: Context = "none"
    saliency_power: float = setting(1.0, above=0)


class CalmMl(Objective[CalmSettings]):
    """Class branch and saliency branch, trained by -log p(y|x)."""

    name = "calm-ml"
    title = "CALM-ML"
    Settings = CalmSettings
    reads_as: ClassVar[Method] = "calm-ml"

    @property
    def saliency_activation(self) -> Activation:
        """As set."""
        return self.settings.saliency_activation

    @property
    def head_options(self) -> dict[str, Any]:
        """As set."""
        return {"context": self.settings.context, "saliency_power": self.settings.saliency_power}

    def make_head(self, channels: int, classes: int) -> CalmHead:
        """Both branches, the saliency even to begin with: every place may show what it knows, ReLU isn't born dead."""
        head = CalmHead(channels, classes, self.saliency_activation, **self.head_options)
        nn.init.normal_(head.saliency_branch.weight, std=1e-3)
        nn.init.ones_(head.saliency_branch.get_parameter("bias"))
        return head

    def loss(self, outputs: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """-log p(y|x) of outputs (f, a)."""
        f, a = outputs
        return calm_ml(
            f,
            a,
            batch.target,
            activation=self.saliency_activation,
            normaliser_gradient=self.settings.normaliser_gradient,
            label_smoothing=label_smoothing,
        )

    def scores(self, outputs: tuple[Tensor, Tensor | None]) -> Tensor:
        """Log p(y|x) (B,C)."""
        f, a = outputs
        assert a is not None
        log_h = log_saliency(a, self.saliency_activation)
        return (log_conditional(f) + log_h[:, None]).flatten(2).logsumexp(2)
