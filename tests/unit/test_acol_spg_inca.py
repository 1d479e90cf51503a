"""ACoL, SPG and our reading of InCA against golden values and slow writings of their definitions."""

import dataclasses
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from training_steps import batch_of, close, step

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import CalmError, CheckpointError
from calm_gui.model.acol import AcolHead, between_extremes, erased, fused_scores, map_of
from calm_gui.model.backbones import build_backbone
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.loaded import load_model
from calm_training.methods import Batch, make_methods, training_methods
from calm_training.methods.acol import Acol, AcolSettings
from calm_training.methods.inca_reading import NonLocalAttention, Seen, consistency_loss, contrast_loss
from calm_training.methods.spg import Spg, SpgSettings, certain, guided_loss
from calm_training.recipes import load_config


@pytest.fixture(scope="session")
def golden(shared: Path) -> dict[str, dict[str, np.ndarray]]:
    folder = shared / "reference/wsol-methods"
    return {name: dict(np.load(folder / f"{name}.npz")) for name in ("has", "cutmix", "adl", "acol", "spg")}


# ACoL


@pytest.mark.shared
def test_acol_agrees_with_the_reference(golden):
    acol = {name: torch.from_numpy(values) for name, values in golden["acol"].items()}
    maps_a, maps_b, labels = acol["maps_a"], acol["maps_b"], acol["labels"]
    attention = between_extremes(map_of(maps_a, labels))
    close(attention, golden["acol"]["attention"])
    close(erased(acol["features"], attention, acol["threshold"]), golden["acol"]["erased"])
    both = [between_extremes(map_of(maps, labels))[:, 0] for maps in (maps_a, maps_b)]
    close(torch.maximum(*both), golden["acol"]["fused"])
    close(Acol().loss((maps_a, maps_b), Batch(maps_a, labels, labels)), golden["acol"]["loss"])
    assert AcolSettings().threshold == float(golden["acol"]["threshold"])
    # what a checkpoint gives: the logits of A, and between its extremes the map of both
    scores = fused_scores(maps_a, maps_b)
    torch.testing.assert_close(scores.mean((2, 3)), maps_a.mean((2, 3)), rtol=0, atol=1e-6)
    expected = between_extremes(acol["fused"])
    torch.testing.assert_close(between_extremes(map_of(scores, labels))[:, 0], expected, rtol=0, atol=1e-6)


def test_acol_written_out_picture_by_picture():
    torch.manual_seed(0)
    head = AcolHead(6, 4, threshold=0.6)
    features, labels = torch.randn(3, 6, 5, 4), torch.tensor([3, 0, 2])
    maps_a, maps_b = head.both(features, labels)
    for i, label in enumerate(labels.tolist()):
        alone = head.branch_a(features[i : i + 1])
        torch.testing.assert_close(maps_a[i : i + 1], alone)
        own = alone[0, label]
        low, high = own.min().item(), own.max().item()
        hidden_features = features[i].clone()
        for row in range(5):
            for column in range(4):
                if (own[row, column].item() - low) / (high - low) >= 0.6:
                    hidden_features[:, row, column] = 0
        torch.testing.assert_close(maps_b[i : i + 1], head.branch_b(hidden_features[None]))
    assert not torch.equal(maps_b, head.branch_b(features))


def test_acol_looks_again_at_test_time_by_its_own_prediction():
    torch.manual_seed(0)
    head = AcolHead(6, 4)
    features = torch.randn(3, 6, 5, 4)
    scores, nothing = head(features)
    assert nothing is None
    predicted = scores.mean((2, 3)).argmax(1)
    assert torch.equal(scores, fused_scores(*head.both(features, predicted)))


def test_wide_convolutions_leave_channels_last_on_a_cpu():
    torch.manual_seed(0)
    first = AcolHead(6, 4, width=8).to(memory_format=torch.channels_last).branch_a[0]
    features = torch.randn(2, 6, 5, 4)
    found = first(features.contiguous(memory_format=torch.channels_last))
    assert found.is_contiguous()
    torch.testing.assert_close(found, torch.nn.functional.conv2d(features, first.weight, first.bias, padding=1))


