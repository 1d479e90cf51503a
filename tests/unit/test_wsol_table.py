"""The table of methods: its cells go on where they were, its pictures are those of its classes, the paper's figures."""

import csv
import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from calm_gui.errors import DataError
from calm_gui.model.imagenet import imagenet_classes
from calm_training import wsol_table
from calm_training.trainer import Task
from calm_training.wsol_table import PAPER, ROWS, cells, main, table_of_cells

WNIDS = ("n01440764", "n02102040", "n02087394", "n02089973")
SETTINGS = (
    *("model.backbone=timm:test_efficientnet", "model.weights=none", "model.freeze=''", "model.input.size=64"),
    *("run.device=cpu", "run.workers=0", "optimizer.batch=4"),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Both training sets with two classes each, and boxes of these and of another class."""
    generator = np.random.default_rng(0)

    def noise(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(path)

    for name, wnids in zip(wsol_table.TRAINING_SETS, (WNIDS[:2], WNIDS[2:]), strict=True):
        for wnid in wnids:
            for i in range(3):
                noise(tmp_path / name / wnid / f"{i}.png")
    index = {info.wnid: info.index for info in imagenet_classes()}
    rows = [("file", "class_index", "width", "height", "boxes")]
    for number, wnid in enumerate([*WNIDS, *WNIDS, "n03126707"]):
        noise(tmp_path / f"imagenet-val-boxes/{number}.png")
        rows.append((f"{number}.png", str(index[wnid]), "64", "64", "10 10 50 50"))
    with (tmp_path / "imagenet-val-boxes/index.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path


def test_cells_are_written_as_they_end_and_gone_on_with(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wsol_table, "ROWS", ("cam", "calm-em+has"))
    monkeypatch.setattr(wsol_table, "SEEDS", (0, 1))
    monkeypatch.setattr(wsol_table, "CHOSEN_ON", 1)
    out = tmp_path / "cells.json"
    command = ["--data", str(data), "--work", str(tmp_path / "work"), "--out", str(out)]
    command += [part for setting in SETTINGS for part in ("--set", setting)]
    assert main([*command, "--hours", "1e-9"]) == 0
    assert list(json.loads(out.read_text())) == ["cam/0"]
    assert "1e-09 hours of training are over; 1 cells are done" in capsys.readouterr().out
    first = out.read_text()
    assert main(command) == 0
    done = json.loads(out.read_text())
    assert list(done) == ["cam/0", "calm-em+has/0", "cam/1", "calm-em+has/1"]
    assert done["cam/0"] == json.loads(first)["cam/0"]  # not trained again
    assert {cell["pictures"] for cell in done.values()} == {8 if chosen_is_another(data) else 7}
    assert len({cell["sha256"] for cell in done.values()}) == 4
    table = capsys.readouterr().out
    assert re.search(r"\| cam \| 2 \| [\d.]+ ± [\d.]+ \| [\d.]+ ± [\d.]+ \| 62.4 \|", table)


def test_the_page_gets_the_table_without_training(tmp_path, capsys):
    page, out = tmp_path / "page.md", tmp_path / "cells.json"
    out.write_text(
        json.dumps({"spg-narrow/1": {"top-1": 0.5, "MaxBoxAccV2": 0.625, "pictures": 700, "seconds": 1800.0}})
    )
    page.write_text("Before.\n\n<!-- wsol-methods -->\n<!-- end -->\n\nAfter.\n")
    command = ["--data", str(tmp_path / "nowhere"), "--out", str(out), "--hours", "0", "--page", str(page)]
    for _ in range(2):  # the second time it replaces its own table
        assert main(command) == 0
        text = page.read_text()
        assert text.startswith("Before.\n") and text.endswith("After.\n")
        assert text.count("| spg-narrow | 1 | 50.0 | 62.5 | 62.2 |") == 1
        assert "| calm-em+cutmix | not yet |  |  |  |" in text
        assert "1 of 36 cells are trained, measured on 700 pictures each, 0.5 hours in all" in text
    page.write_text("no place")
    assert main(command) == 1
    out.write_text("{")
    assert main(command) == 1
    assert "cells.json isn't a table of cells" in capsys.readouterr().err


def test_an_interrupted_cell_is_gone_on_with(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wsol_table, "ROWS", ("cam",))
    monkeypatch.setattr(wsol_table, "SEEDS", (0,))
    monkeypatch.setattr(wsol_table, "CHOSEN_ON", 1)
    steps, forward = [], Task.forward

    def interrupting(*arguments):
        steps.append(1)
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return forward(*arguments)

    monkeypatch.setattr(Task, "forward", interrupting)
    command = ["--data", str(data), "--work", str(tmp_path / "work"), "--out", str(tmp_path / "cells.json")]
    command += [part for setting in (*SETTINGS, "optimizer.batch=2") for part in ("--set", setting)]
    assert main(command) == 130
    assert "interrupted in epoch 1" in capsys.readouterr().err
    assert not (tmp_path / "cells.json").exists()
    first_leg = json.loads((tmp_path / "work/cam-0-time.json").read_text())["seconds"]
    assert main(command) == 0
    assert list(json.loads((tmp_path / "cells.json").read_text())) == ["cam/0"]
    assert len(steps) == 8  # two epochs of eight pictures, two at a time, none of them done twice
    spent = json.loads((tmp_path / "cells.json").read_text())["cam/0"]["seconds"]
    assert spent > first_leg > 0  # its hours are those of both


def test_rows_can_be_chosen(capsys):
    assert list(cells(("spg", "cam")))[:3] == [("spg", 0), ("cam", 0), ("spg", 1)]
    with pytest.raises(SystemExit):
        main(["--data", "x", "--method", "inca"])
    assert "invalid choice: 'inca'" in capsys.readouterr().err


def chosen_is_another(data: Path) -> bool:
    """Whether the picture that is kept apart is the one of the class that isn't trained."""
    pictures = wsol_table.read_boxes_csv(data / "imagenet-val-boxes/index.csv")
    (chosen,), _ = wsol_table.split_by_hash(pictures, 1)
    return chosen.path.name == "8.png"


def test_means_and_intervals_are_student_s():
    done = {f"adl/{seed}": {"top-1": value, "MaxBoxAccV2": 0.5} for seed, value in enumerate((0.60, 0.62, 0.67))}
    row = next(line for line in table_of_cells(done).splitlines() if line.startswith("| adl "))
    half = 4.302653 * np.std([60, 62, 67], ddof=1) / np.sqrt(3)
    assert row == f"| adl | 3 | 63.0 ± {half:.1f} | 50.0 ± 0.0 | 61.6 |"
    assert "| inca-reading | 1 | 60.0 | 50.0 |  |\n" in table_of_cells({"inca-reading/0": done["adl/0"]})


def test_every_method_has_a_seed_before_any_has_two():
    names = list(cells())
    assert names[: len(ROWS)] == [(method, 0) for method in ROWS]
    assert len(names) == 3 * len(ROWS)


def test_what_is_missing_is_named(data, tmp_path, capsys):
    assert main(["--data", str(tmp_path / "no"), "--work", str(tmp_path / "w"), "--out", str(tmp_path / "o.json")]) == 1
    assert "there is no folder" in capsys.readouterr().err
    work = tmp_path / "work"
    wsol_table.training_folder(data, work)
    assert sorted(path.name for path in (work / "pictures/train").iterdir()) == sorted(WNIDS)
    wsol_table.training_folder(data, work)
    (data / "imagewoof-train" / WNIDS[0]).mkdir()
    with pytest.raises(DataError, match="is of another set"):
        wsol_table.training_folder(data, work)


@pytest.mark.shared
def test_the_paper_s_figures_are_the_paper_s(shared):
    """Mean over the backbones on ImageNet, the fourth number of a row of the supplement's table."""
    text = (shared / "paper/calm-iccv2021.tex").read_text("utf-8")
    names = {"has": "HaS", "acol-narrow": "ACoL", "spg-narrow": "SPG", "adl": "ADL", "cutmix": "CutMix", "cam": "CAM"}
    for method, name in names.items():
        rows = [
            re.findall(r"\d\d\.\d", line)
            for line in text.splitlines()
            if re.match(rf"\s*{name}~\\cite\{{{name}\}} &", line)
        ]
        whole = next(row for row in rows if len(row) == 13)
        assert PAPER[method] == float(whole[3])
