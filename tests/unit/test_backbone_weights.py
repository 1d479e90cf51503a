"""``model.weights=FILE`` takes files of timm and torchvision as they are, also as safetensors, wrapped, with a head."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import CheckpointError
from calm_gui.model.backbones import build_classifier
from calm_gui.model.calm import log_class_probabilities
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.loaded import load_model
from calm_training.config import ModelConfig
from calm_training.methods.acol import Acol, AcolSettings
from calm_training.methods.calm_em import CalmEm, CalmEmSettings
from calm_training.methods.cam import Cam
from calm_training.network import make_network
from calm_training.start_heads import take_heads


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


NAMES = ("ant", "bee", "cat")
METHOD = CalmEm(CalmEmSettings(context="mean", saliency_power=2.0))


def table(*names: str) -> ClassTable:
    return ClassTable(ClassInfo(i, name) for i, name in enumerate(names))


def a_calm(folder: Path, temperature: float = 0.5) -> Path:
    """A whole CALM of the classes NAMES, with context, a power and a temperature."""
    torch.manual_seed(3)
    network = make_network(ModelConfig("timm:test_resnet", 32, weights="none"), METHOD, 3).network
    info = CheckpointInfo(
        "calm-em", "timm:test_resnet", 32, table(*NAMES), context="mean", saliency_power=2.0, temperature=temperature
    )
    network.head.temperature = temperature
    save_checkpoint(folder / "calm.safetensors", network, info, torch.float32)
    return folder / "calm.safetensors"


def test_a_whole_calm_is_gone_on_with_its_classes_by_name(tmp_path: Path) -> None:
    path = a_calm(tmp_path)
    torch.manual_seed(4)
    start = make_network(ModelConfig("timm:test_resnet", 32, weights=str(path)), METHOD, 3)
    start.network.eval()
    pictures = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(5))
    before = load_model(path).network.eval()
    other = table("cat", "ant", "bee")
    assert take_heads(start.network.head, str(path), other) == "backbone and heads start from calm.safetensors"
    with torch.inference_mode():
        f, a = before(pictures)
        expected = log_class_probabilities(f, a, "softplus")
        f, a = start.network(pictures)
        found = log_class_probabilities(f, a, "softplus")
    assert torch.allclose(found, expected[:, [2, 0, 1]], atol=1e-5)
    assert not torch.allclose(found, expected, atol=1e-3)


def test_acols_heads_are_gone_on_with_at_the_threshold_of_the_run(tmp_path: Path) -> None:
    model = ModelConfig("timm:test_resnet", 32, weights="none")
    theirs, ours = (make_network(model, Acol(AcolSettings(threshold=t, width=8)), 3).network for t in (0.7, 0.6))
    info = CheckpointInfo("acol", "timm:test_resnet", 32, table(*NAMES))
    save_checkpoint(tmp_path / "acol.safetensors", theirs, info, torch.float32)
    sentence = take_heads(ours.head, str(tmp_path / "acol.safetensors"), table("cat", "ant", "bee"))
    assert sentence == "backbone and heads start from acol.safetensors"
    assert ours.head.threshold == torch.tensor(0.6)
    for name, found in ours.head.state_dict().items():
        if name != "threshold":
            expected = theirs.head.state_dict()[name]
            assert torch.equal(found, expected[[2, 0, 1]] if len(expected) == 3 else expected), name


@pytest.mark.parametrize(
    ("classes", "method", "said"),
    [
        (("ant", "bee", "dog"), METHOD, "its classes are others (the data lacks cat; the checkpoint lacks dog)"),
        (NAMES, CalmEm(), "its heads are others (context was mean, now none; saliency_power was 2.0, now 1.0)"),
        (NAMES, Cam(), "its heads are others (saliency_activation was softplus, now nothing"),
    ],
)
def test_other_heads_stay_random_which_is_said(
    classes: tuple[str, ...], method: CalmEm | Cam, said: str, tmp_path: Path
) -> None:
    head = make_network(ModelConfig("timm:test_resnet", 32, weights="none"), method, 3).network.head
    before = {name: tensor.clone() for name, tensor in head.state_dict().items()}
    sentence = take_heads(head, str(a_calm(tmp_path)), table(*classes))
    assert sentence.startswith(f"the backbone alone starts from calm.safetensors: {said}")
    assert all(torch.equal(tensor, before[name]) for name, tensor in head.state_dict().items())


@pytest.mark.parametrize(("name", "own"), [("timm:vgg16", 32), ("timm:test_vit", 16)])
def test_a_stride_that_a_network_cannot_have_is_refused_with_its_own(name: str, own: int) -> None:
    with pytest.raises(CheckpointError, match=f"can't have an output stride of 8; its own is {own}"):
        make_network(ModelConfig(backbone=name, output_stride=8, weights="none"), CalmEm(), 3)