def test_narrow_branches_are_in_the_checkpoint(tmp_path):
    classes = ClassTable(ClassInfo(i, name) for i, name in enumerate("abc"))
    backbone = build_backbone("timm:test_efficientnet", 16)
    head = Acol(AcolSettings(width=8)).make_head(backbone.channels, 3)
    assert head.branch_a[2].weight.shape[:2] == head.branch_b[2].weight.shape[:2] == (8, 8)
    info = CheckpointInfo("acol", "timm:test_efficientnet", 16, classes, saliency_activation=None, width=8)
    path = tmp_path / "narrow.safetensors"
    save_checkpoint(path, HeadNetwork(backbone, head), info, torch.float32)
    model = load_model(path, "cpu")
    assert (model.info.width, model.info.to_json()["format"]) == (8, 2)
    inputs = torch.rand(1, 3, 64, 64)
    assert torch.equal(model.network.head.branch_a[0].weight, head.branch_a[0].weight)
    assert model.network(inputs)[0].shape == (1, 3, 4, 4)
    for method, width, reason in (("acol", 0, "must be at least 1"), ("cam", 8, "of cam has no width")):
        with pytest.raises(CheckpointError, match=reason):
            CheckpointInfo.from_json({**info.to_json(), "method": method, "width": width})


def test_maps_without_variation_are_no_division_by_zero():
    flat = torch.full((2, 3, 4, 5), 2.5, requires_grad=True)
    found = between_extremes(flat)
    torch.autograd.backward(found.sum())
    assert torch.equal(found, torch.zeros(2, 3, 4, 5))
    assert torch.isfinite(flat.grad).all()
    assert torch.isfinite(fused_scores(flat, flat)).all()
    torch.testing.assert_close(fused_scores(flat, torch.randn(2, 3, 4, 5)).mean((2, 3)), torch.full((2, 3), 2.5))


# SPG


@pytest.mark.shared
def test_spg_agrees_with_the_reference(golden):
    spg = {name: torch.from_numpy(values) for name, values in golden["spg"].items()}
    pairs = tuple((high, low) for high, low in spg["thresholds"].tolist())
    assert SpgSettings().pairs == pairs
    enlarged = {
        name: functional.interpolate(spg[name], size=(224, 224), mode="bilinear", align_corners=False)
        for name in ("b1", "b2", "c")
    }
    first, second = enlarged["b1"].sigmoid(), enlarged["b2"].sigmoid()
    for number, source in enumerate((spg["attention"], second, (first + second) / 2)):
        assert torch.equal(certain(source, *pairs[number]), spg[f"mask_{number + 1}"])
    guided = guided_loss(spg["attention"], **enlarged, pairs=pairs)
    classified = functional.cross_entropy(spg["class_logits"], spg["labels"])
    close(classified + guided, golden["spg"]["loss"])


@settings(deadline=None)  # the machine may be busy
@given(seed=st.integers(0, 99), side=st.integers(3, 9), high=st.floats(0.5, 0.9), low=st.floats(0.05, 0.4))
def test_certain_pixels_written_out_one_by_one(seed, side, high, low):
    attention = torch.rand(2, 1, side, side + 2, generator=torch.Generator().manual_seed(seed))
    expected = torch.full((2, 1, side, side + 2), 255, dtype=torch.uint8)
    for picture in range(2):
        values = attention[picture].flatten().tolist()
        number = sum(value > torch.tensor(high, dtype=torch.float32).item() for value in values)
        for place, value in enumerate(values):
            label = 255
            if value < torch.tensor(low, dtype=torch.float32).item():
                label = 0
            bound = attention[picture].max() * 0.7 if number < 30 else torch.tensor(high)
            if value > bound.item() or value > torch.tensor(high).item():
                label = 1
            expected[picture].view(-1)[place] = label
    assert torch.equal(certain(attention, high, low), expected)


def test_spg_counts_certain_pixels_alone():
    """Of four pixels the attention is sure of two: the first is foreground, the second background."""
    attention, b2 = torch.tensor([[[[0.9, 0.001, 0.3, 0.2]]]]), torch.tensor([[[[2.0, -1.0, 0.5, 3.0]]]])
    b1 = c = torch.zeros(1, 1, 1, 4)  # their sigmoids are one half: log 2, whatever the answer
    found = guided_loss(attention, b1, b2, c, ((0.7, 0.01), (0.9, 1e-9), (0.9, 1e-9)))
    of_b2 = (np.log1p(np.exp(-2.0)) + np.log1p(np.exp(-1.0))) / 2
    assert found.item() == pytest.approx(of_b2 + 2 * np.log(2.0), abs=1e-6)


