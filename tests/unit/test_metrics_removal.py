"""Remove and classify: erased pixels and blur against golden values; the curve by hand."""

import json
import zlib

import numpy as np
import pytest

from calm_gui.errors import DataError
from calm_training.metrics import RemoveAndClassify
from calm_training.metrics.remove_and_classify import blur, erase, erased_pixels


@pytest.fixture(scope="session")
def golden(shared):
    folder = shared / "reference/removal"
    picture = np.load(folder / "image.npz")["image"].astype(np.float32) / np.float32(255)
    scores = np.load(folder / "ranks.npz")["ranks"].astype(np.float32) / np.float32(50176)
    return json.loads((folder / "expected.json").read_text()), picture, scores


@pytest.mark.shared
def test_golden_masks_and_erased_pictures(golden):
    expected, picture, scores = golden
    blurred = blur(picture)
    for case in expected["masks"]:
        erased = erased_pixels(scores[case["map"]], case["k"])
        assert erased.sum() == case["erased"]
        assert f"{zlib.crc32((~erased).astype(np.uint8).tobytes()):08x}" == case["crc32_of_mask"]
        assert round(scores[case["map"]][erased].min() * 50176) == case["lowest_erased_rank"]
        result = erase(picture, erased, blurred)
        assert result.mean(dtype=np.float64) == pytest.approx(
            case["image_with_blurred_erased_pixels"]["mean"], abs=1e-5
        )
        assert result.std(dtype=np.float64) == pytest.approx(case["image_with_blurred_erased_pixels"]["std"], abs=1e-5)


@pytest.mark.shared
def test_golden_blur(golden):
    expected, picture, _ = golden
    blurred = blur(picture)
    golden_blur = next(value for key, value in expected.items() if key != "masks" and isinstance(value, dict))
    assert blurred.mean(dtype=np.float64) == pytest.approx(golden_blur["mean"], abs=1e-5)
    assert blurred.std(dtype=np.float64) == pytest.approx(golden_blur["std"], abs=1e-5)


def bright_left_half(pictures: np.ndarray) -> np.ndarray:
    """Class 1 as long as any pixel of the left half is white."""
    return (pictures[:, 0, :, : pictures.shape[3] // 2] == 1).any((1, 2)).astype(np.int64)


@pytest.mark.parametrize("erasure", ["blur", "zero", "mean"])
def test_erasing_the_cue_costs_the_accuracy_and_erasing_the_rest_does_not(erasure):
    picture = np.zeros((3, 40, 40), np.float32)
    picture[:, 10:14, 10:14] = 1
    cue = picture[0]
    right, wrong = (RemoveAndClassify(bright_left_half, (0.1, 0.5), erasure, random_seeds=(0, 1)) for _ in range(2))
    for i in range(3):
        at_random = right.update(picture, cue, 1)
        wrong.update(picture, -cue, 1, at_random if i == 1 else None)
    assert right.compute()["accuracy"] == [0, 0]
    assert wrong.compute()["accuracy"] == [1, 1]
    assert wrong.compute()["random"] == right.compute()["random"]  # the same baseline for every method
    assert right.compute()["relative"] == [0, 0]
    low, high = wrong.compute()["interval"][0]
    assert low <= wrong.compute()["relative"][0] <= high


def test_nothing_erased_changes_nothing_and_ties_go_in_reading_order():
    picture = np.random.default_rng(0).random((3, 8, 8)).astype(np.float32)
    assert not erased_pixels(np.ones((8, 8)), 0).any()
    np.testing.assert_array_equal(
        erase(picture, np.zeros((8, 8), bool), blur(np.ones((3, 40, 40)))[:, :8, :8]), picture
    )
    assert np.flatnonzero(erased_pixels(np.ones((4, 4)), 0.25)).tolist() == [0, 1, 2, 3]


def test_input_that_cannot_be_scored_is_refused():
    metric = RemoveAndClassify(bright_left_half)
    with pytest.raises(DataError, match="no picture"):
        metric.compute()
    with pytest.raises(DataError, match="shape"):
        metric.update(np.zeros((3, 8, 8), np.float32), np.zeros((4, 4), np.float32), 0)
    with pytest.raises(DataError, match="NaN"):
        metric.update(np.zeros((3, 8, 8), np.float32), np.full((8, 8), np.nan, np.float32), 0)
