"""The main job, end to end: the installed wheel's window, driven through its widgets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import calm_gui
from calm_gui.api import sample_pictures
from calm_gui.render.overlay import overlay_picture
from calm_gui.render.scale import fit_scale, shared_scale

DRIVER = Path(__file__).with_name("drive_window.py")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built wheel in it, as pip lays it out."""
    dist = tmp_path_factory.mktemp("dist")
    target = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dist), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(dist.glob("*.whl"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return target


def test_open_click_contrast_export(installed: Path, tmp_path: Path) -> None:
    picture, out = sample_pictures()[0], tmp_path / "figure.png"
    ran = subprocess.run(
        [sys.executable, str(DRIVER), str(picture), str(out)],
        env={**os.environ, "PYTHONPATH": str(installed), "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["package"].startswith(str(installed))
    assert seen["platform"] == os.environ.get("QT_QPA_PLATFORM", seen["platform"]).split(":")[0]
    assert seen["saved"], seen["message"]

    model = calm_gui.load_checkpoint("demo", device="cpu")
    explanation = model.explain(picture)
    canine, tabby = model.hierarchy["n02083346"].classes, explanation.class_set("n02123045")
    assert seen["target"] == list(canine)
    assert seen["contrast"] == list(tabby)
    shown = explanation.attribution(canine)
    assert seen["sum"] == pytest.approx(shown.sum, rel=1e-5)
    assert seen["counterfactual_sum"] == pytest.approx(explanation.counterfactual(canine, tabby).sum, rel=1e-5)
    assert all(seen["checks"])
    assert f"{shown.sum:.3f}" in seen["ledger"] and "canine" in seen["ledger"]

    exported = np.asarray(Image.open(out).convert("RGB")).astype(int)
    scale = shared_scale([fit_scale(shown.values), fit_scale(explanation.saliency().values)])
    expected = overlay_picture(_panel_picture(explanation.picture, exported), shown, scale, opacity=0.6).astype(int)
    panel = _panel(exported)
    assert np.abs(panel - expected).mean() < 2.0
    described = json.loads(out.with_suffix(".json").read_text("utf-8"))
    assert described["checkpoint"]["sha256"] == model.sha256


def _panel(figure: np.ndarray) -> np.ndarray:
    """The part of the figure that isn't background."""
    rows = np.nonzero((figure != 255).any(axis=(1, 2)))[0]
    columns = np.nonzero((figure != 255).any(axis=(0, 2)))[0]
    return figure[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _panel_picture(picture: np.ndarray, figure: np.ndarray) -> np.ndarray:
    height, width = _panel(figure).shape[:2]
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC))
