"""Batches: one failure ends one picture, a resumed batch is made from the same, and no output takes another's place."""

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import load_checkpoint
from calm_gui.cli import main
from calm_gui.cli.loading import marks_of
from calm_gui.core.comparison import distinct_ends
from calm_gui.core.geometry import Box
from calm_gui.errors import DataError
from calm_gui.model.answers import Answers
from calm_gui.model.loaded import LoadedModel, load_model
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.session import batch
from calm_gui.session.batch import BatchPlan, run_batch
from calm_gui.session.exports import PlannedExport
from calm_gui.session.output_names import free_name
from calm_gui.session.reproduce import reproduce
from calm_gui.session.request import Request
from calm_gui.session.truth import GroundTruth

SMALL = FigureSpec(width=30, dpi=60, font_size=4)
PLAN = BatchPlan(Request(), ("npz",), SMALL)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny.safetensors")


@pytest.fixture(scope="module")
def model(tiny):
    return load_checkpoint(tiny, "cpu")


@pytest.fixture
def pictures(tmp_path) -> list[str]:
    random = np.random.default_rng(1)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in "abcde":
        Image.fromarray(random.integers(0, 255, (50, 60, 3), np.uint8)).save(folder / f"{name}.png")
    return [str(folder / f"{name}.png") for name in "abcde"]


# One failure ends its own thing

FAILURES = [
    *(RuntimeError("CUDA error: odd"), MemoryError(), ValueError("bad"), OSError(28, "No space left"), KeyError("x")),
    *(RecursionError(), ZeroDivisionError(), UnicodeEncodeError("utf-8", "\udcff", 0, 1, "no"), AssertionError()),
    *(StopIteration(), TypeError("kind"), DataError("a sentence")),
]
SEAMS = ["decode", "prepare", "forward", "maps", "summary", "paint", "write"]


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("failure", FAILURES, ids=lambda error: type(error).__name__)
def test_whatever_fails_wherever_ends_one_picture(model, pictures, tmp_path, monkeypatch, seam, failure):
    """Every kind of exception at every seam of the third of five pictures: the others are done."""
    calls = []

    def third(*_, **__):
        calls.append(1)
        if len(calls) == 3:
            raise failure

    def failing(function):
        def called(*arguments, **options):
            third()
            return function(*arguments, **options)

        return called

    if seam == "decode":
        load = batch.load_picture
        monkeypatch.setattr(batch, "load_picture", lambda path: _raise(failure) if path == pictures[2] else load(path))
    elif seam == "prepare":
        prepare = LoadedModel.prepare

        def prepared(self, picture):
            if str(picture.path) == pictures[2]:
                raise failure
            return prepare(self, picture)

        monkeypatch.setattr(LoadedModel, "prepare", prepared)
    elif seam == "forward":
        raw, seen = LoadedModel.raw, []

        def forward(self, inputs):
            seen.append(1)
            if len(seen) in (3, 4):  # the batch of one, and once more by itself
                raise failure
            return raw(self, inputs)

        monkeypatch.setattr(LoadedModel, "raw", forward)
    elif seam == "maps":
        monkeypatch.setattr(Request, "maps", failing(Request.maps))
    elif seam == "summary":
        monkeypatch.setattr(batch, "summary_row", failing(batch.summary_row))
    else:
        plans = batch.planned_exports

        def planned(*arguments):
            def write(path: Path) -> None:
                third()
                path.write_bytes(b"x")

            if seam == "paint":
                third()
                return plans(*arguments)
            return [PlannedExport(export.name, write) for export in plans(*arguments)]

        monkeypatch.setattr(batch, "planned_exports", planned)
    out = tmp_path / "out"
    out.mkdir()
    results = list(run_batch(model, pictures, PLAN, out, journal=out / "batch.jsonl"))
    assert [bool(result.error) for result in results] == [False, False, True, False, False]
    assert "Traceback" not in results[2].error and "\n" not in results[2].error and results[2].error
    assert sum(bool(result.rows) for result in results) == 4 and len(list(out.glob("[abde].*.npz"))) == 4


def _raise(error: BaseException):
    raise error


