"""Explanations and readings: golden values, the paper's formulas written slowly, and properties."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import CLASSES, HIERARCHY, calm_explanation, cam_explanation

from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable
from calm_gui.core.explanation import Explanation
from calm_gui.core.geometry import Geometry
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.core.region import Region
from calm_gui.errors import ClassLookupError, NumericalError, ReadingError

SETS = st.frozensets(st.integers(0, len(CLASSES) - 1)).map(ClassSet)
SOME = st.frozensets(st.integers(0, len(CLASSES) - 1), min_size=1).map(ClassSet)


def explanation_of(f: np.ndarray, a: np.ndarray, activation: str, hierarchy: Hierarchy | None = None) -> Explanation:
    classes = ClassTable(ClassInfo(i, f"class {i}") for i in range(len(f)))
    grid = f.shape[1:]
    geometry = Geometry.fit((50, 40), (224, 224), grid, "squash")
    return Explanation(f, a, activation, geometry, classes, hierarchy)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def head(shared: Path) -> tuple[dict[str, np.ndarray], dict]:
    folder = shared / "reference/head"
    return dict(np.load(folder / "tensors.npz")), json.loads((folder / "scalars.json").read_text())


@pytest.mark.shared
@pytest.mark.parametrize("case", range(3))
@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_golden_values(head, case, activation):
    tensors, scalars = head
    label = scalars["cases"][case]

    def golden(name: str) -> np.ndarray:
        return tensors[f"case{case}_{activation}_{name}"]

    explanation = explanation_of(tensors[f"case{case}_f"], tensors[f"case{case}_a"], activation)
    close = {"rtol": 2e-5, "atol": 1e-9}
    np.testing.assert_allclose(explanation.joint, golden("joint"), **close)
    np.testing.assert_allclose(explanation.saliency().values, golden("h"), **close)
    np.testing.assert_allclose(explanation.class_probabilities, golden("p_y"), rtol=1e-6)
    for index in range(7):
        np.testing.assert_allclose(explanation.conditional(index).values, golden("g")[index], **close)
        np.testing.assert_allclose(explanation.cue_posterior(index).values, golden("posterior")[index], **close)
    shown = explanation.counterfactual(label["y"], label["y_other"])
    np.testing.assert_allclose(shown.values, golden("counterfactual"), rtol=2e-5, atol=1e-8)
    for number, subset in enumerate(label["subsets"]):
        shown = explanation.attribution(subset)
        np.testing.assert_allclose(shown.values, golden(f"subset{number}"), **close)
        assert shown.check.passed and shown.check.error < 1e-5
    p_y = label[activation]["p_y_of_label"]
    assert explanation.probability(label["y"]) == pytest.approx(p_y, rel=1e-6)


def slow_joint(f: np.ndarray, a: np.ndarray, activation: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, h and their product, cell by cell as the paper's section 4.1 writes them."""
    classes, height, width = f.shape
    g, h, joint = np.zeros(f.shape), np.zeros((height, width)), np.zeros(f.shape)
    for i in range(height):
        for j in range(width):
            scores = [math.exp(float(f[y, i, j]) - float(f[:, i, j].max())) for y in range(classes)]
            for y in range(classes):
                g[y, i, j] = scores[y] / sum(scores)
            x = float(a[i, j])
            h[i, j] = max(x, 0.0) if activation == "relu" else math.log1p(math.exp(-abs(x))) + max(x, 0.0)
    h /= h.sum()
    for y in range(classes):
        joint[y] = g[y] * h
    return g, h, joint


@pytest.mark.parametrize("activation", ["relu", "softplus"])
@pytest.mark.parametrize("seed", range(3))
def test_readings_equal_the_papers_formulas_written_slowly(activation, seed):
    explanation = calm_explanation((5, 7), activation, seed=seed)
    g, h, joint = slow_joint(explanation.f, explanation.a, activation)
    a_set, b_set = ClassSet([0, 1, 4]), ClassSet([2, 4])
    close = {"rtol": 1e-5, "atol": 1e-9}
    np.testing.assert_allclose(explanation.joint, joint, **close)
    np.testing.assert_allclose(explanation.saliency().values, joint.sum(axis=0), **close)
    rows = joint[[0, 1, 4]].sum(axis=0)
    np.testing.assert_allclose(explanation.attribution(a_set).values, rows, **close)
    np.testing.assert_allclose(explanation.conditional(a_set).values, g[[0, 1, 4]].sum(axis=0), **close)
    np.testing.assert_allclose(explanation.cue_posterior(a_set).values, rows / rows.sum(), **close)
    difference = rows - joint[[2, 4]].sum(axis=0)
    np.testing.assert_allclose(explanation.counterfactual(a_set, b_set).values, difference, rtol=1e-4, atol=1e-8)
    if activation == "relu":
        assert (h == 0).any() and np.isfinite(explanation.conditional(0).values).all()


