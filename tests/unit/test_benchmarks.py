"""The script for cards runs to its end where there is none, on the CPU; the figures mean nothing there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import SECTIONS

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_the_script_for_a_card_runs_whole_without_one(section: str, tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    small = ["--batch", "1", "--step-batch", "1", "--seconds", "0.01", "--warm-up", "1"]
    done = run("--device", "cpu", *small, "--only", section, "--json", str(written))
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(written.read_text())
    assert content["card"] == "no card" and content["failed"] == []
    figures = {name: value for name, value in content.items() if isinstance(value, float)}
    assert f"section {section}, s" in figures and min(figures.values()) > 0
    assert len(figures) > 2 or "ok  " in done.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_it_says_so() -> None:
    done = run()
    assert done.returncode == 2 and done.stderr == "there is no CUDA card here\n"
