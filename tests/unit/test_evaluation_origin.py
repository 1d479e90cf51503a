"""What an evaluation is made from: classes that are those of the checkpoint, and a set and checkpoint that stay."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.model.answers import Answers
from calm_gui.model.loaded import load_model
from calm_training.evaluate.cli import main


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("ck") / "tiny.safetensors")


@pytest.fixture
def data(tmp_path) -> Path:
    root = tmp_path / "data"
    root.mkdir()
    write_tiny_set(root, 3)
    return root


def change(data: Path, **columns) -> None:
    """Set columns of the table by functions of the class index."""
    with (data / "index.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        index = int(row["class_index"])
        row.update({name: value(index) for name, value in columns.items()})
    with (data / "index.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("command", ["accuracy", "wsol"])
def test_wnids_beside_numbers_must_be_the_checkpoints(tiny, data, capsys, command):
    classes = load_model(tiny, "cpu").classes
    arguments = [command, "--checkpoint", str(tiny), "--data", str(data), "--quiet"]
    change(data, wnid=lambda i: classes[i].wnid or "")
    assert main(arguments) == 0, capsys.readouterr().err
    change(data, wnid=lambda i: f"n0208562{i}")
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "n02085620" in said and "3 classes differ" in said and "column class" in said and "Traceback" not in said


@pytest.mark.parametrize("command", ["accuracy", "wsol"])
def test_numbers_beyond_the_checkpoints_are_refused(tiny, data, capsys, command):
    change(data, class_index=lambda i: str(i + 100))
    assert main([command, "--checkpoint", str(tiny), "--data", str(data), "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "the checkpoint has 6 classes" in said and "unexpected" not in said


@pytest.mark.slow
@pytest.mark.parametrize("change_what", ["checkpoint", "picture", "table", "nothing"])
def test_a_report_measures_again_what_has_changed(tiny, data, tmp_path, monkeypatch, capsys, change_what):
    from calm_training.evaluate import report

    checkpoint = tmp_path / "best.safetensors"
    shutil.copy(tiny, checkpoint)
    arguments = [
        "report",
        str(checkpoint),
        "--data",
        str(data),
        "--out",
        str(tmp_path / "out"),
        "--slow",
        "1",
        "--quiet",
    ]
    assert main(arguments) == 0, capsys.readouterr().err
    match change_what:
        case "checkpoint":
            checkpoint.unlink()
            write_tiny_checkpoint(checkpoint, seed=5)
        case "picture":
            for path in sorted(data.glob("*.png"))[:1]:
                path.write_bytes(path.read_bytes() + b"\0")
        case "table":
            change(data, boxes=lambda _: "1 1 40 40")
    measured = []
    measure = report.measure
    monkeypatch.setattr(report, "measure", lambda *a: measured.append(a[0].command) or measure(*a))
    assert main([*arguments, "--resume"]) == 0, capsys.readouterr().err
    assert bool(measured) == (change_what != "nothing")


@pytest.mark.shared
def test_a_table_of_other_numbers(shared, capsys):
    folder = shared / "trials/inputs/eval_names_disagree"
    assert main(["wsol", "--checkpoint", "demo", "--data", str(folder), "--quiet"]) == 1
    assert "n02085620" in capsys.readouterr().err


@pytest.mark.shared
def test_a_checkpoint_read_in_another_way_has_results_of_its_own(shared):
    path = shared / "trials/inputs/checkpoints/ck_order_a.pth.tar"
    one, other = (load_model(path, "cpu", answers=Answers("calm-em", kind, False)) for kind in ("relu", "softplus"))
    assert one.sha256 == other.sha256 and one.identity != other.identity


def test_ours_are_known_by_their_hash(tiny):
    model = load_model(tiny, "cpu")
    assert model.identity == model.sha256 == json.loads(json.dumps(model.sha256))


def test_a_checkpoint_that_fails_leaves_the_results_of_the_others(tiny, data, tmp_path, capsys):
    bad = tmp_path / "bad.safetensors"
    content = tiny.read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    bad.write_bytes(content[:length] + b"\xff" * (len(content) - length))  # NaN everywhere
    arguments = ["accuracy", "--data", str(data), "--quiet", "--out", str(tmp_path / "r.json")]
    assert main([*arguments, "--checkpoint", str(bad), "--checkpoint", str(tiny)]) == 1
    assert "1 of 2 checkpoints have no results" in capsys.readouterr().err
    assert list(json.loads((tmp_path / "r.json").read_text())["results"]) == [str(tiny)]
    assert main([*arguments, "--overwrite", "--checkpoint", str(bad)]) == 1
    assert "NaN" in capsys.readouterr().err


def test_an_interrupted_evaluation_is_not_given_up_unasked(tiny, data, tmp_path, monkeypatch, capsys):
    from calm_training.evaluate.journal import Journal

    add = Journal.add

    def interrupted(self, *counts):
        add(self, *counts)
        raise KeyboardInterrupt

    arguments = [
        "accuracy",
        "--data",
        str(data),
        "--quiet",
        "--out",
        str(tmp_path / "r.json"),
        "--checkpoint",
        str(tiny),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", interrupted)
        assert main(arguments) == 130
    before = (tmp_path / "r.json.journal").read_bytes()
    assert main(arguments) == 1
    assert "--resume" in capsys.readouterr().err and (tmp_path / "r.json.journal").read_bytes() == before
    assert main([*arguments, "--resume"]) == 0
    assert not (tmp_path / "r.json.journal").exists()
