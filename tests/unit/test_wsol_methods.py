"""HaS, CutMix, ADL, ACoL and SPG against golden values and slow writings of their definitions, and their promises."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.errors import CalmError
from calm_gui.model.acol import AcolHead, between_extremes, erased, fused_scores, map_of
from calm_gui.model.backbones import build_backbone
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.loaded import load_model
from calm_training.cli import main as calm_train
from calm_training.evaluate import main as calm_evaluate
from calm_training.methods import Batch, Step, make_methods, training_methods
from calm_training.methods.acol import Acol, AcolSettings
from calm_training.methods.adl import PLACES, Adl, AdlSettings, drop_mask, dropped_or_weighted
from calm_training.methods.cam import Cam
from calm_training.methods.cutmix import CutMix, CutMixSettings, cut_box
from calm_training.methods.has import Has, HasSettings, hidden
from calm_training.methods.spg import Spg, SpgSettings, certain, guided_loss
from calm_training.objectives import TopTarget


@pytest.fixture(scope="session")
def golden(shared: Path) -> dict[str, dict[str, np.ndarray]]:
    folder = shared / "reference/wsol-methods"
    return {name: dict(np.load(folder / f"{name}.npz")) for name in ("has", "cutmix", "adl", "acol", "spg")}


def close(found: Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=1e-6)


def batch_of(number: int = 4, size: tuple[int, int] = (24, 40), seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(number, 3, *size, generator=generator) + 0.5  # nowhere 0
    labels = torch.arange(number) % 3
    return Batch(inputs, labels, labels)


def step(seed: int = 0, **more: object) -> Step:
    return Step(np.random.default_rng(seed), **more)  # type: ignore[arg-type]


# HaS


@pytest.mark.shared
def test_has_agrees_with_the_reference(golden):
    has = golden["has"]
    inputs = torch.from_numpy(has["image"])
    close(hidden(inputs, has["draws"], int(has["grid_size"]), float(has["drop_rate"])), has["hidden"])
    close(inputs, has["image"])  # and isn't changed in place


@given(
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    side=st.integers(1, 9),
    rate=st.floats(0.1, 0.9),
    seed=st.integers(0, 99),
)
def test_has_written_out_square_by_square(height, width, side, rate, seed):
    inputs = batch_of(2, (height, width)).inputs
    rows, columns = len(range(0, height, side)), len(range(0, width, side))
    draws = np.random.default_rng(seed).random((2, rows, columns))
    expected = inputs.clone()
    for picture in range(2):
        for i in range(rows):
            for j in range(columns):
                if draws[picture, i, j] <= rate:
                    expected[picture, :, i * side : (i + 1) * side, j * side : (j + 1) * side] = 0
    assert torch.equal(hidden(inputs, draws, side, rate), expected)


def test_has_hides_other_squares_in_each_picture_at_the_rate():
    batch = batch_of(8, (128, 96))
    found = Has(HasSettings(grid_size=2, drop_rate=0.3)).change_batch(batch, step()).inputs
    shares = (found == 0).float().mean((1, 2, 3))
    assert torch.allclose(shares, torch.tensor(0.3), atol=0.03)
    assert len({tuple(row.flatten().tolist()) for row in (found == 0)[:, 0]}) == 8


# CutMix


@pytest.mark.shared
def test_cutmix_boxes_agree_with_the_reference(golden):
    rows, size = golden["cutmix"]["rows"], tuple(golden["cutmix"]["size"].tolist())
    for share, row, column, *box, after in rows.tolist():
        found = cut_box(size, share, (int(row), int(column)))
        assert list(found) == [int(v) for v in box]
        y0, x0, y1, x1 = found
        assert 1 - (y1 - y0) * (x1 - x0) / (size[0] * size[1]) == pytest.approx(after, abs=1e-6)


@given(
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    share=st.floats(0, 1),
    row=st.floats(0, 0.999),
    seed=st.integers(0, 9),
)
def test_a_box_lies_in_the_picture_and_is_as_large_as_it_says(height, width, share, row, seed):
    centre = int(row * height), seed % width
    y0, x0, y1, x1 = cut_box((height, width), share, centre)
    assert 0 <= y0 <= centre[0] + 1 <= height + 1
    assert y0 <= y1 <= height
    assert x0 <= x1 <= width
    if y0 > 0 and y1 < height:  # not clipped: twice half of the side, whole pixels
        assert y1 - y0 == 2 * (int(height * (1 - share) ** 0.5) // 2)


def test_cutmix_pastes_and_mixes_by_area():
    batch = batch_of(6, (20, 30))
    found = CutMix().change_batch(batch, step(3))
    changed = (found.inputs != batch.inputs).any(1)
    assert isinstance(found.target, TopTarget)
    rows, columns = changed.any((0, 2)).nonzero().flatten(), changed.any((0, 1)).nonzero().flatten()
    y0, y1, x0, x1 = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    stays = 1 - (y1 - y0) * (x1 - x0) / (20 * 30)
    for i in range(6):
        sources = [
            j for j in range(6) if torch.equal(found.inputs[i, :, y0:y1, x0:x1], batch.inputs[j, :, y0:y1, x0:x1])
        ]
        assert len(sources) == 1
        assert found.target.classes[i].tolist() == [batch.labels[i].item(), batch.labels[sources[0]].item()]
        assert found.target.weights[i].tolist() == pytest.approx([stays, 1 - stays], abs=1e-6)
    outside = found.inputs.clone()
    outside[:, :, y0:y1, x0:x1] = batch.inputs[:, :, y0:y1, x0:x1]
    assert torch.equal(outside, batch.inputs)


def test_cutmix_mixes_some_batches_and_any_share():
    method = CutMix(CutMixSettings(probability=0.5))
    mixed = [isinstance(method.change_batch(batch_of(), step(seed)).target, TopTarget) for seed in range(200)]
    assert 70 < sum(mixed) < 130


@pytest.mark.parametrize("beta", [0.2, 1.0, 50.0])
def test_cutmix_draws_its_share_from_the_beta_distribution(beta, monkeypatch):
    """Beta(b, b) has the mean 1/2 and the variance 1 / (8 b + 4)."""
    drawn = []

    def recording(size: tuple[int, int], share: float, centre: tuple[int, int]) -> tuple[int, int, int, int]:
        drawn.append((share, *centre))
        return cut_box(size, share, centre)

    monkeypatch.setattr("calm_training.methods.cutmix.cut_box", recording)
    for seed in range(400):
        CutMix(CutMixSettings(beta=beta)).change_batch(batch_of(2, (5, 7)), step(seed))
    shares, rows, columns = np.array(drawn).T
    assert shares.mean() == pytest.approx(0.5, abs=4 * shares.std() / 20)
    assert shares.var() == pytest.approx(1 / (8 * beta + 4), rel=0.25)
    assert set(rows) == set(range(5))
    assert set(columns) == set(range(7))


# ADL


@pytest.mark.shared
def test_adl_agrees_with_the_reference(golden):
    adl = golden["adl"]
    x, threshold = torch.from_numpy(adl["x"]), float(adl["drop_threshold"])
    attention = x.mean(1, keepdim=True)
    close(drop_mask(attention, threshold), adl["drop_mask"])
    close(attention.sigmoid(), adl["importance"])
    close(dropped_or_weighted(x, True, threshold), adl["dropped"])
    close(dropped_or_weighted(x, False, threshold), adl["kept"])
    assert AdlSettings().drop_rate == float(adl["drop_rate"])


@settings(deadline=None)  # the machine may be busy
@given(threshold=st.floats(0.1, 1), drop=st.booleans(), seed=st.integers(0, 99))
def test_adl_written_out_place_by_place(threshold, drop, seed):
    x = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(seed))
    expected = torch.empty_like(x)
    for i in range(2):
        means = [[sum(x[i, :, r, c].tolist()) / 3 for c in range(5)] for r in range(4)]
        largest = max(max(row) for row in means)
        for r in range(4):
            for c in range(5):
                factor = float(means[r][c] < threshold * largest) if drop else 1 / (1 + np.exp(-means[r][c]))
                expected[i, :, r, c] = x[i, :, r, c] * factor
    torch.testing.assert_close(dropped_or_weighted(x, drop, threshold), expected)


def test_adl_acts_in_training_alone_and_at_its_rate():
    torch.manual_seed(0)
    network = HeadNetwork(build_backbone("timm:test_efficientnet", 16), Cam().make_head(256, 3))
    plain = network(torch.zeros(1, 3, 64, 64))[0].shape
    method = Adl()
    method.attach(network, network, "timm:test_efficientnet")
    inputs = torch.rand(2, 3, 64, 64)
    network.eval()
    assert network(inputs)[0].shape[2:] == plain[2:]
    before = network(inputs)[0]
    method.begin_step(step(1))
    assert torch.equal(network(inputs)[0], before)  # nothing at test time
    drops = []
    for seed in range(400):
        method.begin_step(step(seed))
        drops.append(method.drops.copy())
    assert np.mean(drops) == pytest.approx(0.75, abs=0.04)
    assert not all(row.all() or not row.any() for row in drops)  # each stage has a draw of its own
    network.train()
    method.drops[:] = False
    assert not torch.equal(network(inputs)[0], before)


@pytest.mark.parametrize("backbone", ["resnet50", "vgg16", "inception_v3"])
def test_adl_stands_where_the_benchmark_has_it(backbone):
    """Sizes of what the hooked modules give, at 28 x 28: channels and cells of the paper's layers."""
    network = HeadNetwork(build_backbone(backbone, 8), Cam().make_head(build_backbone(backbone, 8).channels, 3)).eval()
    seen = []
    for name in PLACES[backbone]:
        network.backbone.get_submodule(name).register_forward_hook(lambda *call: seen.append(tuple(call[2].shape[1:])))
    with torch.inference_mode():
        network(torch.zeros(1, 3, 224, 224))
    expected = {
        "resnet50": [(1024, 28, 28), (2048, 28, 28), (2048, 28, 28)],
        "vgg16": [(256, 28, 28), (512, 28, 28), (512, 28, 28)],
        "inception_v3": [(288, 28, 28), (768, 28, 28), (1024, 28, 28)],
    }
    assert seen == expected[backbone]


