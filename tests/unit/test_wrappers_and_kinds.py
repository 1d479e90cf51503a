"""Wrappers and kinds of files in which people keep one classifier: each opens with the same result, or asks."""

import argparse
import json
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torchvision.models import shufflenet_v2_x0_5

import calm_gui
from calm_gui.model.answers import AnswersNeeded
from calm_gui.model.classifier import noise

Weights = dict[str, Tensor]
CLASSES = 7


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(0)
    return shufflenet_v2_x0_5(weights=None, num_classes=CLASSES).eval()


def prefixed(before: str) -> Callable[[Weights], Weights]:
    return lambda weights: {before + name: tensor for name, tensor in weights.items()}


def beside_backbone(weights: Weights) -> Weights:
    return {name if name.startswith("fc.") else f"backbone.{name}": tensor for name, tensor in weights.items()}


def other(weights: Weights) -> Weights:
    return {name: tensor * 1.5 if tensor.is_floating_point() else tensor for name, tensor in weights.items()}


PREFIXES = (
    *("module.", "model.", "net.", "network.", "backbone.", "_orig_mod.", "net.backbone.", "module._orig_mod."),
    *("_orig_mod.module.", "model.module.net.", "model._orig_mod.", "module.model.backbone.", "model.model.model."),
)

PICKLES: dict[str, Callable[[Weights], Any]] = {
    "bare": lambda w: w,
    "ordered": OrderedDict,
    "parameters": lambda w: {k: nn.Parameter(v, requires_grad=v.is_floating_point()) for k, v in w.items()},
    **{f"key {key}": lambda w, key=key: {key: w, "epoch": 3} for key in ("state_dict", "model", "net", "network")},
    **{f"key {key}": lambda w, key=key: {key: w, "optimizer": {}} for key in ("model_state_dict", "weights", "module")},
    "only the average": lambda w: {"model_ema": w},
    **{f"prefix {before}": lambda w, before=before: {"state_dict": prefixed(before)(w)} for before in PREFIXES},
    "backbone beside its head": lambda w: {"state_dict": beside_backbone(w)},
    "averaged by torch": lambda w: {**prefixed("module.")(w), "n_averaged": torch.tensor(9)},
    "Lightning": lambda w: {
        "state_dict": {**prefixed("model.")(w), "criterion.weight": torch.ones(7)},
        "hyper_parameters": {"lr": 0.1},
        "pytorch-lightning_version": "2.5",
        "callbacks": {},
    },
    "arch": lambda w: {"arch": "shufflenet_v2_x0_5", "state_dict": w, "best_acc1": torch.tensor(70.0)},
    "arch in args": lambda w: {"args": argparse.Namespace(arch="shufflenet_v2_x0_5", lr=0.1), "model": w},
    "arch in hyper_parameters": lambda w: {"hyper_parameters": {"model_name": "shufflenet_v2_x0_5"}, "state_dict": w},
}


def pickled(make: Callable[[Weights], Any], name: str = "x.pth", **options: Any) -> Callable[[Path, Weights], Path]:
    def write(folder: Path, weights: Weights) -> Path:
        torch.save(make(weights), folder / name, **options)
        return folder / name

    return write


