"""Heads with context, a power of the saliency and a temperature: the algebra of docs/context.md, files, sums."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.errors import CheckpointError
from calm_gui.model.calm import CalmHead, log_conditional, log_saliency, to_power
from calm_gui.model.checkpoint import build_network, read_checkpoint, save_checkpoint
from calm_gui.model.info import CheckpointInfo, read_info
from calm_gui.model.loaded import LoadedModel, load_model
from calm_training.objectives import calm_em, calm_ml

HEADS = [
    {"context": "mean"},
    {"context": "saliency", "saliency_power": 1.7},
    {"context": "mean", "saliency_power": 0.6, "temperature": 1.4},
    {"temperature": 0.5},
]


def joint_by_definition(head: CalmHead, features: np.ndarray) -> np.ndarray:
    """p(y,z|x) (C,H,W) in float64, place by place and class by class, from a head's weights."""
    weight, bias = (t.detach().double().numpy() for t in (head.class_branch.weight, head.class_branch.bias))
    w, c = (t.detach().double().numpy() for t in (head.saliency_branch.weight, head.saliency_branch.bias))
    channels, height, width = features.shape
    places = [(r, k) for r in range(height) for k in range(width)]
    s = {}
    for r, k in places:
        raw = float(w[0, :, 0, 0] @ features[:, r, k] + c[0])
        s[r, k] = (max(raw, 0.0) if head.activation == "relu" else np.log1p(np.exp(raw))) ** head.saliency_power
    h = {place: value / sum(s.values()) for place, value in s.items()}
    pooled = np.zeros(channels)
    for r, k in places:
        share = h[r, k] if head.context == "saliency" else 1 / len(places)
        pooled += share * features[:, r, k]
    joint = np.zeros((len(bias), height, width))
    for r, k in places:
        f = weight[:, :, 0, 0] @ features[:, r, k] + bias
        if head.context_branch is not None:
            f = f + head.context_branch.weight.detach().double().numpy()[:, :, 0, 0] @ pooled
        e = np.exp(f / head.temperature)
        joint[:, r, k] = e / e.sum() * h[r, k]
    return joint


def head_of(activation: str = "softplus", channels: int = 7, classes: int = 5, **options) -> CalmHead:
    torch.manual_seed(3)
    head = CalmHead(channels, classes, activation, **options)
    with torch.no_grad():
        head.saliency_branch.bias.fill_(0.5)
    return head


@pytest.mark.parametrize("activation", ["softplus", "relu"])
@pytest.mark.parametrize("options", [{}, *HEADS])
def test_a_heads_joint_is_what_the_algebra_says(activation, options):
    head = head_of(activation, **options)
    features = np.random.default_rng(0).normal(size=(7, 3, 4)) * 2
    with torch.inference_mode():
        f, a = head(torch.from_numpy(features)[None].float())
        joint = (log_conditional(f) + log_saliency(a, activation)[:, None]).exp()[0]
    np.testing.assert_allclose(joint, joint_by_definition(head, features), rtol=2e-5, atol=1e-9)
    assert joint.sum().item() == pytest.approx(1, abs=1e-5)


@given(st.floats(-80, 80), st.floats(0.3, 4), st.sampled_from(["softplus", "relu"]))
@settings(max_examples=300, deadline=None)
def test_a_power_is_a_power_of_the_activation(a, power, activation):
    raised = to_power(torch.tensor([a]), power, activation).double().item()
    of = (lambda x: max(x, 0.0)) if activation == "relu" else (lambda x: float(np.logaddexp(x, 0.0)))
    assert np.isfinite(raised)
    # Where float32 holds neither the power nor its logarithm exactly, its own rounding is allowed for.
    assert of(raised) == pytest.approx(of(float(np.float32(a))) ** power, rel=1e-5 * max(1, abs(a)))


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_a_power_of_one_is_nothing_and_a_learnt_power_has_a_finite_gradient(activation):
    a = torch.tensor([-90.0, -20.0, -1.0, 0.0, 1.0, 40.0], requires_grad=True)
    assert to_power(a, 1.0, activation) is a
    power = torch.tensor(1.5, requires_grad=True)
    to_power(a, power, activation).sum().backward()
    assert power.grad is not None and torch.isfinite(power.grad)
    assert a.grad is not None and torch.isfinite(a.grad).all()


@pytest.mark.parametrize("options", HEADS)
@pytest.mark.parametrize("objective", [calm_ml, calm_em])
def test_objectives_train_every_parameter_of_the_head(options, objective):
    head = head_of(**options)
    objective(*head(torch.randn(4, 7, 3, 3)), torch.tensor([0, 1, 2, 3])).backward()
    for name, parameter in head.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize(
    "options", [{"context": "max"}, {"saliency_power": 0.0}, {"temperature": -1.0}, {"temperature": float("nan")}]
)
def test_a_head_refuses_what_makes_no_sense(options):
    with pytest.raises(ValueError, match=r"context|above 0"):
        CalmHead(4, 3, "softplus", **options)


# --- files


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("ck") / "tiny.safetensors")


def with_head(plain: Path, path: Path, seed: int = 0, **options) -> Path:
    """The tiny checkpoint with another head."""
    info, tensors = read_checkpoint(plain)
    info = replace(info, **options)
    torch.manual_seed(seed)
    network = build_network(info)
    network.load_state_dict(tensors, strict=False)
    with torch.no_grad():
        network.head.class_branch.weight.mul_(0.3)  # so that no class's probability leaves float32
        if network.head.context_branch is not None:
            network.head.context_branch.weight.mul_(20)
    save_checkpoint(path, network, info)
    return path


