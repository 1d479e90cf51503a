"""Networks of torchvision and timm open as the classifiers they are, from files and from memory."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import calm_gui
from calm_gui.core.cam_explanation import CamExplanation
from calm_gui.errors import CheckpointError
from calm_gui.methods import METHODS
from calm_gui.model.backbones import build_classifier
from calm_gui.model.classifier import Classifier, logits_of, noise

CLASSES = 5
CAMS = (
    *("torchvision:resnet18", "torchvision:resnet34", "torchvision:densenet121", "torchvision:mobilenet_v2"),
    *("torchvision:efficientnet_b0", "torchvision:swin_t", "torchvision:regnet_y_400mf", "torchvision:regnet_x_400mf"),
    *("torchvision:googlenet", "torchvision:inception_v3", "torchvision:shufflenet_v2_x0_5", "torchvision:mnasnet0_5"),
    *("torchvision:resnext50_32x4d", "torchvision:resnet101", "torchvision:wide_resnet50_2"),
    *("timm:swin_tiny_patch4_window7_224", "timm:densenet121", "timm:regnety_002", "timm:efficientnet_b0"),
    *("timm:resnet18", "timm:mixer_s32_224", "timm:pvt_v2_b0", "timm:fastvit_t8", "timm:dla34"),
    *("timm:hrnet_w18_small", "timm:nfnet_l0", "timm:res2net50_26w_4s"),
)
"""Their heads are pooling and one linear layer."""

WHOLE = (
    *("torchvision:mobilenet_v3_small", "torchvision:convnext_tiny", "torchvision:vit_b_32", "torchvision:maxvit_t"),
    *("torchvision:squeezenet1_1", "torchvision:alexnet", "torchvision:vgg11"),
    *("timm:vit_small_patch16_224", "timm:deit_tiny_patch16_224", "timm:convnext_tiny", "timm:convnextv2_atto"),
    *("timm:mobilenetv3_small_100", "timm:vit_small_patch14_dinov2@224", "timm:eva02_tiny_patch14_224"),
    *(
        "timm:levit_128s",
        "timm:xcit_nano_12_p16_224",
        "timm:hiera_tiny_224",
        "timm:poolformer_s12",
        "timm:vit_tiny_r_s16_p8_224",
    ),
)
"""Theirs are more, so that CAM isn't defined."""


ELSEWHERE = ("timm:xcit_nano_12_p16_224",)
"""Their own output doesn't pass through the intermediate features that timm gives."""


def drawn(name: str) -> nn.Module:
    """A network whose two pictures differ in their logits by more than 1.

    Weights and statistics are redrawn, since many fresh networks give one answer to everything.
    """
    network = build_classifier(name, CLASSES).eval()
    side = side_of(name)
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for key, tensor in network.state_dict().items():
                if not tensor.is_floating_point() or "relative_position" in key or "attention_bias" in key:
                    continue
                if key.endswith("running_var"):
                    tensor.uniform_(0.5, 1.5, generator=generator)
                elif key.endswith(("running_mean", "bias")):
                    tensor.normal_(0, 0.1, generator=generator)
                elif tensor.ndim > 1:
                    fan = tensor[0].numel()
                    tensor.normal_(0, (2 / fan) ** 0.5, generator=generator)
                else:
                    tensor.uniform_(0.6, 1.4, generator=generator)
            head = [
                m for m in network.modules() if isinstance(m, (nn.Linear, nn.Conv2d)) and m.weight.shape[0] == CLASSES
            ]
            logits = logits_of(network(noise(network, side)))
            apart = float((logits[0] - logits[1]).abs().max())
            for layer in head:  # a head scales what it is given
                layer.weight.mul_(3 / max(apart, 1e-12))
            logits = logits_of(network(noise(network, side)))
        if torch.isfinite(logits).all() and float((logits[0] - logits[1]).abs().max()) > 1:
            return network
    raise AssertionError(f"{name} gives the same logits to everything")


def side_of(name: str) -> int:
    return {"torchvision:inception_v3": 299, "timm:fastvit_t8": 256}.get(name, 224)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CAMS, *WHOLE])
