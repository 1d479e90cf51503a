"""Composites: put together for training, and as a measure of maps."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.errors import DataError
from calm_gui.model.loaded import load_model
from calm_training.composing import (
    MOST_PARTS,
    Part,
    compose_features,
    compose_pixels,
    compose_targets,
    draw_layout,
    owners,
)
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.evaluate.separation import composite, composite_scores, pairs_of
from calm_training.evaluate.sweep import SweepOptions
from calm_training.metrics.separation import left_share, separation
from calm_training.objectives import TopTarget
from calm_training.temperature import fit_temperature

SIDE = 14


@given(st.integers(0, 10_000))
def test_a_layout_covers_the_grid_with_two_to_four_pictures(seed):
    layout = draw_layout(np.random.default_rng(seed), SIDE)
    assert 2 <= len(layout) <= MOST_PARTS
    for part in layout:
        assert 0 <= part.top < part.bottom <= SIDE and 0 <= part.left < part.right <= SIDE
    covered = np.zeros((SIDE, SIDE), bool)
    for part in layout:
        covered[part.top : part.bottom, part.left : part.right] = True
    assert covered.all()
    owner = owners(layout, SIDE)
    for row in range(SIDE):
        for column in range(SIDE):
            inside = [n for n, p in enumerate(layout) if p.top <= row < p.bottom and p.left <= column < p.right]
            assert owner[row, column] == inside[-1]


def test_all_kinds_of_layouts_come():
    generator = np.random.default_rng(0)
    layouts = [tuple(draw_layout(generator, SIDE)) for _ in range(60)]
    assert {len(layout) for layout in layouts} == {2, 3, 4}
    halves = {layout for layout in layouts if len(layout) == 2 and layout[0] != Part(0, 0, SIDE, SIDE)}
    assert halves == {
        (Part(0, 0, SIDE, 7), Part(0, 7, SIDE, SIDE)),
        (Part(0, 0, 7, SIDE), Part(7, 0, SIDE, SIDE)),
    }


def test_features_stay_where_they_were():
    features = torch.randn(3, 5, SIDE, SIDE)
    owner = owners([Part(0, 0, SIDE, SIDE), Part(1, 2, 6, 8), Part(4, 5, 12, 13)], SIDE)
    composed = compose_features(features, owner)
    for row in range(SIDE):
        for column in range(SIDE):
            assert torch.equal(composed[:, row, column], features[owner[row, column], :, row, column])


def test_pixels_are_squeezed_into_their_parts():
    inputs = torch.stack([torch.full((3, 56, 56), value) for value in (1.0, 2.0, 3.0)])
    composed = compose_pixels(inputs, [Part(0, 0, SIDE, SIDE), Part(0, 0, 5, 6), Part(3, 2, 9, 14)], SIDE)
    assert composed.shape == (3, 56, 56)
    owner = owners([Part(0, 0, SIDE, SIDE), Part(0, 0, 5, 6), Part(3, 2, 9, 14)], SIDE)
    np.testing.assert_allclose(composed[0], np.kron(owner + 1, np.ones((4, 4))), rtol=1e-6)


@pytest.mark.parametrize("squeezed", [True, False])
def test_targets_of_composites(squeezed):
    """By the definition, class by class: what is left of a posterior weighs, and nothing lies outside the part."""
    generator = torch.Generator().manual_seed(0)
    posterior = torch.rand(2, 3, SIDE, SIDE, generator=generator)
    posterior = posterior / posterior.sum((2, 3), keepdim=True)
    target = TopTarget(torch.tensor([[1, 2, 3], [3, 4, 5]]), torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]]))
    layout = [Part(0, 0, SIDE, SIDE), Part(2, 3, 9, 10)]
    found, q = compose_targets(target, posterior, layout, SIDE, squeezed=squeezed, rows=8)
    assert found.classes.tolist() == [1, 2, 3, 3, 4, 5, 0, 0]
    owner = owners(layout, SIDE)
    expected = []
    for n in range(2):
        for k in range(3):
            share = 1.0 if squeezed and n == 1 else posterior[n, k][torch.from_numpy(owner == n)].sum().item()
            expected.append(target.weights[n, k].item() / 2 * share)
    np.testing.assert_allclose(found.weights[:6], np.array(expected) / sum(expected), rtol=1e-5)
    assert found.weights[6:].tolist() == [0, 0] and q[6:].abs().max() == 0
    np.testing.assert_allclose(q[:6].sum((1, 2)), 1, rtol=1e-5)
    for row in range(6):
        assert q[row][torch.from_numpy(owner != row // 3)].abs().max() == 0
    if not squeezed:
        inside = torch.from_numpy(owner == 1)
        np.testing.assert_allclose(q[4][inside], posterior[1, 1][inside] / posterior[1, 1][inside].sum(), rtol=1e-5)


# --- as a measure


def test_the_left_half_of_even_and_odd_grids():
    assert left_share(4).tolist() == [1, 1, 0, 0]
    assert left_share(5).tolist() == [1, 1, 0.5, 0, 0]


def test_scores_of_known_maps():
    a = np.array([[3, 0, 1, 0], [0, 0, 0, -9]], np.float32)
    b = np.array([[0, 1, 0, 3], [0, 0, 0, 0]], np.float32)
    found = separation(a, b)
    assert found.own_half == pytest.approx((3 / 4 + 3 / 4) / 2)
    assert found.right_sign == pytest.approx((3 + 3 + 9) / (3 + 1 + 1 + 3 + 9))
    assert found.right_halves == 1  # 3 - 1 on the left; 1 - 9 - 3 on the right
    assert found.pointing == 1
    turned = separation(b, a)
    assert (turned.own_half, turned.right_halves, turned.pointing) == (pytest.approx(0.25), 0, 0)
    assert turned.right_sign == pytest.approx(1 - found.right_sign)
    assert separation(a, a).right_sign == 0.5


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 7))
def test_a_map_that_ignores_places_has_half_and_mirrored_pairs_score_the_same(seed, height, width):
    generator = np.random.default_rng(seed)
    flat = np.full((height, width), generator.uniform(0.1, 3), np.float32)
    assert separation(flat, flat).own_half == pytest.approx(0.5)
    assert separation(np.zeros_like(flat), -flat).own_half == 0.5
    a, b = generator.normal(size=(2, height, width)).astype(np.float32)
    found, mirrored = separation(a, b), separation(b[:, ::-1], a[:, ::-1])
    assert found.own_half == pytest.approx(mirrored.own_half)
    assert found.right_sign == pytest.approx(mirrored.right_sign)
    assert found.right_halves == mirrored.right_halves
    assert found.pointing == mirrored.pointing


def test_a_composite_is_both_pictures_side_by_side(tmp_path):
    for name, colour in (("a", (250, 0, 0)), ("b", (0, 0, 250))):
        Image.new("RGB", (64, 20), colour).save(tmp_path / f"{name}.png")
    pixels = composite(tmp_path / "a.png", tmp_path / "b.png", 31).pixels
    assert pixels.shape == (31, 31, 3)
    assert (pixels[:, :15] == (250, 0, 0)).all() and (pixels[:, 15:] == (0, 0, 250)).all()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_set(tmp_path_factory.mktemp("set"), 7, classes=3)


def test_pairs_are_of_two_classes_and_every_picture_is_on_both_sides(data):
    pictures = read_boxes_csv(data / "index.csv")
    pairs = pairs_of(pictures)
    assert [left for left, _ in pairs] == pictures
    assert all(left.label != right.label for left, right in pairs)
    with pytest.raises(DataError, match="two classes"):
        pairs_of([picture for picture in pictures if picture.label == 0])


def test_scores_of_a_checkpoint_are_the_means_of_its_pairs(data, tmp_path):
    """Again from the explanations: own attribution, superset and another's method, picture by picture."""
    model = load_model(write_tiny_checkpoint(tmp_path / "x.safetensors"), "cpu")
    pictures = read_boxes_csv(data / "index.csv")
    told: list[int] = []
    names = ["attribution", "superset", "saliency", "grad_cam"]
    result = composite_scores(model, pictures, maps=names, options=SweepOptions(progress=told.append))
    assert result.images == len(pictures) == sum(told)
    assert list(result.maps) == ["attribution", "superset", "grad_cam"]
    shares = []
    for left, right in pairs_of(pictures):
        explanation = model.explain(composite(left.path, right.path, 96))
        a, b = (explanation.attribution(p.label).values.astype(float) for p in (left, right))
        shares.append((a[:, :3].sum() / a.sum() + b[:, 3:].sum() / b.sum()) / 2)
    own = result.estimates["attribution"]["own half"]
    np.testing.assert_allclose([one.own_half for one in result.maps["attribution"]], shares, rtol=1e-4)
    assert own.value == pytest.approx(np.mean(shares), rel=1e-4)
    assert own.interval[0] < own.value < own.interval[1]
    with pytest.raises(DataError, match="two classes"):
        composite_scores(model, pictures, maps=["saliency"])


