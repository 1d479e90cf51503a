"""The objectives against golden values, the paper's formulas written slowly, and their properties."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from calm_training.objectives import TopTarget, calm_em, calm_m_step, calm_ml, cam, smoothed, top_target

CASES = range(3)
ACTIVATIONS = ("relu", "softplus")


def leaves(f: np.ndarray, a: np.ndarray) -> tuple[Tensor, Tensor]:
    """A batch of one, as float32 leaves."""
    return tuple(torch.tensor(v[None], dtype=torch.float32, requires_grad=True) for v in (f, a))


def gradients(loss: Tensor, *parameters: Tensor) -> list[Tensor]:
    return [
        torch.zeros_like(p) if g is None else g
        for g, p in zip(
            torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=True),
            parameters,
            strict=True,
        )
    ]


@pytest.fixture(scope="session")
def head(shared: Path) -> tuple[dict[str, np.ndarray], dict]:
    folder = shared / "reference/head"
    return dict(np.load(folder / "tensors.npz")), json.loads((folder / "scalars.json").read_text())


@pytest.mark.shared
@pytest.mark.parametrize("objective", ["ml", "em", "em_other"])
@pytest.mark.parametrize("sum_gradient", ["full", "detached"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("case", CASES)
def test_golden_losses_and_gradients(head, case, activation, sum_gradient, objective):
    tensors, scalars = head
    f, a = leaves(tensors[f"case{case}_f"], tensors[f"case{case}_a"])
    label = torch.tensor([scalars["cases"][case]["y"]])
    options = {"activation": activation, "normaliser_gradient": sum_gradient == "full"}
    if objective == "ml":
        loss = calm_ml(f, a, label, **options)
    else:
        other = leaves(tensors[f"case{case}_f_other"], tensors[f"case{case}_a_other"])
        loss = calm_em(f, a, label, other if objective == "em_other" else None, **options)
    expected = scalars["cases"][case][activation][f"loss_{objective}"]
    assert loss.item() == pytest.approx(expected, rel=2e-6)
    for name, gradient in zip(("df", "da"), gradients(loss, f, a), strict=True):
        golden = tensors[f"case{case}_{activation}_{objective}_{sum_gradient}_{name}"]
        np.testing.assert_allclose(gradient[0].numpy(), golden, rtol=1e-4, atol=2e-7)


def slow_joint(f: Tensor, a: Tensor, activation: str) -> Tensor:
    """The paper's formulas in double precision, one picture: g * h, (C,H,W)."""
    g = torch.exp(f.double()) / torch.exp(f.double()).sum(0)
    s = a[0].double().clamp_min(0) if activation == "relu" else torch.log(1 + torch.exp(a[0].double()))
    return g * (s / s.sum())


def slow_ml(joint: Tensor, weights: Tensor) -> Tensor:
    return -(weights * joint.sum((1, 2)).log()).sum()


def slow_em(joint: Tensor, joint_source: Tensor, weights: Tensor) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for y, weight in enumerate(weights):
        q = joint_source[y].detach() / joint_source[y].detach().sum()
        for z in range(q.numel()):
            if q.flatten()[z] > 0:
                total = total - weight * q.flatten()[z] * joint[y].flatten()[z].log()
    return total