def test_the_command_lists_the_picture_and_writes_the_rest(tiny, pictures, tmp_path, monkeypatch, capsys):
    load = batch.load_picture
    odd = RuntimeError("odd")
    monkeypatch.setattr(batch, "load_picture", lambda path: _raise(odd) if path == pictures[2] else load(path))
    out = tmp_path / "out"
    assert main([*pictures, "--checkpoint", str(tiny), "--out", str(out), "--format", "none", "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "c.png: something unexpected happened (RuntimeError: odd)" in said and "1 of 5 pictures failed" in said
    assert "details of what was unexpected are in" in said and "Traceback" not in said
    assert len((out / "summary.csv").read_text().splitlines()) == 5


def test_one_checkpoint_that_cannot_be_loaded_leaves_the_others_results(tiny, pictures, tmp_path, capsys):
    bad = tmp_path / "bad.safetensors"
    data = bytearray(tiny.read_bytes())
    length = int.from_bytes(data[:8], "little")
    data[8 + length :] = b"\xff" * (len(data) - 8 - length)  # NaN everywhere
    bad.write_bytes(data)
    two = ["--checkpoint", str(tiny), "--checkpoint", str(bad)]
    assert main([*pictures[:2], *two, "--out", str(tmp_path / "out"), "--format", "none", "--quiet"]) == 1
    assert "bad.safetensors: " in capsys.readouterr().err
    assert len((tmp_path / "out/summary.csv").read_text().splitlines()) == 3


# A resumed batch is made from the same


def test_a_batch_is_resumed_only_with_what_it_was_begun_with(model, pictures, tmp_path, monkeypatch):
    journal = tmp_path / "batch.jsonl"
    truth = GroundTruth({"a.png": 1}, {"a.png": (Box(0, 0, 20, 20),)})

    def run(paths=pictures, plan=PLAN, model=model, truth=truth):
        return list(run_batch(model, paths, plan, tmp_path, journal=journal, resume=True, truth=truth))

    first = run()
    assert run() == first
    other = GroundTruth({"a.png": 2}, truth.boxes)
    for change, said in (
        ({"truth": other}, "truth"),
        ({"truth": GroundTruth()}, "truth"),
        ({"plan": BatchPlan(Request(targets=("1",)), ("npz",), SMALL)}, "targets"),
    ):
        with pytest.raises(DataError, match=said):
            run(**change)
    with monkeypatch.context() as patch:
        patch.setattr(model, "answers", {"saliency_activation": "relu"})
        with pytest.raises(DataError, match=r"answers.*relu"):
            run()
        patch.undo()
        patch.setattr(batch, "__version__", "0.0.9")
        with pytest.raises(DataError, match=r"version was .*, now 0\.0\.9"):
            run()
    shutil.copy(pictures[1], pictures[0])
    with pytest.raises(DataError, match=r"a\.png has changed"):
        run()
    assert run(pictures[1:]) == first[1:]


def test_a_batch_with_another_picture_of_that_name_beside_it_is_another(model, pictures, tmp_path):
    journal = tmp_path / "batch.jsonl"
    list(run_batch(model, pictures, PLAN, tmp_path, journal=journal))
    (tmp_path / "0").mkdir()
    shutil.copy(pictures[1], tmp_path / "0/a.png")
    more = [str(tmp_path / "0/a.png"), *pictures]
    with pytest.raises(DataError, match="was called a in the interrupted batch"):
        list(run_batch(model, more, PLAN, tmp_path, journal=journal, resume=True))


@pytest.mark.parametrize("recorded", ["answers", "assumed"])
def test_from_refuses_a_checkpoint_that_is_read_in_another_way(model, pictures, tmp_path, monkeypatch, recorded):
    monkeypatch.setattr(model, "answers", {"saliency_activation": "relu", "averaged": True})
    (result,) = run_batch(model, pictures[:1], PLAN, tmp_path)
    path = (tmp_path / result.files[0]).with_suffix(".json")
    manifest = json.loads(path.read_text())
    assert manifest["checkpoint"]["answers"] == {"saliency_activation": "relu", "averaged": True}
    if recorded == "assumed":  # as version 0.1 wrote it
        del manifest["checkpoint"]["answers"]
        manifest["checkpoint"]["assumed"] = ["saliency_activation: relu"]
        path.write_text(json.dumps(manifest))
    again = tmp_path / "again"
    again.mkdir()
    if recorded == "answers":
        assert reproduce(path, again, lambda _: model)
    monkeypatch.setattr(model, "answers", {"saliency_activation": "softplus", "averaged": True})
    with pytest.raises(Exception, match="read in another way"):
        reproduce(path, again, lambda _: model)


@pytest.mark.shared
def test_answers_are_part_of_what_an_export_says(shared):
    path = shared / "trials/inputs/checkpoints/ck_order_a.pth.tar"
    answers = Answers("calm-em", "relu", False, ("bee", "cat", "ant"))
    model = load_model(path, "cpu", answers=answers)
    assert model.answers["saliency_activation"] == "relu" and len(model.answers["classes"]) == 64
    other = load_model(path, "cpu", answers=Answers("calm-em", "relu", False, ("ant", "bee", "cat")))
    assert other.answers != model.answers and other.sha256 == model.sha256


# Names never collide


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/x/runA/best.safetensors", "/x/runB/best.safetensors"], ["runA/best.safetensors", "runB/best.safetensors"]),
        (["/x/a.safetensors", "/x/b.safetensors"], ["a.safetensors", "b.safetensors"]),
        (["/x/1/r/best", "/x/2/r/best", "/x/2/s/best"], ["1/r/best", "2/r/best", "s/best"]),
        (["/x/Best", "/y/best"], ["x/Best", "y/best"]),
        (["/x/best", "/x/best"], ["best", "best"]),
    ],
)
def test_files_are_told_apart_by_as_much_of_their_path_as_it_takes(paths, names):
    assert list(distinct_ends(paths)) == names


