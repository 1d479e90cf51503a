"""Loaded models: float32 out, evaluation mode, nothing changed by looking, words instead of NaN."""

import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from safetensors import safe_open
from tiny_checkpoint import write_tiny_checkpoint
from torch import nn

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.errors import CheckpointError, DeviceMemoryError, NumericalError
from calm_gui.model.calm import CalmHead, CamHead, HeadNetwork, check_raw_outputs
from calm_gui.model.checkpoint import build_network, fitted_network, load_weights, read_checkpoint, save_checkpoint
from calm_gui.model.device import choose_device
from calm_gui.model.folding import folded
from calm_gui.model.info import CheckpointInfo, InputSpec, _plain_text, read_info
from calm_gui.model.loaded import LoadedModel, load_model
from calm_gui.model.picture import picture_from_array
from calm_gui.render.scale import remark

PICTURES = sample_pictures()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("ck") / "tiny.safetensors")


@pytest.fixture
def model(tiny: Path) -> LoadedModel:
    return load_model(tiny, "cpu")


def state_of(model: LoadedModel) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.network.state_dict().items()}


@pytest.mark.parametrize("head", [CalmHead(8, 5), CalmHead(8, 5, "relu"), CamHead(8, 5)])
def test_raw_outputs_are_float32_under_autocast(head: nn.Module) -> None:
    network = HeadNetwork(nn.Conv2d(3, 8, 3), head)  # type: ignore[arg-type]
    pictures = torch.randn(2, 3, 16, 16)
    expected, _ = network(pictures)
    with torch.autocast("cpu", torch.bfloat16):
        assert network.backbone(pictures).dtype == torch.bfloat16
        f, a = network(pictures)
    assert f.dtype == torch.float32 and (a is None or a.dtype == torch.float32)
    assert 0 < (f - expected).abs().max() < 0.1


def test_a_network_in_training_mode_is_put_into_evaluation_mode(tiny: Path) -> None:
    info, tensors = read_checkpoint(tiny)
    network = fitted_network(info, tensors, "tiny")
    network.train()
    model = LoadedModel(network, info, torch.device("cpu"))
    assert not any(module.training for module in model.network.modules())
    assert not any(p.requires_grad for p in model.network.parameters())


def test_weights_and_inputs_are_channels_last(model: LoadedModel) -> None:
    kernels = [p for p in model.network.parameters() if p.ndim == 4 and p.shape[1] > 1 and p.shape[2] > 1]
    assert kernels and all(p.is_contiguous(memory_format=torch.channels_last) for p in kernels)


def test_looking_at_pictures_changes_neither_model_nor_answer(model: LoadedModel) -> None:
    before = state_of(model)
    first, second, again = (model.explain(PICTURES[i]) for i in (0, 1, 0))
    assert np.array_equal(first.joint, again.joint) and not np.array_equal(first.joint, second.joint)
    for _ in range(10):
        assert np.array_equal(model.explain(PICTURES[0]).joint, first.joint)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.network.state_dict().items())


