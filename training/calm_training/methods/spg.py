"""SPG: certain foreground and background of one layer's map supervise the next one's (Zhang et al., ECCV 2018)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.errors import CalmError
from calm_gui.model.acol import between_extremes, map_of
from calm_gui.model.calm import CamHead, HeadNetwork
from calm_gui.model.choices import Method
from calm_training.draws import Range, uniform
from calm_training.methods.method import Batch, Objective, Step
from calm_training.methods.places import channels_of, places_in
from calm_training.objectives import cam
from calm_training.settings import Section, setting

__all__ = ["Spg", "SpgSettings", "certain", "guided_loss"]

PLACES = {
    "resnet50": ("layer3.0", "layer3"),
    "vgg16": ("features.22", "features.29"),  # the ReLU of conv4_3 and of conv5_3
    "inception_v3": ("Mixed_5d", "Mixed_6e"),
    "timm:tf_efficientnet_lite0": ("trunk.blocks.5", "trunk.blocks.6"),  # ours: the two stages that recipes train
    "timm:test_efficientnet": ("trunk.blocks.2", "trunk.blocks.3"),
}
"""Modules whose outputs B1 and B2 see, as in the public WSOL benchmark; C sees what the class branch sees."""

IGNORED = 255
FEWEST = 30
"""Pixels of foreground; a picture with fewer takes those above `OF_LARGEST` of its largest value."""
OF_LARGEST = 0.7
WIDTH = 512
"""Channels of the layers of B1, B2 and C (the public WSOL benchmark)."""


@dataclass(frozen=True)
class SpgSettings(Section):
    """Of SPG: above which value a pixel is foreground, below which it is background.

    Attributes
    ----------
    attention_high, attention_low : float
        Of the class's map between its extremes, which supervises B2.
    b2_high, b2_low : float
        Of B2's probability, which supervises B1.
    mean_high, mean_low : float
        Of the mean of B1's and B2's, which supervises C.
    width : int
        Channels of the layers of B1, B2 and C, which are there in training alone.
    """

    section: ClassVar[str] = "methods.spg"

    attention_high: float = setting(0.7, above=0, below=1)
    attention_low: float = setting(0.01, above=0, below=1)
    b2_high: float = setting(0.5, above=0, below=1)
    b2_low: float = setting(0.05, above=0, below=1)
    mean_high: float = setting(0.7, above=0, below=1)
    mean_low: float = setting(0.1, above=0, below=1)
    width: int = setting(WIDTH, low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, (high, low) in zip(("attention", "b2", "mean"), self.pairs, strict=True):
            if low >= high:
                raise CalmError(f"methods.spg.{name}_low must be less than {name}_high, not {low:g} beside {high:g}")

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """High and low of the three."""
        return (
            (self.attention_high, self.attention_low),
            (self.b2_high, self.b2_low),
            (self.mean_high, self.mean_low),
        )


def _below(high: str) -> Range:
    """Evenly between 0 and what was drawn for the upper one."""
    return Range(f"Uniform[0, {high}]", lambda generator, drawn: float(generator.uniform(0, drawn[high])))


class Spg(Objective[SpgSettings]):
    """A class branch as CAM's, and three maps of the foreground beside it, in training alone."""

    name = "spg"
    title = "SPG"
    places = PLACES
    Settings = SpgSettings
    ranges: ClassVar[dict[str, Range]] = {
        f"{name}_{end}": uniform(0, 1) if end == "high" else _below(f"{name}_high")
        for name in ("attention", "b2", "mean")
        for end in ("high", "low")
    }
    reads_as: ClassVar[Method] = "cam"

    def __init__(self, settings: SpgSettings | None = None) -> None:
        super().__init__(settings)
        self.seen: dict[str, Tensor] = {}
        self.step: Step | None = None

    def stands_on(self, backbone: str) -> str:
        """VGG with two more convolutions; the others as they are."""
        return {"vgg16": "vgg16_conv7"}.get(backbone, backbone)

    def make_head(self, channels: int, classes: int) -> CamHead:
        """A class branch."""
        return CamHead(channels, classes)

    def attach(self, network: HeadNetwork, trained: HeadNetwork, backbone: str) -> None:
        """Hooks on the layers that B1 and B2 see, and their own layers."""
        modules = places_in(network, trained, backbone, self.places, self.name)
        for name, module in zip(("b1", "b2"), modules, strict=True):
            module.register_forward_hook(self._keeping(name))
        channels = channels_of(network, modules)
        last = network.head.class_branch.in_channels if isinstance(network.head, CamHead) else 0
        width = self.settings.width
        self.extra = nn.ModuleDict(
            {
                "b1": _convolved(channels[0], width),
                "b2": _convolved(channels[1], width),
                "shared": nn.Sequential(_convolved(width, width), nn.Conv2d(width, 1, 1)),
                "c": nn.Sequential(_convolved(last, width), nn.Conv2d(width, 1, 1)),
            }
        )

    def begin_step(self, step: Step) -> None:
        """The step whose pixels are counted over all processes."""
        self.step = step

    def outputs(self, trained: HeadNetwork, batch: Batch) -> dict[str, Tensor]:
        """Class scores ``f`` (B,C,H,W) and the raw maps ``b1``, ``b2``, ``c``, each (B,1,h,w)."""
        features = trained.backbone(batch.inputs)
        assert isinstance(self.extra, nn.ModuleDict)
        maps = {name: self.extra["shared"](self.extra[name](self.seen.pop(name))) for name in ("b1", "b2")}
        return {"f": trained.head(features)[0], **maps, "c": self.extra["c"](features)}

    def loss(self, outputs: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Cross-entropy of the classes, and of the three maps over the pixels that are certain."""
        size = batch.size or (int(batch.inputs.shape[2]), int(batch.inputs.shape[3]))
        attention = between_extremes(_enlarged(map_of(outputs["f"].detach(), batch.labels), size))
        enlarged = {name: _enlarged(outputs[name], size) for name in ("b1", "b2", "c")}
        guided = guided_loss(attention, **enlarged, pairs=self.settings.pairs, step=self.step)
        return cam(outputs["f"], batch.target, label_smoothing=label_smoothing) + guided

    def scores(self, outputs: tuple[Tensor, Tensor | None]) -> Tensor:
        """Logits (B,C)."""
        return outputs[0].float().mean((2, 3))

    def state_dict(self) -> dict[str, Any]:
        """Weights of the layers that a checkpoint doesn't need."""
        return {"extra": self.extra.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with these."""
        self.extra.load_state_dict(state["extra"])

    def _keeping(self, name: str) -> Any:
        def keep(module: nn.Module, _: Any, features: Tensor) -> None:
            if module.training:
                self.seen[name] = features

        return keep


def certain(attention: Tensor, high: float, low: float) -> Tensor:
    """Which pixels are foreground and which background.

    Parameters
    ----------
    attention : Tensor (B,1,h,w) in [0,1]
    high, low : float

    Returns
    -------
    Tensor (B,1,h,w) uint8
        1 above `high`, 0 below `low`, `IGNORED` between them.
    """
    foreground = attention > high
    few = foreground.sum((1, 2, 3), keepdim=True) < FEWEST
    foreground = foreground | (few & (attention > OF_LARGEST * attention.amax((1, 2, 3), keepdim=True)))
    mask = torch.full_like(attention, IGNORED, dtype=torch.uint8)
    mask[attention < low] = 0
    mask[foreground] = 1
    return mask


def guided_loss(
    attention: Tensor,
    b1: Tensor,
    b2: Tensor,
    c: Tensor,
    pairs: tuple[tuple[float, float], ...],
    step: Step | None = None,
) -> Tensor:
    """Sum of the three cross-entropies of foreground and background, in nats.

    Parameters
    ----------
    attention : Tensor (B,1,h,w) in [0,1]
    b1, b2, c : Tensor (B,1,h,w)
        Raw maps at the size of the attention.
    pairs : ((high, low), (high, low), (high, low))
        For the attention, which supervises B2; B2's sigmoid, which supervises B1; the mean of both sigmoids, which
        supervises C. No gradient flows through these masks.
    step : Step, optional
        Counts pixels over all processes.
    """
    with torch.no_grad():
        first, second = b1.sigmoid(), b2.sigmoid()
        sources = (attention, second, (first + second) / 2)
        masks = [certain(source, *pair) for source, pair in zip(sources, pairs, strict=True)]
    return torch.stack([_cross_entropy(raw, mask, step) for raw, mask in zip((b2, b1, c), masks, strict=True)]).sum()


def _cross_entropy(raw: Tensor, mask: Tensor, step: Step | None) -> Tensor:
    """Mean over the pixels that count in all processes; 0 where none does."""
    counts = mask != IGNORED
    losses = functional.binary_cross_entropy_with_logits(raw, mask.clamp(max=1).to(raw.dtype), reduction="none")
    number = counts.sum()
    if step is not None:
        number = step.total(number) / step.world  # so that the mean over processes is the mean over all pixels
    return torch.where(counts, losses, 0.0).sum() / number.clamp(min=1 / (step.world if step else 1))


def _enlarged(maps: Tensor, size: tuple[int, int]) -> Tensor:
    return functional.interpolate(maps.float(), size=size, mode="bilinear", align_corners=False)


def _convolved(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True))
