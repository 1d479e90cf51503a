"""Numbers that a user may choose for a method, wherever methods are named."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients
from scipy.ndimage import gaussian_filter
from synthetic import SAMPLE
from test_methods_of_torchcam import between_extremes, score_of
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.cli import main as explain
from calm_gui.core.classes import ClassSet
from calm_gui.errors import DataError, ReadingError
from calm_gui.methods import METHODS, attribute
from calm_gui.methods.method import BLUR
from calm_gui.model.loaded import load_model
from calm_gui.model.picture import load_picture
from calm_gui.render.manifest import describe_map
from calm_gui.session.pane import Pane, shows_text
from calm_training.evaluate.maps import map_of

TARGET = ClassSet([1, 2])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "x.safetensors", size=64)


def test_a_method_with_settings_says_them_and_is_always_the_same_object():
    chosen = METHODS["smoothgrad:noise=0.1, samples=50"]
    assert chosen.key == "smoothgrad:samples=50,noise=0.1"
    assert chosen.title == "SmoothGrad, 50 samples, noise of 0.1 times the input's range"
    assert chosen.slug == "smoothgrad-samples-50-noise-0.1"
    assert chosen.settings == {"samples": 50, "noise": 0.1} and isinstance(chosen.settings["samples"], int)
    assert METHODS["smoothgrad:samples=50,noise=0.10"] is chosen
    assert METHODS["smoothgrad:samples=16"] is METHODS["smoothgrad"]
    assert METHODS["smoothgrad"].settings == {"samples": 16, "noise": 0.15}
    assert "smoothgrad:samples=50" in METHODS and "magic:samples=50" not in METHODS


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("smoothgrad:steps=5", r"SmoothGrad has no parameter 'steps'; it has samples \(16\), noise \(0.15\)"),
        ("gradient:steps=5", "Gradient has no parameter 'steps'; it has none; leave it out"),
        ("smoothgrad:samples=1", "samples of SmoothGrad must be a whole number from 2 to 10000, not '1'"),
        ("smoothgrad:samples=2.5", "must be a whole number from 2 to 10000, not '2.5'"),
        ("smoothgrad:noise=nan", "noise of SmoothGrad must be a number from 0 to 10, not 'nan'"),
        ("smoothgrad:samples=many", "not 'many'"),
        ("smoothgrad:samples", "'samples' is no setting of SmoothGrad; write them as key=value"),
        ("smoothgrad:", "'' is no setting"),
        ("smoothgrad:samples=3,samples=4", "samples of SmoothGrad is set twice"),
        ("magic:samples=3", "there is no method 'magic'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(text, sentence):
    with pytest.raises(ReadingError, match=sentence):
        METHODS[text]


def test_steps_of_integrated_gradients_are_those_asked_for(checkpoint):
    model = load_model(checkpoint, "cpu")
    inputs = model.prepare(load_picture(SAMPLE))[0].requires_grad_(True)
    score = score_of(model)
    maps = {}
    for steps in (5, 24):
        with torch.enable_grad():
            found = IntegratedGradients(score).attribute(inputs, target=0, n_steps=steps)[0].sum(0).abs()
        maps[steps] = between_extremes(torch.from_numpy(gaussian_filter(found.detach().float().numpy(), BLUR)))
    assert np.abs(maps[5] - maps[24]).max() > 0.01
    shown = attribute("integrated_gradients:steps=5", model, SAMPLE, TARGET)
    np.testing.assert_allclose(shown.values, maps[5], atol=1e-3)
    np.testing.assert_allclose(attribute("integrated_gradients", model, SAMPLE, TARGET).values, maps[24], atol=1e-3)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("smoothgrad:samples=5", 3),
        ("vargrad:samples=4", 2),
        ("occlusion:windows=2", 4),
        ("integrated_gradients:steps=5", 2),
    ],
)
def test_samples_and_windows_are_as_many_passes(checkpoint, text, passes):
    seen: list[int] = []
    attribute(text, load_model(checkpoint, "cpu"), SAMPLE, TARGET, lambda number, of: seen.append(of))
    assert seen == [passes] * passes  # as was told from the first on


def test_every_export_says_whose_method_it_is_its_parameters_and_that_it_is_no_probability(checkpoint):
    model = load_model(checkpoint, "cpu")
    shown = attribute("smoothgrad:samples=3", model, SAMPLE, TARGET)
    (entry,) = describe_map(shown)["maps"]
    assert entry["method"] == "smoothgrad:samples=3"
    assert entry["source"] == "Smilkov et al. 2017, through captum"
    assert entry["parameters"] == {"samples": 3, "noise": 0.15}
    assert "no probability" in entry["question"]
    for method in METHODS.values():
        assert method.source and set(method.details["parameters"]) == {one.key for one in method.parameters}


def test_the_command_line_takes_them_names_files_by_them_and_makes_them_again(checkpoint, tmp_path, capsys):
    out = tmp_path / "out"
    command = [str(SAMPLE), "--checkpoint", str(checkpoint), "--target", "1", "--quiet"]
    assert explain([*command, "--map", "smoothgrad:samples=3", "--format", "npz", "--out", str(out)]) == 0
    (file,) = out.glob("*.npz")
    assert ".smoothgrad-samples-3." in file.name
    description = file.with_suffix(".json")
    said = json.loads(description.read_text())
    assert said["maps"][0]["parameters"]["samples"] == 3
    again = tmp_path / "again"
    assert explain(["--from", str(description), "--checkpoint", str(checkpoint), "--out", str(again), "--quiet"]) == 0
    assert next(again.glob("*.npz")).read_bytes() == file.read_bytes()
    # What the description says counts, not what a later version takes by default.
    said["maps"][0] |= {"method": "smoothgrad", "parameters": {"samples": 3, "noise": 0.15}}
    description.write_text(json.dumps(said))
    assert explain(["--from", str(description), "--checkpoint", str(checkpoint), "--out", str(again), "--quiet"]) == 0
    assert all(np.load(one)["values"].tobytes() == np.load(file)["values"].tobytes() for one in again.glob("*.npz"))
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        explain([*command, "--map", "smoothgrad:samples=none"])
    assert stopped.value.code == 2 and "samples of SmoothGrad must be" in capsys.readouterr().err


def test_panes_and_evaluations_take_them():
    pane = Pane.of("method:occlusion:windows=4")
    assert shows_text(pane.shows) == "method:occlusion:windows=4"
    assert Pane.of(shows_text(pane.shows)) == pane
    assert map_of("occlusion:windows=4").kind is pane.shows
    for name in ("occlusion-superset:windows=4", "occlusion:windows=4-superset"):
        assert map_of(name).of_superset and map_of(name).kind is pane.shows
    with pytest.raises(DataError, match=r"there is no map 'magic'; there are attribution, .*legrad"):
        map_of("magic")
    with pytest.raises(ReadingError, match="windows of Occlusion must be"):
        map_of("occlusion:windows=1")
