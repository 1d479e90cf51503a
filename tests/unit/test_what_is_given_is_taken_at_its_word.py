"""Classes, inputs and pictures as people give them; folders and sessions that hold what isn't ours."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image, ImageCms
from safetensors.torch import save_file
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set
from torch import nn

from calm_gui.api import load_checkpoint
from calm_gui.cli.explain import main as calm_explain
from calm_gui.errors import CheckpointError, PictureError
from calm_gui.model.files import sha256_of
from calm_gui.model.from_module import from_module
from calm_gui.model.picture import as_picture, load_picture
from calm_gui.session.persistence import load_session, save_session
from calm_gui.session.state import RegionShape, Selection, State
from calm_training.cli import main as calm_train


def network(outputs: int, *last: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3, 8, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, outputs), *last)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("last", [nn.Sigmoid(), nn.Softmax(1)])
def test_probabilities_are_not_taken_for_logits(outputs, last):
    with pytest.raises(CheckpointError, match="gives probabilities, not logits; leave out its last"):
        from_module(network(outputs, last), input=32)
    assert from_module(network(outputs), input=32).classes


def test_classes_are_given_as_a_list_or_by_number():
    given = {1: "dog", 0: "cat", 2: "bird"}
    assert [info.name for info in from_module(network(3), given, 32).classes] == ["cat", "dog", "bird"]
    for classes, reason in (("cat", "not the text 'cat'"), ({1: "a", 2: "b", 3: "c"}, "numbered from 0 on")):
        with pytest.raises(CheckpointError, match=reason):
            from_module(network(3), classes, 32)
        with pytest.raises(CheckpointError, match=reason):
            load_checkpoint("demo", classes=classes)


def test_the_side_of_the_input_is_any_whole_number():
    assert from_module(network(3), input=np.int64(48)).info.input.size == 48
    with pytest.raises(CheckpointError, match=r"input is the side in pixels.*not \(64, 64\)"):
        from_module(network(3), input=(64, 64))


def test_a_colour_profile_counts_whatever_the_picture_comes_as(tmp_path):
    image = Image.new("RGB", (8, 8), (200, 60, 40))
    icc = wide_profile()
    image.save(tmp_path / "rgb.png", icc_profile=icc)
    image.convert("P", palette=Image.Palette.ADAPTIVE).save(tmp_path / "palette.png", icc_profile=icc)
    expected = load_picture(tmp_path / "rgb.png")
    assert tuple(expected.pixels[0, 0]) != (200, 60, 40)
    for source in (tmp_path / "palette.png", Image.open(tmp_path / "rgb.png"), Image.open(tmp_path / "palette.png")):
        assert np.array_equal(as_picture(source).pixels, expected.pixels)


def wide_profile() -> bytes:
    """sRGB's profile with red and green exchanged, so that colours change a lot."""
    content = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    places = {bytes(content[132 + 12 * i : 136 + 12 * i]): 136 + 12 * i for i in range(content[131])}
    red, green = places[b"rXYZ"], places[b"gXYZ"]
    content[red : red + 8], content[green : green + 8] = content[green : green + 8], content[red : red + 8]
    return bytes(content)


def test_a_damaged_pil_image_is_refused_in_a_sentence():
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (90, 90, 3), np.uint8)).save(file, "JPEG")
    with pytest.raises(PictureError, match="the PIL image can't be read: "):
        as_picture(Image.open(io.BytesIO(file.getvalue()[:900])))


def test_adapt_leaves_files_of_others_alone(tmp_path):
    checkpoint = write_tiny_checkpoint(tmp_path / "x.safetensors", "cam")
    (tmp_path / "set").mkdir()
    data = write_tiny_set(tmp_path / "set", 3)
    for name in ("features.npy", "targets.pt", "state.pt"):
        out = tmp_path / f"out-{name}"
        out.mkdir()
        (out / name).write_bytes(b"mine")
        words = ["adapt", "--checkpoint", str(checkpoint), "--data", str(data), "--out", str(out), "--steps", "1"]
        assert calm_train([*words, "--progress", "none"]) == 1
        assert (out / name).read_bytes() == b"mine" and len(list(out.iterdir())) == 1


