"""Box accuracy: every golden value in benchmark mode, a slow reference in exact mode, and properties."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from calm_gui.errors import DataError
from calm_training.metrics import MaxBoxAcc
from calm_training.metrics.max_box_acc import best_iou, best_iou_both, scale_boxes

CONTOURS = {"all contours": "all", "largest contour": "largest"}
LEVELS = (0.3, 0.5, 0.7)


def boxes_of(text: str) -> np.ndarray:
    return np.array([[int(v) for v in box.split()] for box in text.split(";")])


@pytest.fixture(scope="session")
def golden(shared: Path):
    """Folder, score maps (60,224,224) float32, true boxes at 224, and the rows of images.csv."""
    folder = shared / "reference/boxes"
    with (folder / "images.csv").open() as file:
        rows = list(csv.DictReader(file))
    stored = np.load(folder / "maps.npz")["maps"]
    maps = (stored.astype(np.float32) + np.float32(0.5)) / np.float32(256)
    return folder, maps, [boxes_of(row["boxes_224"]) for row in rows], rows


@pytest.mark.shared
@pytest.mark.parametrize("thresholds", [1000, 100])
@pytest.mark.parametrize("contours", CONTOURS)
def test_golden_accuracies(golden, thresholds, contours):
    folder, maps, boxes, _ = golden
    metric = MaxBoxAcc(LEVELS, thresholds, CONTOURS[contours], "benchmark")
    for score_map, true_boxes in zip(maps, boxes, strict=True):
        metric.update(score_map, true_boxes)
    step = f"step {1 / thresholds:g}"
    key = f"{CONTOURS[contours]}_{step.replace(' ', '_')}"
    np.testing.assert_array_equal(metric.correct, np.load(folder / "num_correct.npz")[key])
    expected = json.loads((folder / "accuracy.json").read_text())[step][contours]
    result = metric.compute()
    assert result["MaxBoxAccV2"] == pytest.approx(expected["mean_over_iou"] / 100, abs=1e-9)
    assert result["images"] == 60
    for level in LEVELS:
        percent = round(100 * level)
        assert result["per_iou"][level] == pytest.approx(expected[f"accuracy_at_iou_{percent}"] / 100, abs=1e-9)
        first = expected[f"best_threshold_indices_at_iou_{percent}"][0]
        assert result["threshold"][level] == pytest.approx(first / thresholds)


@pytest.mark.shared
@pytest.mark.parametrize("contours", ["all", "largest"])
def test_golden_iou_of_every_image_and_threshold(golden, contours):
    folder, maps, boxes, _ = golden
    table = np.load(folder / "best_iou_step_0.01.npz")
    got = [best_iou(m, b, table["thresholds"], contours) for m, b in zip(maps, boxes, strict=True)]
    np.testing.assert_allclose(got, table[f"best_iou_{contours}"], rtol=0, atol=1e-9)
    with (folder / "best_iou_sample.csv").open() as file:
        for row in csv.DictReader(file):
            index, threshold = int(row["index"]), np.array([float(row["threshold"])])
            value = best_iou(maps[index], boxes[index], threshold, contours)[0]
            assert value == pytest.approx(float(row[f"best_iou_{contours}"]), abs=1e-9)


@pytest.mark.shared
def test_golden_micro_maps(shared):
    """Each listed box is found exactly: it scores 1 against itself, and no box scores 1 that isn't listed."""
    cases = json.loads((shared / "reference/boxes/micro_cases.json").read_text())["boxes_from_maps"]
    for case in cases:
        score_map = np.array(case["map"])
        height, width = score_map.shape
        every_box = [
            (x0, y0, x1, y1)
            for x0 in range(width)
            for y0 in range(height)
            for x1 in range(x0, width)
            for y1 in range(y0, height)
        ]
        thresholds = np.array(case["thresholds"])
        for contours, listed in (("all", case["all_contours_sorted"]), ("largest", case["largest"])):
            found = [set() for _ in thresholds]
            for box in every_box:
                for i in np.flatnonzero(best_iou(score_map, [box], thresholds, contours) == 1):
                    found[i].add(box)
            for i, expected in enumerate(listed):
                expected = expected if contours == "all" else [expected]
                assert found[i] == {tuple(box) for box in expected}, (case["name"], thresholds[i], contours)


@pytest.mark.shared
def test_golden_boxes_at_map_size(shared, golden):
    folder, _, boxes, rows = golden
    for case in json.loads((folder / "micro_cases.json").read_text())["box_to_224"]:
        scaled = scale_boxes([case["box"]], tuple(case["image_size"]), (224, 224))
        assert scaled[0].tolist() == case["box_224"]
    for row, expected in zip(rows, boxes, strict=True):
        size = int(row["width"]), int(row["height"])
        np.testing.assert_array_equal(scale_boxes(boxes_of(row["boxes"]), size, (224, 224)), expected)


