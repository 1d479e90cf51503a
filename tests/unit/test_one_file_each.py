"""Every reading and method through all places that use them, and such as come from outside in one file."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import made_up_reading
import numpy as np
import pytest
import torch
from synthetic import CLASSES, HIERARCHY, SAMPLE, calm_explanation, cam_explanation
from tiny_checkpoint import backbone_for, write_tiny_checkpoint, write_tiny_set

import calm_gui
from calm_gui.cli import main
from calm_gui.core.classes import ClassSet
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.joint import ClassScores, Joint
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.readings import CAM, READINGS, Asked, Reading
from calm_gui.core.readings.attribution import Attribution
from calm_gui.methods import METHODS
from calm_gui.model.info import CheckpointInfo
from calm_gui.render.manifest import describe
from calm_gui.render.map_scale import map_scale
from calm_gui.render.naming import map_slug, map_title
from calm_gui.session.cache import ExplanationCache
from calm_gui.session.ledger import sentence
from calm_gui.session.pane import PICTURE, Pane, shows_from_text, shows_text
from calm_gui.session.persistence import load_session, save_session
from calm_gui.session.scene import Scene
from calm_gui.session.state import Selection, State
from calm_training.evaluate import main as calm_evaluate

BUILT_IN_READINGS = tuple(READINGS)
BUILT_IN_METHODS = tuple(METHODS)
FAST_METHODS = ("gradient", "grad_cam")
SMALL = ["--width", "30", "--dpi", "60", "--quiet"]


@pytest.fixture
def log_odds() -> Iterator[Reading]:
    yield made_up_reading.register()
    READINGS.forget("log_odds")


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[type, str]:
    folder = tmp_path_factory.mktemp("checkpoints")
    return {
        Joint: str(write_tiny_checkpoint(folder / "calm.safetensors")),
        ClassScores: str(write_tiny_checkpoint(folder / "cam.safetensors", "cam")),
    }


def explanation_for(reading: Reading) -> AnyExplanation:
    return calm_explanation() if reading.needs is Joint else cam_explanation()


def scene_of(explanation: AnyExplanation, *panes: Pane) -> Scene:
    cache, keys = ExplanationCache(), (str(SAMPLE), "checkpoint")
    cache.keep(keys, explanation, [])
    info = CheckpointInfo("calm-em", "none", 16, CLASSES, hierarchy=HIERARCHY)
    state = State(Selection("checkpoint"), (str(SAMPLE),), 0, panes)
    return Scene(state, {"checkpoint": info}, cache, {})


def test_class_scores_go_by_the_name_of_the_method_that_trained_them() -> None:
    explanation = explanation_for(CAM)
    explanation.source["checkpoint"]["map"] = "ACoL"
    scene = scene_of(explanation, Pane(CAM))
    assert scene.panes[0].title.startswith("ACoL")
    assert sentence(scene).startswith("ACoL scores ")
    assert map_title(scene.panes[0].shown)[0].startswith("ACoL — ")
    del explanation.source["checkpoint"]["map"]
    assert scene_of(explanation, Pane(CAM)).panes[0].title.startswith("CAM")


def walk_through_the_session(reading: Reading, tmp_path: Path) -> None:
    """Title, subtitle, scale, ledger, manifest and session of a pane that shows a reading."""
    explanation = explanation_for(reading)
    scene = scene_of(explanation, Pane(reading))
    content = scene.panes[0]
    assert content.shows is reading and content.title.startswith(reading.title) and not content.message
    shown = content.shown
    assert shown is not None and shown.kind is reading and shown.reading == reading.key
    assert scene.question == reading.question
    told = sentence(scene)
    assert told.endswith(".") and len(told) > 20
    described = describe(explanation, [shown])["maps"][0]
    assert described["reading"] == reading.key and described["question"] == reading.question
    assert map_title(shown)[0].startswith(reading.title) and map_slug(shown).startswith(reading.key)
    if isinstance(shown, Map):
        assert content.scale == map_scale(shown) and content.scale.unit == shown.unit
        assert reading.formula in content.subtitle
        assert shown.signed == (content.scale.low < 0) or not reading.signed
    path = tmp_path / "x.calm.json"
    save_session(path, scene.state)
    assert load_session(path).state.panes == (Pane(reading),)


def walk_through_the_commands(reading: str, checkpoint: str, out: Path, option: str = "--reading") -> dict:
    """A batch with every format of one map, and each export made again from its manifest, byte for byte."""
    first, again = out / "first", out / "again"
    more = ["--checkpoint", checkpoint, *SMALL]
    asked = [str(SAMPLE), "--target", "dog", "--contrast", "tabby", option, reading, "--depth", "2"]
    assert main([*asked, "--format", "png,npz", "--out", str(first), "--json", *more]) == 0
    (manifest,) = first.glob("*.json")
    assert main(["--from", str(manifest), "--out", str(again), *more]) == 0
    names = sorted(path.name for path in first.iterdir() if path.suffix != ".json")
    assert len(names) == 2
    for name in names:
        assert (first / name).read_bytes() == (again / name).read_bytes()
    return json.loads(manifest.read_text())["maps"][0]


@pytest.mark.parametrize("key", BUILT_IN_READINGS)
def test_every_reading_through_the_session(key, tmp_path):
    walk_through_the_session(READINGS[key], tmp_path)


@pytest.mark.parametrize("key", BUILT_IN_READINGS)
def test_every_reading_through_the_commands(key, checkpoints, tmp_path):
    described = walk_through_the_commands(key, checkpoints[READINGS[key].needs], tmp_path)
    assert described["reading"] == key and "method" not in described


@pytest.mark.parametrize("key", FAST_METHODS)
@pytest.mark.parametrize("kind", [Joint, ClassScores])
def test_methods_through_the_commands(key, kind, checkpoints, tmp_path):
    described = walk_through_the_commands(key, checkpoints[kind], tmp_path, "--map")
    assert described["method"] == key and "reading" not in described


@pytest.mark.slow
@pytest.mark.parametrize("key", BUILT_IN_METHODS)
def test_every_method_through_the_commands(key, tmp_path):
    checkpoint = write_tiny_checkpoint(tmp_path / "calm.safetensors", backbone=backbone_for(key))
    described = walk_through_the_commands(key, str(checkpoint), tmp_path, "--map")
    assert described["method"] == key and "no probability" in described["question"]
    assert bool(described["contrast"]) == METHODS[key].takes_contrast


@pytest.mark.parametrize("key", [key for key in BUILT_IN_READINGS if key != "winner"])
def test_readings_give_the_same_for_numpy_and_torch(key):
    reading = READINGS[key]
    explanation = explanation_for(reading)
    asked = Asked(ClassSet([0, 1]), ClassSet([2]))
    if reading.needs is Joint:
        source = Joint(torch.from_numpy(explanation.f), torch.from_numpy(explanation.a), "softplus", xp=torch)
    else:
        source = ClassScores(torch.from_numpy(explanation.f), torch)
    values = reading.values(source, asked)
    assert isinstance(values, torch.Tensor)
    np.testing.assert_allclose(values.numpy(), reading.values(explanation.evidence, asked), rtol=1e-5, atol=1e-9)
    expected = reading.expected(source, asked)
    assert expected == pytest.approx(reading.expected(explanation.evidence, asked))


def test_what_an_explanation_offers_and_refuses():
    calm, cam = calm_explanation(), cam_explanation()
    assert [r.key for r in calm.readings] == [key for key in BUILT_IN_READINGS if key != "cam"]
    assert [r.key for r in cam.readings] == ["cam"]
    for key in BUILT_IN_READINGS:
        for explanation in (calm, cam):
            refusal = READINGS[key].refusal(explanation)
            assert bool(refusal) == (READINGS[key] not in explanation.readings)


@pytest.mark.parametrize("lacking", ["key", "title", "formula", "question", "meaning", "unit", "quantity"])
def test_a_reading_without_a_word_fails_when_it_is_registered(lacking):
    incomplete = type("Incomplete", (made_up_reading.LogOdds,), {lacking: ""})()
    with pytest.raises(TypeError, match=f"lacks its {lacking}"):
        READINGS.register(incomplete)
    assert "log_odds" not in READINGS


def test_a_reading_without_a_sentence_fails_when_it_is_made():
    with pytest.raises(TypeError, match="sentence"):
        type("Mute", (Reading,), {"key": "mute", "values": lambda *_: None})()


def test_two_readings_of_one_key_are_refused():
    with pytest.raises(TypeError, match="already"):
        READINGS.register(Attribution())


def test_texts_of_what_panes_show():
    for shows in (*READINGS.values(), *METHODS.values(), PICTURE):
        assert shows_from_text(shows_text(shows)) is shows


def test_a_reading_from_outside_goes_everywhere(log_odds, checkpoints, tmp_path):
    walk_through_the_session(log_odds, tmp_path)
    described = walk_through_the_commands("log_odds", checkpoints[Joint], tmp_path)
    assert described["unit"] == "nat" and described["check"] is None
    shown = calm_explanation().reading("log_odds", "dog")
    assert shown.signed and log_odds in calm_explanation().readings
    pictures = write_tiny_set(tmp_path, 3)
    assert calm_evaluate([*evaluation(pictures, checkpoints[Joint], tmp_path / "w.json"), "--method", "log_odds"]) == 0
    (result,) = json.loads((tmp_path / "w.json").read_text())["results"].values()
    assert list(result["maps"]) == ["log_odds"] and result["images"] == 3


def evaluation(pictures: Path, checkpoint: str, out: Path) -> list[str]:
    return [
        "wsol",
        "--checkpoint",
        checkpoint,
        "--data",
        str(pictures),
        "--out",
        str(out),
        "--quiet",
        "--device",
        "cpu",
    ]


def test_a_method_from_outside_comes_through_an_entry_point(tmp_path, checkpoints):
    """In a process of its own, as entry points are found once; the package is a folder with metadata."""
    folder = tmp_path / "site"
    info = folder / "made_up-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[calm_gui.methods]\nbrightness = made_up_method:BRIGHTNESS\nbroken = no_such_module:METHOD\n"
    )

    def run(package: str, *arguments: str) -> str:
        code = "import sys; sys.path[:0] = sys.argv[1:3]\n"
        code += f"from {package} import main\nsys.exit(main(sys.argv[3:]))"
        command = [sys.executable, "-c", code, str(folder), str(Path(__file__).parent), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stderr

    out, more = tmp_path / "out", ("--checkpoint", checkpoints[Joint], *SMALL)
    asked = ("--map", "brightness", "--target", "dog", "--format", "npz,png")
    said = run("calm_gui.cli", str(SAMPLE), *asked, "--out", str(out), *more)
    assert "no_such_module" in said  # told, and the rest goes on
    (manifest,) = out.glob("*.json")
    assert json.loads(manifest.read_text())["maps"][0]["method"] == "brightness"
    (array,) = out.glob("*brightness*.npz")
    run("calm_gui.cli", "--from", str(manifest), "--out", str(tmp_path / "again"), *more)
    assert (tmp_path / "again" / array.name).read_bytes() == array.read_bytes()
    pictures, measured = write_tiny_set(tmp_path, 3), tmp_path / "w.json"
    run("calm_training.evaluate", *evaluation(pictures, checkpoints[Joint], measured), "--method", "brightness")
    (result,) = json.loads(measured.read_text())["results"].values()
    assert list(result["maps"]) == ["brightness"]


def test_both_cranes_carry_their_ids_wherever_a_set_is_named():
    explanation = calm_explanation()
    scene = scene_of(explanation, Pane.of("counterfactual"))
    scene.state = scene.state._replace(
        selection=Selection(
            "checkpoint", *(type(scene.state.selection.target).of(k) for k in ("n02012849", "n03126707"))
        )
    )
    assert scene.panes[0].title == "Counterfactual — crane (n02012849) − crane (n03126707)"
    assert "crane (n02012849)" in sentence(scene) and "crane (n03126707)" in sentence(scene)
    assert map_title(explanation.counterfactual(2, 3))[0] == scene.panes[0].title


def test_maps_go_with_their_explanation():
    cache, explanation = ExplanationCache(), calm_explanation()
    cache.keep(("p", "c"), explanation, [])
    cache.maps(explanation)["asked"] = explanation.saliency()
    assert "asked" in cache.maps(explanation)
    cache.forget(checkpoint="other")
    assert "asked" in cache.maps(explanation)
    cache.forget(checkpoint="c")
    assert ("p", "c") not in cache and "asked" not in cache.maps(explanation)


def test_the_winner_map_says_who_made_it():
    shown = calm_explanation().winner(2)
    assert isinstance(shown, WinnerMap) and shown.kind is READINGS["winner"] and calm_gui.WinnerMap is WinnerMap