def test_files_of_checkpoints_are_told_apart_where_their_folders_and_names_run_together():
    labels = ["run/a-best.pth", "run-a/best.safetensors", "Run-A/Best.pth", "other"]
    marks = marks_of(labels)
    assert list(marks) == labels and len({mark.casefold() for mark in marks.values()}) == 4
    assert marks["run/a-best.pth"] == "run-a-best" and marks["other"] == "other" and "/" not in "".join(marks.values())


@pytest.mark.parametrize("more", [["--overwrite"], []])
def test_two_checkpoints_of_one_file_name(tiny, pictures, tmp_path, capsys, more):
    runs = []
    for name in ("runA", "runB"):
        (tmp_path / name).mkdir()
        runs.append(tmp_path / name / "best.safetensors")
        write_tiny_checkpoint(runs[-1], seed=len(runs))
    command = [*pictures[:2], *(word for run in runs for word in ("--checkpoint", str(run))), "--target", "0"]
    command += ["--out", str(tmp_path / "out"), "--format", "npz", "--quiet", "--json"]
    assert main([*command, *more, "--contact-sheet", str(tmp_path / "sheet.png")]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [r["checkpoint"] for r in results] == ["runA/best.safetensors"] * 2 + ["runB/best.safetensors"] * 2
    files = [file for result in results for file in result["files"]]
    assert len(set(files)) == 4 and all((tmp_path / "out" / file).exists() for file in files)
    assert all(result["checkpoint"][:4] in file for result in results for file in result["files"])
    for result in results:
        with np.load(tmp_path / "out" / result["files"][0]) as stored:
            assert float(stored["values"].sum()) == pytest.approx(result["maps"][0]["sum"], rel=1e-4)
    with (tmp_path / "out/summary.csv").open() as file:
        assert [row["checkpoint"] for row in csv.DictReader(file)] == [r["checkpoint"] for r in results]
    assert main([*command, "--resume"]) == 0
    assert [r["files"] for r in json.loads(capsys.readouterr().out)["results"]] == [r["files"] for r in results]


def test_a_name_that_was_just_written_is_never_free(tmp_path):
    assert free_name("a.png", tmp_path, overwrite=True, taken={"a.png"}) == "a-2.png"
    assert free_name("A.png", tmp_path, taken={"a.png", "a-2.png"}) == "A-3.png"
    (tmp_path / "b.png").symlink_to(tmp_path / "gone")
    assert free_name("b.png", tmp_path) == "b-2.png"


def test_every_command_of_a_batch_twice_into_one_folder_loses_nothing(tiny, pictures, tmp_path):
    out = tmp_path / "out"
    every = "png,svg,pdf,tiff,jpeg,overlay,npz,csv,mask,coco"
    command = [*pictures[:2], "--checkpoint", str(tiny), "--out", str(out), "--format", every, "--quiet"]
    command += ["--width", "30", "--dpi", "60", "--contact-sheet", str(out / "sheet.pdf")]
    assert main(command) == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    assert main(command) == 0
    arrays = {path: data for path, data in before.items() if path.suffix != ".json"}
    assert {path: path.read_bytes() for path in arrays} == arrays
    assert len(list(out.glob("*-2.*"))) >= 20


def test_nothing_that_a_batch_is_made_from_is_replaced_even_if_asked_to(tiny, pictures, tmp_path):
    """The table of truth, a picture under the sheet's name, and one that is called as an export of another."""
    folder = Path(pictures[0]).parent
    target = ["--checkpoint", str(tiny), "--target", "0", "--overwrite", "--quiet"]
    assert main([pictures[0], *target, "--out", str(tmp_path / "out"), "--format", "overlay"]) == 0
    (export,) = (tmp_path / "out").glob("a.*.png")
    shutil.copy(pictures[1], folder / export.name)
    (folder / "summary.csv").write_text("file,class_index,boxes\na.png,1,5 5 40 40\n")
    (tmp_path / "sheet.png").symlink_to(folder / "b.png")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    command = [str(folder), *target, "--out", str(tmp_path / "x" / ".." / "pictures"), "--format", "overlay"]
    (tmp_path / "x").mkdir()
    command += ["--truth", str(folder / "summary.csv"), "--contact-sheet", str(folder / "c.png")]
    for _ in range(2):
        assert main(command) == 0
        assert {name: (folder / name).read_bytes() for name in before} == before
    assert (folder / "summary-2.csv").exists() and (folder / "c-2.png").exists()
    assert (folder / f"{export.stem}-2.png").exists() and not (folder / "summary-3.csv").exists()


# Names that aren't UTF-8, and tables that match nothing


def test_a_name_that_is_not_utf_8_is_a_name_like_any_other(tiny, pictures, tmp_path, capsys):
    odd = os.fsencode(tmp_path) + b"/caf\xe9.png"
    try:
        Path(os.fsdecode(odd)).write_bytes(Path(pictures[0]).read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    out = tmp_path / "out"
    command = [os.fsdecode(odd), pictures[1], "--checkpoint", str(tiny), "--format", "png,npz,csv", "--width", "30"]
    command += ["--out", str(out), "--quiet", "--contact-sheet", str(out / "sheet.png"), "--dpi", "60"]
    assert main(command) == 0
    assert len(list(out.glob("*.npz"))) == 2
    assert "caf\\udce9" in (out / "summary.csv").read_text("utf-8")
    assert main([*command, "--resume"]) == 0
    assert main([*command[:2], "--checkpoint", str(tiny), "--json", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{") :])["results"][0]["path"] == os.fsdecode(odd)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("file,class_index,boxes\nC:\\data\\p.png,1,20 10 40 40\n", "none of 2 pictures"),
        ("file,class_index\na.png,1\n", "1 of 2 pictures"),
        ("file,boxes\na.png,2000 1000 2400 1400\nb.png,0 0 9 9\n", "2000 1000 2400 1400 lies outside the picture"),
    ],
)
def test_a_table_that_matches_too_little_is_told(tiny, pictures, tmp_path, capsys, table, said):
    (tmp_path / "truth.csv").write_text(table)
    command = [*pictures[:2], "--checkpoint", str(tiny), "--truth", str(tmp_path / "truth.csv"), "--quiet"]
    assert main([*command, "--out", str(tmp_path / "out"), "--format", "none"]) == 0
    assert said in capsys.readouterr().err
    with (tmp_path / "out/summary.csv").open() as file:
        assert not next(csv.DictReader(file))["share_in_box"]


def test_boxes_as_fractions_of_a_picture_are_refused(tiny, pictures, tmp_path, capsys):
    (tmp_path / "truth.csv").write_text("file,class_index,boxes\na.png,1,0.1 0.1 0.6 0.7\n")
    command = [pictures[0], "--checkpoint", str(tiny), "--truth", str(tmp_path / "truth.csv"), "--quiet"]
    assert main([*command, "--out", str(tmp_path / "out"), "--format", "none"]) == 2
    assert "fractions" in capsys.readouterr().err
