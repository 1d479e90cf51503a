"""The paper's axioms tested on a checkpoint, with its violations as numbers (sections 3.2 and 4.1)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from calm_gui.errors import DataError
from calm_gui.model.calm import log_conditional, log_saliency
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.boxes import BoxedPicture
from calm_training.localize import class_probabilities
from calm_training.metrics.axioms import Completeness, Invariance, Sensitivity
from calm_training.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep

__all__ = ["BLOCKS", "SHIFTS", "TOLERANCE", "attributions", "axiom_numbers", "changes_without_terms"]

SHIFTS = (-10.0, -1.0, 1.0, 10.0)
"""Constants c of the rewriting f + c, which leaves every probability as it is."""

BLOCKS = 7
"""Rows and columns of blocks of pixels that are erased, one at a time."""

TOLERANCE = 1e-3
"""Share of the whole map, and of p(y|x), up to which the attribution and the effect of a block of pixels are nothing;
an even map gives each block 0.02."""


def axiom_numbers(
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    *,
    pixels: bool = True,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> dict[str, Any]:
    """Completeness, sensitivity and implementation invariance of the maps that stand for each true class.

    CALM has one such map, p(y,z|x). CAM has two, divided by its largest value with negative values cut off and scaled
    between its extremes (equation 2). *Terms* are what the model sums over locations: g h for CALM, the class scores
    f for CAM; one is taken away by leaving it out of the sum. *Pixels* are blocks of the input, replaced by the mean
    colour; there the receptive fields of cells, which reach over blocks, and h's normaliser let a block change p
    without having attribution itself, for CALM too.

    Parameters
    ----------
    model : LoadedModel
    pictures : sequence of BoxedPicture
        Their boxes aren't used.
    pixels : bool
        Whether to test the version over input pixels, at `BLOCKS` x `BLOCKS` forward passes a picture.
    options : SweepOptions

    Returns
    -------
    dict
        ``{"images": n, "maps": {name: {"completeness", "terms", "pixels", "invariance"}}}``, each the result of the
        metric's ``compute()``.
    """
    for picture in pictures:
        if picture.label >= len(model.classes):
            raise DataError(f"{picture.path.name} is of class {picture.label}, which the checkpoint lacks")
    activation = model.info.saliency_activation
    names = ("CAM, max", "CAM, min-max") if model.info.is_cam else ("CALM",)
    kinds = ("completeness", "terms", "pixels", "invariance") if pixels else ("completeness", "terms", "invariance")
    make: dict[str, Callable[[], Any]] = {
        "completeness": Completeness,
        "terms": Sensitivity,
        "pixels": lambda: Sensitivity(TOLERANCE),
        "invariance": Invariance,
    }

    def fresh() -> dict[str, Any]:
        return {f"{name}/{kind}": make[kind]() for name in names for kind in kinds}

    def response(f: Tensor, a: Tensor | None, label: int) -> float:
        return float(class_probabilities(f, a, activation)[0, label])

    def score(metrics: dict[str, Any], picture: BoxedPicture, outputs: Outputs) -> None:
        f, a, label = outputs.f, outputs.a, picture.label
        p = response(f, a, label)
        maps = attributions(f, a, model, label)
        change = changes_without_terms(f, a, model, label)
        of_blocks = p - _without_blocks(model, outputs.inputs, label) if pixels else None
        for name, values in maps.items():
            metrics[f"{name}/completeness"].update(values, p)
            metrics[f"{name}/terms"].update(values, change, p)
            if of_blocks is not None:
                metrics[f"{name}/pixels"].update(_block_sums(values), of_blocks, p)
            for shift in SHIFTS:
                other = attributions(f + shift, a, model, label)[name]
                metrics[f"{name}/invariance"].update(values, other, p, response(f + shift, a, label))

    metrics = sweep(model, pictures, fresh, score, options, overlap=False)
    results = {name: {kind: metrics[f"{name}/{kind}"].compute() for kind in kinds} for name in names}
    return {"images": len(pictures), "maps": results}


def attributions(f: Tensor, a: Tensor | None, model: LoadedModel, label: int) -> dict[str, NDArray[np.float64]]:
    """Attribution maps (H,W) of a class by name, as the paper defines them."""
    if a is None or model.info.saliency_activation is None:
        s = f[0, label].double().cpu().numpy()
        low, high = s.min(), s.max()
        # Where no value is positive, dividing by the largest has no meaning: nothing is left after cutting.
        by_max = np.maximum(s, 0) / high if high > 0 else np.zeros_like(s)
        return {"CAM, max": by_max, "CAM, min-max": (s - low) / (high - low) if high > low else np.zeros_like(s)}
    joint = (log_conditional(f)[0, label] + log_saliency(a, model.info.saliency_activation)[0]).exp()
    return {"CALM": np.asarray(joint.double().cpu().numpy())}


def changes_without_terms(f: Tensor, a: Tensor | None, model: LoadedModel, label: int) -> NDArray[np.float64]:
    """What p(y|x) loses when a location's term is left out of the sum over locations, (H,W), float64."""
    if a is None or model.info.saliency_activation is None:
        scores = f[0].double()
        cells = scores[0].numel()
        mean = scores.mean((1, 2))
        without = (mean[:, None, None] - scores / cells).softmax(0)[label]
        return np.asarray((mean.softmax(0)[label] - without).cpu().numpy())
    g = f[0].double().softmax(0)[label]
    log_h = log_saliency(a, model.info.saliency_activation)[0].double()
    terms = (g * log_h.exp()).flatten()
    everything = terms.sum()
    rest = torch.stack([torch.cat([terms[:i], terms[i + 1 :]]).sum() for i in range(len(terms))])
    return np.asarray((everything - rest).reshape(g.shape).cpu().numpy())


def _without_blocks(model: LoadedModel, inputs: Tensor, label: int) -> NDArray[np.float64]:
    """p(y|x) after each block of pixels was set to the mean colour, (BLOCKS,BLOCKS)."""
    found = np.empty((BLOCKS, BLOCKS))
    edges = np.linspace(0, inputs.shape[-1], BLOCKS + 1).round().astype(int)
    for row in range(BLOCKS):
        for column in range(BLOCKS):
            erased = inputs.clone()
            erased[:, :, edges[row] : edges[row + 1], edges[column] : edges[column + 1]] = 0
            f, a = model.raw(erased)
            found[row, column] = class_probabilities(f, a, model.info.saliency_activation)[0, label]
    return found


def _block_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Attribution of each block of pixels: cells count with the part of them that lies in it."""
    cells = torch.from_numpy(np.ascontiguousarray(values))[None, None]
    fine = functional.interpolate(cells, scale_factor=BLOCKS, mode="nearest")[0, 0]
    shape = (BLOCKS, values.shape[0], BLOCKS, values.shape[1])
    return np.asarray(fine.reshape(shape).sum((1, 3)).numpy()) / BLOCKS**2
