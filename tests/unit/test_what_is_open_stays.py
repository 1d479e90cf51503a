"""State changes after validation: what can't be opened never empties what is open; memory has a bound."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inline_runner import InlineRunner
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.model.answers import Answers
from calm_gui.model.loaded import LoadedModel, load_model
from calm_gui.session import open_models
from calm_gui.session.open_models import OpenModels
from calm_gui.session.pane import Pane
from calm_gui.session.workspace import Workspace


def _picture(path: Path, seed: int = 0) -> Path:
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (80, 100, 3), dtype=np.uint8)).save(path)
    return path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("runs")
    for i in range(4):
        (root / f"run{i}").mkdir()
        write_tiny_checkpoint(root / f"run{i}" / "best.safetensors", seed=i)
    return [str(root / f"run{i}" / "best.safetensors") for i in range(4)]


def _load(path: str, device: str, progress: Callable[[str], None], answers: Answers) -> LoadedModel:
    return load_model(path, "cpu", answers=answers)


@pytest.fixture
def workspace(keys: list[str], tmp_path: Path) -> Workspace:
    made = Workspace(keys[0], InlineRunner(), _load)
    made.told = []  # type: ignore[attr-defined]
    made.on_complaint(made.told.append)  # type: ignore[attr-defined]
    made.open_pictures([_picture(tmp_path / f"{i}.png", i) for i in range(3)])
    return made


def _shows_what_it_did(workspace: Workspace, before: Any) -> None:
    assert workspace.state == before
    assert all(content.shown is not None for content in workspace.scene.panes)
    assert workspace.told[-1]  # type: ignore[attr-defined]


def _bad(folder: Path, kind: str) -> Path:
    path = folder / f"bad.{kind}"
    whole = _picture(folder / "whole.png", 9).read_bytes()
    path.write_bytes(
        {
            "png": whole[: len(whole) // 2],
            "md": b"# notes\n",
            "jpg": b"",
            "pdf": b"%PDF-1.7\n\xff\xfe",
            "zip": b"PK\3\4",
        }[kind]
    )
    return path


@pytest.mark.parametrize("kind", ["png", "md", "jpg", "pdf", "zip"])
def test_a_file_that_is_no_picture_leaves_the_open_pictures(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    before = workspace.state
    (tmp_path / "other").mkdir()
    path = _bad(tmp_path / "other", kind)
    workspace.open_pictures([path])
    _shows_what_it_did(workspace, before)
    assert path.name in workspace.told[-1]  # type: ignore[attr-defined]


def test_several_of_which_none_opens_leave_them_too_and_one_that_opens_is_shown(
    workspace: Workspace, tmp_path: Path
) -> None:
    before = workspace.state
    (tmp_path / "other").mkdir()
    bad = [_bad(tmp_path / "other", kind) for kind in ("png", "jpg")]
    workspace.open_pictures(bad)
    _shows_what_it_did(workspace, before)
    assert "1 more can't be opened either" in workspace.told[-1]  # type: ignore[attr-defined]
    good = _picture(tmp_path / "other" / "good.png", 5)
    workspace.open_pictures([*bad, good])
    assert workspace.state.picture == str(good)
    assert bad[0].name in workspace.told[-1]  # type: ignore[attr-defined]
    workspace.open_pictures([tmp_path / "0.png"])
    assert workspace.told[-1] == ""  # type: ignore[attr-defined]


def test_an_exception_of_any_kind_while_decoding_leaves_them_as_well(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = workspace.state
    other = _picture(tmp_path / "other.png", 7)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(workspace.compute, "_load_picture", fail)
    workspace.open_pictures([other])
    assert workspace.state == before
    assert "isn't enough memory" in workspace.told[-1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("fault", ["checkpoint cut", "checkpoint gone", "pictures gone", "session cut"])
def test_a_session_that_cannot_be_opened_leaves_what_is_open(
    workspace: Workspace, keys: list[str], tmp_path: Path, fault: str
) -> None:
    other = Workspace(keys[1], InlineRunner(), _load)
    (tmp_path / "there").mkdir()
    picture = _picture(tmp_path / "there" / "p.png")
    checkpoint = tmp_path / "there" / "best.safetensors"
    checkpoint.write_bytes(Path(keys[1]).read_bytes())
    other.open_checkpoint(checkpoint)
    other.open_pictures([picture])
    path = tmp_path / "s.calm.json"
    other.save_session(path)
    if fault == "checkpoint cut":
        checkpoint.write_bytes(checkpoint.read_bytes()[:50_000])
    elif fault == "checkpoint gone":
        checkpoint.unlink()
    elif fault == "pictures gone":
        picture.unlink()
    else:
        path.write_bytes(path.read_bytes()[:100])
    before = workspace.state
    workspace.open_session(path)
    _shows_what_it_did(workspace, before)
    if fault == "checkpoint gone":
        assert "isn't here. When it was saved it showed: Attribution" in workspace.told[-1]  # type: ignore[attr-defined]


def test_a_checkpoint_that_cannot_be_opened_leaves_what_is_open(workspace: Workspace, tmp_path: Path) -> None:
    before = workspace.state
    (tmp_path / "bad.safetensors").write_bytes(b"\x10" * 100)
    workspace.open_checkpoint(tmp_path / "bad.safetensors")
    _shows_what_it_did(workspace, before)


@pytest.mark.parametrize("what", ["checkpoint", "picture", "nothing"])
def test_what_has_changed_since_a_session_was_saved_is_told(
    workspace: Workspace, keys: list[str], tmp_path: Path, what: str
) -> None:
    """Also where the classes are called the same, so that nothing else would show it."""
    checkpoint = tmp_path / "best.safetensors"
    checkpoint.write_bytes(Path(keys[1]).read_bytes())
    workspace.open_checkpoint(checkpoint)
    workspace.save_session(tmp_path / "s.calm.json")
    saved = json.loads((tmp_path / "s.calm.json").read_text())
    assert {name for name, _ in saved["hashes"]} >= {"0.png", "best.safetensors"}
    if what == "checkpoint":
        checkpoint.write_bytes(Path(keys[2]).read_bytes())
    elif what == "picture":
        _picture(tmp_path / "0.png", 9)
    again = Workspace(keys[0], InlineRunner(), _load)
    told: list[str] = []
    again.on_complaint(told.append)
    assert again.open_session(tmp_path / "s.calm.json") is not None
    again.show_picture(1)
    again.show_picture(0)
    changed = {"checkpoint": "best.safetensors", "picture": "0.png"}.get(what)
    assert [sentence for sentence in told if sentence] == (
        [f"Since the session was saved, {changed} changed; maps and numbers may differ from what it showed"]
        if changed
        else []
    )


@pytest.mark.parametrize("hashes", [[["p.png"]], {"p.png": 1}, 5, ["x"]])
def test_hashes_of_a_session_that_make_no_sense_refuse_it(workspace: Workspace, tmp_path: Path, hashes: Any) -> None:
    workspace.save_session(tmp_path / "s.calm.json")
    data = json.loads((tmp_path / "s.calm.json").read_text())
    (tmp_path / "s.calm.json").write_text(json.dumps({**data, "hashes": hashes}))
    assert workspace.open_session(tmp_path / "s.calm.json") is None


# Memory


def test_the_least_recently_used_model_goes(keys: list[str]) -> None:
    models = [load_model(key, "cpu") for key in keys]
    size = models[0].weight_bytes
    assert size > 1e6
    kept = OpenModels(int(2.5 * size))
    kept.keep("a", models[0])
    kept.keep("b", models[1])
    assert kept.get("a") is models[0]  # so that b is the one that wasn't used
    kept.keep("c", models[2])
    assert [key in kept for key in "abc"] == [True, False, True]
    OpenModels(1).keep("alone", models[3])
    assert open_models.MOST_BYTES == 512 * 2**20


def test_checkpoints_opened_in_turn_are_unloaded_and_come_back(
    workspace: Workspace, keys: list[str], tmp_path: Path
) -> None:
    size = workspace.compute.models.get(keys[0]).weight_bytes  # type: ignore[union-attr]
    workspace.compute.models = OpenModels(int(2.5 * size))
    for key in keys:
        workspace.open_checkpoint(key)
    assert [key in workspace.compute.models for key in keys] == [False, False, True, True]
    workspace.set_panes([Pane(checkpoint=key) for key in keys])
    workspace.show_picture(1)
    assert all(content.shown is not None for content in workspace.scene.panes)
    assert len(workspace.compute.models) == 2


def test_a_checkpoint_can_be_closed_and_its_panes_go(workspace: Workspace, keys: list[str]) -> None:
    workspace.open_checkpoint(keys[1])
    workspace.set_panes([Pane(checkpoint=keys[0]), Pane(checkpoint=keys[1]), Pane()])
    workspace.close_checkpoint(keys[1])
    assert "is the chosen checkpoint" in workspace.told[-1]  # type: ignore[attr-defined]
    assert keys[1] in workspace.compute.models
    workspace.close_checkpoint(keys[0])
    assert keys[0] not in workspace.compute.models and keys[0] not in workspace.compute.infos
    assert [pane.checkpoint for pane in workspace.state.panes] == [keys[1], None]
    assert {content.source for content in workspace.scene.panes} == {""}  # one is open again
    workspace.store.undo()
    assert all(content.shown is not None for content in workspace.scene.panes)


def test_a_file_that_was_trained_on_is_explained_anew(workspace: Workspace, keys: list[str], tmp_path: Path) -> None:
    path = tmp_path / "best.safetensors"
    path.write_bytes(Path(keys[1]).read_bytes())
    workspace.open_checkpoint(path)
    before = workspace.scene.explanation
    path.write_bytes(Path(keys[2]).read_bytes())
    workspace.open_checkpoint(path)
    after = workspace.scene.explanation
    assert before is not None and after is not None
    assert after.source["checkpoint"]["sha256"] != before.source["checkpoint"]["sha256"]
    assert not np.allclose(before.class_probabilities, after.class_probabilities)
    assert "has changed" in workspace.told[-1]  # type: ignore[attr-defined]
