"""The paper's axioms tested on a checkpoint, with its violations as numbers (sections 3.2 and 4.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from calm_gui.core.classes import ClassSet
from calm_gui.core.joint import ClassLogits, ClassScores, Joint
from calm_gui.core.readings import ATTRIBUTION, CAM, Asked
from calm_gui.errors import DataError
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.evaluation_set import Labelled
from calm_training.evaluate.evaluation import EVALUATIONS, Evaluation, Option, Plan, Result, Results, checked_labels
from calm_training.evaluate.intervals import Estimate, mean_estimate, median_estimate
from calm_training.evaluate.maps import evidence_kind
from calm_training.evaluate.plot import bars
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, evidence_of, sweep
from calm_training.evaluate.table import Table, percent
from calm_training.metrics.axioms import Completeness, Invariance, Sensitivity

__all__ = ["AxiomResult", "attributions", "axiom_numbers", "changes_without_terms"]

SHIFTS = (-10.0, -1.0, 1.0, 10.0)
"""Constants c of the rewriting f + c, which leaves every probability as it is."""

BLOCKS = 7
"""Rows and columns of blocks of pixels that are erased, one at a time."""

TOLERANCE = 1e-3
"""Share of the whole map, and of p(y|x), up to which the attribution and the effect of a block of pixels are nothing;
an even map gives each block 0.02."""


@dataclass(frozen=True)
class AxiomResult(Result):
    """Axioms of a checkpoint's maps.

    Attributes
    ----------
    maps : mapping
        By the map's name and the axiom's: what the metric's ``compute()`` gives.
    """

    maps: Mapping[str, Mapping[str, Mapping[str, Any]]]

    def figures(self) -> dict[str, Any]:
        """As version 0.1 wrote them."""
        return {"images": self.images, "maps": {name: dict(found) for name, found in self.maps.items()}}


def axiom_numbers(
    model: LoadedModel,
    pictures: Sequence[Labelled],
    *,
    pixels: bool = True,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> AxiomResult:
    """Completeness, sensitivity and implementation invariance of the maps that stand for each true class.

    CALM has one such map, p(y,z|x). CAM has two, divided by its largest value with negative values cut off and scaled
    between its extremes (equation 2). *Terms* are what the model sums over locations: g h for CALM, the class scores
    f for CAM; one is taken away by leaving it out of the sum. *Pixels* are blocks of the input, replaced by the mean
    colour; there the receptive fields of cells, which reach over blocks, and h's normaliser let a block change p
    without having attribution itself, for CALM too.

    Parameters
    ----------
    model : LoadedModel
    pictures : sequence of labelled pictures
    pixels : bool
        Whether to test the version over input pixels, at `BLOCKS` x `BLOCKS` forward passes a picture.
    options : SweepOptions

    Raises
    ------
    DataError
        If a picture's class isn't one of the checkpoint's, or it has no map of its own.
    """
    checked_labels(model, pictures)
    if evidence_kind(model) is ClassLogits:
        raise DataError(f"{model.name} has no map of its own to test the axioms on")
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

    def score(metrics: dict[str, Any], picture: Labelled, outputs: Outputs) -> None:
        evidence, label = outputs.evidence, picture.classes[0]
        p = float(evidence.class_probabilities[label])
        maps = attributions(evidence, label)
        change = changes_without_terms(evidence, label)
        of_blocks = p - _without_blocks(model, outputs.inputs, label) if pixels else None
        for name, values in maps.items():
            metrics[f"{name}/completeness"].update(values, p)
            metrics[f"{name}/terms"].update(values, change, p)
            if of_blocks is not None:
                metrics[f"{name}/pixels"].update(_block_sums(values), of_blocks, p)
        for shift in SHIFTS:
            shifted = _evidence(model, outputs.f + shift, outputs.a)
            others = attributions(shifted, label)
            for name, values in maps.items():
                response = float(shifted.class_probabilities[label])
                metrics[f"{name}/invariance"].update(values, others[name], p, response)

    swept = sweep(model, pictures, fresh, score, options, overlap=False)
    found = {name: {kind: swept.metrics[f"{name}/{kind}"].compute() for kind in kinds} for name in names}
    rows: list[dict[str, Any]] = []
    estimates: dict[str, dict[str, Estimate]] = {}
    for name in names:
        totals = np.array(swept.metrics[f"{name}/completeness"].rows)
        errors = np.abs(totals[:, 0] - totals[:, 1]) / totals[:, 1]
        estimates[name] = {"relative error": median_estimate(errors)}
        terms = {kind: np.array(swept.metrics[f"{name}/{kind}"].rows) for kind in kinds if kind in ("terms", "pixels")}
        for kind, table in terms.items():
            for column, figure in enumerate(("missed", "unfounded", "rank correlation")):
                estimates[name][f"{kind}: {figure}"] = mean_estimate(table[:, column])
        rows += [
            {"picture": picture, "map": name, "relative error": float(errors[i])}
            | {f"{kind}: missed": float(table[i, 0]) for kind, table in terms.items()}
            | {f"{kind}: unfounded": float(table[i, 1]) for kind, table in terms.items()}
            for i, picture in enumerate(swept.names)
        ]
    return AxiomResult(len(swept.pictures), found, estimates=estimates, pictures=tuple(rows), failed=swept.failed)


def attributions(evidence: Joint | ClassScores, label: int) -> dict[str, NDArray[np.float64]]:
    """Attribution maps (H,W) of a class by name, as the paper defines them."""
    own = ClassSet([label])
    if isinstance(evidence, Joint):
        return {"CALM": _float64(ATTRIBUTION.values(evidence, Asked(own)))}
    return {
        f"CAM, {normalisation}": _float64(CAM.values(evidence, Asked(own, normalisation=normalisation)))
        for normalisation in ("max", "min-max")
    }


def changes_without_terms(evidence: Joint | ClassScores, label: int) -> NDArray[np.float64]:
    """What p(y|x) loses when a location's term is left out of the sum over locations, (H,W), float64."""
    if isinstance(evidence, ClassScores):
        scores = evidence.f.double()
        cells = scores[0].numel()
        mean = scores.mean((1, 2))
        without = (mean[:, None, None] - scores / cells).softmax(0)[label]
        return _float64(mean.softmax(0)[label] - without)
    cells64 = evidence.rows64(ClassSet([label]))
    terms = cells64.flatten()
    everything = terms.sum()
    rest = torch.stack([torch.cat([terms[:i], terms[i + 1 :]]).sum() for i in range(len(terms))])
    return _float64((everything - rest).reshape(cells64.shape))


