"""Weakly supervised object localization: box accuracy of maps (the paper's section 5.3; Choe et al. 2020)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.boxes import BoxedPicture
from calm_training.evaluate.cases import boxes_at
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
from calm_training.evaluate.intervals import best_estimate, mean_estimate, times_drawn
from calm_training.evaluate.maps import SCALED, check_squash, maps_of, method_maps, scaled_maps
from calm_training.evaluate.paper import WSOL, paper_number
from calm_training.evaluate.plot import bars
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, Swept, sweep
from calm_training.evaluate.table import Table, percent_of
from calm_training.metrics.counts import unpacked
from calm_training.metrics.max_box_acc import Contours, MaxBoxAcc, Mode, best_iou_both
from calm_training.metrics.top_one import TopOne

__all__ = ["BoxResult", "BoxScores", "box_accuracy"]

EXACT = "MaxBoxAccV2 exact"
"""The accuracy in which a perfect box counts as 1, beside the benchmark's."""


@dataclass(frozen=True)
class BoxScores:
    """Box accuracy of one map.

    Attributes
    ----------
    max_box_acc_v2 : float
        Mean over the IoU levels, a fraction.
    per_iou, threshold : mapping
        Fraction, and the threshold that reaches it, by IoU level.
    images : int
    exact : float or None
        Of the conventions of the benchmark: the mean of the exact ones, in which a perfect box counts as 1.
    """

    max_box_acc_v2: float
    per_iou: Mapping[float, float]
    threshold: Mapping[float, float]
    images: int
    exact: float | None = None

    @classmethod
    def of(cls, metric: MaxBoxAcc, exact: MaxBoxAcc | None = None) -> "BoxScores":
        """What a metric has counted, and the exact one beside it."""
        found = metric.compute()
        beside = exact.compute()["MaxBoxAccV2"] if exact is not None else None
        return cls(found["MaxBoxAccV2"], found["per_iou"], found["threshold"], found["images"], beside)

    def to_json(self) -> dict[str, Any]:
        """As version 0.1 wrote it, and the exact accuracy where it was found beside."""
        return {
            "MaxBoxAccV2": self.max_box_acc_v2,
            **({EXACT: self.exact} if self.exact is not None else {}),
            "per_iou": dict(self.per_iou),
            "threshold": dict(self.threshold),
            "images": self.images,
        }


@dataclass(frozen=True)
class BoxResult(Result):
    """Accuracy and box accuracy of a checkpoint's maps; `top_one` is a fraction."""

    top_one: float
    maps: Mapping[str, BoxScores]

    def figures(self) -> dict[str, Any]:
        """As version 0.1 wrote them."""
        maps = {name: scores.to_json() for name, scores in self.maps.items()}
        return {"images": self.images, "top-1": self.top_one, "maps": maps}


def box_accuracy(
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    *,
    maps: Sequence[str] | None = None,
    contours: Contours = "all",
    mode: Mode = "benchmark",
    options: SweepOptions = DEFAULT_OPTIONS,
) -> BoxResult:
    """Top-1 accuracy and box accuracy of maps of a checkpoint, each picture's true class given.

    Parameters
    ----------
    model : LoadedModel
        Its preprocessing must squash, as the benchmark does; boxes are then only scaled.
    pictures : sequence of BoxedPicture
    maps : sequence of str, optional
        As `maps_of` takes them.
    contours, mode
        As in `MaxBoxAcc`.
    options : SweepOptions

    Raises
    ------
    DataError
        If the checkpoint crops or pads, or a picture's class isn't one of its classes.
    """
    check_squash(model)
    checked_labels(model, pictures)
    chosen, size = maps_of(model, maps), model.info.input.size
    names = [one.name for one in chosen]
    both = mode == "benchmark" and contours == "all"

    def fresh() -> dict[str, Any]:
        exact = {_exact(name): MaxBoxAcc(mode="exact") for name in names} if both else {}
        return {"top-1": TopOne(), **{name: MaxBoxAcc(contours=contours, mode=mode) for name in names}, **exact}

    def score(metrics: dict[str, Any], picture: BoxedPicture, outputs: Outputs) -> None:
        metrics["top-1"].update(int(outputs.evidence.class_probabilities.argmax()), picture.label)
        boxes = boxes_at(picture, size, mode)
        for name, score_map in scaled_maps(model, outputs, picture.classes, chosen).items():
            if not both:
                metrics[name].update(score_map, boxes)
                continue
            thresholds = metrics[name].thresholds
            found = best_iou_both(score_map, boxes, boxes_at(picture, size, "exact"), thresholds)
            for key, best in zip((name, _exact(name)), found, strict=True):
                metrics[key].count(best)

    def beside(picture: BoxedPicture) -> Mapping[str, Any]:
        return method_maps(model, picture.path, picture.classes, chosen)

    swept = sweep(model, pictures, fresh, score, options, beside=beside)
    number = len(swept.pictures)
    found = {name: BoxScores.of(swept.metrics[name], swept.metrics.get(_exact(name))) for name in names}
    right = _counts(swept, "top-1", TopOne())[:, 0]
    estimates = {"": {"top-1": mean_estimate(right)}}
    rows = [{"picture": picture, "map": "", "top-1": int(hit)} for picture, hit in zip(swept.names, right, strict=True)]
    for name, scores in found.items():
        hits, *drawn = _best(swept, name)
        estimates[name] = {"MaxBoxAccV2": best_estimate(*(values.mean(1) for values in (hits, *drawn)))}
        if scores.exact is not None:
            estimates[name][EXACT] = best_estimate(*(values.mean(1) for values in _best(swept, _exact(name))))
        for row, level in enumerate(scores.per_iou):
            estimates[name][f"IoU {level}"] = best_estimate(*(values[:, row] for values in (hits, *drawn)))
        rows += [
            {"picture": picture, "map": name}
            | {f"right at IoU {level}": int(hit) for level, hit in zip(scores.per_iou, row, strict=True)}
            for picture, row in zip(swept.names, hits, strict=True)
        ]
    top_one = swept.metrics["top-1"].compute()
    return BoxResult(number, top_one, found, estimates=estimates, pictures=tuple(rows), failed=swept.failed)


