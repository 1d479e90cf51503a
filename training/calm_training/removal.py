"""Remove-and-classify curves of a checkpoint's maps (the paper's section 5.2 and figure 5)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from calm_gui.model.input import input_values, normalised
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_training.datasets.boxes import BoxedPicture
from calm_training.localize import maps_of, method_maps, predictions, scaled_maps
from calm_training.metrics.remove_and_classify import SHARES, Erasure, RemoveAndClassify
from calm_training.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep

__all__ = ["removal_curves"]


def removal_curves(
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    *,
    maps: Sequence[str] | None = None,
    erasure: Erasure = "blur",
    shares: Sequence[float] = SHARES,
    random_seeds: Sequence[int] = (0, 1, 2),
    options: SweepOptions = DEFAULT_OPTIONS,
) -> dict[str, Any]:
    """Relative accuracies R_k of maps of a checkpoint, the true class given.

    Parameters
    ----------
    model : LoadedModel
        It classifies the erased pictures itself.
    pictures : sequence of BoxedPicture
        Their boxes aren't used.
    maps : sequence of str, optional
        As `maps_of` takes them.
    erasure, shares, random_seeds
        As in `RemoveAndClassify`.
    options : SweepOptions

    Returns
    -------
    dict
        ``{"images": n, "maps": {map name: result of RemoveAndClassify.compute()}}``
    """
    spec, names = model.info.input, maps_of(model, maps)
    at_once = 1 if model.device.type == "cpu" else options.batch

    def classify(variants: NDArray[np.float32]) -> NDArray[np.int64]:
        inputs = torch.from_numpy(normalised(variants, spec))
        parts = [model.raw(inputs[i : i + at_once]) for i in range(0, len(inputs), at_once)]
        classes = [predictions(f, a, model.info.saliency_activation) for f, a in parts]
        return np.asarray(torch.cat(classes).cpu().numpy())

    def fresh() -> dict[str, RemoveAndClassify]:
        return {name: RemoveAndClassify(classify, shares, erasure, spec.mean, random_seeds) for name in names}

    def score(metrics: dict[str, RemoveAndClassify], picture: BoxedPicture, outputs: Outputs) -> None:
        values = input_values(load_picture(picture.path).pixels, spec)
        at_random = None
        for name, score_map in scaled_maps(model, outputs, [picture.label], names).items():
            at_random = metrics[name].update(values, score_map, picture.label, at_random)

    def beside(picture: BoxedPicture) -> Mapping[str, Any]:
        return method_maps(model, picture.path, [picture.label], names)

    metrics = sweep(model, pictures, fresh, score, options, beside=beside, overlap=False)
    return {"images": len(pictures), "maps": {name: metric.compute() for name, metric in metrics.items()}}