# --- temperature


def test_the_temperature_has_the_largest_likelihood():
    """Labels drawn from the joint itself, f times 1.6 afterwards; the likelihood by its definition on a grid."""
    generator = np.random.default_rng(0)
    outputs, labels, loss = [], [], np.zeros(41)
    grid = np.linspace(1, 3, 41)
    for _ in range(800):
        f, a = generator.normal(size=(6, 4)) * 2, generator.normal(size=4)
        h = np.log1p(np.exp(a)) / np.log1p(np.exp(a)).sum()
        p = (np.exp(f) / np.exp(f).sum(0) * h).sum(1)
        labels.append(int(generator.choice(6, p=p)))
        for i, temperature in enumerate(grid):
            e = np.exp(1.6 * f / temperature)
            loss[i] -= np.log((e / e.sum(0) * h).sum(1)[labels[-1]])
        outputs.append((torch.from_numpy(1.6 * f).float().reshape(1, 6, 2, 2), torch.from_numpy(a).reshape(1, 1, 2, 2)))
    found = fit_temperature(outputs, labels)
    assert found == pytest.approx(grid[loss.argmin()], abs=0.06)
    assert 1.3 < found < 1.9
    with pytest.raises(DataError, match="needs pictures"):
        fit_temperature([], [])
    with pytest.raises(DataError, match="no temperature"):
        fit_temperature([(f, a) for f, a in outputs[:5]], [int(f.sum((2, 3)).argmin()) for f, _ in outputs[:5]])
