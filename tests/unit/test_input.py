"""The network's input: one preprocessing, whatever a picture is wanted for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.geometry import Geometry
from calm_gui.model.info import InputSpec
from calm_gui.model.input import input_values, network_input, normalised, prepare
from calm_gui.model.loaded import load_model
from calm_gui.model.picture import as_picture, load_picture
from calm_training.datasets.boxes import BoxedPicture
from calm_training.datasets.picture_set import PictureSet, Sample
from calm_training.datasets.training_pictures import TrainingPictures, augmented_input
from calm_training.evaluate.removal import removal_curves

RESIZES = ("squash", "crop", "pad")
INTERPOLATIONS = ("bilinear", "bicubic")


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory):
    return load_model(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "tiny.safetensors"), "cpu")


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("resize", RESIZES)
def test_explaining_training_and_removal_see_the_same_bits(tiny, tmp_path, monkeypatch, resize, interpolation):
    spec = replace(tiny.info.input, resize=resize, interpolation=interpolation)
    monkeypatch.setattr(tiny, "info", replace(tiny.info, input=spec))
    path = tmp_path / "noise.png"
    Image.fromarray(noise(71, 133)).save(path)
    seen = []
    monkeypatch.setattr(tiny, "raw", lambda inputs, raw=tiny.raw: seen.append(inputs) or raw(inputs))

    tiny.explain(path)
    pictures = PictureSet((Sample(path, 0),), ClassTable([ClassInfo(0, "only")]))
    trained_on = TrainingPictures(pictures, spec)[0][0][None]
    explained = seen.pop()
    assert torch.equal(trained_on, explained)

    box = BoxedPicture(path, 0, (133, 71), np.array([[0.0, 0.0, 5.0, 5.0]]))
    removal_curves(tiny, [box], maps=["saliency"], shares=(0.0,), random_seeds=(0,))
    assert len(seen) == 3  # for the map, then with nothing removed by the map and at random
    assert all(torch.equal(inputs, explained) for inputs in seen)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("resize", RESIZES)
@given(height=st.integers(1, 90), width=st.integers(1, 90))
def test_the_values_of_the_input_are_what_its_parts_say(resize, interpolation, height, width):
    pixels, spec = noise(height, width), InputSpec(size=32, resize=resize, interpolation=interpolation)
    given_to_network = network_input(pixels, spec)
    assert given_to_network.dtype == torch.float32
    assert given_to_network[None].is_contiguous(memory_format=torch.channels_last)
    values = input_values(pixels, spec)
    assert 0 <= values.min() <= values.max() <= 1
    assert np.array_equal(normalised(values, spec), given_to_network.numpy())
    prepared, geometry = prepare(as_picture(pixels), spec, (4, 4))
    assert torch.equal(prepared[0], given_to_network)
    assert geometry == Geometry.fit((width, height), (32, 32), (4, 4), resize)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_the_input_written_out_slowly(interpolation):
    """Each way to bring 60 x 30 pixels to 32 x 32, with nothing but PIL and the definition."""
    pixels, spec = noise(30, 60), InputSpec(size=32, interpolation=interpolation)
    picture = Image.fromarray(pixels)
    how = getattr(Image.Resampling, interpolation.upper())
    padded = Image.new("RGB", (32, 32))
    padded.paste(picture.resize((32, 16), how), (0, 8))
    expected = {
        "squash": picture.resize((32, 32), how),
        "crop": picture.resize((32, 32), how, box=(15, 0, 45, 30)),
        "pad": padded,
    }
    for resize, seen in expected.items():
        values = (np.asarray(seen, np.float32) / 255 - np.float32(spec.mean)) / np.float32(spec.std)
        if resize == "pad":
            values[:8] = values[24:] = 0
        np.testing.assert_array_equal(
            network_input(pixels, replace(spec, resize=resize)).numpy(), values.transpose(2, 0, 1)
        )


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("resize", RESIZES)
def test_a_random_crop_is_a_part_of_the_larger_input(resize, interpolation):
    pixels = noise(45, 100)
    spec = InputSpec(size=56, resize=resize, interpolation=interpolation)
    larger = network_input(pixels, replace(spec, size=64))
    corners = set()
    for seed in range(20):
        crop = augmented_input(pixels, spec, np.random.default_rng(seed))
        found = [
            (y, x, flip)
            for y in range(9)
            for x in range(9)
            for flip in (False, True)
            if torch.equal(crop.flip(2) if flip else crop, larger[:, y : y + 56, x : x + 56])
        ]
        assert found
        corners.update(found)
    assert {flip for _, _, flip in corners} == {False, True}
    assert len(corners) > 10


def test_a_picture_on_disk_and_its_pixels_give_one_input(tmp_path: Path):
    path = tmp_path / "noise.png"
    Image.fromarray(noise(20, 30)).save(path)
    assert torch.equal(
        network_input(load_picture(path).pixels, InputSpec(size=32)), network_input(noise(20, 30), InputSpec(size=32))
    )