def metadata(info: CheckpointInfo) -> dict:
    return json.loads(json.dumps(info.to_json()))


def test_only_files_with_such_a_head_are_format_2(plain, tmp_path):
    info = read_info(plain)
    assert metadata(info)["format"] == 1
    assert not {"context", "saliency_power", "temperature"} & set(metadata(info))
    for i, options in enumerate(HEADS):
        path = with_head(plain, tmp_path / f"{i}.safetensors", **options)
        read = read_info(path)
        assert metadata(read)["format"] == 2
        assert read.head == options
        assert {k: v for k, v in metadata(read).items() if k in options} == options
    assert metadata(replace(info, context="none", temperature=1.0))["format"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 3}, "format 3, this program reads up to 2"),
        ({"format": 2, "context": "max"}, "unknown context"),
        ({"format": 2, "saliency_power": 0}, "saliency_power must be a number above 0"),
        ({"format": 2, "temperature": float("inf")}, "temperature must be a number above 0"),
        ({"format": 2, "temperature": "warm"}, "can't be read"),
        ({"format": 2, "method": "cam", "context": "mean"}, "without a saliency branch"),
    ],
)
def test_metadata_that_make_no_sense_are_refused(plain, change, said):
    with pytest.raises(CheckpointError, match=said):
        CheckpointInfo.from_json({**metadata(read_info(plain)), **change})


def test_weights_without_the_context_dont_fit_a_head_with_one(plain, tmp_path):
    info, tensors = read_checkpoint(plain)
    path = with_head(plain, tmp_path / "x.safetensors", context="mean")
    assert set(read_checkpoint(path)[1]) - set(tensors) == {"head.context_branch.weight"}
    from calm_gui.model.checkpoint import fitted_network

    with pytest.raises(CheckpointError, match=r"1 missing \(head\.context_branch\.weight\)"):
        fitted_network(replace(info, context="mean"), tensors, "x")


# --- explaining


def sums64(model: LoadedModel, picture: Path) -> np.ndarray:
    """p(y|x) from the features by the algebra above, everything behind the backbone in float64."""
    from calm_gui.model.picture import load_picture

    inputs, _ = model.prepare(load_picture(picture))
    with torch.inference_mode():
        features = model.network.backbone(inputs)[0].double().numpy()
    return joint_by_definition(model.network.head, features).sum((1, 2))


@pytest.mark.parametrize("options", HEADS)
def test_every_reading_adds_up_and_a_corrupted_row_is_noticed(plain, tmp_path, options):
    model = load_model(with_head(plain, tmp_path / "x.safetensors", **options), "cpu")
    explanation = model.explain(sample_pictures()[0])
    p = sums64(model, sample_pictures()[0])
    np.testing.assert_allclose(explanation.class_probabilities, p, rtol=1e-4)
    h = explanation.saliency().values.astype(np.float64)
    assert h.sum() == pytest.approx(1, rel=1e-4)
    for group in ([0], [1, 5], [0, 1, 2, 3, 4, 5]):
        maps = {
            "attribution": explanation.attribution(group).values.sum(dtype=float),
            "conditional": (explanation.conditional(group).values * h).sum(),
            "counterfactual": explanation.counterfactual(group, [3]).values.sum(dtype=float) + p[3] * (3 not in group),
        }
        for name, total in maps.items():
            wanted = p[group].sum() - (p[3] if name == "counterfactual" and 3 in group else 0)
            assert total == pytest.approx(wanted, rel=1e-4, abs=1e-4 * p[3]), name
        assert explanation.cue_posterior(group).values.sum(dtype=float) == pytest.approx(1, rel=1e-4)
        assert explanation.attribution(group).check.passed and explanation.conditional(group).check.passed
    for index in range(6):
        explanation.joint[index] *= 1.01
        assert not explanation.attribution(index).check.passed


def test_the_same_arrays_for_one_picture_and_for_several(plain, tmp_path):
    from calm_gui.model.picture import load_picture

    model = load_model(with_head(plain, tmp_path / "x.safetensors", **HEADS[2]), "cpu")
    pictures = [load_picture(path) for path in sample_pictures()[:3]]
    together = model.explain_batch(pictures)
    for picture, explanation in zip(pictures, together, strict=True):
        alone = model.explain(picture)
        np.testing.assert_allclose(explanation.joint, alone.joint, rtol=1e-4, atol=1e-9)  # a context is each one's own


@pytest.mark.slow
def test_the_context_costs_less_than_a_twentieth():
    """Processor time of explaining with it over without, the median of pairs: other work can't shift it."""
    info, tensors = read_checkpoint(bundled_checkpoints()["demo"])
    assert info.head.keys() == {"context", "saliency_power", "temperature"}
    bare = replace(info, context="none", saliency_power=1.0, temperature=1.0)
    models = []
    for which in (bare, info):
        network = build_network(which)
        network.load_state_dict(tensors, strict=False)
        models.append(LoadedModel(network, which, torch.device("cpu")))
    picture = sample_pictures()[0]
    times: list[list[float]] = [[], []]
    for turn in range(60):
        for which in (0, 1) if turn % 2 else (1, 0):
            began = time.process_time()
            models[which].explain(picture)
            times[which].append(time.process_time() - began)
    without, with_it = np.array(times)
    assert np.median(with_it / without) < 1.05
