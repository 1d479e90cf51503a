"""Sweeps: every command twice into one folder, and figures under real locales of five languages."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from synthetic import CLASSES, SAMPLE
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.cli.explain import main as explain
from calm_training.cli import main as train
from calm_training.evaluate import main as evaluate

LOCALES = ("de_DE", "tr_TR", "ar_EG", "ja_JP")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("world")
    for name in ("run a", "run b"):
        (root / name).mkdir()
        write_tiny_checkpoint(root / name / "best.safetensors", seed=len(name) + ord(name[-1]))
    (root / "set").mkdir()
    write_tiny_set(root / "set", 6)
    for split in ("train", "test"):
        for name, numbers in (("ant", (0, 1, 2)), ("bee", (3, 4, 5))):
            (root / "classes" / split / name).mkdir(parents=True)
            for number in numbers:
                shutil.copy(root / "set" / f"{number}.png", root / "classes" / split / name)
    return root


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _commands(root: Path, out: Path) -> dict[str, tuple[object, list[str]]]:
    a, b = (str(root / name / "best.safetensors") for name in ("run a", "run b"))
    sheet = ["--contact-sheet", str(out / "sheet.png")]
    data = ["--data", str(root / "set"), "--quiet"]
    tiny = ["model.backbone=timm:test_efficientnet", "model.weights=none", "model.freeze=''", "model.dilated=true"]
    tiny += ["model.input.size=64", "optimizer.epochs=1", "optimizer.batch=2", "run.workers=0", "run.device=cpu"]
    settings = [word for setting in tiny for word in ("--set", setting)]
    run = ["train", "--recipe", "folder", "--data", str(root / "classes"), "--out", str(out / "run"), "--quiet"]
    return {
        "explain": (explain, [str(SAMPLE), "--checkpoint", a, "--out", str(out), "--format", "png,npz,csv", "--quiet"]),
        "explain two": (
            explain,
            [str(SAMPLE), "--checkpoint", a, "--checkpoint", b, "--out", str(out), "--format", "npz", "--quiet"],
        ),
        "contact sheet": (
            explain,
            [str(SAMPLE), "--checkpoint", a, "--out", str(out), "--format", "none", "--quiet", *sheet],
        ),
        "accuracy": (evaluate, ["accuracy", "--checkpoint", a, *data, "--out", str(out / "results.json")]),
        "wsol": (evaluate, ["wsol", "--checkpoint", a, *data, "--out", str(out / "results.json")]),
        "export": (train, ["export", a, "--out", str(out / "mine.safetensors")]),
        "train": (train, [*run, *settings]),
    }


@pytest.mark.parametrize("name", ["explain", "explain two", "contact sheet", "accuracy", "wsol", "export", "train"])
def test_a_command_that_runs_twice_into_one_folder_keeps_what_was_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    command, arguments = _commands(folder, tmp_path)[name]
    assert command(arguments) == 0  # type: ignore[operator]
    first = _contents(tmp_path)
    assert first
    status = command(arguments)  # type: ignore[operator]
    said = capsys.readouterr()
    assert status in (0, 1, 2) and "Traceback" not in said.out + said.err
    second = _contents(tmp_path)
    kept = {path: data for path, data in first.items() if not path.endswith("summary.csv")}
    assert {path: second.get(path) for path in kept} == kept
    assert status or len(second) > len(first)
    if status:
        assert "already exists" in said.err or "isn't empty" in said.err


def _built_locales(folder: Path) -> list[str]:
    if not shutil.which("localedef") or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no sources of locales here (Debian: apt-get install locales)")
    for name in LOCALES:
        command = ["localedef", "-i", name, "-f", "UTF-8", str(folder / f"{name}.UTF-8")]
        subprocess.run(command, check=True, capture_output=True)
    return [f"{name}.UTF-8" for name in LOCALES]


@pytest.mark.slow
def test_real_locales_change_neither_a_byte_nor_a_number(folder: Path, tmp_path: Path) -> None:
    places = tmp_path / "locales"
    places.mkdir()
    results = {}
    truth = tmp_path / "truth.csv"
    truth.write_text(f"file,class,boxes\n{SAMPLE.name},{CLASSES[0].wnid},10.5 10.5 50.5 50.5\n")
    for locale in ("C", *_built_locales(places)):
        out = tmp_path / f"out {locale}"
        environment = {**os.environ, "LC_ALL": locale, "LANG": locale, "LOCPATH": str(places)}
        start = "import locale, sys; locale.setlocale(locale.LC_ALL, ''); from calm_gui.cli.explain import main; "
        arguments = [str(SAMPLE), "--checkpoint", str(folder / "run a" / "best.safetensors"), "--out", str(out)]
        arguments += ["--format", "png,pdf,svg,npz,csv", "--truth", str(truth), "--json", "--quiet"]
        shell = [sys.executable, "-c", f"{start}sys.exit(main(sys.argv[1:]))", *arguments]
        done = subprocess.run(shell, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=280)
        assert done.returncode == 0, done.stderr
        files = {path: data for path, data in _contents(out).items() if not path.endswith(".json")}
        results[locale] = files, json.loads(done.stdout.replace(json.dumps(str(out))[1:-1], "OUT"))
    assert len(results["C"][0]) >= 5
    for locale, found in results.items():
        assert found == results["C"], locale
