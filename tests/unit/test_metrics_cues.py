"""Cue localization: class pairs, masks and PxAP of a pair against golden values."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from calm_gui.errors import DataError
from calm_training.datasets.cub_cues import CubCues, CuePair, part_of_attribute
from calm_training.metrics import PxAP
from calm_training.metrics.cue_localization import counterfactual_scores
from calm_training.metrics.pxap import even_thresholds, log_thresholds

pytestmark = pytest.mark.shared

FOLDERS = {"whole": "CUB_200_2011", "crops": "crops/CUB_200_2011"}


@pytest.fixture(scope="session")
def cub(shared: Path) -> dict[str, CubCues]:
    return {name: CubCues(shared / "data/cub" / folder, within="picture") for name, folder in FOLDERS.items()}


def image_id(cub: CubCues, file: str) -> int:
    return next(i for i, name in cub.files.items() if name == file)


@pytest.mark.parametrize(("n_parts", "number"), [(1, 31), (2, 64), (3, 96)])
def test_golden_numbers_of_pairs(cub, n_parts, number):
    assert len(cub["whole"].pairs(n_parts)) == number


def test_golden_pairs_and_attributes(shared, cub):
    golden = json.loads((shared / "reference/cue/class_pairs.json").read_text())
    for n_parts, key in ((1, "pairs_with_1_part"), (2, "pairs_with_2_parts")):
        expected = {(tuple(pair["classes"]), frozenset(pair["parts"])) for pair in golden[key]}
        assert {(p.classes, frozenset(p.parts)) for p in cub["whole"].pairs(n_parts)} == expected
    for name, part in golden["part_of_attribute"].items():
        assert part_of_attribute(name) == part, name


def test_golden_masks_and_seeds(shared, cub):
    folder = shared / "reference/cue"
    all_seeds = json.loads((folder / "mask_seeds.json").read_text())
    with (folder / "masks.csv").open() as file:
        for row, golden in zip(csv.DictReader(file), all_seeds, strict=True):
            data = cub[row["folder"]]
            pair = CuePair((int(row["class_a"]), int(row["class_b"])), tuple(row["differing_parts"].split()))
            number = image_id(data, row["file"])
            assert data.seeds(number) == [(s["part"], s["x"], s["y"]) for s in golden["seeds"]]
            mask = data.mask(number, pair)
            if not row["mask"]:
                assert mask is None
                continue
            assert mask.sum() == int(row["pixels"])
            np.testing.assert_array_equal(mask, np.asarray(Image.open(folder / row["mask"])) > 0)


@pytest.mark.parametrize("index", range(3))
def test_golden_pxap_of_a_pair(shared, cub, index):
    folder = shared / "reference/cue"
    golden = json.loads((folder / "pxap.json").read_text())["pairs"][index]
    data = cub[golden["folder"]]
    pair = next(p for n in range(1, 8) for p in data.pairs(n) if p.classes == tuple(golden["classes"]))
    maps = np.load(folder / "class_maps.npz")
    masks = [data.mask(image_id(data, file), pair) for file in golden["files"]]
    for setting, expected in golden["results"].items():
        norm, spacing = setting.split(", ")
        thresholds = log_thresholds() if spacing == "log" else even_thresholds(1000)
        benchmark, exact = PxAP(thresholds, "benchmark"), PxAP(thresholds, "exact")
        for map_a, map_b, mask in zip(maps[f"pair{index}_a"], maps[f"pair{index}_b"], masks, strict=True):
            scores = counterfactual_scores(map_a, map_b, norm=norm)
            benchmark.update(scores, mask)
            exact.update(scores, mask)
        tolerance = 0.001 if norm == "clipping" else 0.05
        assert 100 * benchmark.compute() == pytest.approx(expected["pxap_percent"], abs=tolerance)
        key = "for_comparison_only_pxap_percent_if_those_pixels_are_counted_as_scoring_lowest"
        assert 100 * exact.compute() == pytest.approx(expected[key], abs=tolerance)


def test_golden_log_thresholds(shared):
    golden = json.loads((shared / "reference/cue/pxap.json").read_text())["log_thresholds"]
    thresholds = log_thresholds()
    assert len(thresholds) == golden["number"]
    assert thresholds[0] == pytest.approx(golden["first"], rel=1e-12)
    assert thresholds[-1] == golden["last"]


def test_masks_are_cut_to_the_box_where_there_is_no_segmentation(shared):
    whole = CubCues(shared / "data/cub/CUB_200_2011")
    assert whole.within == "box"
    pair = whole.pairs(2)[0]
    number = next(i for i, c in whole.class_of.items() if c in pair.classes)
    anywhere = CubCues(whole.root, within="picture").mask(number, pair)
    within = whole.mask(number, pair)
    assert 0 < within.sum() < anywhere.sum()
    x, y, width, height = next(
        [float(v) for v in line.split()[1:]]
        for line in (whole.root / "bounding_boxes.txt").read_text().splitlines()
        if line.startswith(f"{number} ")
    )
    with Image.open(whole.root / "images" / whole.files[number]) as picture:
        scale_x, scale_y = 224 / picture.width, 224 / picture.height
    rows, columns = np.nonzero(within)
    assert columns.min() >= x * scale_x - 1
    assert columns.max() <= (x + width) * scale_x
    assert rows.min() >= y * scale_y - 1
    assert rows.max() <= (y + height) * scale_y


def test_missing_files_and_segmentations_are_named(shared, tmp_path):
    with pytest.raises(DataError, match=r"attributes\.txt"):
        CubCues(tmp_path).pairs(1)
    with pytest.raises(DataError, match="segmentations"):
        CubCues(tmp_path, within="segmentation")
    (tmp_path / "images.txt").write_text("1 a.jpg\n2\n")
    with pytest.raises(DataError, match=r"images\.txt, line 2"):
        _ = CubCues(tmp_path).files
