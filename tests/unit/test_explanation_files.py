"""Raw outputs on disk: the same numbers, bounded, damaged files are none, a second start needs no network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import load_checkpoint, sample_pictures
from calm_gui.core.classifier_explanation import ClassifierExplanation
from calm_gui.model.backbones import build_classifier
from calm_gui.model.info import InputSpec, read_info
from calm_gui.model.picture import load_picture
from calm_gui.session.explanation_disk import ExplanationDisk
from calm_gui.session.explanation_files import ExplanationFiles, explanation_key

KEY = "k" * 64


@pytest.fixture
def raw():
    random = np.random.default_rng(3)
    return random.normal(size=(5, 4, 6)).astype(np.float32), random.normal(size=(1, 4, 6)).astype(np.float32)


def test_what_is_kept_comes_back_bit_for_bit(tmp_path, raw):
    files = ExplanationFiles(tmp_path / "deep" / "folder")
    files.keep(KEY, *raw)
    f, a = files.get(KEY)
    assert f.dtype == a.dtype == np.float32
    np.testing.assert_array_equal(f, raw[0])
    np.testing.assert_array_equal(a, raw[1])
    files.keep("c" * 64, raw[0], None)
    assert files.get("c" * 64)[1] is None
    assert files.get("x" * 64) is None


def test_a_damaged_file_is_none_and_goes(tmp_path, raw):
    files = ExplanationFiles(tmp_path)
    files.keep(KEY, *raw)
    (path,) = tmp_path.glob("*.raw")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(bytes(data))
    assert files.get(KEY) is None and not path.exists()
    for content in (b"", b"{}", b'{"format": 1, "shapes": [[9]], "crc32": 0}\n', b"\x80\x04K\x01."):
        path.write_bytes(content)
        assert files.get(KEY) is None


def test_it_never_grows_over_its_size_and_what_was_used_longest_ago_goes_first(tmp_path, raw):
    one = ExplanationFiles(tmp_path / "one")
    one.keep("0" * 64, *raw)
    size = one.size()
    files = ExplanationFiles(tmp_path / "many", int(3.5 * size))
    for number in range(3):
        files.keep(f"{number:064}", *raw)
        os.utime(files._path(f"{number:064}"), (1000 + number, 1000 + number))
    assert files.get(f"{0:064}") is not None  # used now
    files.keep(f"{3:064}", *raw)
    assert files.size() <= 3.5 * size
    assert files.get(f"{1:064}") is None and files.get(f"{0:064}") is not None and files.get(f"{3:064}") is not None
    files.clear()
    assert files.size() == 0
    off = ExplanationFiles(tmp_path / "off", 0)
    off.keep(KEY, *raw)
    assert off.get(KEY) is None and not (tmp_path / "off").exists()


def test_a_folder_that_cannot_be_written_to_costs_nothing_else(tmp_path, raw, caplog):
    (tmp_path / "file").write_text("no folder")
    files = ExplanationFiles(tmp_path / "file")
    files.keep(KEY, *raw)
    files.keep(KEY, *raw)
    files.remember_device("auto", "cpu")
    assert files.get(KEY) is None and files.device_of("auto") is None
    assert sum("explanations couldn't be saved" in record.message for record in caplog.records) == 1


def test_the_key_holds_all_that_the_numbers_depend_on(tmp_path):
    info = read_info(write_tiny_checkpoint(tmp_path / "tiny.safetensors"))
    from dataclasses import replace

    other = replace(info, input=InputSpec(size=info.input.size, resize="crop"))
    keys = {
        explanation_key("p", "c", {}, info, "cpu"),
        explanation_key("q", "c", {}, info, "cpu"),
        explanation_key("p", "d", {}, info, "cpu"),
        explanation_key("p", "c", {"method": "cam"}, info, "cpu"),
        explanation_key("p", "c", {}, other, "cpu"),
        explanation_key("p", "c", {}, info, "cuda:0"),
    }
    assert len(keys) == 6


@pytest.mark.parametrize("method", ["calm-em", "cam"])
def test_an_explanation_from_the_disk_is_the_one_that_was_computed(tmp_path, method):
    path = write_tiny_checkpoint(tmp_path / "tiny.safetensors", method)
    model = load_checkpoint(path, "cpu")
    picture = load_picture(sample_pictures()[0])
    computed = model.explain(picture)
    disk = ExplanationDisk(ExplanationFiles(tmp_path / "cache"))
    assert disk.find(str(path), read_info(path), "auto", picture, None) is None
    disk.keep(model, "auto", computed)
    found = disk.find(str(path), read_info(path), "auto", picture, None)
    assert disk.find(str(path), None, "auto", picture, model) is not None
    assert found is not None and found.source == computed.source and found.geometry == computed.geometry
    np.testing.assert_array_equal(found.f, computed.f)
    np.testing.assert_array_equal(found.class_probabilities, computed.class_probabilities)
    shown, expected = (e.reading(e.own_reading.key, [1, 2]) for e in (found, computed))
    np.testing.assert_array_equal(shown.values, expected.values)
    assert disk.find(str(path), read_info(path), "cuda", picture, None) is None  # that device was never used


_SECOND_START = """
import sys
from pathlib import Path
from calm_gui.session.explanation_files import ExplanationFiles
from inline_runner import InlineRunner
from calm_gui.session.workspace import Workspace
space = Workspace(sys.argv[1], InlineRunner(), lambda *_: sys.exit("the network was loaded"), "auto")
space.compute.disk.files = ExplanationFiles(Path(sys.argv[2]))
space.compute._load_when_idle = lambda _: None
space.open_pictures([sys.argv[3]])
shown = space.scene.active.shown
print(shown.check.passed, "torch" in sys.modules)
"""


def test_a_second_start_shows_its_first_map_without_torch(tmp_path):
    path = write_tiny_checkpoint(tmp_path / "tiny.safetensors")
    picture = sample_pictures()[0]
    model = load_checkpoint(path, "cpu")
    ExplanationDisk(ExplanationFiles(tmp_path / "cache")).keep(model, "auto", model.explain(picture))
    assert json.loads((tmp_path / "cache" / "devices.json").read_text()) == {"auto": "cpu"}
    command = [sys.executable, "-c", _SECOND_START, str(path), str(tmp_path / "cache"), str(picture)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parent)
    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (0, ["True", "False"], "")


def test_a_classifier_without_cam_is_kept_too(tmp_path):
    torch.manual_seed(0)
    torch.save(
        {"arch": "test_vit", "state_dict": build_classifier("timm:test_vit", 4).state_dict()}, tmp_path / "x.pth"
    )
    model = load_checkpoint(tmp_path / "x.pth", "cpu")
    picture = load_picture(sample_pictures()[0])
    computed = model.explain(picture)
    disk = ExplanationDisk(ExplanationFiles(tmp_path / "kept"))
    disk.keep(model, "cpu", computed)
    assert disk.find(str(tmp_path / "x.pth"), model.info, "cpu", picture, None) is None  # the grid isn't known
    found = disk.find(str(tmp_path / "x.pth"), model.info, "cpu", picture, model)
    assert type(found) is type(computed) is ClassifierExplanation
    np.testing.assert_array_equal(found.f, computed.f)
    assert found.geometry == computed.geometry and found.geometry.grid == model.grid != (1, 1)
    assert found.source == computed.source and found.top(4) == computed.top(4)
