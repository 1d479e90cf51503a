"""The E-step of the demo: classes and posteriors by the original classifier, an EfficientNet-Lite."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from calm_gui.model.calm import CamHead, HeadNetwork
from calm_gui.model.input import network_input
from calm_gui.model.picture import load_picture
from calm_training.objectives import TopTarget, top_target
from calm_training.precision import fast_autocast
from calm_training.pretrained import LITE0, LITE0_INPUT, efficientnet_lite, warm_start

__all__ = ["EStepSettings", "e_step", "kept_e_step", "make_cam", "read_inputs"]


class EStepSettings(Protocol):
    """What of the demo's settings the E-step goes by."""

    @property
    def backbone(self) -> str:
        """Which network, of `calm_training.pretrained.PACKAGES`."""

    @property
    def input_size(self) -> int:
        """Side of the trained network's input."""

    @property
    def output_stride(self) -> int:
        """Of the network that is trained."""

    @property
    def batch(self) -> int:
        """Pictures in a forward pass."""

    @property
    def target_classes(self) -> int:
        """The most probable classes that make up the target."""

    @property
    def map_size(self) -> int:
        """Side of the input that the maps are made from."""


def make_cam(output_stride: int, name: str = LITE0) -> HeadNetwork:
    """The original classifier as a CAM network."""
    backbone, linear = efficientnet_lite(name, output_stride)
    head = CamHead(backbone.channels, linear.out_features)
    warm_start(head, linear)
    return HeadNetwork(backbone, head).eval().to(memory_format=torch.channels_last)


def kept_e_step(
    pictures: Sequence[Path], settings: EStepSettings, kept: Path | None = None
) -> tuple[TopTarget, Tensor]:
    """As `e_step`, but taken from a file where there is one."""
    if kept is not None and kept.exists():
        result = torch.load(kept, weights_only=True)
        return TopTarget(result["classes"], result["weights"]), result["posterior"]
    target, posterior = e_step(pictures, settings)
    if kept is not None:
        torch.save({**target._asdict(), "posterior": posterior}, kept)
    return target, posterior


def e_step(pictures: Sequence[Path], settings: EStepSettings) -> tuple[TopTarget, Tensor]:
    """Classes and posteriors q'_yz of every picture by the original classifier.

    Returns
    -------
    TopTarget
        The most probable classes at its own output stride, 32.
    Tensor (N,K,H,W) float16
        Its class activation maps of these at the demo's stride, on the demo's grid, each summing to 1.
    """
    classifier, mapper = (make_cam(stride, settings.backbone) for stride in (32, settings.output_stride))
    side = settings.input_size // settings.output_stride
    targets, posteriors = [], []
    with torch.inference_mode(), tqdm(total=len(pictures), desc="original classifier", unit="picture") as bar:
        for start in range(0, len(pictures), settings.batch):
            part = pictures[start : start + settings.batch]
            scores, _ = classifier(read_inputs(part, settings.input_size))
            targets.append(top_target(scores.mean((2, 3)).softmax(1), settings.target_classes))
            large = read_inputs(part, settings.map_size)
            rows = targets[-1].classes[:, :, None, None]
            with fast_autocast():
                plain, mirrored = mapper.backbone(large).float(), mapper.backbone(large.flip(3)).float()
            maps = _rows(mapper.head((plain + mirrored.flip(3)) / 2)[0], rows)
            on_grid = functional.interpolate(maps, size=(side, side), mode="bilinear", antialias=True)
            positive = on_grid.clamp_min(0) + 1e-4  # a class without any positive evidence is looked for everywhere
            posteriors.append((positive / positive.sum((2, 3), keepdim=True)).half())
            bar.update(len(part))
    classes, weights = (torch.cat(column) for column in zip(*targets, strict=True))
    return TopTarget(classes, weights), torch.cat(posteriors)


def read_inputs(pictures: Sequence[Path], size: int) -> Tensor:
    """Network inputs (n,3,size,size) of picture files."""
    spec = replace(LITE0_INPUT, size=size)
    inputs = torch.stack([network_input(load_picture(path).pixels, spec) for path in pictures])
    return inputs.contiguous(memory_format=torch.channels_last)


def _rows(f: Tensor, classes: Tensor) -> Tensor:
    return f.gather(1, classes.expand(-1, -1, *f.shape[2:]))