def test_adl_refuses_frozen_and_unknown_places():
    network = HeadNetwork(build_backbone("timm:test_efficientnet", 16), Cam().make_head(256, 3))
    head_only = HeadNetwork(nn.Sequential(), network.head)
    with pytest.raises(CalmError, match=r"adl acts behind trunk\.blocks\.2 .* frozen; freeze less"):
        Adl().attach(network, head_only, "timm:test_efficientnet")
    with pytest.raises(CalmError, match="adl has no places in timm:resnet18; it has some in resnet50"):
        Adl().attach(network, network, "timm:resnet18")


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


def test_no_masks_are_computed_at_test_time(monkeypatch):
    torch.manual_seed(0)
    method = Spg()
    backbone = build_backbone("timm:test_efficientnet", 16)
    network = HeadNetwork(backbone, method.make_head(backbone.channels, 3))
    method.attach(network, network, "timm:test_efficientnet")
    calls = []
    monkeypatch.setattr("calm_training.methods.spg.certain", lambda *a: calls.append(1) or certain(*a))
    network.eval()
    method.scores(network(torch.rand(2, 3, 64, 64)))
    assert not calls
    assert not method.seen
    network.train()
    batch = batch_of(2, (64, 64))
    method.loss(method.outputs(network, batch), batch)
    assert len(calls) == 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["acol", "spg"])
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