def random_branches(seed: int, batch: int = 3, classes: int = 7, size: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    f = 3 * torch.randn(batch, classes, size, size, generator=generator)
    a = 2 * torch.randn(batch, 1, size, size, generator=generator)
    return f.requires_grad_(), a.requires_grad_()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("class_chunk", [1, 3, 7, 100])
def test_soft_targets_against_the_formulas(activation, class_chunk):
    f, a = random_branches(1)
    source = random_branches(2)
    source = (source[0], a.detach() * 1.5)  # zero where a is, so that the ReLU loss stays finite
    weights = torch.softmax(torch.randn(3, 7, generator=torch.Generator().manual_seed(3)), 1)
    options = {"activation": activation, "class_chunk": class_chunk, "reduction": "none"}
    fast = {"ml": calm_ml(f, a, weights, **options), "em": calm_em(f, a, weights, source, **options)}
    joints = [slow_joint(f[i], a[i], activation) for i in range(3)]
    sources = [slow_joint(source[0][i], source[1][i], activation) for i in range(3)]
    slow = {
        "ml": torch.stack([slow_ml(j, w) for j, w in zip(joints, weights.double(), strict=True)]),
        "em": torch.stack([slow_em(j, s, w) for j, s, w in zip(joints, sources, weights.double(), strict=True)]),
    }
    for name in fast:
        torch.testing.assert_close(fast[name].double(), slow[name], rtol=1e-5, atol=1e-5)
        for got, expected in zip(gradients(fast[name].sum(), f, a), gradients(slow[name].sum(), f, a), strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


@given(
    seed=st.integers(0, 10**6),
    activation=st.sampled_from(ACTIVATIONS),
    full=st.booleans(),
    smoothing=st.sampled_from([0.0, 0.1]),
)
@settings(max_examples=40, deadline=None)
def test_em_with_the_same_parameters_has_the_gradient_of_ml(seed, activation, full, smoothing):
    f, a = random_branches(seed)
    labels = torch.tensor([0, 3, 6])
    options = {"activation": activation, "normaliser_gradient": full, "label_smoothing": smoothing}
    em, ml = calm_em(f, a, labels, **options), calm_ml(f, a, labels, **options)
    assert em >= ml - 1e-5  # they differ by the entropy of q
    for from_em, from_ml in zip(gradients(em, f, a), gradients(ml, f, a), strict=True):
        torch.testing.assert_close(from_em, from_ml, rtol=1e-4, atol=1e-6)


@given(seed=st.integers(0, 10**6), shift=st.floats(-50, 50), activation=st.sampled_from(ACTIVATIONS))
@settings(max_examples=30, deadline=None)
def test_ml_is_a_negative_log_probability(seed, shift, activation):
    f, a = random_branches(seed)
    every_class = torch.stack(
        [calm_ml(f, a, torch.full((3,), y), activation=activation, reduction="none") for y in range(7)], 1
    )
    torch.testing.assert_close((-every_class).exp().sum(1), torch.ones(3), rtol=1e-5, atol=1e-5)
    per_location = shift * torch.randn(3, 1, 4, 4, generator=torch.Generator().manual_seed(seed))
    shifted = calm_ml(f + per_location, a, torch.zeros(3, dtype=torch.int64), activation=activation, reduction="none")
    torch.testing.assert_close(shifted, every_class[:, 0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("objective", [calm_ml, calm_em])
def test_one_hot_smoothed_equal_labels(objective):
    f, a = random_branches(5)
    labels = torch.tensor([1, 1, 4])
    one_hot = torch.nn.functional.one_hot(labels, 7).float()
    torch.testing.assert_close(objective(f, a, labels), objective(f, a, one_hot))


@pytest.mark.parametrize("objective", [calm_ml, calm_em])
def test_a_target_over_few_classes_equals_the_same_over_all(objective):
    f, a = random_branches(4)
    probabilities = torch.softmax(torch.randn(3, 7, generator=torch.Generator().manual_seed(5)), 1)
    few = top_target(probabilities, 3)
    dense = torch.zeros(3, 7).scatter_(1, few.classes, few.weights)
    torch.testing.assert_close(dense.sum(1), torch.ones(3))
    torch.testing.assert_close(objective(f, a, few), objective(f, a, dense))
    for from_few, from_all in zip(
        gradients(objective(f, a, few), f, a), gradients(objective(f, a, dense), f, a), strict=True
    ):
        torch.testing.assert_close(from_few, from_all)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_m_step_with_the_posterior_of_a_source_is_em_with_that_source(activation):
    f, a = random_branches(13)
    f_source, a_source = random_branches(14)[0], a.detach() * 1.5
    labels = torch.tensor([2, 0, 5])
    joints = [slow_joint(f_source[i], a_source[i], activation)[labels[i]] for i in range(3)]
    posterior = torch.stack([joint / joint.sum() for joint in joints])[:, None]
    target = TopTarget(labels[:, None], torch.ones(3, 1))
    m_step = calm_m_step(f, a, target, posterior, activation=activation)
    em = calm_em(f, a, labels, (f_source, a_source), activation=activation)
    torch.testing.assert_close(m_step, em, rtol=1e-5, atol=1e-5)
    for first, second in zip(gradients(m_step, f, a), gradients(em, f, a), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-6)


def test_cells_that_relu_switches_off_get_finite_gradients():
    f, _ = random_branches(6, batch=1)
    a = torch.full((1, 1, 4, 4), -1.0)
    a[0, 0, 2, 1] = 0.5
    a.requires_grad_()
    for loss in (
        calm_ml(f, a, torch.tensor([2]), activation="relu"),
        calm_em(f, a, torch.tensor([2]), activation="relu"),
    ):
        assert torch.isfinite(loss)
        df, da = gradients(loss, f, a)
        assert torch.isfinite(df).all()
        assert torch.isfinite(da).all()
        assert df[0, :, 2, 1].abs().sum() > 0
        df[0, :, 2, 1] = 0
        assert (df == 0).all()  # nothing is learnt where h = 0


def test_em_is_infinite_where_the_source_looks_and_the_model_cannot():
    f, a = random_branches(7, batch=1)
    source = (f.detach(), torch.ones(1, 1, 4, 4))
    assert calm_em(f, a, torch.tensor([0]), source, activation="relu") == torch.inf


def test_no_gradient_reaches_the_source_of_the_e_step():
    f, a = random_branches(8)
    source = random_branches(9)
    loss = calm_em(f, a, torch.tensor([0, 1, 2]), source)
    assert all((g == 0).all() for g in gradients(loss, *source))


def test_detached_normaliser_changes_the_saliency_gradient_only():
    f, a = random_branches(10)
    labels = torch.tensor([0, 1, 2])
    full, held = (calm_ml(f, a, labels, normaliser_gradient=flag) for flag in (True, False))
    torch.testing.assert_close(full, held)
    (full_df, full_da), (held_df, held_da) = gradients(full, f, a), gradients(held, f, a)
    torch.testing.assert_close(full_df, held_df)
    assert (held_da <= 0).all()  # the released code's saliency is only ever pushed up
    assert (full_da > 0).any()


def test_label_smoothing_mixes_with_the_even_distribution():
    target = smoothed(torch.tensor([1, 0]), 4, 0.2)
    torch.testing.assert_close(target, torch.tensor([[0.05, 0.85, 0.05, 0.05], [0.85, 0.05, 0.05, 0.05]]))


def test_cam_is_cross_entropy_of_the_mean_map():
    f, _ = random_branches(11)
    labels = torch.tensor([6, 0, 2])
    logits = f.double().mean((2, 3))
    expected = -(logits - logits.logsumexp(1, keepdim=True))[torch.arange(3), labels].mean()
    torch.testing.assert_close(cam(f, labels).double(), expected, rtol=1e-6, atol=1e-6)
    one_hot = torch.nn.functional.one_hot(labels, 7).double()
    torch.testing.assert_close(cam(f, one_hot).double(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("soft", [False, True])
def test_half_precision_under_autocast_is_finite_and_float32(dtype, activation, soft):
    f, a = random_branches(12)
    f_half, a_half = ((40 * f).to(dtype), (30 * a).to(dtype))
    target = smoothed(torch.tensor([0, 1, 2]), 7, 0.1) if soft else torch.tensor([0, 1, 2])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = {
            "ml": calm_ml(f_half, a_half, target, activation=activation),
            "em": calm_em(f_half, a_half, target, activation=activation),
            "cam": cam(f_half, target),
        }
    for loss in losses.values():
        assert loss.dtype == torch.float32
        assert torch.isfinite(loss)
        assert all(torch.isfinite(g).all() for g in gradients(loss, f, a))
    exact = calm_ml(f_half.float(), a_half.float(), target, activation=activation)
    torch.testing.assert_close(losses["ml"], exact)