def test_one_picture_is_never_taken_for_two(tmp_path):
    for folder, colour in (("x", "red"), ("y", "blue")):
        (tmp_path / folder).mkdir()
        Image.new("RGB", (9, 9), colour).save(tmp_path / folder / "a.png")
    x, y = (str(tmp_path / folder / "a.png") for folder in "xy")
    region = RegionShape("r", y, "box", ((0, 0), (4, 4)))
    save_session(tmp_path / "s.json", State(Selection("demo"), pictures=(x, y), current=1, regions=(region,)))
    session = json.loads((tmp_path / "s.json").read_text())
    session["hashes"] = [[name, sha256_of(tmp_path / name)] for name in ("x/a.png", "y/a.png")]
    (tmp_path / "s.json").write_text(json.dumps(session))
    Path(x).unlink()
    Path(y).rename(tmp_path / "a.png")
    found = load_session(tmp_path / "s.json")
    assert found.state.pictures == (str(tmp_path / "a.png"),)
    assert found.missing == ("x/a.png",)
    assert [shape.picture for shape in found.state.regions] == [str(tmp_path / "a.png")]


def test_resuming_one_picture_leaves_the_summary_of_a_batch(tmp_path, capsys):
    checkpoint = str(write_tiny_checkpoint(tmp_path / "x.safetensors"))
    (tmp_path / "set").mkdir()
    data = write_tiny_set(tmp_path / "set", 3)
    common = ["--checkpoint", checkpoint, "--device", "cpu", "--out", str(tmp_path / "out"), "--format", "csv"]
    truth = ["--truth", str(data / "index.csv")]
    assert calm_explain([str(data), *common, *truth, "--quiet"]) == 0
    before = (tmp_path / "out/summary.csv").read_bytes()
    calm_explain([str(data / "0.png"), *common, *truth, "--resume", "--quiet"])
    assert (tmp_path / "out/summary.csv").read_bytes() == before


def test_results_are_told_where_a_contact_sheet_cannot_be_made(tmp_path, capsys):
    checkpoint = str(write_tiny_checkpoint(tmp_path / "x.safetensors"))
    (tmp_path / "set").mkdir()
    data = write_tiny_set(tmp_path / "set", 2)
    sheet = ["--contact-sheet", str(tmp_path / "s.png"), "--by", "share_in_box", "--quiet"]
    assert calm_explain([str(data), "--checkpoint", checkpoint, "--device", "cpu", *sheet]) == 1
    said = capsys.readouterr()
    assert "0.png" in said.out and "contact sheet" in said.err


def test_a_pooling_that_a_description_asks_for_is_not_left_out(tmp_path):
    """Its tensors are those of the usual one, and the answers others."""
    tensors = timm.create_model("test_resnet", num_classes=3).state_dict()
    save_file(tensors, tmp_path / "model.safetensors")
    described = {"architecture": "test_resnet", "num_classes": 3, "global_pool": "avg"}
    (tmp_path / "config.json").write_text(json.dumps(described))
    assert len(load_checkpoint(tmp_path / "model.safetensors").classes) == 3
    (tmp_path / "config.json").write_text(json.dumps({**described, "global_pool": "max"}))
    with pytest.raises(CheckpointError, match="pools by max, which this program can't build"):
        load_checkpoint(tmp_path / "model.safetensors")


@pytest.mark.parametrize("option", [["--width", "1e308"], ["--width", "inf"], ["--dpi", "99999"]])
def test_figures_of_no_size_are_refused_in_a_sentence(tmp_path, option, capsys):
    checkpoint = str(write_tiny_checkpoint(tmp_path / "x.safetensors"))
    (tmp_path / "set").mkdir()
    picture = write_tiny_set(tmp_path / "set", 1) / "0.png"
    assert calm_explain([str(picture), "--checkpoint", checkpoint, "--out", str(tmp_path / "o"), *option]) == 2
    assert "a figure can't have" in capsys.readouterr().err


def test_numbers_in_a_file_are_no_names_and_block_nothing(tmp_path):
    tensors = timm.create_model("test_resnet", num_classes=3).state_dict()
    torch.save({"state_dict": tensors, "classes": [0, 1, 2]}, tmp_path / "x.pth")
    model = load_checkpoint(tmp_path / "x.pth", architecture="test_resnet", classes=["a", "b", "c"])
    assert [info.name for info in model.classes] == ["a", "b", "c"]


def test_a_classifier_of_one_output_is_refused_by_adapt_for_that(tmp_path, capsys):
    tensors = timm.create_model("test_vit", num_classes=1).state_dict()
    torch.save(tensors, tmp_path / "x.pth")
    (tmp_path / "set").mkdir()
    data = write_tiny_set(tmp_path / "set", 3)
    words = ["adapt", "--checkpoint", str(tmp_path / "x.pth"), "--data", str(data), "--out", str(tmp_path / "out")]
    assert calm_train([*words, "--arch", "test_vit", "--progress", "none"]) == 1
    assert "has one output; adapt takes classifiers with one for each class" in capsys.readouterr().err
