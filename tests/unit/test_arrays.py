"""Numbers as files, and the manifest beside each export."""

import csv
import errno
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from synthetic import calm_explanation, cam_explanation

from calm_gui.core.region import Region
from calm_gui.core.threshold import component_boxes, credible_cells
from calm_gui.errors import ExportError, ReadingError
from calm_gui.render.arrays import (
    describe_map,
    save_boxes,
    save_map,
    save_mask,
    save_probabilities,
    save_region_table,
)
from calm_gui.render.figure import map_figure
from calm_gui.render.figure_file import save_figure


@pytest.fixture(scope="module")
def explanation():
    return calm_explanation()


def test_a_saved_map_holds_its_numbers_sets_regions_and_geometry(tmp_path, explanation):
    shown = explanation.counterfactual("dog", "n02123045")
    region = explanation.region_from_box(10, 20, 150, 170, "head")
    save_map(shown, tmp_path / "m.npz", [region])
    with np.load(tmp_path / "m.npz", allow_pickle=False) as stored:
        assert np.array_equal(stored["values"], shown.values) and stored["values"].dtype == np.float32
        assert stored["upsampled"].shape == explanation.picture.shape[:2]
        assert np.array_equal(stored["upsampled"], shown.upsampled())
        assert stored["target"].tolist() == [0, 1] and stored["contrast"].tolist() == [5]
        assert np.array_equal(stored["regions"][0], region.weights) and stored["region_names"].tolist() == ["head"]
        assert stored["grid"].tolist() == [14, 14] and stored["picture"].tolist() == list(explanation.geometry.picture)


def test_save_of_the_api_writes_both_files(tmp_path, explanation, monkeypatch):
    monkeypatch.chdir(tmp_path)
    explanation.attribution("dog").save("m.npz")
    explanation.winner(2).save("w.npz")
    assert sorted(os.listdir()) == ["m.json", "m.npz", "w.json", "w.npz"]
    with np.load("w.npz") as stored:
        assert stored["node_keys"][stored["winner"][0, 0]] in [node.key for node in explanation.hierarchy.cut(2)]


def test_the_description_says_what_it_is(explanation):
    said = describe_map(explanation.attribution([2, 3]))
    (entry,) = said["maps"]
    assert entry["reading"] == "attribution"
    assert entry["target"] == [
        {"index": 2, "wnid": "n02012849", "name": "crane"},
        {"index": 3, "wnid": "n03126707", "name": "crane"},
    ]
    assert entry["check"]["passed"] is True
    assert entry["sum"] == pytest.approx(entry["check"]["expected_float64"], rel=1e-4)
    assert entry["scale"]["high"] == pytest.approx(entry["maximum"]) and entry["unit"] == "probability per cell"
    assert said["picture"]["sha256"] and said["picture"]["name"] == "afghan_hound.jpg"
    assert said["checkpoint"]["sha256"] and said["checkpoint"]["assumed"] == []
    assert set(said["versions"]) >= {"calm-gui", "torch", "numpy"}
    assert json.loads(json.dumps(said, allow_nan=False)) == said


def test_what_must_be_known_is_a_warning(explanation):
    corrupted = calm_explanation()
    corrupted.joint[0] *= 1.01
    assert any("sum check failed" in text for text in describe_map(corrupted.attribution(0))["warnings"])
    corrupted.source["checkpoint"]["assumed"] = ["saliency activation: relu"]
    corrupted.source["picture"]["notes"] = ["turned upright by EXIF"]
    warnings = describe_map(corrupted.attribution(1))["warnings"]
    assert any("assumed" in text and "relu" in text for text in warnings) and any("EXIF" in text for text in warnings)
    assert any("means nothing" in text for text in describe_map(cam_explanation().cam(0))["warnings"])
    assert any("share classes" in text for text in describe_map(explanation.winner(2))["warnings"])
    broken = calm_explanation()
    broken.joint[0, 3, 3] = np.nan
    said = describe_map(broken.attribution(0))
    assert any("not finite" in text for text in said["warnings"]) and said["maps"][0]["check"]["passed"] is False
    json.dumps(said, allow_nan=False)


