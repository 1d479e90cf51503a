"""A batch from the window: rows come one by one, other work comes between, what is done stays done."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import load_checkpoint
from calm_gui.errors import ExportError
from calm_gui.session.batch import BatchPlan
from calm_gui.session.batch_run import BatchRun, BatchWork
from calm_gui.session.jobs import Job
from calm_gui.session.summary_columns import COLUMNS
from calm_gui.session.truth import GroundTruth


class Steps:
    """A runner that does one job when it's told to."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        self.jobs.append(job)

    def cancel(self, token: object) -> None: ...

    def close(self) -> None: ...

    def step(self) -> None:
        job = self.jobs.pop(0)
        try:
            result = job.work(job)
        except Exception as error:
            job.failed(error)
        else:
            job.done(result)

    def all(self) -> None:
        while self.jobs:
            self.step()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_checkpoint(write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny.safetensors"), "cpu")


@pytest.fixture
def pictures(tmp_path) -> list[str]:
    random = np.random.default_rng(1)
    paths = [tmp_path / f"p{number}.png" for number in range(4)]
    for path in paths:
        Image.fromarray(random.integers(0, 255, (50, 40, 3)).astype(np.uint8)).save(path)
    paths[1].write_text("no picture")
    return [str(path) for path in paths]


def a_run(model, pictures, out=None, formats=()):
    steps = Steps()
    seen: list[str] = []
    work = BatchWork(
        lambda _: model,
        "tiny",
        "tiny.safetensors",
        pictures,
        BatchPlan(formats=formats),
        GroundTruth(),
        out,
        lambda path, _: seen.append(path),
    )
    return BatchRun(work, steps, lambda: None), steps, seen


def names_in(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [Path(row["file"]).name for row in csv.DictReader(file)]


def test_rows_arrive_while_it_runs_and_need_no_folder(model, pictures):
    run, steps, seen = a_run(model, pictures)
    run.start()
    steps.step()
    assert run.running and [Path(row.picture).name for row in run.rows] == ["p0.png"]
    assert run.rows[0].thumbnail.shape[2] == 3 and max(run.rows[0].thumbnail.shape) <= 64
    assert list(run.rows[0].values) == list(COLUMNS)
    steps.all()
    assert not run.running and len(run.rows) == 3 and len(run.failed) == 1
    assert [Path(path).name for path in seen] == ["p0.png", "p2.png", "p3.png"]
    assert "4 pictures, 1 failed: p1.png" in run.words
    assert sorted(p.name for p in Path(pictures[0]).parent.iterdir()) == ["p0.png", "p1.png", "p2.png", "p3.png"]


def test_one_job_is_one_picture_so_that_other_work_comes_between(model, pictures):
    run, steps, _ = a_run(model, pictures)
    run.start()
    for done in range(4):
        assert len(steps.jobs) == 1 and steps.jobs[0].urgency > 0 and len(run.results) == done
        steps.step()


def test_what_is_done_stays_after_a_stop_and_the_older_summary_is_moved(model, pictures, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "summary.csv").write_text("of another batch", "utf-8")
    run, steps, _ = a_run(model, pictures, out, ("npz",))
    run.start()
    steps.step()
    steps.step()
    steps.step()
    run.stop()
    steps.all()
    assert run.stopped and not run.running and len(run.rows) == 2
    assert names_in(out / "summary.csv") == ["p0.png", "p2.png"]
    assert (out / "earlier-summary.csv").read_text("utf-8") == "of another batch"
    assert len(list(out.glob("*.npz"))) == 2
    assert "stopped after 3 of 4 pictures" in run.words and "earlier-summary.csv" in run.words


def test_what_is_done_is_on_disk_at_once_should_the_program_be_killed(model, pictures, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    run, steps, _ = a_run(model, pictures, out)
    run.start()
    assert names_in(out / "summary.csv") == []
    steps.step()
    assert names_in(out / "summary.csv") == ["p0.png"]


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_computed(model, pictures, tmp_path):
    run, steps, _ = a_run(model, pictures, tmp_path / "nowhere")
    with pytest.raises(ExportError, match="nowhere"):
        run.start()
    assert not steps.jobs and not run.running


def test_rows_stay_when_the_disk_is_full(model, pictures, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    run, steps, _ = a_run(model, pictures, out)
    run.start()
    steps.step()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    steps.all()
    monkeypatch.undo()
    assert not run.running and "No space left" in run.error and len(run.rows) == 1
    assert names_in(out / "summary.csv") == ["p0.png"]