def test_a_network_is_itself_from_a_file_and_from_memory(name: str, tmp_path: Path) -> None:
    network = drawn(name)
    side = side_of(name)
    torch.save({"arch": name, "state_dict": network.state_dict()}, tmp_path / "x.pth")
    model = calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu")
    memory = calm_gui.from_module(network, input=side, device="cpu")
    picture = np.random.default_rng(0).integers(0, 255, (side, side, 3), np.uint8)
    for opened in (model, memory):
        inputs, _ = opened.prepare(calm_gui.model.picture.picture_from_array(picture))
        with torch.no_grad():
            own = logits_of(network(torch.cat([inputs, noise(network, inputs.shape[-1], 1)])))
        assert float((own[0] - own[1]).abs().max()) > 0.5
        f, _ = opened.raw(inputs)
        span = float(own[0].max() - own[0].min())
        assert float((f.mean((2, 3))[0] - own[0]).abs().max()) <= 1e-4 * span
        explanation = opened.explain(picture)
        assert np.abs(explanation.class_probabilities - own[0].double().softmax(0).numpy()).max() < 1e-4
        assert isinstance(explanation, CamExplanation) == (name in CAMS)
    if name in CAMS:
        assert np.allclose(explanation.cam(1, "none").values.mean(), float(own[0, 1]), atol=1e-3 * span)
        with pytest.raises(calm_gui.CalmError, match="CAM"):
            explanation.reading("attribution", 1)
    else:
        with pytest.raises(calm_gui.CalmError, match="calm-train adapt"):
            explanation.reading("cam", 1)
    unlikely = int(explanation.class_probabilities.argmin())  # log p of a class at p = 1 has no slope in float32
    if name in ELSEWHERE:
        with pytest.raises(calm_gui.CalmError, match="Grad-CAM is undefined"):
            METHODS["grad_cam"].map(model, picture, explanation.class_set(unlikely))
    else:
        shown = METHODS["grad_cam"].map(model, picture, explanation.class_set(unlikely))
        assert shown.values.shape == model.grid and min(model.grid) > 1
    slope = METHODS["gradient"].map(model, picture, explanation.class_set(unlikely))
    assert slope.values.shape == (model.info.input.size,) * 2 and slope.values.max() == 1


@pytest.mark.parametrize("name", ["timm:swin_tiny_patch4_window7_224"])
def test_leaving_out_the_last_norm_is_refused(name: str) -> None:
    network = drawn(name)
    with pytest.raises(CheckpointError, match="put together, differ from its own output by"):
        calm_gui.from_module(network, features="layers.3", head="head.fc", device="cpu")
    with pytest.raises(CheckpointError, match="calm-train adapt"):
        calm_gui.from_module(drawn("timm:convnextv2_atto"), features="stages", head="head.fc", device="cpu")


class Own(nn.Module):
    """A small network of a user's, with a head that is pooling and one linear layer, or more."""

    def __init__(self, plain: bool = True) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 8, stride=8), nn.BatchNorm2d(8), nn.ReLU())
        self.norm = nn.Identity() if plain else nn.LayerNorm(8)
        self.fc = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.norm(self.body(x).mean((2, 3))))


@pytest.mark.parametrize("options", [{}, {"features": "body", "head": "fc"}, {"features": "body"}])
def test_an_own_network_has_cam_where_its_head_allows(options: dict[str, str]) -> None:
    torch.manual_seed(0)
    model = calm_gui.from_module(Own(), ["a", "b", "c", "d"], input=64, device=torch.device("cpu"), **options)
    explanation = model.explain(np.zeros((40, 60, 3), np.uint8))
    assert isinstance(explanation, CamExplanation) and explanation.f.shape == (4, 8, 8)
    assert model.sha256 == calm_gui.from_module(model.network.backbone.trunk, device="CPU", input=64).sha256
    assert explanation.probability("b") == pytest.approx(
        explanation.top(4)[[i for i, _ in explanation.top(4)].index(1)][1]
    )


