"""``model.weights=FILE`` takes files of timm and torchvision as they are, also as safetensors, wrapped, with a head."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones import build_classifier
from calm_training.config import ModelConfig
from calm_training.methods.calm_em import CalmEm
from calm_training.network import make_network


@pytest.mark.parametrize("kind", ["pth", "safetensors", "wrapped"])
@pytest.mark.parametrize(
    ("name", "stride"), [("timm:test_resnet", 32), ("timm:test_vit", 16), ("torchvision:shufflenet_v2_x0_5", 32)]
)
def test_the_backbone_starts_from_them(name: str, stride: int, kind: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    weights = dict(build_classifier(name, 5).state_dict())
    path = tmp_path / ("x.safetensors" if kind == "safetensors" else "x.pth")
    if kind == "safetensors":
        save_file(weights, path)
    else:
        torch.save(
            {"state_dict": {f"module.{k}": v for k, v in weights.items()}} if kind == "wrapped" else weights, path
        )
    torch.manual_seed(2)
    start = make_network(ModelConfig(backbone=name, output_stride=stride, weights=str(path)), CalmEm(), 3)
    state = start.network.backbone.state_dict()
    assert len(state) > 10
    for key, tensor in state.items():
        assert torch.equal(tensor, weights[key.removeprefix("trunk.")]), key
    head = {id(parameter) for parameter in start.network.head.parameters()}
    assert {id(parameter) for parameter in start.fresh} == head


def test_those_of_another_network_are_refused_in_words(tmp_path: Path) -> None:
    torch.save(build_classifier("timm:test_vit", 5).state_dict(), tmp_path / "x.pth")
    model = ModelConfig(backbone="timm:test_resnet", output_stride=32, weights=str(tmp_path / "x.pth"))
    with pytest.raises(CheckpointError, match="are another network's"):
        make_network(model, CalmEm(), 3)


def test_a_backbone_that_gives_no_map_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="timm has no network called 'no_such'"):
        make_network(ModelConfig(backbone="timm:no_such", weights="none"), CalmEm(), 3)


@pytest.mark.parametrize(("name", "own"), [("timm:vgg16", 32), ("timm:test_vit", 16)])
def test_a_stride_that_a_network_cannot_have_is_refused_with_its_own(name: str, own: int) -> None:
    with pytest.raises(CheckpointError, match=f"can't have an output stride of 8; its own is {own}"):
        make_network(ModelConfig(backbone=name, output_stride=8, weights="none"), CalmEm(), 3)