def test_equal_maps_give_equal_bytes(tmp_path, explanation):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save_map(calm_explanation().attribution("dog"), tmp_path / folder / "m.npz")
        os.utime(tmp_path / folder / "m.npz", (0, 0))
    for name in ("m.npz", "m.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_files_get_the_umasks_mode(tmp_path, explanation):
    old = os.umask(0o027)
    try:
        save_map(explanation.saliency(), tmp_path / "m.npz")
    finally:
        os.umask(old)
    for name in ("m.npz", "m.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def writers(explanation):
    shown = explanation.attribution("dog")
    cells = credible_cells(shown.values, 0.9)
    return {
        "m.npz": lambda path: save_map(shown, path),
        "m.png": lambda path: save_mask(shown, cells, path),
        "m.csv": lambda path: save_probabilities(explanation, path),
        "m.pdf": lambda path: save_figure(map_figure(explanation, [shown], dpi=50), path),
        "boxes.json": lambda path: save_boxes(shown, component_boxes(cells, explanation.geometry), path),
    }


NAMES = ("m.npz", "m.png", "m.csv", "m.pdf", "boxes.json")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["missing folder", "folder", "unknown extension", "no extension", "long name"])
def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path, explanation, name, fault):
    write = writers(explanation)[name]
    path = {
        "missing folder": tmp_path / "gone" / name,
        "folder": tmp_path / name,
        "unknown extension": tmp_path / "m.xyz",
        "no extension": tmp_path / "m",
        "long name": tmp_path / f"{'m' * 300}{Path(name).suffix}",
    }[fault]
    if fault == "folder":
        path.mkdir()
    with pytest.raises(ExportError) as caught:
        write(path)
    assert path.name[:40] in str(caught.value) and len(str(caught.value)) > len(path.name[:40]) + 10
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_existing_files_as_they_were(tmp_path, explanation, name, monkeypatch):
    write = writers(explanation)[name]
    write(tmp_path / name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ExportError, match="No space left"):
        write(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_read_only_folder_is_said(tmp_path, explanation, monkeypatch):
    def refuse(**_options):  # root, as tests may run, writes anywhere
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("calm_gui.model.files.tempfile.mkstemp", refuse)
    with pytest.raises(ExportError, match="Permission denied"):
        save_map(explanation.saliency(), tmp_path / "m.npz")


def test_a_description_never_replaces_another_file(tmp_path, explanation):
    (tmp_path / "m.json").write_text('{"someone": "else\'s"}')
    save_map(explanation.saliency(), tmp_path / "m.npz")
    assert (tmp_path / "m.json").read_text() == '{"someone": "else\'s"}'
    assert json.loads((tmp_path / "m.npz.json").read_text())["maps"][0]["reading"] == "saliency"


def test_exports_of_one_map_share_a_description_and_others_do_not(tmp_path, explanation):
    shown = explanation.attribution("dog")
    save_map(shown, tmp_path / "m.npz")
    save_figure(map_figure(explanation, [shown], dpi=50), tmp_path / "m.png")
    listed = json.loads((tmp_path / "m.json").read_text())["exports"]
    assert [entry["file"] for entry in listed] == ["m.npz", "m.png"]
    save_figure(map_figure(explanation, [explanation.saliency()], dpi=50), tmp_path / "m.svg")
    assert [e["file"] for e in json.loads((tmp_path / "m.json").read_text())["exports"]] == ["m.npz", "m.png"]
    assert json.loads((tmp_path / "m.svg.json").read_text())["maps"][0]["reading"] == "saliency"


def test_a_replaced_export_leaves_the_description_of_what_it_was(tmp_path, explanation):
    def listed() -> dict[str, list[str]]:
        return {p.name: [e["file"] for e in json.loads(p.read_text())["exports"]] for p in tmp_path.glob("*.json")}

    dog, saliency = explanation.attribution("dog"), explanation.saliency()
    save_map(dog, tmp_path / "m.npz")
    save_figure(map_figure(explanation, [dog], dpi=50), tmp_path / "m.png")
    save_figure(map_figure(explanation, [saliency], dpi=50), tmp_path / "m.png")
    assert listed() == {"m.json": ["m.npz"], "m.png.json": ["m.png"]}
    save_figure(map_figure(explanation, [dog], dpi=50), tmp_path / "m.png")
    assert listed() == {"m.json": ["m.npz", "m.png"]}


def test_a_mask_is_the_chosen_cells_over_the_picture(tmp_path):
    explanation = calm_explanation(resize="crop", picture=np.zeros((120, 60, 3), np.uint8))
    shown = explanation.attribution("dog")
    cells = credible_cells(shown.values, 0.5)
    save_mask(shown, cells, tmp_path / "m.png")
    mask = np.asarray(Image.open(tmp_path / "m.png"))
    assert mask.shape == (120, 60) and set(np.unique(mask)) == {0, 255}
    for y, x in ((5, 30), (45, 10), (60, 30), (85, 55), (118, 3)):
        cell = explanation.geometry.cell_at(x + 0.5, y + 0.5)
        assert (mask[y, x] == 255) == (cell is not None and bool(cells[cell]))


def test_boxes_are_coco(tmp_path, explanation):
    shown = explanation.attribution(2)
    cells = np.zeros((14, 14), bool)
    cells[2:5, 3:7] = True
    save_boxes(shown, component_boxes(cells, explanation.geometry), tmp_path / "boxes.json")
    data = json.loads((tmp_path / "boxes.json").read_text())
    width, height = explanation.geometry.picture
    (annotation,) = data["annotations"]
    expected = [3 * width / 14, 2 * height / 14, 4 * width / 14, 3 * height / 14]
    assert annotation["bbox"] == pytest.approx(expected)
    assert annotation["area"] == pytest.approx(expected[2] * expected[3])
    assert annotation["score"] == pytest.approx(shown.values[2:5, 3:7].sum() / shown.values.sum(), rel=1e-5)
    assert data["categories"] == [{"id": 1, "name": "crane (n02012849)"}]
    assert data["images"][0]["width"] == width and data["info"]["maps"][0]["reading"] == "attribution"


def test_the_table_of_probabilities_tells_namesakes_apart_and_adds_up(tmp_path, explanation):
    save_probabilities(explanation, tmp_path / "p.csv")
    with (tmp_path / "p.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(1.0, abs=1e-12)
    assert {row["wnid"] for row in rows if row["name"] == "crane"} == {"n02012849", "n03126707"}
    assert [int(row["class_index"]) for row in rows] == [index for index, _ in explanation.top(6)]


def test_the_region_table_adds_up(tmp_path, explanation):
    left = Region(np.repeat([[1.0] * 7 + [0.0] * 7], 14, axis=0), "left")
    save_region_table(explanation, [left, left.complement()], tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    totals = [float(row["probability_in_region"]) for row in rows if row["name"] == "any class"]
    assert sum(totals) == pytest.approx(1.0, abs=1e-6)
    for index in range(6):
        parts = [row for row in rows if row["class_index"] == str(index)]
        assert sum(float(row["probability_in_region"]) for row in parts) == pytest.approx(
            float(parts[0]["probability"]), rel=1e-5
        )
    with pytest.raises(ReadingError, match="CAM"):
        save_region_table(cam_explanation(), [left], tmp_path / "r2.csv")
