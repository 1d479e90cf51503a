"""Maps as numbers: arrays, sums and differences, cells and boxes of a threshold, regions of masks."""

import numpy as np
import pytest
from synthetic import CLASSES, calm_explanation, cam_explanation

from calm_gui.core.maps import Map
from calm_gui.errors import ReadingError


@pytest.fixture(scope="module")
def ex():
    return calm_explanation()


def test_a_map_is_its_array_to_numpy(ex):
    a = ex.attribution(0)
    assert np.asarray(a).shape == (14, 14) and np.asarray(a) is a.values
    assert np.asarray(a, dtype=np.float64).dtype == np.float64
    copied = np.array(a)
    copied[0, 0] = 7
    assert a.values[0, 0] != 7
    assert np.array_equal(np.log(a), np.log(a.values)) and np.stack([a, a]).shape == (2, 14, 14)
    assert np.array_equal(a > 0.001, a.values > 0.001) and np.array_equal(a <= a, np.ones((14, 14), bool))
    assert np.array_equal(a >= 0.001, ~(a < 0.001))


def test_sums_and_multiples_are_maps_that_say_so(ex):
    a, b = ex.attribution(0), ex.attribution(1)
    for made, values in (
        (a + b, a.values + b.values),
        (a - b, a.values - b.values),
        (2 * a, 2 * a.values),
        (a * np.float64(2), 2 * a.values),
        (np.float64(2) * a, 2 * a.values),
        (a / 2, a.values / 2),
        (-a, -a.values),
        (1 - a, 1 - a.values),
        (1 + a, 1 + a.values),
        (a * ex.saliency(), a.values * ex.saliency().values),
        (a * np.asarray(b), a.values * b.values),
        (np.asarray(b) * a, a.values * b.values),
    ):
        assert isinstance(made, Map) and made.values.dtype == np.float32
        assert np.allclose(made.values, values, rtol=1e-6, atol=0)
        assert made.check is None and made.reading == "computed" and "\n" not in repr(made)
    assert (a - b).sum == pytest.approx(ex.counterfactual(0, 1).sum, rel=1e-4)
    assert (a + b).sum == pytest.approx(ex.probability([0, 1]), rel=1e-4)
    assert (a - b).unit == a.unit and (a / b).unit == (a * b).unit == "computed value"
    assert (a - b).kind.title == "Attribution of Afghan hound \N{MINUS SIGN} Attribution of beagle"
    assert (a - (a + b)).kind.title.endswith(")") and (a / 0).values.max() == np.inf
    assert a == a and a != ex.attribution(0)  # a map is itself, as before


def test_a_computed_map_is_drawn_and_saved(ex, tmp_path):
    made = ex.attribution(0) - ex.attribution(1)
    made.save(tmp_path / "m.npz")
    assert np.array_equal(np.load(tmp_path / "m.npz")["values"], made.values)
    ex.figure(made, width=40).savefig(tmp_path / "m.png")
    assert (tmp_path / "m.png").stat().st_size > 1000 and made._repr_png_()


def test_what_cannot_be_put_together_is_refused_in_words(ex):
    a = ex.attribution(0)
    with pytest.raises(ReadingError, match="14x14 cells and one of 7x7 cells"):
        a + calm_explanation(grid=(7, 7)).attribution(0)
    with pytest.raises(ReadingError, match="two pictures"):
        a - calm_explanation(picture=np.zeros((299, 299, 3), np.uint8)).attribution(0)
    for other in ("x", None, [1]):
        with pytest.raises(TypeError):
            a + other
    assert (a - cam_explanation().cam(0)).values.shape == (14, 14)  # one picture under two checkpoints


def test_thresholds_are_those_of_the_window(ex):
    a = ex.attribution(0)
    cells = a.threshold(mass=0.9)
    assert cells.dtype == np.bool_ and 0.9 <= a.values[cells].sum() / a.values.sum() < 0.95
    low, high = a.values.min(), a.values.max()
    assert np.array_equal(a.threshold(tau=0.5), a.values >= low + 0.5 * (high - low))
    assert np.array_equal(a.threshold(value=float(high)), a.values == high)
    for wrong in ({}, {"mass": 0.5, "tau": 0.5}, {"mass": 0}, {"tau": 1.5}):
        with pytest.raises(ReadingError):
            a.threshold(**wrong)
    with pytest.raises(ReadingError, match="NaN"):
        (a * np.nan).threshold(value=0)


def test_boxes_lie_on_the_upright_picture(ex):
    a = ex.attribution(0)
    (box,) = a.boxes(value=float(a.values.max()))
    row, column = np.unravel_index(a.values.argmax(), a.values.shape)
    expected = ex.geometry.cell_box(int(row), int(column))
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx((expected.x0, expected.y0, expected.x1, expected.y1))


def test_a_mask_is_a_region(ex):
    a = ex.attribution(0)
    cells = a.threshold(mass=0.5)
    region = ex.region_from_mask(cells, "half")
    assert ex.probability(0, region) == pytest.approx(float(a.values[cells].sum()), rel=1e-5)
    assert np.array_equal(ex.region_from_mask(cells.astype(float)).weights, region.weights)
    assert repr(region) == f"<Region half: {cells.sum():.1f} of 14x14 cells>"


@pytest.mark.parametrize("resize", ["squash", "crop", "pad"])
def test_a_mask_over_the_picture_is_the_box_that_it_draws(resize):
    shown = calm_explanation(resize=resize, picture=np.zeros((90, 200, 3), np.uint8))
    mask = np.zeros((90, 200), bool)
    mask[10:71, 20:155] = True
    found, expected = shown.region_from_mask(mask), shown.region_from_box(20, 10, 155, 71)
    assert np.allclose(found.weights, expected.weights, atol=1e-9)


def test_masks_of_other_shapes_and_values_are_refused(ex):
    for wrong in (np.zeros((13, 14)), np.full((14, 14), 2), np.full((14, 14), np.nan), np.full((14, 14), "x"), 1):
        with pytest.raises(ReadingError, match="mask"):
            ex.region_from_mask(wrong)


def test_everything_says_what_it_is_in_one_line(ex):
    for thing in (ex, cam_explanation(), ex.attribution(0), ex.winner(2), CLASSES, ex.hierarchy, ex.supersets):
        assert "\n" not in repr(thing) and "0x" not in repr(thing) and len(repr(thing)) < 200
    assert "Attribution of Afghan hound" in repr(ex.attribution(0))


def test_the_spread_is_the_least_share_of_cells_with_nine_tenths_of_the_map(ex):
    shown = ex.attribution(0)
    largest_first = np.sort(shown.values.astype(np.float64), axis=None)[::-1]
    fewest = next(n for n in range(1, 197) if largest_first[:n].sum() >= 0.9 * largest_first.sum())
    assert shown.spread == fewest / 196
    assert ex.attribution([]).spread == 0
    with pytest.raises(ReadingError, match="negative"):
        _ = ex.counterfactual(0, 1).spread