# all of them


CHANGING = [name for name, method in training_methods().items() if method.changes_pictures]


@pytest.mark.parametrize("name", CHANGING)
def test_pictures_are_not_changed_in_place_and_draws_repeat(name):
    method = training_methods()[name]()
    batch = batch_of()
    kept = batch.inputs.clone()
    first, second = method.change_batch(batch, step(2)), method.change_batch(batch, step(2))
    assert torch.equal(batch.inputs, kept)
    assert torch.equal(first.inputs, second.inputs)
    assert not torch.equal(first.inputs, method.change_batch(batch, step(5)).inputs)
    assert not torch.equal(first.inputs, kept)


@pytest.mark.parametrize("name", CHANGING)
def test_two_processes_see_what_one_does(name):
    method, whole = training_methods()[name](), batch_of(6)
    alone = method.change_batch(whole, step(3))
    for rank in range(2):
        part = Batch(whole.inputs[rank::2], whole.labels[rank::2], whole.labels[rank::2])
        # What the other processes hold is looked up by this one's own part, as a real gathering would bring it.
        everything = {id(part.labels): whole.labels}

        def gather(values: Tensor, everything: dict[int, Tensor] = everything, rank: int = rank) -> Tensor:
            if id(values) in everything:
                return everything[id(values)]
            y0, x0 = next((y, x) for y in range(24) for x in range(40) if is_box(values, whole.inputs[rank::2], y, x))
            return whole.inputs[:, :, y0 : y0 + values.shape[2], x0 : x0 + values.shape[3]]

        found = method.change_batch(part, step(3, rank=rank, world=2, gather=gather))
        assert torch.equal(found.inputs, alone.inputs[rank::2])
        if isinstance(alone.target, TopTarget):
            assert torch.equal(found.target.classes, alone.target.classes[rank::2])
            assert torch.equal(found.target.weights, alone.target.weights[rank::2])


