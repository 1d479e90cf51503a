"""Remove and classify: the accuracy left when what a map marks is erased (the paper's section 5.2, figure 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from calm_gui.model.calm import log_class_probabilities
from calm_gui.model.input import input_values, normalised
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_training.datasets.evaluation_set import Labelled
from calm_training.evaluate.evaluation import (
    EVALUATIONS,
    Evaluation,
    Option,
    Plan,
    Result,
    Results,
    checked_labels,
    first_of,
)
from calm_training.evaluate.intervals import Estimate, estimate, times_drawn
from calm_training.evaluate.maps import SCALED, maps_of, method_maps, scaled_maps
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep
from calm_training.evaluate.table import Table, percent
from calm_training.metrics.counts import unpacked
from calm_training.metrics.remove_and_classify import SHARES, Erasure, RemoveAndClassify

__all__ = ["RemovalCurve", "RemovalResult", "removal_curves"]


@dataclass(frozen=True)
class RemovalCurve:
    """Accuracies over the shares of erased pixels.

    Attributes
    ----------
    shares : tuple of float
    accuracy, random : tuple of float
        Fractions, erased by the map and at random (mean over seeds).
    relative : tuple of Estimate
        The one over the other; undefined where nothing is recognised at random.
    images : int
    """

    shares: tuple[float, ...]
    accuracy: tuple[float, ...]
    random: tuple[float, ...]
    relative: tuple[Estimate, ...]
    images: int

    def to_json(self) -> dict[str, Any]:
        """As version 0.1 wrote it, with bootstrap intervals and null where it had NaN."""
        return {
            "shares": list(self.shares),
            "accuracy": list(self.accuracy),
            "random": list(self.random),
            "relative": [one.value for one in self.relative],
            "interval": [one.interval for one in self.relative],
            "images": self.images,
        }


@dataclass(frozen=True)
class RemovalResult(Result):
    """Curves of a checkpoint's maps by their names."""

    maps: Mapping[str, RemovalCurve]

    def figures(self) -> dict[str, Any]:
        """One curve for each map."""
        return {"images": self.images, "maps": {name: curve.to_json() for name, curve in self.maps.items()}}


def removal_curves(
    model: LoadedModel,
    pictures: Sequence[Labelled],
    *,
    maps: Sequence[str] | None = None,
    erasure: Erasure = "blur",
    shares: Sequence[float] = SHARES,
    random_seeds: Sequence[int] = (0, 1, 2),
    options: SweepOptions = DEFAULT_OPTIONS,
) -> RemovalResult:
    """Relative accuracies R_k of maps of a checkpoint, the true class given.

    Parameters
    ----------
    model : LoadedModel
        It classifies the erased pictures itself.
    pictures : sequence of labelled pictures
    maps : sequence of str, optional
        As `maps_of` takes them.
    erasure, shares, random_seeds
        As in `RemoveAndClassify`.
    options : SweepOptions

    Raises
    ------
    DataError
        If a picture's class isn't one of the checkpoint's.
    """
    checked_labels(model, pictures)
    spec, chosen = model.info.input, maps_of(model, maps)
    at_once = 1 if model.device.type == "cpu" else options.batch

    def classify(variants: NDArray[np.float32]) -> NDArray[np.int64]:
        inputs = torch.from_numpy(normalised(variants, spec))
        parts = [model.raw(inputs[i : i + at_once]) for i in range(0, len(inputs), at_once)]
        classes = [log_class_probabilities(f, a, model.info.saliency_activation).argmax(1) for f, a in parts]
        return np.asarray(torch.cat(classes).cpu().numpy())

    def fresh() -> dict[str, RemoveAndClassify]:
        return {one.name: RemoveAndClassify(classify, shares, erasure, spec.mean, random_seeds) for one in chosen}

    def score(metrics: dict[str, RemoveAndClassify], picture: Labelled, outputs: Outputs) -> None:
        values = input_values(load_picture(picture.path).pixels, spec)
        at_random = None
        for name, score_map in scaled_maps(model, outputs, picture.classes, chosen).items():
            at_random = metrics[name].update(values, score_map, picture.classes, at_random)

    def beside(picture: Labelled) -> Mapping[str, Any]:
        return method_maps(model, picture.path, picture.classes, chosen)

    swept = sweep(model, pictures, fresh, score, options, beside=beside, overlap=False)
    curves, rows = {}, []
    for name, metric in swept.metrics.items():
        curves[name] = _curve(metric, swept.of(name))
        rows += [
            {"picture": picture, "map": name}
            | {f"right without {share:.0%}": int(hit) for share, hit in zip(shares, hits, strict=True)}
            for picture, counts in zip(swept.names, swept.counts, strict=True)
            for hits in [unpacked(counts[name]["correct"])]
        ]
    estimates = {
        name: {f"{share:.0%} erased": one for share, one in zip(curve.shares, curve.relative, strict=True)}
        for name, curve in curves.items()
    }
    return RemovalResult(len(swept.pictures), curves, estimates=estimates, pictures=tuple(rows), failed=swept.failed)