def test_the_conditional_is_the_class_branchs_own_where_h_is_zero():
    explanation = calm_explanation((5, 7), "relu")
    g, h, _ = slow_joint(explanation.f, explanation.a, "relu")
    dark = h == 0
    assert dark.any()
    np.testing.assert_allclose(explanation.conditional(3).values[dark], g[3][dark], rtol=1e-5)


@settings(max_examples=60, deadline=None)
@given(a_set=SETS, b_set=SETS, activation=st.sampled_from(["relu", "softplus"]), seed=st.integers(0, 4))
def test_sums_are_probabilities(a_set, b_set, activation, seed):
    explanation = calm_explanation((6, 5), activation, seed=seed, spread=4.0)
    p_a, p_b = explanation.probability(a_set), explanation.probability(b_set)
    assert explanation.attribution(a_set).sum == pytest.approx(p_a, rel=1e-4)
    assert explanation.conditional(a_set).sum == pytest.approx(p_a, rel=1e-4)
    assert explanation.saliency().sum == pytest.approx(1.0, rel=1e-4)
    assert explanation.counterfactual(a_set, b_set).sum == pytest.approx(p_a - p_b, abs=1e-4 * (p_a + p_b))
    if a_set:
        assert explanation.cue_posterior(a_set).sum == pytest.approx(1.0, rel=1e-4)
    for shown in (explanation.attribution(a_set), explanation.conditional(a_set), explanation.saliency()):
        assert shown.check.passed
    # p of a union: sets, never sums of parts.
    assert explanation.probability(a_set | b_set) == pytest.approx(p_a + p_b - explanation.probability(a_set & b_set))
    np.testing.assert_allclose(
        explanation.attribution(a_set | b_set).values.astype(float) + explanation.attribution(a_set & b_set).values,
        explanation.attribution(a_set).values.astype(float) + explanation.attribution(b_set).values,
        rtol=1e-5,
        atol=1e-8,
    )


@settings(max_examples=40, deadline=None)
@given(weights=st.lists(st.floats(0, 1), min_size=30, max_size=30), a_set=SETS, seed=st.integers(0, 3))
def test_regions_add_up(weights, a_set, seed):
    explanation = calm_explanation((6, 5), seed=seed)
    region = Region(np.array(weights).reshape(6, 5))
    inside = explanation.probability(a_set, region)
    outside = explanation.probability(a_set, region.complement())
    assert inside + outside == pytest.approx(explanation.probability(a_set), rel=1e-5, abs=1e-12)
    assert 0 <= inside <= explanation.probability(a_set) * (1 + 1e-5)
    by_class = explanation.region_probabilities(region)
    assert by_class[a_set.indices].sum() == pytest.approx(inside, rel=1e-5, abs=1e-9)


def test_a_corrupted_joint_is_noticed():
    for index in range(len(CLASSES)):
        explanation = calm_explanation()
        assert explanation.attribution(index).check.passed
        explanation.joint[index] *= 1.01
        check = explanation.attribution(index).check
        assert not check.passed and check.error == pytest.approx(0.01, rel=0.01)
        assert not explanation.counterfactual(index, (index + 1) % 6).check.passed
        assert not explanation.cue_posterior(index).check.passed
        assert explanation.attribution((index + 1) % 6).check.passed


def test_nan_in_a_map_is_never_a_passed_check():
    explanation = calm_explanation()
    explanation.joint[2, 1, 1] = np.nan
    assert not explanation.attribution(2).check.passed


