"""The registry of backbones: each name has one family, and what can't be built is refused before it is."""

import pytest
import torch
from synthetic import CLASSES
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model import backbones
from calm_gui.model.backbones import FAMILIES, Backbone, Family, build_backbone, family_of
from calm_gui.model.backbones.lite import LITE0
from calm_gui.model.checkpoint import CheckpointInfo, build_network

PAPERS = ("resnet50", "vgg16", "inception_v3")


def test_every_name_has_its_family():
    own = [name for family in FAMILIES for name in family.names]
    assert len(set(own)) == len(own)
    for family in FAMILIES:
        for name in family.names:
            assert family_of(name + ("resnet18" if name.endswith(":") else ""), 16) is family
    assert family_of(LITE0) is not family_of("timm:tf_efficientnet_b0")


@pytest.mark.parametrize("name", [*PAPERS, LITE0])
@pytest.mark.parametrize("stride", [8, 16, 32])
def test_the_grid_is_what_the_stride_promises(name, stride):
    if stride not in family_of(name).strides:
        with pytest.raises(CheckpointError, match=f"{name} must be one of 8, 16, not {stride}"):
            build_backbone(name, stride)
        return
    backbone = build_backbone(name, stride).eval()
    with torch.inference_mode():
        features = backbone(torch.zeros(1, 3, 224, 224))
    assert features.shape == (1, backbone.channels, 224 // stride, 224 // stride)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("resnet51",), r"unknown backbone 'resnet51'; known are resnet50, .*timm:<name>"),
        (("resnet50", 7), r"output stride of resnet50 must be one of 8, 16, 32, not 7"),
        (("inception_v3", 32), r"must be one of 8, 16, not 32"),
        (("vgg16", 8, True), r"vgg16 has no dilated variant"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(arguments, reason):
    with pytest.raises(CheckpointError, match=reason):
        build_backbone(*arguments)


class Two(Backbone):
    """Two channels of means."""

    channels = 2

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 16, stride=16)

    def forward(self, pictures: Tensor) -> Tensor:
        return self.conv(pictures)


def test_a_backbone_from_outside_is_one_line(monkeypatch):
    family = Family(("two",), lambda name, output_stride, dilated: Two(), strides=(16,))
    monkeypatch.setattr(backbones, "FAMILIES", [*FAMILIES, family])
    network = build_network(CheckpointInfo("calm-em", "two", 16, CLASSES))
    f, a = network(torch.zeros(1, 3, 64, 64))
    assert f.shape == (1, len(CLASSES), 4, 4)
    assert a.shape == (1, 1, 4, 4)
    with pytest.raises(CheckpointError, match="one of 16, not 8"):
        build_backbone("two", 8)
