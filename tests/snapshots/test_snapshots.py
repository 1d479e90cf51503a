"""Eleven parts of the window, pixel by pixel, at scale 1 and 2.

The pictures beside this file are drawn by ``python tests/snapshots/draw.py tests/snapshots/scale-1`` and, with
``QT_SCALE_FACTOR=2``, ``scale-2``. Letters differ by a shade between versions of FreeType, so a part may differ by
`MEAN` on average, and `SHARE` of its pixels by more than `CLEARLY`.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

HERE = Path(__file__).parent
MEAN, CLEARLY, SHARE = 1.5, 48, 0.01


@pytest.fixture(scope="module", params=[1, 2])
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp(f"scale-{request.param}")
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(request.param)}
    command = [sys.executable, str(HERE / "draw.py"), str(folder)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=240)
    return folder, HERE / f"scale-{request.param}"


def test_eleven_parts_look_as_they_did(drawn: tuple[Path, Path]) -> None:
    folder, expected = drawn
    names = sorted(path.name for path in expected.glob("*.png"))
    assert len(names) == 11 and names == sorted(path.name for path in folder.glob("*.png"))
    faults = []
    for name in names:
        now, then = (np.asarray(Image.open(place / name).convert("RGB"), dtype=int) for place in (folder, expected))
        if now.shape != then.shape:
            faults.append(f"{name} is {now.shape} instead of {then.shape}")
            continue
        difference = np.abs(now - then)
        share = float((difference.max(axis=2) > CLEARLY).mean())
        if difference.mean() > MEAN or share > SHARE:
            faults.append(f"{name}: mean {difference.mean():.2f}, {100 * share:.2f} % of the pixels clearly")
    assert not faults, faults
