"""CALM-EM: expectation maximisation, the E-step by parameters of choice (the paper's section 4.1)."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from calm_gui.model.calm import HeadNetwork
from calm_training.methods.calm_ml import CalmMl, CalmSettings
from calm_training.methods.method import Batch
from calm_training.objectives import calm_em
from calm_training.settings import setting

__all__ = ["CalmEm", "CalmEmSettings"]


@dataclass(frozen=True)
class CalmEmSettings(CalmSettings):
    """Of CALM-EM: those of `CalmSettings`, and of the E-step.

    Attributes
    ----------
    e_step : {"current", "ema", "epoch"}
        Which parameters theta' the E-step takes: the current ones (the gradient is then CALM-ML's, by Fisher's
        identity), their moving average, or those at the beginning of the epoch.
    ema_decay : float
        What the moving average keeps of itself at a step.
    """

    section: ClassVar[str] = "methods.calm-em"

    e_step: Literal["current", "ema", "epoch"] = "current"
    ema_decay: float = setting(0.999, low=0, below=1, only=("e_step", "ema"))


class CalmEm(CalmMl):
    """Both branches, trained by -sum of q'_yz log(g_yz h_z)."""

    settings: CalmEmSettings
    name = "calm-em"
    title = "CALM-EM"
    Settings = CalmEmSettings
    reads_as = "calm-em"

    def __init__(self, settings: CalmEmSettings | None = None) -> None:
        super().__init__(settings)
        self.source: HeadNetwork | None = None
        self.trained: HeadNetwork | None = None

    def attach(self, network: HeadNetwork, trained: HeadNetwork, backbone: str) -> None:
        """Copy the network where the E-step has one of its own."""
        self.trained = trained
        if self.settings.e_step != "current":
            self.source = copy.deepcopy(trained).eval().requires_grad_(False)

    def outputs(self, trained: HeadNetwork, batch: Batch) -> Any:
        """Raw outputs (f, a), and those of the E-step's source or None."""
        if self.source is None:
            return trained(batch.inputs), None
        with torch.no_grad():
            source = self.source(batch.inputs)
        return trained(batch.inputs), source

    def loss(self, outputs: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Loss of outputs ((f, a), (f', a') or None)."""
        (f, a), source = outputs
        return calm_em(
            f,
            a,
            batch.target,
            source,
            activation=self.saliency_activation,
            normaliser_gradient=self.settings.normaliser_gradient,
            label_smoothing=label_smoothing,
        )

    def begin_epoch(self) -> None:
        """Take the present weights where they hold for an epoch."""
        if self.source is not None and self.trained is not None and self.settings.e_step == "epoch":
            self.source.load_state_dict(self.trained.state_dict())

    def end_step(self) -> None:
        """Move the average towards the present weights."""
        if self.source is None or self.trained is None or self.settings.e_step != "ema":
            return
        with torch.no_grad():
            for old, new in zip(self.source.state_dict().values(), self.trained.state_dict().values(), strict=True):
                if old.is_floating_point():
                    old.lerp_(new, 1 - self.settings.ema_decay)
                else:
                    old.copy_(new)

    def state_dict(self) -> dict[str, Any]:
        """The source's weights."""
        return {} if self.source is None else {"source": self.source.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with the source's weights."""
        if self.source is not None:
            self.source.load_state_dict(state["source"])
