"""ADL: attention that is made of the features hides or strengthens them (Choe and Shim, CVPR 2019)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from calm_gui.model.calm import HeadNetwork
from calm_training.draws import Range, uniform
from calm_training.methods.method import Step, TrainingMethod
from calm_training.methods.places import places_in
from calm_training.settings import Section, setting

__all__ = ["Adl", "AdlSettings", "drop_mask", "dropped_or_weighted"]

PLACES = {
    "resnet50": ("layer3.0", "layer4.0", "layer4.2"),
    "vgg16": ("features.16", "features.22", "features.29"),  # pool3, and the ReLU of conv4_3 and of conv5_3
    "vgg16_bn": ("features.23", "features.32", "features.42"),
    "inception_v3": ("Mixed_5d", "Mixed_6e", "A3_2b"),
    "timm:tf_efficientnet_lite0": ("trunk.blocks.5", "trunk.blocks.6"),  # ours: the two stages that recipes train
    "timm:test_efficientnet": ("trunk.blocks.2", "trunk.blocks.3"),
}
"""Modules whose output is changed, as in the public WSOL benchmark."""


@dataclass(frozen=True)
class AdlSettings(Section):
    """Of ADL.

    Attributes
    ----------
    drop_rate : float
        Probability with which the most active places are dropped; otherwise all are weighted.
    threshold : float
        Places are dropped whose mean over the channels is at least this share of the picture's largest.
    """

    section: ClassVar[str] = "methods.adl"

    drop_rate: float = setting(0.75, low=0, high=1)
    threshold: float = setting(0.9, above=0, high=1)


class Adl(TrainingMethod[AdlSettings]):
    """Changes the features of a few stages in training alone, under any objective."""

    name = "adl"
    title = "ADL"
    places = PLACES
    Settings = AdlSettings
    ranges: ClassVar[dict[str, Range]] = {"drop_rate": uniform(0, 1), "threshold": uniform(0, 1)}

    def __init__(self, settings: AdlSettings | None = None) -> None:
        super().__init__(settings)
        self.drops: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def attach(self, network: HeadNetwork, trained: HeadNetwork, backbone: str) -> None:
        """Hooks on the stages."""
        modules = places_in(network, trained, backbone, self.places, self.name)
        self.drops = np.zeros(len(modules), np.bool_)
        for number, module in enumerate(modules):
            module.register_forward_hook(self._hook(number))

    def begin_step(self, step: Step) -> None:
        """Draw for each stage whether it drops."""
        self.drops = step.generator.random(len(self.drops)) < self.settings.drop_rate

    def _hook(self, number: int) -> Any:
        # A closure: the E-step's copy of the network must not take a copy of this method along.
        def change(module: nn.Module, _: Any, features: Tensor) -> Tensor:
            if not module.training:
                return features
            return dropped_or_weighted(features, bool(self.drops[number]), self.settings.threshold)

        return change


def drop_mask(attention: Tensor, threshold: float) -> Tensor:
    """1 where attention (B,1,H,W) is below `threshold` times its largest value in the picture, else 0."""
    return (attention < threshold * attention.amax((2, 3), keepdim=True)).to(attention.dtype)


def dropped_or_weighted(features: Tensor, drop: bool, threshold: float) -> Tensor:
    """Features (B,L,H,W) times the drop mask, or times the sigmoid, of their mean over the channels."""
    whole = features.float()  # the gradient of the mean sums over channels, too much for float16
    attention = whole.mean(1, keepdim=True)
    return (whole * (drop_mask(attention, threshold) if drop else attention.sigmoid())).to(features.dtype)
