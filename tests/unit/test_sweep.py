"""Interrupted evaluations go on, and give what an uninterrupted one gives."""

import json
from pathlib import Path

import pytest
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.api import load_checkpoint
from calm_gui.errors import DataError
from calm_gui.model.loaded import LoadedModel, load_model
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.datasets.split import split_by_hash
from calm_training.evaluate import main
from calm_training.evaluate import sweep as module
from calm_training.evaluate.evaluation import EVALUATIONS, Plan
from calm_training.evaluate.maps import map_names, maps_of
from calm_training.evaluate.plan import journal_of, read_set
from calm_training.evaluate.sweep import SweepOptions
from calm_training.evaluate.wsol import box_accuracy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven pictures with boxes and masks, and two checkpoints."""
    root = write_tiny_set(tmp_path_factory.mktemp("set"), 7)
    for method in ("calm-em", "cam"):
        write_tiny_checkpoint(root / f"{method}.safetensors", method)
    return root


def command(folder: Path, out: Path, name: str = "wsol", *more: str) -> list[str]:
    checkpoints = [part for m in ("calm-em", "cam") for part in ("--checkpoint", str(folder / f"{m}.safetensors"))]
    return [name, *checkpoints, "--data", str(folder), "--quiet", "--device", "cpu", "--out", str(out), *more]


def written(out: Path) -> tuple[bytes, bytes]:
    return out.read_bytes(), out.with_suffix(".svg").read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "wsol",
        "accuracy",
        pytest.param("removal", marks=pytest.mark.slow),
        pytest.param("axioms", marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_evaluation_goes_on_to_the_same_results(folder, tmp_path, monkeypatch, capsys, name):
    whole, broken = tmp_path / "whole.json", tmp_path / "broken.json"
    part = ("--select", "3") if name in ("removal", "axioms") else ()
    assert main(command(folder, whole, name, *part)) == 0
    journal = tmp_path / "broken.json.journal"

    passes = 0
    original = LoadedModel.raw

    def raw(self, inputs):
        nonlocal passes
        passes += 1
        if passes == stop:
            raise KeyboardInterrupt
        return original(self, inputs)

    monkeypatch.setattr(LoadedModel, "raw", raw)
    for stop in (5, 60 if part else 6, 0):  # the last time nothing interrupts
        passes = 0
        resume = ("--resume",) if journal.exists() else ()
        assert main(command(folder, broken, name, *part, *resume, "--workers", "2")) == (130 if stop else 0)
    assert not journal.exists()
    assert written(broken) == written(whole)
    capsys.readouterr()


def test_a_finished_picture_is_not_computed_again(folder, tmp_path, monkeypatch):
    evaluation = Plan("wsol", folder)
    pictures = read_set(evaluation)
    model = load_model(folder / "calm-em.safetensors", "cpu")
    journal = journal_of(evaluation, tmp_path / "j", pictures, resume=False)
    first = box_accuracy(model, pictures.pictures, options=SweepOptions(journal=journal))
    # A line that was cut off by a crash doesn't count.
    with (tmp_path / "j").open("a") as file:
        file.write('{"checkpoint": "')
    monkeypatch.setattr(model, "raw", None)
    again = journal_of(evaluation, tmp_path / "j", pictures, resume=True)
    assert box_accuracy(model, pictures.pictures, options=SweepOptions(journal=again)) == first


def test_other_settings_and_other_files_are_not_gone_on_with(folder, tmp_path, capsys):
    out = tmp_path / "a.json"
    evaluation = Plan("wsol", folder)
    journal_of(evaluation, tmp_path / "a.json.journal", read_set(evaluation), resume=False)
    assert main(command(folder, out, "wsol", "--contours", "largest", "--resume")) == 1
    assert "other settings" in capsys.readouterr().err
    (tmp_path / "a.json.journal").write_text("nothing\n")
    assert main(command(folder, out, "wsol", "--resume")) == 1
    assert "isn't the journal" in capsys.readouterr().err
    assert main(["wsol", "--checkpoint", "demo", "--data", str(folder), "--resume"]) == 2


def test_an_error_in_a_thread_comes_out(folder, monkeypatch):
    def broken(*_):
        raise DataError("not this one")

    monkeypatch.setattr(module, "load_picture", broken)
    pictures = read_set(Plan("wsol", folder)).pictures
    with pytest.raises(DataError, match="not this one"):
        box_accuracy(load_model(folder / "cam.safetensors", "cpu"), pictures)


@pytest.mark.slow
def test_every_reading_and_method_is_measured(folder, tmp_path, capsys):
    names = [part for name in map_names() for part in ("--method", name)]
    for name in ("wsol", "removal"):
        assert main(command(folder, tmp_path / f"{name}.json", name, "--select", "1", *names, "--json")) == 0
        content = json.loads(capsys.readouterr().out)
        assert content == json.loads((tmp_path / f"{name}.json").read_text())
        calm, cam = (set(result["maps"]) for result in content["results"].values())
        assert calm | cam == set(map_names()) - {"legrad"}  # of transformers; these are convolutional
        assert "grad_cam" in calm & cam and "conditional" not in cam
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(DataError, match="'magic'"):
        Plan("wsol", folder, maps=("magic",))
    with pytest.raises(DataError, match="has no map saliency"):
        maps_of(load_model(folder / "cam.safetensors", "cpu"), ["saliency"])


@pytest.mark.shared
@pytest.mark.slow
def test_scoring_boxes_hides_behind_the_network(shared):
    """At most a fifth of the time goes by while the network waits, whatever else runs on the machine."""
    pictures, _ = split_by_hash(read_boxes_csv(shared / "data/imagenet-val-boxes/index.csv"), 200)
    model = load_checkpoint("demo", "cpu")
    box_accuracy(model, pictures[:4])  # numba compiles
    options = SweepOptions()
    box_accuracy(model, pictures, options=options)
    assert options.seconds["network"] > 0.8 * options.seconds["total"]


def test_the_exact_accuracy_stands_beside_the_benchmarks(tmp_path):
    model = load_model(write_tiny_checkpoint(tmp_path / "tiny.safetensors"), "cpu")
    pictures = read_boxes_csv(write_tiny_set(tmp_path, 6) / "index.csv")
    both, exact = (box_accuracy(model, pictures, mode=mode) for mode in ("benchmark", "exact"))
    for name, scores in both.maps.items():
        assert scores.exact == exact.maps[name].max_box_acc_v2
        assert both.estimates[name]["MaxBoxAccV2 exact"] == exact.estimates[name]["MaxBoxAccV2"]
        assert exact.maps[name].exact is None
    (table,) = EVALUATIONS["wsol"].tables({"tiny": both})
    assert table.head[4:6] == ("MaxBoxAccV2", "MaxBoxAccV2 exact") and all(
        len(row) == len(table.head) for row in table.rows
    )
