"""From raw outputs to an explanation: the same for those that a network has just given and those kept on disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.core.cam_explanation import CamExplanation
from calm_gui.core.classifier_explanation import ClassifierExplanation
from calm_gui.core.explanation import AnyExplanation, Explanation
from calm_gui.core.geometry import Geometry
from calm_gui.core.presenter import Presenter
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.picture import Picture

__all__ = ["checkpoint_source", "explained"]


def checkpoint_source(
    info: CheckpointInfo, name: str, path: Path | None, sha256: str, answers: Mapping[str, Any]
) -> dict[str, Any]:
    """What explanations say of their checkpoint."""
    return {
        "name": name,
        "path": str(path) if path else None,
        "sha256": sha256,
        "method": info.method,
        "backbone": info.backbone,
        **({"map": info.map_name} if info.is_cam and info.map_name != "CAM" else {}),
        "assumed": list(info.assumed),
        **({"answers": dict(answers)} if answers else {}),
    }


def explained(
    f: NDArray[np.float32],
    a: NDArray[np.float32] | None,
    picture: Picture,
    geometry: Geometry,
    info: CheckpointInfo,
    checkpoint: Mapping[str, Any],
    presenter: Presenter | None = None,
    *,
    plain: bool = False,
) -> AnyExplanation:
    """The explanation of a picture.

    Parameters
    ----------
    f : ndarray (C,H,W) float32
    a : ndarray (1,H,W) float32 or None
        Raw outputs; without a the checkpoint gives class scores alone.
    picture : Picture
    geometry : Geometry
    info : CheckpointInfo
    checkpoint : mapping
        As `checkpoint_source` gives it.
    presenter : Presenter, optional
    plain : bool
        Whether f are the logits, (C,1,1), of a classifier without class scores at places.

    Raises
    ------
    NumericalError, ReadingError
        As for `Explanation`.
    """
    source = {
        "picture": {
            "name": picture.name,
            "path": str(picture.path) if picture.path else None,
            "sha256": picture.sha256,
            "notes": list(picture.notes),
        },
        "checkpoint": dict(checkpoint),
    }
    groups = info.hierarchy, info.superset_table
    explanation: AnyExplanation
    if plain:
        explanation = ClassifierExplanation(f[:, 0, 0], geometry, info.classes, *groups, source)
    elif a is None or info.saliency_activation is None:
        explanation = CamExplanation(f, geometry, info.classes, *groups, source)
    else:
        explanation = Explanation(f, a, info.saliency_activation, geometry, info.classes, *groups, source)
    explanation.picture = picture.pixels
    explanation.presenter = presenter
    return explanation
