"""Writing files: never over another one unasked, never over what they are made from."""

import errno
import json
import os
import shutil

import pytest
from PIL import Image
from synthetic import SAMPLE
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import load_checkpoint
from calm_gui.errors import ExportError
from calm_gui.model.files import atomic_path, write_text
from calm_gui.render.figure_file import save_figure
from calm_gui.render.panel import save_overlay
from calm_training.cli import main as train_command
from calm_training.evaluate import main as evaluate_command


@pytest.mark.parametrize("link", [True, False], ids=["links", "a file system without links"])
def test_a_file_is_replaced_only_if_that_was_asked_for(tmp_path, monkeypatch, link):
    if not link:

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "x"
    write_text(path, "one")
    with pytest.raises(ExportError, match="already exists"):
        write_text(path, "two")
    assert path.read_text() == "one"
    write_text(path, "two", overwrite=True)
    assert path.read_text() == "two" and [p.name for p in tmp_path.iterdir()] == ["x"]


def test_of_two_that_write_one_name_at_once_the_second_is_refused(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(ExportError, match="already exists"), atomic_path(path) as temporary:
        temporary.write_text("late")
        write_text(path, "first")
    assert path.read_text() == "first" and [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("how", ["itself", "symbolic link", "hard link", "another spelling"])
def test_nothing_is_written_over_what_it_is_made_from(tmp_path, how):
    source = tmp_path / "source"
    source.write_text("input")
    target = tmp_path / "target"
    if how == "symbolic link":
        target.symlink_to(source)
    elif how == "hard link":
        target.hardlink_to(source)
    else:
        target = source if how == "itself" else tmp_path / "." / ".." / tmp_path.name / "source"
    with pytest.raises(ExportError, match="made from"):
        write_text(target, "output", overwrite=True, inputs=["no such file", source])
    assert source.read_text() == "input"


def test_no_export_replaces_its_picture_or_checkpoint(tmp_path):
    picture, checkpoint = tmp_path / "dog.png", tmp_path / "tiny.npz"
    Image.open(SAMPLE).resize((64, 64)).save(picture)
    write_tiny_checkpoint(tmp_path / "tiny.safetensors").rename(checkpoint)
    explanation = load_checkpoint(checkpoint, "cpu").explain(picture)
    before = {path: path.read_bytes() for path in (picture, checkpoint)}
    shown = explanation.attribution(0)
    for write, path in (
        (lambda p: save_figure(explanation.figure(shown, width=30), p), picture),
        (shown.save, checkpoint),
        (lambda p: save_overlay(shown, p), picture),
    ):
        with pytest.raises(ExportError, match="made from"):
            write(path)
    assert {path: path.read_bytes() for path in before} == before


def test_names_that_are_not_utf_8_are_written_as_escapes(tmp_path):
    odd = os.fsdecode(b"caf\xe9")
    write_text(tmp_path / "x.json", json.dumps({"name": odd}, ensure_ascii=False))
    assert json.loads((tmp_path / "x.json").read_text("utf-8")) == {"name": odd}


def test_a_checkpoint_is_exported_neither_over_another_nor_over_itself(tmp_path, capsys):
    tiny = write_tiny_checkpoint(tmp_path / "tiny.safetensors")
    other = tmp_path / "other.safetensors"
    shutil.copy(tiny, other)
    before = tiny.read_bytes()
    assert train_command(["export", str(tiny), "--out", str(other)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert train_command(["export", str(tiny), "--out", str(tiny), "--overwrite"]) == 1
    assert "made from" in capsys.readouterr().err
    assert tiny.read_bytes() == other.read_bytes() == before
    other.write_bytes(b"old")
    assert train_command(["export", str(tiny), "--out", str(other), "--overwrite"]) == 0
    assert other.read_bytes() != b"old"


@pytest.mark.parametrize("suffix", [".json", ".md", ".csv", ".png", ".svg"])
def test_an_evaluation_replaces_no_file_unasked(tmp_path, capsys, suffix):
    taken = (tmp_path / "results").with_suffix(suffix)
    taken.write_text("mine")
    arguments = ["accuracy", "--checkpoint", "demo", "--data", str(tmp_path), "--out", str(tmp_path / "results.json")]
    assert evaluate_command(arguments) == 1
    assert "already exists" in capsys.readouterr().err and taken.read_text() == "mine"
    assert evaluate_command([*arguments, "--overwrite"]) == 1
    assert "already exists" not in capsys.readouterr().err  # but that there is no data set


def test_a_table_and_its_numbers_never_share_a_file(tmp_path, capsys):
    arguments = ["accuracy", "--checkpoint", "demo", "--data", str(tmp_path), "--out", str(tmp_path / "results.md")]
    assert evaluate_command(arguments) == 1
    assert "use .json" in capsys.readouterr().err
