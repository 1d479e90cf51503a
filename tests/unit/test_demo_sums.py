"""What the program promises: every reading's sum is the probability it should be, on real pictures and weights."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from calm_gui.api import load_checkpoint, sample_pictures
from calm_gui.core.classes import ClassSet
from calm_gui.core.explanation import Explanation

RANDOM_SETS = 300
FLOOR = 1e-37
"""Maps are float32, which holds nothing smaller with its digits; below it errors are relative to this."""


@pytest.fixture(scope="module")
def model():
    return load_checkpoint("demo", "cpu")


def probabilities_in_float64(explanation: Explanation) -> tuple[np.ndarray, np.ndarray]:
    """log p(y|x) and h from the raw branches, by this test's own arithmetic."""
    a = explanation.a.astype(np.float64)
    s = np.maximum(a, 0) if explanation.activation == "relu" else np.log1p(np.exp(-np.abs(a))) + np.maximum(a, 0)
    with np.errstate(divide="ignore"):
        log_h = np.log(s / s.sum())
    log_g = log_softmax(explanation.f.astype(np.float64), axis=0)
    return logsumexp(log_g + log_h, axis=(1, 2)), np.exp(log_h)


def random_sets(random: np.random.Generator, p: np.ndarray) -> list[ClassSet]:
    """Sets of all sizes, a third of them of the least probable classes alone."""
    rare = np.argsort(p)[: len(p) // 4]
    sets = []
    for number in range(RANDOM_SETS):
        pool = rare if number % 3 == 0 else np.arange(len(p))
        size = int(np.exp(random.uniform(0, np.log(len(pool)))))
        sets.append(ClassSet(random.choice(pool, size, replace=False)))
    return sets


@pytest.mark.slow
@pytest.mark.parametrize(("sharpness", "rarest"), [(1, 1e-3), (20, 1e-7)])
@pytest.mark.parametrize("picture", sample_pictures(), ids=lambda path: path.stem)
def test_every_sum_agrees(model, picture, sharpness, rarest):
    # The demo is never very sure of itself; sharpening its class branch gives tiny probabilities too.
    read = model.explain(picture)
    f = read.f * np.float32(sharpness)
    explanation = Explanation(f, read.a, read.activation, read.geometry, read.classes, read.hierarchy)
    log_p, h = probabilities_in_float64(explanation)
    p = np.exp(log_p)
    np.testing.assert_allclose(explanation.class_probabilities, p, rtol=1e-9)
    assert explanation.saliency().values.sum(dtype=float) == pytest.approx(1, rel=1e-4)
    sets = random_sets(np.random.default_rng(len(picture.name)), p)
    smallest = 1.0
    for a_set, b_set in zip(sets, sets[1:] + sets[:1], strict=True):
        p_a = p[a_set.indices].sum()
        smallest = min(smallest, p_a)
        attribution = explanation.attribution(a_set)
        assert attribution.values.sum(dtype=float) == pytest.approx(p_a, rel=1e-4, abs=1e-4 * FLOOR)
        conditional = explanation.conditional(a_set)
        assert (conditional.values * h).sum(dtype=float) == pytest.approx(p_a, rel=1e-4, abs=1e-4 * FLOOR)
        posterior = explanation.cue_posterior(a_set)
        assert posterior.values.sum(dtype=float) == pytest.approx(1, rel=1e-4)
        difference = explanation.counterfactual(a_set, b_set)
        only_a, only_b = a_set - b_set, b_set - a_set
        p_only_a, p_only_b = p[only_a.indices].sum(), p[only_b.indices].sum()  # p_a - p_b would cancel
        allowed = 1e-4 * max(p_only_a + p_only_b, FLOOR)
        assert difference.values.sum(dtype=float) == pytest.approx(p_only_a - p_only_b, abs=allowed)
        assert all(shown.check.passed for shown in (attribution, conditional, posterior, difference))
    assert smallest < rarest


def test_a_corrupted_joint_is_noticed_on_the_demo(model):
    explanation = model.explain(sample_pictures()[0])
    for index, _ in explanation.top(5):
        assert explanation.attribution(index).check.passed
        explanation.joint[index] *= 1.01
        assert not explanation.attribution(index).check.passed