def is_box(values: Tensor, inputs: Tensor, y: int, x: int) -> bool:
    return torch.equal(values, inputs[:, :, y : y + values.shape[2], x : x + values.shape[3]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_are_finite_in_half_precision_and_constant_maps_give_numbers(dtype):
    for x in (
        torch.randn(2, 4, 5, 6, dtype=dtype),
        torch.zeros(2, 4, 5, 6, dtype=dtype),
        torch.full((2, 4, 5, 6), 3e4),
    ):
        for drop in (True, False):
            leaf = x.to(dtype).clone().requires_grad_(True)
            found = dropped_or_weighted(leaf, drop, 0.9)
            torch.autograd.backward(found.float().sum())
            assert torch.isfinite(found).all()
            assert torch.isfinite(leaf.grad).all()
    inputs = replace(batch_of(), inputs=batch_of().inputs.to(dtype))
    for name in CHANGING:
        changed = training_methods()[name]().change_batch(inputs, step(1))
        assert changed.inputs.dtype == dtype
        assert torch.isfinite(changed.inputs).all()


def test_methods_stand_beside_each_objective():
    for objective in ("calm-em", "calm-ml", "cam"):
        names = ("has", objective, "cutmix", "adl")
        first, methods = make_methods({name: training_methods()[name].Settings() for name in names})
        assert first.name == objective
        assert [method.name for method in methods] == [objective, "has", "cutmix", "adl"]


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes of noise in train/, val/ and test/, and boxes of the test pictures."""
    root = tmp_path_factory.mktemp("noise")
    generator = np.random.default_rng(0)
    rows = [("file", "class_index", "width", "height", "boxes")]
    for split in ("train", "val", "test"):
        for label, name in enumerate(("a", "b")):
            (root / split / name).mkdir(parents=True)
            for i in range(2):
                pixels = generator.integers(0, 255, (80, 70, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(root / split / name / f"{i}.png")
                if split == "test":
                    rows.append((f"test/{name}/{i}.png", str(label), "70", "80", "10 10 50 50"))
    with (root / "index.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cam", "has", "cutmix", "adl", "acol", "spg", "calm-em+has+cutmix+adl"])
@pytest.mark.parametrize("backbone", ["resnet50", "vgg16", "inceptionv3"])
def test_two_steps_export_and_evaluation_for_each_backbone_of_the_paper(noise, tmp_path, backbone, method, capsys):
    settings = ["model.weights=none", "model.input.size=64", "optimizer.epochs=1", "optimizer.batch=2", "run.workers=0"]
    settings += ["run.device=cpu", "data.augment=true", "optimizer.name=sgd", "optimizer.learning_rate=1e-4"]
    sets = [part for setting in settings for part in ("--set", setting)]
    recipe = ["--recipe", f"folder+{backbone}+{method}"]
    run, small, out = tmp_path / "run", tmp_path / "small.safetensors", tmp_path / "wsol.json"
    assert calm_train(["train", *recipe, "--data", str(noise), "--out", str(run), "--quiet", *sets]) == 0
    assert calm_train(["export", str(run / "best.safetensors"), "--out", str(small)]) == 0
    arguments = [
        "wsol",
        "--checkpoint",
        str(small),
        "--data",
        str(noise),
        "--out",
        str(out),
        "--quiet",
        "--device",
        "cpu",
    ]
    assert calm_evaluate(arguments) == 0
    (result,) = json.loads(out.read_text())["results"].values()
    assert result["images"] == 4
    explanation = load_model(small, "cpu").explain(noise / "test/a/0.png")
    assert explanation.reading(explanation.own_reading.key, 0).values.shape == (8, 8)
