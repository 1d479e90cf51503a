"""The script for cards runs to its end where there is none, on the CPU; the figures mean nothing there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)


@pytest.mark.slow
def test_every_figure_for_a_card_can_be_measured(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    small = ["--batch", "1", "--step-batch", "1", "--seconds", "0.01", "--ways", "fp32"]
    done = run("--device", "cpu", *small, "--json", str(written))
    assert done.returncode == 0, done.stderr
    figures = json.loads(written.read_text())
    assert figures["card"] == "no card"
    measured = {name: value for name, value in figures.items() if isinstance(value, float)}
    assert {"forward fp32, pictures/s", "explain one, pictures/s", "step calm-em over cam, fp32"} <= set(measured)
    assert min(measured.values()) > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_it_says_so() -> None:
    done = run()
    assert done.returncode == 2 and done.stderr == "there is no CUDA card here\n"
