"""Checkpoints of the methods of the paper's tables, trained by a composed recipe and opened in the window."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from calm_gui.qt.window.main_window import MainWindow
from calm_training.cli import main as calm_train
from calm_training.methods import training_methods

SETTINGS = (
    *("model.backbone=timm:test_efficientnet", "model.weights=none", "model.freeze=''", "model.input.size=64"),
    *("run.device=cpu", "run.workers=0", "optimizer.epochs=1", "optimizer.batch=2", "data.augment=true"),
)

TITLES = {
    "has": "CAM with HaS",
    "cutmix": "CAM with CutMix",
    "adl": "CAM with ADL",
    "acol-narrow": "ACoL",
    "spg": "SPG",
    "inca-reading": "our reading of InCA",
    "calm-em+has+cutmix+adl": "Attribution",
}


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes of noise in train/, val/ and test/."""
    root = tmp_path_factory.mktemp("noise")
    generator = np.random.default_rng(0)
    for split in ("train", "val", "test"):
        for name in ("a", "b"):
            (root / split / name).mkdir(parents=True)
            for i in range(2):
                pixels = generator.integers(0, 255, (80, 70, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(root / split / name / f"{i}.png")
    return root


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=() if m == "acol-narrow" else pytest.mark.slow) for m in TITLES]
)
def test_a_checkpoint_opens_with_its_own_map_named(
    window: MainWindow, settle: Callable[[], None], noise: Path, tmp_path: Path, method: str
) -> None:
    run, sets = tmp_path / "run", [part for setting in SETTINGS for part in ("--set", setting)]
    recipe = ["--recipe", f"folder+lite0+{method}", "--data", str(noise), "--out", str(run)]
    assert calm_train(["train", *recipe, "--quiet", *sets]) == 0
    window.workspace.open_checkpoint(run / "best.safetensors")
    window.workspace.open_pictures([noise / "test/a/0.png"])
    settle()
    content = window.hub.scene.panes[0]
    assert not content.message and content.shown is not None
    assert content.title.startswith(f"{TITLES[method]} — ")
    assert window.panes.panes[0].header.texts.label == TITLES[method]
    window.workspace.activate(0)
    if not method.startswith("calm"):
        assert f"{TITLES[method]} scores " in window.ledger.sentence


def test_every_method_is_opened() -> None:
    named = {part.removesuffix("-narrow") for recipe in TITLES for part in recipe.split("+")}
    assert named == training_methods().keys() - {"cam", "calm-ml"}
