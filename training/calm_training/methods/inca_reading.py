"""InCA as we read its abstract: attention that drops background too, contrasted within a picture, alike across layers.

Ki et al., In-sample contrastive learning and consistent attention for weakly supervised object localization
(arXiv 2009.12063). No public code was found, so everything that the abstract doesn't say is ours: where the
attention stands, the non-local block's form, the masks, the distance of the triplet, all weights. Its figures are
therefore no figures of InCA.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.model.acol import between_extremes
from calm_gui.model.calm import HeadNetwork
from calm_training.methods import adl
from calm_training.methods.cam import Cam
from calm_training.methods.method import Batch, Step
from calm_training.methods.places import channels_of, places_in
from calm_training.settings import Section, setting

__all__ = ["IncaReading", "IncaSettings", "NonLocalAttention", "consistency_loss", "contrast_loss", "parts_of"]

PLACES = {name: (places[0], places[-1]) for name, places in adl.PLACES.items()}
"""Modules behind which the early and the late attention stand."""


@dataclass(frozen=True)
class IncaSettings(Section):
    """Of our reading of InCA; all values are ours.

    Attributes
    ----------
    drop_rate : float
        Probability with which places are dropped; otherwise features are weighted by the attention.
    threshold : float
        Places whose attention, between its extremes in the picture, is at least this are the most discriminative ones.
    background : float
        Places where it is at most this are background.
    margin : float
        Of the triplet of foreground, dropped foreground and background.
    contrast, consistency : float
        Weights of both losses beside the cross-entropy.
    """

    section: ClassVar[str] = "methods.inca-reading"

    drop_rate: float = setting(0.75, low=0, high=1)
    threshold: float = setting(0.9, above=0, high=1)
    background: float = setting(0.2, above=0, below=1)
    margin: float = setting(1.0, above=0, high=4)
    contrast: float = setting(0.1, low=0)
    consistency: float = setting(1.0, low=0)


class NonLocalAttention(nn.Module):
    """Attention of features that have looked at one another (Wang et al., Non-local neural networks, CVPR 2018).

    Parameters
    ----------
    channels : int
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        width = max(channels // 8, 8)
        self.query, self.key = nn.Conv2d(channels, width, 1), nn.Conv2d(channels, width, 1)
        self.value = nn.Conv2d(channels, width, 1)
        self.attend = nn.Conv2d(width, 1, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Attention (B,1,H,W) in [0,1], float32, of features (B,L,H,W)."""
        with torch.autocast(features.device.type, enabled=False):
            whole = features.float()
            query, key, value = (part(whole).flatten(2) for part in (self.query, self.key, self.value))
            weights = (query.transpose(1, 2) @ key / query.shape[1] ** 0.5).softmax(2)
            seen = (value @ weights.transpose(1, 2)).unflatten(2, features.shape[2:])
            attention: Tensor = self.attend(seen).sigmoid()
        return attention


LEAST_SPREAD = 1e-3
"""Attention that varies less within a picture is taken as constant: its extremes are rounding."""


class Seen(NamedTuple):
    """Features (B,L,H,W) of a place before they were changed, and their attention (B,1,H,W)."""

    features: Tensor
    attention: Tensor


class IncaReading(Cam):
    """CAM with both losses; the attention is of training alone."""

    settings: Any
    name = "inca-reading"
    title = "our reading of InCA"
    places = PLACES
    Settings = IncaSettings

    def __init__(self, settings: Any = None) -> None:
        super().__init__(settings)
        self.seen: dict[int, Seen] = {}
        self.drops: NDArray[np.bool_] = np.zeros(2, np.bool_)

    def attach(self, network: HeadNetwork, trained: HeadNetwork, backbone: str) -> None:
        """Hooks on both places, and their attention."""
        modules = places_in(network, trained, backbone, self.places, self.name)
        self.extra = nn.ModuleList(NonLocalAttention(channels) for channels in channels_of(network, modules))
        for number, module in enumerate(modules):
            module.register_forward_hook(self._hook(number))

    def begin_step(self, step: Step) -> None:
        """Draw for each place whether it drops."""
        self.drops = step.generator.random(2) < self.settings.drop_rate

    def outputs(self, trained: HeadNetwork, batch: Batch) -> Any:
        """Raw outputs (f, None), and what both places saw."""
        outputs = trained(batch.inputs)
        return outputs, [self.seen.pop(0), self.seen.pop(1)]

    def loss(self, outputs: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Cross-entropy and both losses."""
        raw, (early, late) = outputs
        set_to = self.settings
        contrast = contrast_loss(late, set_to.threshold, set_to.background, set_to.margin)
        consistency = consistency_loss(early.attention, late.attention)
        own = super().loss(raw, batch, label_smoothing)
        # Where it drops, nothing else depends on the late attention, and processes wait for each parameter's gradient.
        own = own + 0 * late.attention.sum()
        return own + set_to.contrast * contrast + set_to.consistency * consistency

    def state_dict(self) -> dict[str, Any]:
        """Weights of the attention."""
        return {"extra": self.extra.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with these."""
        self.extra.load_state_dict(state["extra"])

    def _hook(self, number: int) -> Any:
        def change(module: nn.Module, _: Any, features: Tensor) -> Tensor:
            if not module.training:
                return features
            assert isinstance(self.extra, nn.ModuleList)
            attention = self.extra[number](features)
            self.seen[number] = Seen(features, attention)
            if not self.drops[number]:
                return (features.float() * attention).to(features.dtype)
            _, dropped, _ = parts_of(attention, self.settings.threshold, self.settings.background)
            has_parts = dropped.amax((2, 3), keepdim=True) > 0  # attention without variation has none
            return torch.where(has_parts, features.float() * dropped, features.float()).to(features.dtype)

        return change


def parts_of(attention: Tensor, threshold: float, background: float) -> tuple[Tensor, Tensor, Tensor]:
    """Foreground, foreground without its most discriminative places, and background: masks (B,1,H,W) of 0 and 1.

    Parameters
    ----------
    attention : Tensor (B,1,H,W)
    threshold, background : float
        Of the attention between its extremes in the picture.
    """
    attention = attention.detach()
    varies = attention.amax((2, 3), keepdim=True) - attention.amin((2, 3), keepdim=True) > LEAST_SPREAD
    relative = torch.where(varies, between_extremes(attention), 0.0)
    foreground = relative > background
    dropped = foreground & (relative < threshold)
    return foreground.float(), dropped.float(), (~foreground).float()


def contrast_loss(seen: Seen, threshold: float, background: float, margin: float) -> Tensor:
    """Triplet: the dropped foreground is nearer to the foreground than to the background, by a margin.

    Distances are squared, of mean features of unit length; a picture without one of the three parts counts 0.
    """
    masks = parts_of(seen.attention, threshold, background)
    whole, dropped, behind = (_direction(seen.features.float(), mask) for mask in masks)
    there = torch.stack([mask.amax((1, 2, 3)) for mask in masks]).amin(0)
    near, far = ((dropped - other).square().sum(1) for other in (whole, behind))
    return (there * (near - far + margin).clamp(min=0)).mean()


def consistency_loss(early: Tensor, late: Tensor) -> Tensor:
    """Mean squared difference of the early attention from the late one, held constant and brought to its size."""
    wanted = functional.interpolate(late.detach(), size=early.shape[2:], mode="bilinear", align_corners=False)
    return (early - wanted).square().mean()


def _direction(features: Tensor, mask: Tensor) -> Tensor:
    """Mean of features (B,L,H,W) over a mask, of length one, (B,L)."""
    mean = (features * mask).sum((2, 3)) / mask.sum((2, 3)).clamp(min=1)
    return functional.normalize(mean, dim=1)
