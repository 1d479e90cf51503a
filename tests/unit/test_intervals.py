"""Bootstrap intervals cover the truth as often as they say; resampled metrics are those of the resampled pictures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm_training.evaluate.comparison import compared
from calm_training.evaluate.evaluation import Result
from calm_training.evaluate.intervals import (
    RESAMPLES,
    Estimate,
    drawn,
    estimate,
    interval_of,
    mean_estimate,
    median_estimate,
    resampled_estimate,
    times_drawn,
)
from calm_training.metrics import Calibration, MaxBoxAcc, PxAP
from calm_training.metrics.calibration import expected_errors

SETS = 3000


def covered(samples: np.ndarray, truth: float) -> float:
    """Share of the sets (SETS,n) whose interval of the mean holds the truth."""
    pictures = samples.shape[1]
    resamples = samples @ times_drawn(pictures).T / pictures
    intervals = [interval_of(row, pictures) for row in resamples]
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def drawn_sets(kind: str, pictures: int) -> tuple[np.ndarray, float]:
    """Sets of numbers, and their true mean."""
    generator = np.random.default_rng(1)
    shape = (SETS, pictures)
    return {
        "normal": (generator.normal(3, 2, shape), 3.0),
        "uniform": (generator.random(shape), 0.5),
        "hits": ((generator.random(shape) < 0.6).astype(float), 0.6),
        "skewed": (generator.beta(2, 5, shape), 2 / 7),
    }[kind]


@pytest.mark.parametrize("pictures", [30, 100, 400])
@pytest.mark.parametrize("kind", ["normal", "uniform", "skewed"])
def test_intervals_cover_the_truth_in_95_of_100_sets(kind, pictures):
    assert 0.93 <= covered(*drawn_sets(kind, pictures)) <= 0.97


@pytest.mark.parametrize("pictures", [100, 400])
def test_intervals_of_hits_cover_the_truth(pictures):
    assert 0.93 <= covered(*drawn_sets("hits", pictures)) <= 0.97


def test_intervals_of_few_hits_are_rather_wide_than_narrow():
    """Of 30 pictures a share comes in steps of 1/30, so that 95 % can't be met exactly."""
    assert 0.95 <= covered(*drawn_sets("hits", 30)) <= 0.98


def test_intervals_of_paired_differences_cover_the_truth():
    generator = np.random.default_rng(2)
    hard = generator.normal(0, 1, (SETS, 100))  # what makes a picture hard makes it so for both
    first, second = (hard + generator.normal(shift, 0.3, hard.shape) for shift in (0.2, 0.0))
    found = []
    for a, b in zip(first[:1000], second[:1000], strict=True):
        difference = mean_estimate(a).minus(mean_estimate(b))
        found.append(difference.interval[0] <= 0.2 <= difference.interval[1])
        assert difference.value == pytest.approx(a.mean() - b.mean())
    assert 0.93 <= np.mean(found) <= 0.97
    pairs = [(mean_estimate(a), mean_estimate(b)) for a, b in zip(first[:20], second[:20], strict=True)]
    apart = np.mean([np.ptp(a.interval) for a, _ in pairs])
    paired = np.mean([np.ptp(a.minus(b).interval) for a, b in pairs])
    assert paired < apart / 2


def test_resampled_metrics_are_those_of_the_resampled_pictures():
    """Counted anew, picture by picture, for the first resamples."""
    generator = np.random.default_rng(3)
    pictures = [(generator.random((9, 9)), generator.integers(0, 2, (9, 9))) for _ in range(5)]
    total, states = PxAP(20), []
    for scores, mask in pictures:
        one = PxAP(20)
        one.update(scores, mask)
        states.append(one.to_json())
        total.update(scores, mask)
    found = [metric.compute() for metric in total.resampled(states, times_drawn(5))]
    for number in range(10):
        again = PxAP(20)
        for picture in drawn(5)[number]:
            again.update(*pictures[picture])
        assert found[number] == pytest.approx(again.compute())
    of_pxap = resampled_estimate(total, states, total.compute(), PxAP.compute)
    assert of_pxap.resamples.shape == (RESAMPLES,) and of_pxap.interval[0] < of_pxap.value < of_pxap.interval[1]


def test_a_picture_that_a_metric_passes_over_counts_nothing():
    one = MaxBoxAcc(thresholds=10)
    one.update(np.eye(8), [[0, 0, 7, 7]])
    times = np.array([[1, 1], [0, 2], [2, 0]])
    assert [metric.images for metric in one.resampled([one.to_json(), None], times)] == [1, 0, 2]


def test_calibration_errors_of_resamples():
    generator = np.random.default_rng(4)
    confidence = np.append(generator.random(30), [0.0, 1.0, 0.2])
    right = generator.integers(0, 2, 33).astype(float)
    errors = expected_errors(confidence, right, times_drawn(33))
    for number in range(10):
        metric = Calibration()
        for picture in drawn(33)[number]:
            metric.update(confidence[picture], bool(right[picture]))
        assert errors[number] == pytest.approx(metric.compute()["ECE"])


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12), st.floats(-3, 3), st.floats(0.1, 3))
@settings(max_examples=20)
def test_intervals_move_with_the_values(values, shift, factor):
    first, moved = (mean_estimate(v) for v in (np.array(values), np.array(values) * factor + shift))
    assert moved.value == pytest.approx(first.value * factor + shift, abs=1e-9)
    np.testing.assert_allclose(moved.interval, np.array(first.interval) * factor + shift, atol=1e-9)


def test_what_has_no_interval():
    assert mean_estimate([0.5]) == Estimate(0.5, None, 1)
    assert mean_estimate([np.nan, np.nan]) == Estimate(None)
    assert mean_estimate([np.nan, 1.0, 0.0]).pictures == 2
    assert estimate(np.nan, np.zeros(5), 3).value is None
    assert interval_of(np.where(np.arange(10) < 6, np.nan, 1.0), 5) is None
    assert median_estimate([1.0, 2.0, 30.0]).value == 2
    assert mean_estimate([0.0, 1.0]) == mean_estimate([0.0, 1.0])  # the same every time


def test_maps_of_two_checkpoints_are_compared_by_name_or_in_their_order():
    values = {"attribution": {"x": mean_estimate([1.0, 0.0])}, "superset": {"x": mean_estimate([1.0, 1.0])}}
    cam = {"cam": {"x": mean_estimate([0.0, 0.0])}, "cam-superset": {"x": mean_estimate([1.0, 0.0])}}
    results = {"a": Result(2, estimates=values), "b": Result(2, estimates=cam)}
    found = {one.of: one.estimate.value for one in compared(results, [("a", "b")])}
    assert found == {"attribution, cam": 0.5, "superset, cam-superset": 0.5}
    (one,) = compared(results, [("a:superset", "b:cam")])
    assert one.estimate.value == 1