def _curve(metric: RemoveAndClassify, states: Sequence[Mapping[str, Any] | None]) -> RemovalCurve:
    found = metric.compute()
    resamples = np.array([_relative(one) for one in metric.resampled(states, times_drawn(len(states)))])
    relative = [estimate(value, resamples[:, i], len(states)) for i, value in enumerate(found["relative"])]
    accuracy, at_random = tuple(found["accuracy"]), tuple(found["random"])
    return RemovalCurve(metric.shares, accuracy, at_random, tuple(relative), metric.images)


def _relative(metric: RemoveAndClassify) -> NDArray[np.float64]:
    at_random = metric.correct_at_random.mean(0)
    return np.divide(metric.correct, at_random, out=np.full(len(at_random), np.nan), where=at_random > 0)


class Removal(Evaluation):
    """Erase what a map marks, and classify again."""

    key = "removal"
    title = "Remove and classify"
    summary = "accuracy after erasing"
    reads = "labels"
    takes_maps = True
    slow = True
    options = (
        Option("erasure", "blur", "what replaces the erased pixels", ("blur", "zero", "mean")),
        Option("most", 90, "largest share of erased pixels in percent", range(10, 100, 10)),
    )

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> RemovalResult:
        """As `removal_curves`."""
        shares = [share for share in SHARES if round(100 * share) <= plan.settings["most"]]
        erasure, maps = plan.settings["erasure"], plan.maps or None
        return removal_curves(model, pictures, maps=maps, erasure=erasure, shares=shares, options=options)

    def conventions(self, plan: Plan, results: Results) -> str:
        """What is erased by what."""
        return (
            f"Erased by {plan.settings['erasure']}; accuracy in percent of erasing as many pixels at random (three "
            "seeds), with 95 % intervals; lower is better. Each checkpoint classifies the erased pictures itself. "
            f"{SCALED}"
        )

    def tables(self, results: Results) -> list[Table]:
        """R_k over the shares, and the accuracy at random."""
        shares = next(iter(first_of(results).maps.values())).shares
        rows = []
        for name, result in results.items():
            for shown, curve in result.maps.items():
                rows.append([name, shown, str(result.images), *map(_cell, curve.relative)])
            at_random = next(iter(result.maps.values())).random
            rows.append([name, "accuracy at random", str(result.images), *map(percent, at_random)])
        return [Table.of(["checkpoint", "map", "pictures", *(f"{100 * share:.0f} %" for share in shares)], rows)]

    def plot(self, axes: Any, results: Results) -> None:
        """R_k over k with 95 % intervals, as the paper's figure 5."""
        for name, result in results.items():
            for shown, curve in result.maps.items():
                shares = [100 * share for share in curve.shares]
                values = [np.nan if one.value is None else one.value for one in curve.relative]
                line = axes.plot(shares, values, marker="o", markersize=3, label=f"{name}: {shown}")[0]
                low, high = zip(*(one.interval or (np.nan, np.nan) for one in curve.relative), strict=True)
                axes.fill_between(shares, low, high, color=line.get_color(), alpha=0.1, linewidth=0)
        axes.axhline(1, color="gray", linewidth=0.8)
        axes.set(xlabel="erased pixels, %", ylabel="accuracy relative to erasing at random", ylim=(0, 1.5))
        axes.legend(fontsize="small")


def _cell(one: Estimate) -> str:
    # Where nothing is recognised at random there is nothing to be relative to.
    if one.value is None:
        return "-"
    if one.interval is None:
        return f"{100 * one.value:.0f}"
    return f"{100 * one.value:.0f} ({100 * one.interval[0]:.0f} to {100 * one.interval[1]:.0f})"


EVALUATIONS.register(Removal())