def test_a_failure_in_the_middle_of_a_map_leaves_the_model_as_it_was(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model.explain(PICTURES[0]).joint
    with monkeypatch.context() as patch:
        patch.setattr(model.folded_network.head, "forward", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.explain(PICTURES[0])
    assert not model.network.training
    assert np.array_equal(model.explain(PICTURES[0]).joint, before)


def test_gradients_are_not_kept(model: LoadedModel) -> None:
    f, a = model.raw(torch.zeros(1, 3, 96, 96))
    assert f.grad_fn is None and a is not None and a.is_inference()


@pytest.mark.parametrize(("size", "stride", "grid"), [(96, 16, (6, 6)), (100, 16, (7, 7)), (97, 8, (13, 13))])
def test_the_grid_follows_from_the_stride_or_a_forward_pass(
    tmp_path: Path, size: int, stride: int, grid: tuple[int, int]
) -> None:
    path = write_tiny_checkpoint(tmp_path / "x.safetensors", size=96)
    info, _ = read_checkpoint(path)
    changed = CheckpointInfo(
        "calm-ml", info.backbone, stride, info.classes, saliency_activation="softplus", input=InputSpec(size=size)
    )
    save_checkpoint(path, build_network(changed), changed, overwrite=True)
    model = load_model(path, "cpu")
    assert model.grid == grid
    assert model.explain(PICTURES[0]).joint.shape == (6, *grid)


@pytest.mark.parametrize("branch", ["class", "saliency"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_end_in_words(model: LoadedModel, branch: str, value: float) -> None:
    bias = getattr(model.network.head, f"{branch}_branch").bias
    bias.data.fill_(value)
    with pytest.raises(NumericalError, match=r"NaN|infinity"):
        model.explain(PICTURES[0])


def test_a_dead_relu_branch_ends_in_words(tiny: Path) -> None:
    info, tensors = read_checkpoint(tiny)
    relu = CheckpointInfo(
        info.method, info.backbone, info.output_stride, info.classes, saliency_activation="relu", input=info.input
    )
    network = fitted_network(relu, tensors, "tiny")
    network.head.saliency_branch.weight.data.zero_()
    network.head.saliency_branch.bias.data.fill_(-1)
    with pytest.raises(NumericalError, match="zero everywhere"):
        LoadedModel(network, relu, torch.device("cpu")).explain(PICTURES[0])


@pytest.mark.parametrize(
    ("f", "a", "activation", "said"),
    [
        (float("nan"), 1.0, "softplus", "class branch gave NaN"),
        (float("inf"), None, None, "class branch gave NaN"),
        (1.0, float("-inf"), "softplus", "saliency branch gave NaN"),
        (1.0, -1.0, "relu", "zero everywhere"),
        (1.0, -1.0, "softplus", ""),
        (1.0, None, None, ""),
    ],
)
def test_broken_outputs_of_a_batch_end_in_words(f, a, activation, said):
    """One bad picture of two is enough, and one cell of it unless the branch is dead."""
    features = torch.ones(2, 3, 4, 4)
    features[1, 2, 3, 3] = f
    saliency = None if a is None else torch.ones(2, 1, 4, 4)
    if saliency is not None:
        saliency[1] = a
    if not said:
        check_raw_outputs(features, saliency, activation)
        return
    with pytest.raises(NumericalError, match=said):
        check_raw_outputs(features, saliency, activation)


def test_a_constant_map_says_that_it_does_not_vary(model: LoadedModel) -> None:
    model.network.head.saliency_branch.weight.data.zero_()
    saliency = model.explain(picture_from_array(np.full((48, 64, 3), 128, np.uint8))).saliency()
    assert np.ptp(saliency.values) < 1e-6 * saliency.values.mean()
    assert "no variation" in remark(saliency.values)


def test_nan_weights_are_neither_loaded_nor_saved(tiny: Path, tmp_path: Path) -> None:
    info, tensors = read_checkpoint(tiny)
    network = fitted_network(info, tensors, "tiny")
    network.head.class_branch.weight.data[0, 0] = torch.nan
    with pytest.raises(CheckpointError, match="isn't finite"):
        save_checkpoint(tmp_path / "x.safetensors", network, info)
    assert not list(tmp_path.iterdir())
    with pytest.raises(CheckpointError, match="NaN or infinity"):
        load_weights(network, {**tensors, "head.class_branch.bias": torch.full((6,), torch.nan)}, "x")


@pytest.mark.parametrize("fault", ["missing", "unexpected", "misshapen"])
def test_weights_that_do_not_fit_are_refused_before_memory_is_given(tiny: Path, fault: str) -> None:
    info, tensors = read_checkpoint(tiny)
    if fault == "missing":
        del tensors["head.class_branch.bias"]
    elif fault == "unexpected":
        tensors["head.more"] = torch.zeros(1)
    else:
        tensors["head.class_branch.bias"] = torch.zeros(7)
    with pytest.raises(CheckpointError, match=r"of \d+ tensors 1 (missing|unexpected|of the wrong shape) \(head"):
        fitted_network(info, tensors, "tiny")


def test_a_description_of_a_network_that_cannot_be_built_is_refused(tiny: Path) -> None:
    info, tensors = read_checkpoint(tiny)
    for backbone in ("timm:nothing", "timm:vit_giant_patch14_dinov2", "resnet51", "timm:swin_tiny_patch4_window7_224"):
        other = CheckpointInfo("calm-ml", backbone, 16, info.classes, input=info.input)
        with pytest.raises(CheckpointError):
            fitted_network(other, tensors, "tiny")


def test_every_device_is_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for name, device in (
        ("cpu", "cpu"),
        ("cuda:1", "cuda:1"),
        ("CUDA:1", "cuda:1"),
        ("cuda", "cuda:0"),
        ("auto", "cuda:0"),
    ):
        assert choose_device(name) == torch.device(device)
    with pytest.raises(CheckpointError, match="no device 'cuda:2' here; there are cuda:0, cuda:1, "):
        choose_device("cuda:2")


def test_too_little_memory_on_the_device_is_its_own_error(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: torch.Tensor) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model.folded_network.backbone, "forward", full)
    with pytest.raises(DeviceMemoryError, match="cpu has too little memory"):
        model.explain(PICTURES[0])


def test_convolutions_are_float32_proper_while_explaining(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    forward, seen = model.folded_network.backbone.forward, []

    def watched(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch.backends.cudnn.allow_tf32)
        return forward(x)

    monkeypatch.setattr(model.folded_network.backbone, "forward", watched)
    model.explain(PICTURES[0])
    assert seen == [False] and torch.backends.cudnn.allow_tf32


def test_metadata_read_without_the_library_is_the_librarys(tiny: Path, tmp_path: Path) -> None:
    for path in (tiny, *bundled_checkpoints().values()):
        with safe_open(str(path), framework="numpy") as file:
            assert _plain_text(path) == file.metadata()["calm"]
    whole = tiny.read_bytes()
    long = (2**40).to_bytes(8, "little") + whole[8:]
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    name = next(key for key in header if key != "__metadata__")

    def with_header(**changes: object) -> bytes:
        text = json.dumps({**header, **changes}).encode()
        return len(text).to_bytes(8, "little") + text + whole[8 + int.from_bytes(whole[:8], "little") :]

    odd = tmp_path / "odd.safetensors"
    for content in (
        *(b"", b"\0", whole[:-1], whole + b"\0", whole[:200], long, whole[:8] + b"[" + whole[9:]),
        *(with_header(**{name: {**header[name], "data_offsets": [0, end]}}) for end in (None, "12", [], {})),
        with_header(__metadata__={**header["__metadata__"], "number": 3}),
    ):
        odd.write_bytes(content)
        assert _plain_text(odd) is None
        with pytest.raises(CheckpointError, match="can't be read as safetensors"):
            read_info(odd)


def test_a_length_that_no_header_has_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.safetensors"
    with large.open("wb") as file:
        file.write((150_000_000).to_bytes(8, "little"))
        file.truncate(200_000_000)
    tracemalloc.start()
    assert _plain_text(large) is None
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(CheckpointError, match="it isn't a file"):
        read_info(tmp_path / "pipe.safetensors")


class Odd(nn.Module):
    """Normalises what it doesn't convolve, though the two are registered one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
        nn.init.constant_(self.norm.running_mean, 0.5)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.convolution(self.norm(pictures).relu())


def with_statistics(network: nn.Module) -> nn.Module:
    """Let batch normalisations have seen something: fresh ones change nothing."""
    with torch.inference_mode():
        for _ in range(3):
            network.train()(torch.randn(4, 3, 64, 64) * 2 + 1)
    return network.eval()


@pytest.mark.parametrize("name", ["resnet18", "tf_efficientnet_lite0", "densenet121"])
def test_folding_keeps_what_the_network_gives(name: str) -> None:
    torch.manual_seed(0)
    backbone = timm.create_model(name, num_classes=0, global_pool="")
    network = with_statistics(HeadNetwork(backbone, CalmHead(backbone.num_features, 5)))
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    faster = folded(network)
    left = [module for module in faster.modules() if isinstance(module, nn.BatchNorm2d)]
    assert bool(left) == (name == "densenet121")  # where half of them come before the convolution
    pictures = torch.randn(2, 3, 96, 96)
    with torch.inference_mode():
        for plain, fast in zip(network(pictures), faster(pictures), strict=True):
            assert torch.allclose(plain, fast, rtol=1e-3, atol=1e-4 * float(plain.abs().max()))
    assert all(torch.equal(before[key], tensor) for key, tensor in network.state_dict().items())
    assert faster.head.class_branch.weight is network.head.class_branch.weight


class OfOneSize(nn.Module):
    """Takes pictures of one size alone, as networks with relative positions do."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        torch._assert(pictures.shape[2] == 64, "")
        return self.norm(self.convolution(pictures))


@pytest.mark.parametrize(
    "backbone", [Odd(), OfOneSize(), nn.Conv2d(3, 3, 1), nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU())]
)
def test_what_cannot_be_folded_stays(backbone: nn.Module) -> None:
    network = with_statistics(HeadNetwork(backbone, CalmHead(3, 5)))
    assert folded(network) is network
