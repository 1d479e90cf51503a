"""Twenty maps enlarged and cut into boxes anew: by scipy, and by OpenCV where it is (calm-gui[quantus] brings it)."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.ndimage import zoom

from calm_training.evaluate.maps import min_max
from calm_training.metrics.max_box_acc import best_iou

SIZE = 112
THRESHOLDS = np.arange(0, 1, 1 / 200)
BOXES = [[12, 9, 70, 88], [40, 40, 111, 60]]


def twenty_maps() -> list[np.ndarray]:
    generator = np.random.default_rng(20)
    return [generator.gamma(0.7, size=(side, side)).astype(np.float32) for side in (7, 14) for _ in range(10)]


def between_extremes(values: np.ndarray) -> np.ndarray:
    return (values - values.min()) / (values.max() - values.min())


def test_scipy_enlarges_maps_to_the_same():
    for values in twenty_maps():
        factor = SIZE / len(values)
        large = zoom(values.astype(np.float64), factor, order=1, mode="nearest", grid_mode=True)
        found = min_max(torch.from_numpy(values)[None], SIZE)[0]
        np.testing.assert_allclose(found, between_extremes(large), atol=2e-6)


BY_OPENCV = """
import json, sys
import cv2
import numpy as np

data = np.load(sys.argv[1])
size, thresholds, boxes = int(data["size"]), data["thresholds"], data["boxes"]
large, best = [], []
for key in sorted(k for k in data if k.startswith("map")):
    values = cv2.resize(data[key], (size, size), interpolation=cv2.INTER_LINEAR)
    values = (values - values.min()) / (values.max() - values.min())
    large.append(values.tolist())
    levels = (data["scores" + key[3:]] * 255).astype(np.uint8)
    row = []
    for threshold in thresholds:
        on = cv2.threshold(levels, int(threshold * levels.max()), 255, cv2.THRESH_BINARY)[1]
        outlines = cv2.findContours(on, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)[0]
        highest = 0.0
        for outline in outlines:
            x, y, w, h = cv2.boundingRect(outline)
            a = (x, y, min(x + w, size - 1), min(y + h, size - 1))
            for b in boxes:
                width = min(a[2], b[2]) - max(a[0], b[0]) + 1
                height = min(a[3], b[3]) - max(a[1], b[1]) + 1
                both = max(width, 0) * max(height, 0)
                areas = sum((c[2] - c[0] + 1) * (c[3] - c[1] + 1) for c in (a, b))
                highest = max(highest, both / (areas - both))
        row.append(highest)
    best.append(row)
print(json.dumps({"large": large, "best": best}))
"""


@pytest.mark.skipif(not importlib.util.find_spec("cv2"), reason="pip install calm-gui[quantus] brings OpenCV")
def test_opencv_enlarges_maps_and_finds_their_boxes_as_the_benchmark_counts_them(tmp_path):
    """In a process of its own: OpenCV's wheel brings a Qt that no window may share a process with."""
    maps = {f"map{i:02}": values for i, values in enumerate(twenty_maps())}
    scores = {f"scores{key[3:]}": min_max(torch.from_numpy(v)[None], SIZE)[0] for key, v in maps.items()}
    file = tmp_path / "maps.npz"
    np.savez(file, size=SIZE, thresholds=THRESHOLDS, boxes=np.array(BOXES), **maps, **scores)
    run = subprocess.run([sys.executable, "-c", BY_OPENCV, str(file)], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    for large, best, ours in zip(found["large"], found["best"], scores.values(), strict=True):
        np.testing.assert_allclose(ours, large, atol=2e-6)
        np.testing.assert_allclose(best_iou(ours, BOXES, THRESHOLDS, "all", "benchmark"), best, atol=1e-6)