def test_spg_is_a_number_where_no_pixel_is_certain():
    b2 = torch.randn(1, 1, 6, 6, requires_grad=True)
    nothing = torch.zeros(1, 1, 6, 6)  # none is above its largest value, none below 0
    assert (certain(nothing, 0.7, 0.0) == 255).all()
    b1 = c = torch.full((1, 1, 6, 6), -1e4)
    loss = guided_loss(nothing, b1, b2, c, ((0.7, 0.0), (0.999, 1e-9), (0.999, 1e-9)))
    torch.autograd.backward(loss)
    assert torch.isfinite(loss)
    assert torch.equal(b2.grad, nothing)


def test_spg_in_two_processes_is_the_mean_over_all_pixels():
    """Each process has other numbers of certain pixels; the mean of their losses is the loss of the whole."""
    torch.manual_seed(0)
    attention = torch.rand(4, 1, 9, 9) ** torch.tensor([0.5, 1, 3, 9])[:, None, None, None]
    maps = [torch.randn(4, 1, 9, 9) for _ in range(3)]
    whole = guided_loss(attention, *maps, pairs=SpgSettings().pairs)
    counted: list[Tensor] = []
    guided_loss(attention, *maps, pairs=SpgSettings().pairs, step=step(total=lambda n: counted.append(n) or n))
    parts = []
    for rank in range(2):
        totals = iter(counted)
        both = step(rank=rank, world=2, total=lambda _, totals=totals: next(totals))
        parts.append(guided_loss(attention[rank::2], *(m[rank::2] for m in maps), pairs=SpgSettings().pairs, step=both))
    torch.testing.assert_close(torch.stack(parts).mean(), whole)


@pytest.mark.parametrize(
    ("settings_", "reason"),
    [
        ({"b2_high": 0.05}, r"b2_low must be less than b2_high"),
        ({"mean_low": 0.9}, r"mean_low must be less than mean_high"),
    ],
)
def test_spg_refuses_pairs_in_the_wrong_order(settings_, reason):
    with pytest.raises(CalmError, match=reason):
        SpgSettings(**settings_)


@pytest.mark.parametrize("backbone", ["resnet50", "vgg16", "inception_v3"])
def test_acol_and_spg_stand_where_the_benchmark_has_them(backbone):
    """Channels of the features of heads and branches, at 28 x 28."""
    acol = build_backbone(Acol().stands_on(backbone), 8)
    spg = Spg()
    variant = build_backbone(spg.stands_on(backbone), 8)
    network = HeadNetwork(variant, spg.make_head(variant.channels, 3))
    spg.attach(network, network, backbone)
    channels = [spg.extra[name][0].in_channels for name in ("b1", "b2")] + [spg.extra["c"][0][0].in_channels]
    expected = {
        "resnet50": (2048, [1024, 1024, 2048]),
        "vgg16": (512, [512, 512, 1024]),
        "inception_v3": (768, [288, 768, 1024]),
    }
    assert (acol.channels, channels) == expected[backbone]
    with torch.inference_mode():
        for network in (acol.eval(), variant.eval()):
            assert network(torch.zeros(1, 3, 224, 224)).shape[2:] == (28, 28)


@pytest.mark.parametrize(
    ("name", "mask", "places"), [("spg", "certain", 3), ("inca-reading", "parts_of", 2), ("adl", "drop_mask", 2)]
)
def test_no_masks_are_computed_at_test_time(monkeypatch, name, mask, places):
    torch.manual_seed(0)
    names = ["cam", name] if name == "adl" else [name]
    objective, methods = make_methods({n: training_methods()[n].Settings() for n in names})
    backbone = build_backbone("timm:test_efficientnet", 16)
    network = HeadNetwork(backbone, objective.make_head(backbone.channels, 3))
    plain = network.eval()(torch.ones(2, 3, 64, 64))[0]
    for method in methods:
        method.attach(network, network, "timm:test_efficientnet")
    module = sys.modules[f"calm_training.methods.{name.replace('-', '_')}"]
    calls, original = [], getattr(module, mask)
    monkeypatch.setattr(module, mask, lambda *arguments: calls.append(1) or original(*arguments))
    network.eval()
    outputs = network(torch.ones(2, 3, 64, 64))
    assert torch.equal(outputs[0], plain)
    objective.scores(outputs)
    assert not calls and not getattr(objective, "seen", {})
    network.train()
    batch = batch_of(2, (64, 64))
    for method in methods:
        if hasattr(method, "drops"):  # whatever would be drawn, training makes masks now
            method.drops = np.ones(2, np.bool_)
    objective.loss(objective.outputs(network, batch), batch)
    assert len(calls) >= places


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["acol", "spg", "inca-reading"])
def test_gradients_of_heads_are_finite_in_half_precision(name, dtype):
    torch.manual_seed(0)
    method = training_methods()[name]()
    backbone = build_backbone("timm:test_efficientnet", 16)
    network = HeadNetwork(backbone, method.make_head(backbone.channels, 3))
    method.attach(network, network, "timm:test_efficientnet")
    network.train()
    batch = batch_of(4, (64, 96))
    with torch.autocast("cpu", dtype=dtype):
        loss = method.loss(method.outputs(network, batch), batch)
    assert loss.dtype == torch.float32
    torch.autograd.backward(loss)
    assert all(torch.isfinite(p.grad).all() for p in [*network.parameters(), *method.extra.parameters()])


