"""HaS, CutMix and ADL against golden values and slow writings, and what holds for all methods of the tables."""

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
from training_steps import batch_of, close, step

from calm_gui.errors import CalmError
from calm_gui.model.backbones import build_backbone
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.loaded import load_model
from calm_training.cli import main as calm_train
from calm_training.evaluate import main as calm_evaluate
from calm_training.methods import Batch, make_methods, training_methods
from calm_training.methods.adl import PLACES, Adl, AdlSettings, drop_mask, dropped_or_weighted
from calm_training.methods.cam import Cam
from calm_training.methods.cutmix import CutMix, CutMixSettings, cut_box
from calm_training.methods.has import Has, HasSettings, hidden
from calm_training.objectives import TopTarget


@pytest.fixture(scope="session")
def golden(shared: Path) -> dict[str, dict[str, np.ndarray]]:
    folder = shared / "reference/wsol-methods"
    return {name: dict(np.load(folder / f"{name}.npz")) for name in ("has", "cutmix", "adl", "acol", "spg")}


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
    whole = Has(HasSettings(grid_size=10**9)).change_batch(batch, step()).inputs  # a square larger than any memory
    assert {float((picture == 0).float().mean()) for picture in whole} == {0.0, 1.0}


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
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()  # or its statistics alone would change what comes out
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
@pytest.mark.parametrize(
    "method", ["cam", "has", "cutmix", "adl", "acol", "spg", "inca-reading", "calm-em+has+cutmix+adl"]
)
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
