"""Remove-and-classify curves of a checkpoint's maps (the paper's section 5.2 and figure 5)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import DataError
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_training.annotations import BoxedPicture
from calm_training.localize import READINGS, class_maps, memberships, min_max, predictions
from calm_training.metrics.remove_and_classify import SHARES, Erasure, RemoveAndClassify

__all__ = ["removal_curves"]


def removal_curves(
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    *,
    erasure: Erasure = "blur",
    shares: Sequence[float] = SHARES,
    random_seeds: Sequence[int] = (0, 1, 2),
    progress: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """Relative accuracies R_k of each map of a checkpoint, the true class given.

    Parameters
    ----------
    model : LoadedModel
        Must squash pictures. It classifies the erased pictures itself.
    pictures : sequence of BoxedPicture
        Their boxes aren't used.
    erasure, shares, random_seeds
        As in `RemoveAndClassify`.
    progress : callable
        Told after each picture, with 1.

    Returns
    -------
    dict
        ``{map name: result of RemoveAndClassify.compute()}``
    """
    spec = model.info.input
    if spec.resize != "squash":
        raise DataError(f"removal needs a checkpoint that squashes pictures; this one {spec.resize}s")
    mean, std = (np.array(v, np.float32)[:, None, None] for v in (spec.mean, spec.std))

    def classify(variants: NDArray[np.float32]) -> NDArray[np.int64]:
        f, a = model.raw(torch.from_numpy((variants - mean) / std))
        return np.asarray(predictions(f, a, model.info.saliency_activation).cpu().numpy())

    metrics = {
        name: RemoveAndClassify(classify, shares, erasure, spec.mean, random_seeds)
        for name in READINGS[model.info.is_cam]
    }
    for picture in pictures:
        resized = Image.fromarray(load_picture(picture.path).pixels).resize((spec.size, spec.size))
        values = np.asarray(resized, np.float32).transpose(2, 0, 1) / np.float32(255)
        f, a = model.raw(torch.from_numpy((values - mean) / std)[None])
        rows = memberships(model, [[picture.label]])
        at_random = None
        for name, maps in class_maps(f, a, model.info.saliency_activation, *rows).items():
            at_random = metrics[name].update(values, min_max(maps, spec.size)[0], picture.label, at_random)
        progress(1)
    return {name: metric.compute() for name, metric in metrics.items()}