def test_narrow_recipes_have_narrow_layers_and_else_the_same_settings():
    for name in ("acol", "spg"):
        whole, narrow = (load_config(f"folder+{recipe}").methods[name] for recipe in (name, f"{name}-narrow"))
        differ = {f.name for f in dataclasses.fields(whole) if getattr(whole, f.name) != getattr(narrow, f.name)}
        assert differ == {"width"}
        method = training_methods()[name](narrow)
        backbone = build_backbone("timm:test_efficientnet", 16)
        network = HeadNetwork(backbone, method.make_head(backbone.channels, 3))
        method.attach(network, network, "timm:test_efficientnet")
        layers = [*network.head.modules(), *method.extra.modules()]
        wide = [layer.out_channels for layer in layers if isinstance(layer, nn.Conv2d) and layer.kernel_size == (3, 3)]
        assert wide and set(wide) == {narrow.width}


# our reading of InCA


def test_inca_losses_written_out_picture_by_picture():
    torch.manual_seed(0)
    features, attention = torch.randn(3, 4, 5, 6), torch.rand(3, 1, 5, 6)
    attention[2] = 0.5  # without variation there is no foreground
    expected = 0.0
    for i in range(2):
        sums, counts = torch.zeros(3, 4), torch.zeros(3)
        low, largest = attention[i].min().item(), attention[i].max().item()
        for row in range(5):
            for column in range(6):
                value = (attention[i, 0, row, column].item() - low) / (largest - low)
                inside = [value > 0.3, 0.3 < value < 0.8, value <= 0.3]
                for part in range(3):
                    sums[part] += inside[part] * features[i, :, row, column]
                    counts[part] += inside[part]
        whole, dropped, behind = ((s / n) / (s / n).norm() for s, n in zip(sums, counts, strict=True))
        near, far = ((dropped - whole) ** 2).sum().item(), ((dropped - behind) ** 2).sum().item()
        expected += max(0.0, near - far + 0.5) / 3
    found = contrast_loss(Seen(features, attention), 0.8, 0.3, 0.5)
    assert found.item() == pytest.approx(expected, abs=1e-6)
    early, late = torch.rand(2, 1, 4, 4, requires_grad=True), torch.rand(2, 1, 4, 4, requires_grad=True)
    loss = consistency_loss(early, late)
    assert loss.item() == pytest.approx(
        sum((a - b) ** 2 for a, b in zip(early.flatten().tolist(), late.flatten().tolist(), strict=True)) / 32, abs=1e-6
    )
    torch.autograd.backward(loss)
    assert late.grad is None  # the early attention follows the late one, not the other way round


def test_non_local_attention_written_out_place_by_place():
    torch.manual_seed(0)
    module, x = NonLocalAttention(6), torch.randn(1, 6, 3, 2)
    at = [x[0, :, r, c] for r in range(3) for c in range(2)]
    query, key, value = (
        [conv.weight[:, :, 0, 0] @ v + conv.bias for v in at] for conv in (module.query, module.key, module.value)
    )
    found = module(x).flatten()
    for i in range(6):
        scores = torch.stack([query[i] @ key[j] for j in range(6)]) / len(query[i]) ** 0.5
        seen = sum(w * v for w, v in zip(scores.softmax(0), value, strict=True))
        expected = (module.attend.weight[0, :, 0, 0] @ seen + module.attend.bias[0]).sigmoid()
        torch.testing.assert_close(found[i], expected)


def test_our_reading_of_inca_calls_itself_so():
    method = training_methods()["inca-reading"]
    assert "our reading" in method.title
    assert "our reading" in (files("calm_training") / "recipes/method/inca-reading.toml").read_text().lower()
    assert "inca" not in [name for name in training_methods() if name != "inca-reading"]