def test_a_head_that_is_more_is_shown_without_cam_and_refused_where_it_is_claimed() -> None:
    torch.manual_seed(0)
    network = Own(plain=False)
    model = calm_gui.from_module(network, input=64, device="cpu")
    assert isinstance(model.network, Classifier) and model.grid == (8, 8)
    with pytest.raises(CheckpointError, match="differ from its own output"):
        calm_gui.from_module(network, input=64, device="cpu", features="body", head="fc")
    with pytest.raises(CheckpointError, match="has no module 'layer4' for its features; it has body, norm, fc"):
        calm_gui.from_module(network, input=64, device="cpu", features="layer4")


def test_a_network_in_memory_is_not_saved(tmp_path: Path) -> None:
    from calm_gui.model.checkpoint import save_checkpoint

    model = calm_gui.from_module(Own(), input=64, device="cpu")
    with pytest.raises(CheckpointError, match="unknown backbone"):
        save_checkpoint(tmp_path / "x.safetensors", model.network, model.info)
    assert not list(tmp_path.iterdir())


def test_a_batch_normalisation_behind_the_pooling_is_part_of_cam() -> None:
    network = Own()
    network.norm = nn.BatchNorm1d(8)
    network.norm.running_mean.uniform_(-1, 1)
    network.norm.running_var.uniform_(0.5, 2)
    model = calm_gui.from_module(network, input=64, device="cpu")
    x = noise(network, 64)
    with torch.no_grad():
        assert torch.allclose(model.raw(x)[0].mean((2, 3)), network(x), atol=1e-5)
    assert model.info.method == "cam"


def test_parts_of_a_saved_classifier_open_again(tmp_path: Path) -> None:
    from calm_gui.model.checkpoint import save_checkpoint

    for name in ("timm:convnextv2_atto", "timm:regnety_002", "torchvision:mobilenet_v3_small"):
        torch.save({"arch": name, "state_dict": drawn(name).state_dict()}, tmp_path / "x.pth")
        model = calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu")
        save_checkpoint(tmp_path / "y.safetensors", model.network, model.info, torch.float32, overwrite=True)
        again = calm_gui.load_checkpoint(tmp_path / "y.safetensors", "cpu")
        x = noise(model.network, 224, 1)
        assert again.grid == model.grid
        assert torch.allclose(model.raw(x)[0], again.raw(x)[0], atol=1e-5)


class Probabilities(Own):
    """Ends in a softmax."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).softmax(1)


def test_networks_that_would_show_other_numbers_are_refused_in_words() -> None:
    with pytest.raises(CheckpointError, match="gives probabilities, not logits; leave out its last softmax"):
        calm_gui.from_module(Probabilities(), input=64, device="cpu")
    for kind in (torch.float16, torch.float64):
        with pytest.raises(CheckpointError, match=r"computes in torch.float.*network.float\(\)"):
            calm_gui.from_module(Own().to(kind), input=64, device="cpu")


def test_the_side_of_a_network_of_tokens_is_part_of_its_name(tmp_path: Path) -> None:
    import timm

    network = timm.create_model("test_vit", num_classes=5, img_size=224).eval()
    torch.save(network.state_dict(), tmp_path / "x.pth")
    model = calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu", architecture="test_vit@224")
    assert model.grid == (14, 14) and model.info.input.size == 224
    x = noise(network, 224, 1)
    with torch.no_grad():
        assert torch.allclose(model.raw(x)[0][:, :, 0, 0], network(x), atol=1e-5)
    assert not [note for note in model.info.assumed if "resized" in note]


def test_a_network_of_tokens_that_was_made_for_another_side_says_that_it_was_resized(tmp_path: Path) -> None:
    import timm

    network = timm.create_model("test_vit", num_classes=5, img_size=224)
    torch.save({"arch": "test_vit", "state_dict": network.state_dict()}, tmp_path / "x.pth")
    model = calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu")
    assert model.info.input.size == 160 and model.grid == (10, 10)
    assert model.info.assumed == (
        "made for another input side: its pos_embed was resized for 160 pixels; its own side may be given as "
        "architecture=test_vit@SIDE",
    )
