"""Explanations made of random branches over a real picture: all that core and render need, without a network."""

from pathlib import Path

import numpy as np

from calm_gui.core.cam_explanation import CamExplanation
from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.explanation import Explanation
from calm_gui.core.geometry import Geometry
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.model.picture import load_picture
from calm_gui.render import PRESENTER
from calm_resources import path as resource

CLASSES = ClassTable(
    [
        ClassInfo(0, "Afghan hound", "n02088094"),
        ClassInfo(1, "beagle", "n02088364"),
        ClassInfo(2, "crane", "n02012849"),
        ClassInfo(3, "crane", "n03126707"),
        ClassInfo(4, "$x_i$ < 漢字", None),
        ClassInfo(5, "tabby", "n02123045"),
    ]
)
HIERARCHY = Hierarchy(
    {
        "entity": {"name": "entity"},
        "animal": {"name": "animal", "parents": ["entity"]},
        "thing": {"name": "thing", "parents": ["entity"]},
        "dog": {"name": "dog", "parents": ["animal"]},
        "pet": {"name": "pet", "parents": ["animal"]},
        "n02088094": {"name": "Afghan hound", "parents": ["dog"], "class": 0},
        "n02088364": {"name": "beagle", "parents": ["dog", "pet"], "class": 1},
        "n02012849": {"name": "crane", "parents": ["animal"], "class": 2},
        "n03126707": {"name": "crane", "parents": ["thing"], "class": 3},
        "odd": {"name": "odd", "parents": ["thing"], "class": 4},
        "n02123045": {"name": "tabby", "parents": ["pet"], "class": 5},
    },
    len(CLASSES),
)
SAMPLE = resource("samples") / "afghan_hound.jpg"


def calm_explanation(
    grid: tuple[int, int] = (14, 14),
    activation: str = "softplus",
    resize: str = "squash",
    seed: int = 0,
    picture: np.ndarray | Path | None = None,
    spread: float = 2.0,
) -> Explanation:
    """An explanation with random branches."""
    f, a, geometry, pixels, source = _parts(grid, resize, seed, picture, spread)
    explanation = Explanation(f, a, activation, geometry, CLASSES, HIERARCHY, SupersetTable(HIERARCHY, ["dog"]), source)  # type: ignore[arg-type]
    explanation.picture, explanation.presenter = pixels, PRESENTER
    return explanation


def cam_explanation(grid: tuple[int, int] = (14, 14), seed: int = 0) -> CamExplanation:
    """A CAM explanation with random class scores."""
    f, _, geometry, pixels, source = _parts(grid, "squash", seed, None, 2.0)
    explanation = CamExplanation(f, geometry, CLASSES, HIERARCHY, None, source)
    explanation.picture, explanation.presenter = pixels, PRESENTER
    return explanation


def _parts(grid, resize, seed, picture, spread):
    if isinstance(picture, np.ndarray):
        pixels, source = picture, {"name": "array", "path": None, "sha256": "0" * 64, "notes": []}
    else:
        loaded = load_picture(picture or SAMPLE)
        pixels = loaded.pixels
        source = {"name": loaded.name, "path": str(loaded.path), "sha256": loaded.sha256, "notes": list(loaded.notes)}
    random = np.random.default_rng(seed)
    f = (random.normal(size=(len(CLASSES), *grid)) * spread).astype(np.float32)
    a = random.normal(size=grid).astype(np.float32)
    geometry = Geometry.fit((pixels.shape[1], pixels.shape[0]), (224, 224), grid, resize)
    checkpoint = {"name": "synthetic", "path": None, "sha256": "1" * 64, "method": "calm-em", "assumed": []}
    return f, a, geometry, pixels, {"picture": source, "checkpoint": checkpoint}