def shards(folder: Path, weights: Weights) -> Path:
    names = sorted(weights)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, keys in parts.items():
        save_file({key: weights[key].contiguous() for key in keys}, folder / file)
    index = {"metadata": {}, "weight_map": {key: file for file, keys in parts.items() for key in keys}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder / "model.safetensors.index.json"


def one_shard(folder: Path, weights: Weights) -> Path:
    shards(folder, weights)
    return folder / "model-00002-of-00002.safetensors"


def safe(folder: Path, weights: Weights, before: str = "") -> Path:
    save_file(prefixed(before)(weights), folder / "model.safetensors")
    return folder / "model.safetensors"


def hub(folder: Path, weights: Weights, name: str = "model.safetensors") -> Path:
    config = {
        "architecture": "shufflenet_v2_x0_5",
        "num_classes": CLASSES,
        "pretrained_cfg": {"input_size": [3, 224, 224]},
    }
    (folder / "config.json").write_text(json.dumps(config))
    if name.endswith(".bin"):
        torch.save(weights, folder / name)
        return folder / name
    return safe(folder, weights)


SAME: dict[str, Callable[[Path, Weights], Path]] = {
    **{name: pickled(make) for name, make in PICKLES.items()},
    "ending .pt": pickled(PICKLES["bare"], "x.pt"),
    "ending .ckpt": pickled(PICKLES["Lightning"], "last.ckpt"),
    "ending .pth.tar": pickled(PICKLES["key state_dict"], "x.pth.tar"),
    "no ending": pickled(PICKLES["bare"], "weights"),
    "before torch 1.6": pickled(PICKLES["bare"], _use_new_zipfile_serialization=False),
    "safetensors": safe,
    "safetensors, prefix": lambda folder, weights: safe(folder, weights, "model."),
    "shards by their index": shards,
    "shards by one of them": one_shard,
    "hub, safetensors": hub,
    "hub, pickle": lambda folder, weights: hub(folder, weights, "pytorch_model.bin"),
}
"""These say enough."""

ASKS: dict[str, tuple[Callable[[Weights], Any], dict[str, Any]]] = {
    "weights and average": (lambda w: {"state_dict": other(w), "state_dict_ema": w}, {"averaged": True}),
    "torchvision's script": (lambda w: {"model": other(w), "model_ema": prefixed("module.")(w)}, {"averaged": True}),
    "not the average": (lambda w: {"model": w, "model_ema": other(w)}, {"averaged": False}),
    "student and teacher": (lambda w: {"student": other(w), "teacher": w}, {"averaged": True}),
    "Lightning with average": (
        lambda w: {"state_dict": {**prefixed("model.")(other(w)), **prefixed("ema.")(w)}},
        {"averaged": True},
    ),
}
"""These hold two sets of weights."""


def same(path: Path, network: nn.Module, tolerance: float = 1e-5, **answers: Any) -> None:
    model = calm_gui.load_checkpoint(path, "cpu", **answers)
    x = noise(network, 224, 1)
    with torch.no_grad():
        own = network(x)
        f, _ = model.raw(x)
    span = float(own.max() - own.min())
    assert float((f.mean((2, 3)) - own).abs().max()) < tolerance * span
    assert model.info.method == "cam" and len(model.classes) == CLASSES


@pytest.mark.parametrize("kind", SAME)
def test_each_opens_with_the_same_result(kind: str, network: nn.Module, tmp_path: Path) -> None:
    same(SAME[kind](tmp_path, dict(network.state_dict())), network)


@pytest.mark.parametrize("kind", ASKS)
def test_each_that_holds_two_sets_asks_which(kind: str, network: nn.Module, tmp_path: Path) -> None:
    make, answers = ASKS[kind]
    torch.save(make(dict(network.state_dict())), tmp_path / "x.pth")
    with pytest.raises(AnswersNeeded, match="two sets of weights") as asked:
        calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu")
    assert asked.value.open_questions == ("averaged",)
    same(tmp_path / "x.pth", network, **answers)


@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float16, 1e-2), (torch.bfloat16, 1e-1), (torch.float64, 1e-5)])
def test_other_precisions_open_in_float32(
    kind: torch.dtype, tolerance: float, network: nn.Module, tmp_path: Path
) -> None:
    weights = {k: v.to(kind) if v.is_floating_point() else v for k, v in network.state_dict().items()}
    torch.save(weights, tmp_path / "x.pth")
    same(tmp_path / "x.pth", network, tolerance)


def test_what_says_nothing_is_asked_for_its_network_and_opens_by_its_name(tmp_path: Path) -> None:
    import timm

    torch.manual_seed(0)
    network = timm.create_model("ghostnet_050", num_classes=CLASSES).eval()
    torch.save(prefixed("module.")(network.state_dict()), tmp_path / "x.pth")
    with pytest.raises(AnswersNeeded, match="doesn't say of which network") as asked:
        calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu")
    assert asked.value.open_questions == ("architecture",)
    model = calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu", architecture="ghostnet_050")
    x = noise(network, 224, 1)
    with torch.no_grad():
        own = network(x)
        f, _ = model.raw(x)
    assert torch.allclose(f.mean((2, 3)), own, atol=1e-4 * float(own.max() - own.min()))