@pytest.mark.parametrize("gap", [20, 40, 60, 75])
@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_tiny_probabilities_keep_their_digits(gap, activation):
    random = np.random.default_rng(gap)
    f = random.normal(size=(4, 6, 6)).astype(np.float32)
    f[0] += gap
    explanation = explanation_of(f, random.normal(size=(6, 6)).astype(np.float32), activation)
    for index in (1, 2, 3):
        shown = explanation.attribution(index)
        assert 0 < shown.sum < math.exp(-gap + 8)
        assert shown.check.passed and shown.check.error < 1e-4
        assert explanation.cue_posterior(index).check.passed


@pytest.mark.parametrize("level", [-40, -90, -300])
def test_a_softplus_branch_far_below_zero_keeps_its_shape(level):
    random = np.random.default_rng(0)
    a = random.normal(size=(5, 5)).astype(np.float32)
    f = random.normal(size=(3, 5, 5)).astype(np.float32)
    explanation = explanation_of(f, a + level, "softplus")
    # So far down softplus is exp, and a common factor cancels.
    expected = np.exp((a + np.float32(level)).astype(float) - float((a + np.float32(level)).max()))
    np.testing.assert_allclose(explanation.saliency().values, expected / expected.sum(), rtol=1e-5)
    assert all(explanation.attribution(i).check.passed for i in range(3))


def test_what_underflows_is_undefined_in_words():
    f = np.zeros((2, 3, 3), np.float32)
    f[0] = 500  # p = 1e-217: nothing in float32, but float64 knows where
    even = explanation_of(f, np.ones((3, 3), np.float32), "relu").cue_posterior(1)
    np.testing.assert_allclose(even.values, 1 / 9, rtol=1e-6)
    f[0] = 1000
    explanation = explanation_of(f, np.ones((3, 3), np.float32), "relu")
    with pytest.raises(ReadingError, match="undefined"):
        explanation.cue_posterior(1)
    with pytest.raises(ReadingError, match="undefined"):
        explanation.cue_posterior([])


def test_dead_saliency_and_broken_numbers_end_in_words():
    f, a = np.zeros((2, 3, 3), np.float32), np.zeros((3, 3), np.float32)
    with pytest.raises(NumericalError, match="zero everywhere"):
        explanation_of(f, a - 1, "relu")
    for value in (np.nan, np.inf, -np.inf):
        broken = f.copy()
        broken[1, 2, 2] = value
        with pytest.raises(NumericalError, match="class branch"):
            explanation_of(broken, a + 1, "relu")
        broken = a + 1
        broken[0, 0] = value
        with pytest.raises(NumericalError, match="saliency branch"):
            explanation_of(f, broken, "softplus")
    with pytest.raises(ReadingError, match="shape"):
        Explanation(f, a, "relu", Geometry.fit((9, 9), (9, 9), (2, 3), "squash"), CLASSES)


def test_one_class_and_one_cell():
    explanation = explanation_of(np.zeros((1, 1, 1), np.float32), np.full((1, 1), 0.3, np.float32), "softplus")
    assert explanation.joint.item() == 1.0 and explanation.top(5) == [(0, 1.0)]
    assert explanation.attribution(0).upsampled().shape == (40, 50)


def slow_winner(explanation: Explanation, depth: int) -> list[list[str | None]]:
    """Winning node's key at each cell, by the definition: depth is the longest path from the root."""
    hierarchy = explanation.hierarchy

    def longest(key: str) -> int:
        return max((longest(parent) + 1 for parent in hierarchy[key].parents), default=0)

    def below(key: str) -> set[int]:
        own = set() if hierarchy[key].class_index is None else {hierarchy[key].class_index}
        return own.union(*(below(child) for child in hierarchy[key].children))

    level = {key: below(key) for key in hierarchy if longest(key) == depth and below(key)}
    held = set().union(*level.values()) if level else set()
    level |= {key: {index} for index, key in hierarchy.by_class.items() if index not in held}
    result = []
    for i in range(explanation.joint.shape[1]):
        row = []
        for j in range(explanation.joint.shape[2]):
            if explanation.saliency().values[i, j] == 0:
                row.append(None)
                continue
            masses = {k: sum(float(explanation.joint[y, i, j]) for y in ys) for k, ys in level.items()}
            best = max(masses.values())
            row.append(min(k for k, mass in masses.items() if mass >= best * (1 - 1e-12)))
        result.append(row)
    return result


