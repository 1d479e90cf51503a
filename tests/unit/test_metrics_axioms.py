"""Axioms and calibration: against slow references written from the definitions."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from calm_gui.errors import DataError
from calm_training.metrics import Calibration, Completeness, Invariance, MaxBoxAcc, PxAP, Sensitivity, TopOne


def slow_calibration(rows: list[tuple[float, bool]], bins: int) -> float:
    error = 0.0
    for i in range(bins):
        low, high = i / bins, (i + 1) / bins
        inside = [(c, r) for c, r in rows if low < c <= high or (i == 0 and c == 0)]
        if inside:
            accuracy = sum(r for _, r in inside) / len(inside)
            confidence = sum(c for c, _ in inside) / len(inside)
            error += len(inside) / len(rows) * abs(accuracy - confidence)
    return error


def test_calibration_is_the_definition_s():
    generator = np.random.default_rng(0)
    rows = [(float(c), bool(generator.random() < c)) for c in [*generator.random(200), 0.0, 1.0, 0.2, 0.4]]
    metric = Calibration(bins=5)
    for confidence, correct in rows:
        metric.update(confidence, correct)
    result = metric.compute()
    assert result["ECE"] == pytest.approx(slow_calibration(rows, 5))
    assert result["images"] == 204 == sum(row["images"] for row in result["bins"])
    assert result["accuracy"] == pytest.approx(np.mean([r for _, r in rows]))
    assert result["bins"][0]["low"] == 0 and result["bins"][-1]["high"] == 1


def test_an_overconfident_and_a_calibrated_model():
    over, right = Calibration(), Calibration()
    for i in range(100):
        over.update(0.99, i < 50)
        right.update(0.75, i < 75)
    assert over.compute()["ECE"] == pytest.approx(0.49)
    assert right.compute()["ECE"] == pytest.approx(0)
    with pytest.raises(DataError, match="between 0 and 1"):
        over.update(1.2, True)
    with pytest.raises(DataError, match="no picture"):
        Calibration().compute()


def test_completeness():
    metric = Completeness()
    metric.update([[0.1, 0.2], [0.0, 0.1]], 0.4)
    metric.update([[0.5, 0.5]], 0.5)
    result = metric.compute()
    assert result["largest"] == pytest.approx(1.0)
    assert result["median"] == pytest.approx(0.5)
    assert (result["sum"], result["response"]) == (pytest.approx(0.7), pytest.approx(0.45))


def test_sensitivity_counts_both_kinds_of_violation():
    metric = Sensitivity()
    scores, change = np.array([0.2, 0.0, 0.3, 0.0]), np.array([0.2, 0.1, 0.0, 0.0])
    metric.update(scores, change, 0.5)
    result = metric.compute()
    assert (result["missed"], result["unfounded"]) == (0.25, 0.25)
    assert result["difference"] == pytest.approx(0.3 / 0.5)
    assert result["rank correlation"] == pytest.approx(spearmanr(scores, change).statistic)
    # With a tolerance, what is tiny on both sides counts as nothing.
    tolerant = Sensitivity(0.01)
    tolerant.update([1.0, 1e-4], [0.5, 1e-4], 0.5)
    assert tolerant.compute()["missed"] == tolerant.compute()["unfounded"] == 0
    with pytest.raises(DataError, match="4 attributions"):
        metric.update(scores, change[:2], 1)


def test_invariance():
    metric = Invariance()
    metric.update([[0.0, 2.0]], [[1.0, 2.0]], 0.5, 0.5)
    metric.update([[0.0, 2.0]], [[0.0, 2.0]], 0.5, 0.6)
    result = metric.compute()
    assert (result["largest"], result["median"]) == (0.5, 0.25)
    assert result["response"] == pytest.approx(0.2)


def test_the_paper_s_argument_on_random_branches():
    """CALM keeps all three axioms, CAM none but one, whatever the network."""
    generator = torch.Generator().manual_seed(1)
    f, a = torch.randn(5, 3, 4, generator=generator).double(), torch.randn(3, 4, generator=generator).double()
    h = torch.nn.functional.softplus(a) / torch.nn.functional.softplus(a).sum()
    joint = (f.softmax(0) * h)[2]
    p = float(joint.sum())
    without = torch.tensor([p - (joint.sum() - value) for value in joint.flatten()])
    complete, sensitive, same = Completeness(), Sensitivity(), Invariance()
    complete.update(joint, p)
    sensitive.update(joint, without, p)
    same.update(joint, ((f + 7).softmax(0) * h)[2], p, p)
    assert complete.compute()["largest"] < 1e-12
    assert sensitive.compute()["missed"] == sensitive.compute()["unfounded"] == 0
    assert sensitive.compute()["difference"] < 1e-12
    assert same.compute()["largest"] < 1e-12

    cam = f[2].clamp_min(0) / f[2].max()
    p = float(f.mean((1, 2)).softmax(0)[2])
    gone = torch.stack([p - ((f.sum((1, 2)) - f[:, y, x]) / 12).softmax(0)[2] for y in range(3) for x in range(4)])
    shifted = (f[2] + 7).clamp_min(0) / (f[2] + 7).max()
    complete, sensitive, same = Completeness(), Sensitivity(), Invariance()
    complete.update(cam, p)
    sensitive.update(cam, gone, p)
    same.update(cam, shifted, p, float((f + 7).mean((1, 2)).softmax(0)[2]))
    assert complete.compute()["largest"] > 1
    assert sensitive.compute()["missed"] == pytest.approx(float((f[2] <= 0).double().mean()))
    assert same.compute()["largest"] > 0.1
    assert same.compute()["response"] < 1e-12


def random_maps(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(3)
    return [(generator.random((20, 20)), generator.integers(0, 2, (20, 20))) for _ in range(n)]


@pytest.mark.parametrize("make", [MaxBoxAcc, PxAP, Calibration, Completeness, Sensitivity, TopOne])
def test_counts_of_parts_add_up_to_those_of_the_whole(make):
    def update(metric, scores, mask):
        if make is MaxBoxAcc:
            metric.update(scores, [[2, 3, 15, 12]])
        elif make is PxAP:
            metric.update(scores, mask)
        elif make is Calibration:
            metric.update(float(scores[0, 0]), bool(mask[0, 0]))
        elif make is TopOne:
            metric.update(int(mask[0, 0]), 1)
        else:
            metric.update(scores, *([mask, 2.0] if make is Sensitivity else [2.0]))

    whole, added = make(), make()
    for scores, mask in random_maps(5):
        update(whole, scores, mask)
        part = make()
        update(part, scores, mask)
        added.add_json(part.to_json())
    assert added.compute() == whole.compute()
    assert added.images == 5


def test_damaged_counts_are_refused():
    state = PxAP().to_json()
    with pytest.raises(ValueError, match="damaged"):
        PxAP().add_json({**state, "foreground": "AAAA"})
    with pytest.raises(ValueError):
        PxAP(10).add_json(state)


def test_an_even_map_has_no_rank_correlation():
    metric = Sensitivity()
    metric.update([0.1, 0.1], [0.1, 0.2], 0.3)
    assert metric.compute()["rank correlation"] == 0
    assert math.isfinite(metric.compute()["difference"])
