"""What the window paints maps with gives the pixels that the library gives."""

import numpy as np
import pytest

from calm_gui.core.geometry import interpolate
from calm_gui.render.argb import dim, even_shape, map_argb, winner_argb
from calm_gui.render.colormap import colour_table
from calm_gui.render.map_scale import map_scale
from calm_gui.render.overlay import blend, winner_colours
from calm_gui.render.scale import Scale, fit_scale
from tests.unit.synthetic import calm_explanation

OPACITY = 0.6


def bytes_of(words: np.ndarray, width: int) -> np.ndarray:
    """Blue, green, red, alpha of words, (h,width,4)."""
    return words.view(np.uint8).reshape(*words.shape, 4)[:, :width]


def lattice(shown, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    columns = (np.arange(even_shape(width, 0)[1]) + 0.5) / width * shown.geometry.grid[1]
    return columns, (np.arange(height) + 0.5) / height * shown.geometry.grid[0]


@pytest.mark.parametrize("width", [200, 201])
@pytest.mark.parametrize("nearest", [False, True])
@pytest.mark.parametrize(
    "scale",
    [None, Scale(1e-6, 2e-5, "log"), Scale(0.002, 0.004), Scale(0.0, 1e-6), Scale(0.0, 0.0, flat=7)],
    ids=["own", "logarithmic", "inside", "beyond", "flat"],
)
def test_map_over_picture_is_the_librarys_blend(scale, nearest, width):
    shown = calm_explanation((14, 9)).attribution(0)
    scale = scale or map_scale(shown)
    columns, rows = lattice(shown, width, 150)
    picture = np.random.default_rng(0).integers(0, 2**24, (150, width), np.uint32) | np.uint32(0xFF000000)
    under, out = (np.zeros(even_shape(width, 150), np.uint32) for _ in range(2))
    dim(picture, OPACITY, under)
    map_argb(shown, scale, "viridis", OPACITY, columns, rows, out, nearest, under=under)
    values = interpolate(shown.values, columns[:width], rows, nearest)
    colours = colour_table("viridis")[scale.indices(values)]
    expected = blend(bytes_of(picture, width)[..., :3], colours[..., ::-1], OPACITY)
    painted = bytes_of(out, width)
    assert (painted[..., 3] == 255).all()
    # Each of both parts is rounded here, their sum there; and a value between two colours may get either.
    difference = np.abs(painted[..., :3].astype(int) - expected)
    assert difference.max() <= 4 and (difference > 1).mean() < 1e-3


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-12, 1e-30, 1e-37])
@pytest.mark.parametrize("signed", [False, True])
def test_scales_fit_tiny_values(size, signed):
    values = (size * np.array([[-1, -0.5], [0.5, 1]] if signed else [[0, 0.25], [0.6, 1]])).astype(np.float32)
    colours = fit_scale(values, signed).indices(values)
    assert colours.tolist() == ([[0, 64], [191, 255]] if signed else [[0, 64], [153, 255]])


def test_only_what_reaches_the_threshold_is_painted():
    explanation = calm_explanation()
    shown = explanation.counterfactual(0, 1)
    columns, rows = lattice(shown, 60, 50)
    out = np.zeros(even_shape(60, 50), np.uint32)
    least = float(np.abs(shown.values).max() / 2)
    map_argb(shown, map_scale(shown), "RdBu", OPACITY, columns, rows, out, least=least)
    reached = np.abs(interpolate(shown.values, columns, rows)) >= least
    assert 0 < reached.mean() < 0.5
    assert np.array_equal(out != 0, reached)


def test_what_is_no_number_gets_the_first_colour():
    shown = calm_explanation().attribution(0)
    broken = shown.values.copy()
    broken[3:5] = np.nan
    broken[9] = np.inf
    shown = type(shown)(broken, shown.kind, shown.explanation)
    columns, rows = lattice(shown, 40, 56)
    out = np.zeros(even_shape(40, 56), np.uint32)
    map_argb(shown, Scale(0.0, 0.01), "gray", 1.0, columns, rows, out, nearest=True)
    colours = bytes_of(out, 40)[..., :3]
    assert not colours[12:20].any() and (colours[36:40] == 255).all()


def test_winner_maps_leave_cells_without_a_winner_to_the_picture():
    shown = calm_explanation(activation="relu").winner(1)
    shown.winner[0] = -1
    columns, rows = lattice(shown, 28, 28)
    out = np.zeros(even_shape(28, 28), np.uint32)
    winner_argb(shown, 1.0, columns, rows, out)
    assert not out[:2].any()
    colours = winner_colours(shown)[0].repeat(2, 0).repeat(2, 1)
    assert np.array_equal(bytes_of(out, 28)[2:, :, 2::-1], colours[2:])
