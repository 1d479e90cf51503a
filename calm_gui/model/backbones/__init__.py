"""Backbones: pictures (B,3,h,w) to features (B,L,H,W), in the paper's large-map variants and from timm.

Each file holds a family; another one is a file with its `FAMILY` and a line in `FAMILIES`. torchvision's networks keep
torchvision's tensor names, so that its pretrained weights load as they are.
"""

from torch import nn

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones import inception, lite, resnet, timm, torchvision, vgg
from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.family import Family
from calm_gui.model.backbones.parts import Parts

__all__ = ["FAMILIES", "Backbone", "Family", "Parts", "build_backbone", "build_classifier", "family_of", "known_parts"]

FAMILIES: list[Family] = [resnet.FAMILY, vgg.FAMILY, inception.FAMILY, lite.FAMILY, timm.FAMILY, torchvision.FAMILY]
"""In the order in which they are asked for a name."""


def family_of(name: str, output_stride: int = 8, dilated: bool = False) -> Family:
    """The family of a backbone, found without building it.

    Parameters
    ----------
    name, output_stride, dilated
        As for `build_backbone`.

    Raises
    ------
    CheckpointError
        If there is no such network or it can't have that stride.
    """
    family = next((family for family in FAMILIES if family.has(name)), None)
    if family is None:
        known = ", ".join(f"{own}<name>" if own.endswith(":") else own for f in FAMILIES for own in f.names)
        raise CheckpointError(f"unknown backbone {name!r}; known are {known}")
    if family.strides and output_stride not in family.strides:
        strides = ", ".join(map(str, family.strides))
        raise CheckpointError(f"the output stride of {name} must be one of {strides}, not {output_stride}")
    if dilated and not family.dilates:
        raise CheckpointError(f"{name} has no dilated variant")
    return family


def build_backbone(name: str, output_stride: int = 8, dilated: bool = False) -> Backbone:
    """Build a backbone with random weights.

    Parameters
    ----------
    name : str
        ``resnet50``, ``vgg16``, ``vgg16_bn``, ``inception_v3``, ``inception_v3_without_6e``, ``timm:<name>`` or
        ``torchvision:<name>``.
    output_stride : int
        Input pixels per cell of the native grid: 8 gives 28x28 at 224 pixels. 8, 16 or 32 (`inception_v3` has no 32);
        a network of tokens has its own alone.
    dilated : bool
        Dilate where a stride was taken away (torchvision's ResNet50; timm always does).

    Returns
    -------
    Backbone

    Raises
    ------
    CheckpointError
        If there is no such network or it can't have that stride.
    """
    return family_of(name, output_stride, dilated).build(name, output_stride, dilated)


def build_classifier(name: str, classes: int) -> nn.Module:
    """Build a whole classifier as its library makes it, with random weights.

    Raises
    ------
    CheckpointError
        If there is no such network, or only a backbone of that name.
    """
    family = family_of(name, 16)
    if family.whole is None:
        raise CheckpointError(f"{name} is a backbone here, not a whole classifier; use torchvision:{name} or timm's")
    return family.whole(name, classes)


def known_parts(network: nn.Module) -> Parts | None:
    """The parts of a network of torchvision's or timm's; None for any other."""
    if torchvision.is_of_torchvision(network):
        return torchvision.torchvision_parts(network)
    return timm.timm_parts(network) if timm.is_of_timm(network) else None