def _evidence(model: LoadedModel, f: Tensor, a: Tensor | None) -> Joint | ClassScores:
    return evidence_of(f[0], None if a is None else a[0, 0], model.info.saliency_activation)


def _float64(values: Tensor) -> NDArray[np.float64]:
    return np.asarray(values.double().cpu().numpy())


def _without_blocks(model: LoadedModel, inputs: Tensor, label: int) -> NDArray[np.float64]:
    """p(y|x) after each block of pixels was set to the mean colour, (BLOCKS,BLOCKS)."""
    found = np.empty((BLOCKS, BLOCKS))
    edges = np.linspace(0, inputs.shape[-1], BLOCKS + 1).round().astype(int)
    for row in range(BLOCKS):
        for column in range(BLOCKS):
            erased = inputs.clone()
            erased[:, :, edges[row] : edges[row + 1], edges[column] : edges[column + 1]] = 0
            found[row, column] = _evidence(model, *model.raw(erased)).class_probabilities[label]
    return found


def _block_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Attribution of each block of pixels: cells count with the part of them that lies in it."""
    cells = torch.from_numpy(np.ascontiguousarray(values))[None, None]
    fine = functional.interpolate(cells, scale_factor=BLOCKS, mode="nearest")[0, 0]
    shape = (BLOCKS, values.shape[0], BLOCKS, values.shape[1])
    return np.asarray(fine.reshape(shape).sum((1, 3)).numpy()) / BLOCKS**2


class Axioms(Evaluation):
    """Whether maps add up, are zero where nothing matters, and stay when the function is written otherwise."""

    key = "axioms"
    title = "Axioms"
    summary = "the paper's axioms as numbers"
    reads = "labels"
    slow = True
    options = (Option("pixels", True, "leave out the slow part over pixels"),)

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> AxiomResult:
        """As `axiom_numbers`."""
        return axiom_numbers(model, pictures, options=options, **plan.settings)

    def conventions(self, plan: Plan, results: Results) -> str:
        """What terms, pixels, missed and unfounded are."""
        return (
            f"True class given. Terms: each location left out of the model's sum. Pixels: {BLOCKS} x {BLOCKS} "
            f"blocks set to the mean colour; attribution and effect up to {TOLERANCE:g} of the whole count as "
            "none. Missed: changes p but has no attribution; unfounded: the other way round. "
            f"c = {', '.join(f'{c:g}' for c in SHIFTS)}."
        )

    def tables(self, results: Results) -> list[Table]:
        """One row for each map."""
        head = [
            "checkpoint",
            "map",
            "pictures",
            "sum of the map",
            "p",
            "relative error (median, largest)",
            "terms: missed, unfounded",
            "terms: largest difference / p",
            "pixels: missed, unfounded",
            "pixels: rank correlation",
            "f + c changes the map by (largest)",
            "f + c changes p by (largest)",
        ]
        rows = []
        for name, result in results.items():
            for shown, found in result.maps.items():
                whole, terms, same = found["completeness"], found["terms"], found["invariance"]
                pixels = found.get("pixels")
                rows.append(
                    [
                        name,
                        shown,
                        str(result.images),
                        f"{whole['sum']:.4g}",
                        f"{whole['response']:.4g}",
                        f"{whole['median']:.2g}, {whole['largest']:.2g}",
                        f"{percent(terms['missed'])} %, {percent(terms['unfounded'])} %",
                        f"{terms['difference']:.2g}",
                        f"{percent(pixels['missed'])} %, {percent(pixels['unfounded'])} %" if pixels else "",
                        f"{pixels['rank correlation']:.2f}" if pixels else "",
                        f"{percent(same['largest'])} %",
                        f"{same['response']:.1g}",
                    ]
                )
        return [Table.of(head, rows)]

    def plot(self, axes: Any, results: Results) -> None:
        """Bars of the median relative error."""
        bars(axes, results, "relative error", "|sum of the map - p| / p, median over pictures", logarithmic=True)


EVALUATIONS.register(Axioms())