def _exact(name: str) -> str:
    """The key of a map's exact metric."""
    return f"{name}, exact"


def _best(swept: Swept, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """What `best_estimate` takes, at each IoU level: (n,levels), (R,levels) and (R,levels).

    Hits of every picture at the best threshold, the best accuracy of each resample, and what its threshold has on the
    whole set.
    """
    metric: MaxBoxAcc = swept.metrics[name]
    number, levels = len(swept.pictures), range(len(metric.correct))
    hits = _counts(swept, name, metric).reshape(number, *metric.correct.shape)[:, levels, metric.correct.argmax(1)]
    best, chosen = [], []
    for one in metric.resampled(swept.of(name), times_drawn(number)):
        best.append(one.correct.max(1) / one.images)
        chosen.append(metric.correct[levels, one.correct.argmax(1)] / metric.images)
    return hits, np.array(best), np.array(chosen)


def _counts(swept: Swept, name: str, metric: Any) -> NDArray[Any]:
    """What every picture counted of a metric, one row each."""
    return np.stack([unpacked(counts[name][metric.counted[0]]) for counts in swept.counts])


_PERFECT = (
    "The benchmark's boxes are a pixel too large to the right and below, so that a perfect one falls short of an IoU "
    "of 1; the accuracy of exact boxes, given as well, reaches 1. "
)


class Wsol(Evaluation):
    """Boxes around what a map marks, against true boxes."""

    key = "wsol"
    title = "Weakly supervised object localization"
    summary = "top-1 and box accuracy (MaxBoxAccV2)"
    reads = "boxes"
    takes_maps = True
    options = (
        Option("contours", "all", "which connected parts give a box", ("all", "largest")),
        Option("mode", "benchmark", "conventions of the metric", ("benchmark", "exact")),
    )

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> BoxResult:
        """As `box_accuracy`."""
        return box_accuracy(model, pictures, maps=plan.maps or None, options=options, **plan.settings)

    def conventions(self, plan: Plan, results: Results) -> str:
        """Mode, contours and thresholds."""
        return (
            f"Mode {plan.settings['mode']}, {plan.settings['contours']} contours, 1,000 thresholds, the best "
            "one of the whole set for each IoU level (as the reference chooses it, on the set that it reports). "
            f"{_PERFECT if plan.settings['mode'] == 'benchmark' else ''}{SCALED}"
        )

    def tables(self, results: Results) -> list[Table]:
        """One row for each map, beside the paper's."""
        scores = next(iter(first_of(results).maps.values()))
        exact = [EXACT] if scores.exact is not None else []
        head = ["checkpoint", "map", "pictures", "top-1", "MaxBoxAccV2", *exact]
        head += [f"IoU {level}" for level in scores.per_iou]
        rows = []
        for name, result in results.items():
            for shown in result.maps:
                of_map = result.estimates[shown]
                numbers = [percent_of(result.estimates[""]["top-1"]), *map(percent_of, of_map.values())]
                rows.append([name, shown, str(result.images), *numbers, paper_number(WSOL, shown, result.method, 0)])
        return [Table.of([*head, "the paper's (ImageNet)"], rows)]

    def plot(self, axes: Any, results: Results) -> None:
        """Bars of MaxBoxAccV2."""
        bars(axes, results, "MaxBoxAccV2")


EVALUATIONS.register(Wsol())
