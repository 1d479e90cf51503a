"""The command line: what it writes, what it says, and its exit status."""

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from synthetic import SAMPLE
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import load_checkpoint
from calm_gui.cli import main
from calm_gui.render.figure import map_figure
from calm_gui.session.former_demo import FORMER_DEMO

SMALL = ["--width", "30", "--dpi", "60", "--quiet"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    return str(write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny.safetensors"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Five pictures, two of which can't be opened."""
    folder = tmp_path_factory.mktemp("pictures")
    for name in ("a.jpg", "b.jpg", "ünïcode 名.jpg"):
        shutil.copy(SAMPLE, folder / name)
    (folder / "text.jpg").write_text("not a picture")
    (folder / "cut.jpg").write_bytes(SAMPLE.read_bytes()[:900])
    return folder


def test_help_is_instant_and_loads_nothing_heavy():
    code = (
        "import sys, calm_gui.cli\n"
        "try: calm_gui.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'PySide6', 'numpy', 'matplotlib', 'timm', 'tqdm'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "--target" in done.stdout


def test_one_picture_in_every_format(checkpoint, tmp_path, capsys):
    formats = "png,svg,pdf,tiff,jpeg,overlay,npz,csv,mask,coco"
    out = tmp_path / "new" / "folder"
    status = main(
        [str(SAMPLE), "--checkpoint", checkpoint, "--target", "dog", "--format", formats, "--out", str(out), *SMALL]
    )
    assert status == 0
    base = "afghan_hound.attribution.dog-dog"
    assert {path.name for path in out.iterdir()} == {
        *(f"{base}.{suffix}" for suffix in ("png", "svg", "pdf", "tiff", "jpeg", "npz", "json")),
        *(f"{base}.{what}.{suffix}" for what in ("overlay", "mask") for suffix in ("png", "json")),
        f"{base}.boxes.json",
        *("afghan_hound.classes.csv", "afghan_hound.classes.json"),
    }
    printed = capsys.readouterr().out
    assert "attribution of dog: sum" in printed and "adds up" in printed and f"{base}.pdf" in printed


def test_the_numbers_are_those_of_the_api(checkpoint, tmp_path):
    sets = ["--reading", "counterfactual", "--target", "dog", "--contrast", "n02012849,5", "--device", "cpu"]
    main([str(SAMPLE), "--checkpoint", checkpoint, *sets, "--format", "npz", "--out", str(tmp_path), *SMALL])
    (path,) = tmp_path.glob("*.npz")
    model = load_checkpoint(checkpoint, "cpu")
    expected = model.explain(SAMPLE).counterfactual("dog", [2, 5])
    with np.load(path) as stored:
        assert np.array_equal(stored["values"], expected.values)
        assert stored["contrast"].tolist() == [2, 5]


def test_json_goes_to_stdout_alone(checkpoint, folder, tmp_path, capsys):
    status = main(
        [str(folder), "--checkpoint", checkpoint, "--json", "--top", "2", "--out", str(tmp_path), "--format", "none"]
    )
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert status == 1
    assert [Path(result["path"]).name for result in document["results"]] == ["a.jpg", "b.jpg", "ünïcode 名.jpg"]
    assert {Path(entry["path"]).name for entry in document["failed"]} == {"cut.jpg", "text.jpg"}
    assert all(len(result["top"]) == 2 for result in document["results"])
    assert "picture/s" in said.err and "text.jpg isn't a picture" in said.err and "2 of 5 pictures failed" in said.err
    with (tmp_path / "summary.csv").open(encoding="utf-8", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["a", "b", "ünïcode 名"]


def test_folders_of_classes_tell_the_truth(checkpoint, tmp_path, capsys):
    """As data sets are laid out, with what systems leave beside pictures."""
    pictures = tmp_path / "val"
    for name in ("n02088364/a.jpg", "Afghan hound/b.jpg", "crane/c.jpg", "somewhere/d.jpg"):
        (pictures / name).parent.mkdir(parents=True)
        shutil.copy(SAMPLE, pictures / name)
    for name in (".DS_Store", "n02088364/Thumbs.db", "n02088364/._a.jpg", ".trash/x.jpg", "__MACOSX/x.jpg"):
        (pictures / name).parent.mkdir(exist_ok=True)
        (pictures / name).write_text("none of the user's")
    command = [str(pictures), "--checkpoint", checkpoint, "--out", str(tmp_path / "out"), "--format", "none", "--quiet"]
    assert main(command) == 0
    with (tmp_path / "out/summary.csv").open(encoding="utf-8", newline="") as file:
        rows = {Path(row["file"]).name: row for row in csv.DictReader(file)}
    # Two classes are called crane, and none somewhere.
    assert {name: row["truth_index"] for name, row in rows.items()} == {
        "a.jpg": "1",
        "b.jpg": "0",
        "c.jpg": "",
        "d.jpg": "",
    }
    assert rows["a.jpg"]["truth_name"] == "beagle" and 0 < float(rows["a.jpg"]["p_truth"]) < 1
    table = tmp_path / "truth.csv"
    table.write_text("file,class_index\na.jpg,5\n")
    assert main([*command, "--truth", str(table), "--overwrite"]) == 0
    with (tmp_path / "out/summary.csv").open(encoding="utf-8", newline="") as file:
        found = {Path(row["file"]).name: row["truth_index"] for row in csv.DictReader(file)}
    assert (found["a.jpg"], found["b.jpg"]) == ("5", "0")  # the table counts before the folder


def test_all_inputs_failing_is_status_one(checkpoint, capsys):
    assert main(["nosuch.jpg", "--checkpoint", checkpoint, "--quiet"]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "there is no file" in said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no picture"),
        (["{sample}", "--target", "no such class"], "no class or group"),
        (["{sample}", "--target", "crane"], "n02012849"),
        (["{sample}", "--target", "@nonsense"], "there is no set"),
        (["{sample}", "--target", "99"], "0 to 5"),
        (["{sample}", "--format", "gif", "--out", "{tmp}"], "no format gif"),
        (["{sample}", "--format", "png"], "--out"),
        (["{sample}", "--shard", "5/4"], "shard"),
        (["{sample}", "--shard", "half"], "shard"),
        (["{sample}", "--resume"], "--out"),
        (["{sample}", "--out", "{file}/x"], "can't be made"),
        (["{sample}", "--where", "p >"], "can't be read"),
        (["{sample}", "--where", "price > 3"], "no column"),
        (["{sample}", "--contact-sheet", "sheet.gif"], "names no format"),
        (["{sample}", "--contact-sheet", "{tmp}/s.png", "--by", "price"], "no column"),
        (["{sample}", "--truth", "nosuch.csv"], "there is no file nosuch.csv"),
        (["{sample}", "--device", "cuda:7"], "no device"),
        (["{sample}", "--checkpoint", "nosuch"], "no checkpoint"),
        (["{sample}", "--checkpoint", "{sample}"], "afghan_hound.jpg"),
        (["{empty}"], "no pictures"),
        (["--from", "nosuch.json"], "no file"),
        (["--from", "{file}"], "isn't the manifest"),
        (["{sample}", "--credible-mass", "2"], "credible-mass"),
        (["{sample}", "--dpi", "1"], "dpi"),
    ],
)
def test_unusable_arguments_are_status_two_and_one_sentence(checkpoint, tmp_path, monkeypatch, capsys, arguments, said):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)  # a folder that nobody may write into would be told first
    (tmp_path / "file").write_text("{}")
    places = {"sample": SAMPLE, "tmp": tmp_path, "file": tmp_path / "file", "empty": tmp_path / "empty"}
    filled = [text.format(**places) for text in arguments]
    if "--checkpoint" not in filled:
        filled += ["--checkpoint", checkpoint]
    assert main([*filled, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("calm-explain: ") and said in error and error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]


@pytest.mark.parametrize(
    ("arguments", "status"), [([str(SAMPLE), "--target", "flying pig"], 2), (["gone.jpg"], 1), ([__file__], 1)]
)
def test_a_folder_that_got_nothing_is_not_left_behind(checkpoint, tmp_path, arguments, status):
    (tmp_path / "mine").mkdir()
    for folder in ("new/deeper", "mine"):
        out = ["--out", str(tmp_path / folder), "--checkpoint", checkpoint, "--quiet"]
        assert main([*arguments, *out]) == status
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]


def test_argparses_own_errors_are_status_two(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--reading", "nonsense"])
    assert caught.value.code == 2


def test_from_makes_the_same_files_again(checkpoint, tmp_path):
    first, again = tmp_path / "first", tmp_path / "again"
    command = [
        str(SAMPLE),
        "--checkpoint",
        checkpoint,
        "--target",
        "dog,2",
        "--reading",
        "attribution",
        "--reading",
        "winner",
    ]
    command += ["--depth", "2", "--format", "png,svg,pdf,tiff,jpeg,npz,csv,overlay,mask", "--log", "--native"]
    assert main([*command, "--credible-mass", "0.5", "--out", str(first), *SMALL]) == 0
    for path in sorted(first.glob("*.json")):
        assert main(["--from", str(path), "--out", str(again), "--quiet", "--checkpoint", checkpoint]) == 0
    for path in sorted(first.iterdir()):
        assert (again / path.name).read_bytes() == path.read_bytes(), path.name
    before = {path.name: path.stat().st_mtime_ns for path in first.iterdir()}
    assert main(["--from", str(next(first.glob("*winner*.json"))), "--out", str(first), "--quiet"]) == 0
    assert all((first / name).stat().st_mtime_ns == when for name, when in before.items() if not name.endswith("json"))


def test_from_refuses_what_has_changed(checkpoint, tmp_path, capsys):
    picture = tmp_path / "p.jpg"
    shutil.copy(SAMPLE, picture)
    assert (
        main([str(picture), "--checkpoint", checkpoint, "--format", "npz", "--out", str(tmp_path / "o"), "--quiet"])
        == 0
    )
    (manifest,) = (tmp_path / "o").glob("*.json")
    command = ["--from", str(manifest), "--out", str(tmp_path / "again"), "--quiet"]
    other = write_tiny_checkpoint(tmp_path / "other.safetensors", size=128)
    assert main([*command, "--checkpoint", str(other)]) == 2
    assert "isn't the checkpoint" in capsys.readouterr().err
    said = manifest.read_text("utf-8")
    made_by = json.loads(said)["checkpoint"]["sha256"]
    manifest.write_text(said.replace(made_by, FORMER_DEMO), "utf-8")
    assert main([*command, "--checkpoint", str(other)]) == 2
    assert "made with the demo of calm-gui 0.1" in capsys.readouterr().err
    manifest.write_text(said, "utf-8")
    Image.new("RGB", (20, 20)).save(picture)
    assert main(command) == 2
    assert "content has changed" in capsys.readouterr().err
    picture.unlink()
    assert main(command) == 2
    assert "gone" in capsys.readouterr().err


def test_a_figure_of_the_command_line_and_of_the_api_are_the_same_pixels(checkpoint, tmp_path):
    assert main([str(SAMPLE), "--checkpoint", checkpoint, "--target", "0", "--out", str(tmp_path), "--quiet"]) == 0
    explanation = load_checkpoint(checkpoint, "cpu").explain(SAMPLE)
    map_figure(explanation, [explanation.attribution(0)], layout="single").savefig(tmp_path / "api.png")
    (made,) = tmp_path.glob("afghan*.png")
    assert np.array_equal(np.asarray(Image.open(made)), np.asarray(Image.open(tmp_path / "api.png")))


def test_all_maps_in_one_figure(checkpoint, tmp_path):
    command = [
        str(SAMPLE),
        "--checkpoint",
        checkpoint,
        "--reading",
        "attribution",
        "--reading",
        "saliency",
        "--layout",
        "strip",
    ]
    assert main([*command, "--out", str(tmp_path), *SMALL]) == 0
    assert [path.name for path in tmp_path.glob("*.png")] == ["afghan_hound.strip.png"]
    said = json.loads((tmp_path / "afghan_hound.strip.json").read_text())
    assert [entry["reading"] for entry in said["maps"]] == ["attribution", "saliency"]


def test_shards_resume_questions_and_sheets(checkpoint, folder, tmp_path, capsys):
    out = tmp_path / "out"
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("file,boxes\na.jpg,0 0 100 150\nb.jpg,100 0 200 299;10 10 30 30\n")
    command = [
        str(folder),
        "--checkpoint",
        checkpoint,
        "--out",
        str(out),
        "--format",
        "npz",
        "--truth",
        str(boxes),
        "--quiet",
    ]
    for number in (1, 2, 3):
        main([*command, "--shard", f"{number}/3"])
    names = sorted(path.name for path in out.glob("*.npz"))
    assert len(names) == 3
    parts = [path.read_text(encoding="utf-8").splitlines() for path in sorted(out.glob("summary.*-of-3.csv"))]
    rows = [row for lines in parts for row in csv.DictReader(lines)]
    assert sorted(row["name"] for row in rows) == ["a", "b", "ünïcode 名"]
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.npz")}
    assert main([*command, "--shard", "1/3", "--resume"]) in (0, 1)
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("*.npz")} == before
    capsys.readouterr()

    sheet = tmp_path / "sheet.pdf"
    question = [
        "--where",
        "share_in_box < 2",
        "--contact-sheet",
        str(sheet),
        "--by",
        "share_in_box",
        "--format",
        "none",
    ]
    main([*command[:-5], "--truth", str(boxes), "--quiet", *question, "--out", str(tmp_path / "q")])
    said = capsys.readouterr()
    listed = said.out.splitlines()
    assert "share_in_box is empty in 1 of 3 rows" in said.err
    assert [Path(line).name for line in listed] == ["a.jpg", "b.jpg"]
    assert sheet.read_bytes().startswith(b"%PDF")
    assert len(json.loads(sheet.with_suffix(".json").read_text())["lowest"]) == 2


def test_torchruns_ranks_are_shards(checkpoint, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "1")
    main([str(folder), "--checkpoint", checkpoint, "--out", str(tmp_path), "--format", "none", "--quiet"])
    assert (tmp_path / "summary.2-of-4.csv").exists()


def test_several_checkpoints_and_cam(checkpoint, tmp_path):
    cam = write_tiny_checkpoint(tmp_path / "cam.safetensors", method="cam")
    out = tmp_path / "out"
    command = [str(SAMPLE), "--checkpoint", checkpoint, "--checkpoint", str(cam), "--target", "0", "--format", "npz"]
    assert main([*command, "--out", str(out), "--quiet"]) == 0
    assert {path.name for path in out.glob("*.npz")} == {
        "afghan_hound.tiny.attribution.afghan-hound-n02088094.npz",
        "afghan_hound.cam.cam.afghan-hound-n02088094.npz",
    }


def test_a_reader_that_goes_away_is_no_traceback(checkpoint, folder):
    command = [
        sys.executable,
        "-m",
        "calm_gui.cli",
        *[str(folder / "a.jpg")] * 1,
        "--checkpoint",
        checkpoint,
        "--quiet",
    ]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, timeout=120)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_installed_command_with_the_bundled_checkpoint(tmp_path):
    command = [str(Path(sys.executable).with_name("calm-explain")), str(SAMPLE), "--target", "@superset", "--json"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path), "--format", "overlay"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert result["top"][0]["wnid"] == "n02088094"
    assert result["maps"][0]["check_passed"] and result["maps"][0]["sum"] > result["top"][0]["probability"]
    assert (tmp_path / result["files"][0]).exists()


@pytest.mark.slow
def test_a_batch_killed_outright_and_resumed_gives_the_same_files(checkpoint, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(12):
        shutil.copy(SAMPLE, photos / f"p{number:02}.jpg")
    command = [
        sys.executable,
        "-m",
        "calm_gui.cli",
        str(photos),
        "--checkpoint",
        checkpoint,
        "--format",
        "npz,png",
        *SMALL,
    ]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert subprocess.run([*command, "--out", str(whole)], timeout=120).returncode == 0
    process = subprocess.Popen([*command, "--out", str(cut)])
    while process.poll() is None and len(list(cut.glob("*.npz"))) < 4:
        time.sleep(0.01)
    process.kill()
    process.wait()
    left = sorted(path.name for path in cut.glob("p*"))
    assert 0 < len(left) < len(list(whole.glob("p*")))
    assert subprocess.run([*command, "--out", str(cut), "--resume"], timeout=120).returncode == 0
    files = {path.name: path.read_bytes() for path in cut.iterdir() if not path.name.startswith(".calm-")}
    assert files == {path.name: path.read_bytes() for path in whole.iterdir()}