def slow_exact(score_map, boxes, thresholds, contours):
    """Label the map anew at every threshold."""
    result = []
    for threshold in thresholds:
        labels, count = ndimage.label(score_map >= threshold, structure=np.ones((3, 3)))
        parts = range(1, count + 1)
        if contours == "largest" and count:
            parts = [max(parts, key=lambda part: (labels == part).sum())]  # the first of equal ones
        best = 0.0
        for part in parts:
            rows, columns = np.nonzero(labels == part)
            x0, y0, x1, y1 = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
            for tx0, ty0, tx1, ty1 in boxes:
                shared = max(0, min(x1, tx1) - max(x0, tx0)) * max(0, min(y1, ty1) - max(y0, ty0))
                union = (x1 - x0) * (y1 - y0) + (tx1 - tx0) * (ty1 - ty0) - shared
                best = max(best, shared / union)
        result.append(best)
    return result


few_levels = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.sampled_from([0, 0.2, 0.25, 0.8, 1])
)


@given(score_map=few_levels, contours=st.sampled_from(["all", "largest"]))
@settings(max_examples=150, deadline=None)
def test_exact_against_labelling_at_every_threshold(score_map, contours):
    boxes = [[0, 0, 3.5, 2], [2, 1, 5, 7]]
    thresholds = np.linspace(0, 1, 21)
    fast = best_iou(score_map, boxes, thresholds, contours, "exact")
    np.testing.assert_allclose(fast, slow_exact(score_map, boxes, thresholds, contours), rtol=0, atol=1e-12)


def test_a_perfect_box_scores_one_in_exact_mode_and_less_in_benchmark_mode():
    score_map = np.zeros((50, 60))
    score_map[10:20, 15:40] = 1
    exact, benchmark = MaxBoxAcc((1.0,), mode="exact"), MaxBoxAcc((1.0,), mode="benchmark")
    exact.update(score_map, [[15, 10, 40, 20]])
    benchmark.update(score_map, [[15, 10, 39, 19]])
    assert exact.compute()["MaxBoxAccV2"] == 1.0
    assert benchmark.compute()["MaxBoxAccV2"] == 0.0


def test_one_threshold_serves_the_whole_set():
    """Two maps that need different thresholds: each alone is right, together only one is."""
    low, high = np.full((20, 20), 0.1), np.full((20, 20), 0.1)
    low[:10, :10], low[5, 5] = 0.3, 1.0
    high[:10, :10], high[0:10, 10:20], high[0, 0] = 0.8, 0.6, 1.0
    box = [[0, 0, 10, 10]]
    single = MaxBoxAcc((0.99,), mode="exact")
    single.update(low, box)
    assert single.compute()["MaxBoxAccV2"] == 1.0
    single.reset()
    single.update(high, box)
    assert single.compute()["MaxBoxAccV2"] == 1.0
    single.update(low, box)
    assert single.compute() == {
        "MaxBoxAccV2": 0.5,
        "per_iou": {0.99: 0.5},
        "threshold": {0.99: pytest.approx(0.101)},
        "images": 2,
    }


@pytest.mark.parametrize("mode", ["benchmark", "exact"])
def test_any_true_box_counts(mode):
    score_map = np.zeros((30, 30))
    score_map[20:28, 20:28] = 1
    metric = MaxBoxAcc((0.7,), mode=mode)
    metric.update(score_map, [[0, 0, 5, 5], [20, 20, 28, 28]])
    assert metric.compute()["MaxBoxAccV2"] == 1.0


@pytest.mark.parametrize("score_map", [[[0.1, np.nan]], [[0.1, 1.2]], [[-0.1, 1]], [0.5, 0.6]])
def test_maps_that_cannot_be_scored_are_refused(score_map):
    with pytest.raises(DataError, match="score map"):
        MaxBoxAcc().update(score_map, [[0, 0, 1, 1]])


def test_no_true_box_and_no_picture_are_refused():
    with pytest.raises(DataError, match="true box"):
        MaxBoxAcc().update(np.zeros((3, 3)), np.empty((0, 4)))
    with pytest.raises(DataError, match="no picture"):
        MaxBoxAcc().compute()


smooth = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.floats(0, 1, width=32)
)


@given(st.one_of(few_levels, smooth), st.lists(st.tuples(*[st.integers(0, 8)] * 4), min_size=1, max_size=3))
@settings(deadline=None)  # the first one may compile
def test_both_conventions_at_once_are_what_each_gives_alone(score_map, corners):
    boxes = np.array([(x, y, x + w + 1, y + h + 1) for x, y, w, h in corners], float)
    thresholds = np.arange(0, 1, 0.01)
    benchmark, exact = best_iou_both(score_map, boxes, boxes - 0.25, thresholds)
    np.testing.assert_array_equal(benchmark, best_iou(score_map, boxes, thresholds))
    np.testing.assert_array_equal(exact, best_iou(score_map, boxes - 0.25, thresholds, mode="exact"))
