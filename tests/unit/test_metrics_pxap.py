"""PxAP: every golden value, a slow reference, and properties."""

import csv
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from calm_gui.errors import DataError
from calm_training.metrics import PxAP
from calm_training.metrics.pxap import FOREGROUND, IGNORE, log_thresholds, resize_mask, unite_masks


@pytest.fixture(scope="session")
def masks(shared: Path) -> dict[str, np.ndarray]:
    """The five masks at 224 x 224 by image id."""
    folder = shared / "reference/pxap"
    files: dict[str, tuple[list, list]] = {}
    for line in (folder / "metadata/OpenImages/val/localization.txt").read_text().splitlines():
        image, mask, ignore = line.split(",")
        files.setdefault(image, ([], []))[0].append(mask)
        if ignore:
            files[image][1].append(ignore)

    def at_224(name: str) -> np.ndarray:
        return resize_mask(np.asarray(Image.open(folder / "masks" / name).convert("L")))

    return {
        image: unite_masks([at_224(name) for name in names], at_224(ignore[0]) if ignore else None)
        for image, (names, ignore) in files.items()
    }


@pytest.mark.shared
def test_golden_masks(shared, masks):
    with (shared / "reference/pxap/masks_224.csv").open() as file:
        for row in csv.DictReader(file):
            mask = masks[row["image_id"]]
            assert (mask == FOREGROUND).sum() == int(row["foreground"])
            assert (mask == IGNORE).sum() == int(row["ignore"])
            assert f"{zlib.crc32(mask.tobytes()):08x}" == row["crc32_of_224_mask"]


@pytest.mark.shared
@pytest.mark.parametrize("mode", ["benchmark", "exact"])
@pytest.mark.parametrize("number", [1000, 100])
@pytest.mark.parametrize("maps", ["map_a", "map_b"])
def test_golden_pxap(shared, masks, maps, number, mode):
    folder = shared / "reference/pxap"
    expected = json.loads((folder / "expected.json").read_text())
    stored = np.load(folder / f"{maps}.npz")["maps"]
    scores = (stored.astype(np.float32) + np.float32(0.5)) / np.float32(256)
    if maps == "map_b":
        scores[stored == 0], scores[stored == 255] = 0, 1
    run = expected["runs"][maps][f"step {1 / number:g}"]
    metric = PxAP(number, mode)
    for image, score_map in zip(expected["images"], scores, strict=True):
        metric.update(score_map, masks[image])
        alone = PxAP(number, mode)
        alone.update(score_map, masks[image])
        golden = run["per_image_pxap_percent"][image]
        if isinstance(golden, str):
            with pytest.raises(DataError, match="foreground"):
                alone.compute()
        else:
            assert 100 * alone.compute() == pytest.approx(golden, abs=1e-9)
    assert 100 * metric.compute() == pytest.approx(run["pxap_percent"], abs=1e-9)
    found, false = metric.foreground[::-1].cumsum()[::-1][1:], metric.background[::-1].cumsum()[::-1][1:]
    for point in run["points"]:
        assert found[point["index"]] == point["true_positives"]
        assert false[point["index"]] == point["false_positives"]


def slow_pxap(scores, mask, thresholds):
    total, last_recall = 0.0, 0.0
    for threshold in sorted(thresholds, reverse=True):
        found = [t == 1 for s, t in zip(scores.flat, mask.flat, strict=True) if t != 255 and s >= threshold]
        recall = sum(found) / (mask == 1).sum()
        if found:
            total += sum(found) / len(found) * (recall - last_recall)
        last_recall = recall
    return total


@given(
    scores=arrays.arrays(np.float64, (5, 4), elements=st.floats(0, 1)),
    mask=arrays.arrays(np.uint8, (5, 4), elements=st.sampled_from([0, 1, 255])),
)
@settings(max_examples=100, deadline=None)
def test_exact_counts_every_pixel(scores, mask):
    mask[0, 0] = 1
    thresholds = np.array([0.25, 0.5, 1.0])
    metric = PxAP(thresholds, "exact")
    metric.update(scores, mask)
    assert metric.compute() == pytest.approx(slow_pxap(scores, mask, [-np.inf, *thresholds]))


def test_benchmark_drops_pixels_below_the_lowest_threshold():
    scores, mask = np.array([[0.9, 0.8, 1e-9, 0]]), np.array([[1, 0, 1, 0]])
    benchmark, exact = PxAP(log_thresholds(), "benchmark"), PxAP(log_thresholds(), "exact")
    for metric in (benchmark, exact):
        metric.update(scores, mask)
    assert benchmark.compute() == 1.0
    assert exact.compute() == pytest.approx(0.5 * 1 + 0.5 * 0.5)


def test_a_perfect_map_scores_one():
    mask = np.zeros((6, 6), np.uint8)
    mask[2:4, 1:5] = 1
    metric = PxAP()
    metric.update(mask.astype(float), mask)
    assert metric.compute() == 1.0
    metric.reset()
    assert metric.images == 0


@pytest.mark.parametrize(
    ("scores", "mask", "reason"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3)), "shape"),
        (np.array([[np.nan]]), np.array([[1]]), "NaN"),
        (np.array([[0.5]]), np.array([[7]]), "mask holds"),
    ],
)
def test_input_that_cannot_be_scored_is_refused(scores, mask, reason):
    with pytest.raises(DataError, match=reason):
        PxAP().update(scores, mask)