@pytest.mark.parametrize("depth", range(4))
@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_the_winner_equals_its_definition(depth, activation):
    explanation = calm_explanation((5, 6), activation, seed=2)
    shown = explanation.winner(depth)
    keys = [[shown.nodes[w].key if w >= 0 else None for w in row] for row in shown.winner]
    assert keys == slow_winner(explanation, depth)
    assert shown.overlapping == (depth == 2)  # the beagle is both a dog and a pet
    assert sum(cells for _, cells, _ in shown.legend()) == int((shown.winner >= 0).sum())
    assert ((shown.share >= 0) & (shown.share <= 1 + 1e-6)).all()


def test_winner_ties_go_to_the_lower_wnid():
    f = np.zeros((2, 2, 2), np.float32)
    nodes = {"root": {"name": "root"}, "n2": {"parents": ["root"], "class": 0}, "n1": {"parents": ["root"], "class": 1}}
    explanation = explanation_of(f, np.ones((2, 2), np.float32), "relu", Hierarchy(nodes, 2))
    shown = explanation.winner(1)
    assert {shown.nodes[w].key for w in shown.winner.ravel()} == {"n1"}


def test_the_winner_needs_a_hierarchy_and_a_depth_in_range():
    explanation = explanation_of(np.zeros((2, 2, 2), np.float32), np.ones((2, 2), np.float32), "relu")
    with pytest.raises(ReadingError, match="hierarchy"):
        explanation.winner(1)
    for depth in (-1, 99):
        with pytest.raises(ReadingError, match="depth"):
            calm_explanation().winner(depth)


def test_every_reading_by_name():
    explanation = calm_explanation()
    for name in ("attribution", "saliency", "conditional", "cue_posterior"):
        assert explanation.reading(name, "dog").reading == name
    assert explanation.reading("counterfactual", "dog", "tabby").contrast == ClassSet([5])
    with pytest.raises(ReadingError, match="contrast"):
        explanation.reading("counterfactual", "dog")
    with pytest.raises(ReadingError, match="no reading"):
        explanation.reading("cam", "dog")


def test_cam_is_the_papers_equation_2_and_sums_to_nothing():
    explanation = cam_explanation()
    raw = explanation.f[1].astype(float)
    np.testing.assert_allclose(
        explanation.cam(1).values, (raw - raw.min()) / (raw.max() - raw.min()), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(explanation.cam(1, "max").values, np.maximum(raw, 0) / raw.max(), rtol=1e-5)
    np.testing.assert_allclose(explanation.cam(1, "none").values, raw, rtol=1e-6)
    logits = explanation.f.mean(axis=(1, 2), dtype=float)
    np.testing.assert_allclose(explanation.class_probabilities, np.exp(logits) / np.exp(logits).sum(), rtol=1e-9)
    assert explanation.cam(1).check is None
    with pytest.raises(ReadingError, match="undefined"):
        explanation.reading("attribution", 1)
    with pytest.raises(ReadingError, match="region"):
        explanation.probability(1, Region(np.ones((14, 14))))


def test_whatever_names_a_class_set():
    explanation = calm_explanation()
    for what in (
        "n02088094",
        0,
        np.int64(0),
        "afghan hound",
        "Afghan_hound",
        ClassSet([0]),
        [0],
        HIERARCHY["n02088094"],
    ):
        assert explanation.class_set(what) == ClassSet([0]), what
    assert explanation.class_set("dog") == explanation.class_set(["n02088364", 0]) == ClassSet([0, 1])
    with pytest.raises(ClassLookupError, match=r"crane \(n02012849\).*crane \(n03126707\)"):
        explanation.class_set("crane")
    for what in (6, -1, "nothing of the kind", [0, 99]):
        with pytest.raises(ClassLookupError):
            explanation.class_set(what)


def test_top_is_sorted_and_ties_go_by_index():
    explanation = explanation_of(np.zeros((4, 2, 2), np.float32), np.ones((2, 2), np.float32), "relu")
    assert [index for index, _ in explanation.top(3)] == [0, 1, 2]
    assert sum(p for _, p in explanation.top(99)) == pytest.approx(1)
