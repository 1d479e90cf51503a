"""Top-1 accuracy and calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.evaluation_set import Labelled
from calm_training.evaluate.evaluation import EVALUATIONS, Evaluation, Plan, Result, Results, checked_labels
from calm_training.evaluate.intervals import distance_estimate, mean_estimate
from calm_training.evaluate.paper import ACCURACY, paper_number
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep
from calm_training.evaluate.table import Table, percent, percent_of
from calm_training.metrics.calibration import Calibration, deviations
from calm_training.metrics.top_one import TopOne

__all__ = ["AccuracyResult", "accuracy"]

BINS = 15


@dataclass(frozen=True)
class AccuracyResult(Result):
    """Accuracy and calibration of a checkpoint.

    Attributes
    ----------
    top_one : float
        Fraction.
    calibration : dict
        As `calm_training.metrics.Calibration.compute` gives it.
    """

    top_one: float
    calibration: dict[str, Any]

    def figures(self) -> dict[str, Any]:
        """As version 0.1 wrote them."""
        return {"images": self.images, "top-1": self.top_one, "calibration": self.calibration}


def accuracy(
    model: LoadedModel, pictures: Sequence[Labelled], options: SweepOptions = DEFAULT_OPTIONS, bins: int = BINS
) -> AccuracyResult:
    """Top-1 accuracy and calibration of a checkpoint; of several classes that mean a picture's object any is right.

    Raises
    ------
    DataError
        If a picture's class isn't one of the checkpoint's.
    """
    checked_labels(model, pictures)

    def score(metrics: dict[str, Any], picture: Labelled, outputs: Outputs) -> None:
        p = outputs.evidence.class_probabilities
        predicted = int(p.argmax())
        right = predicted in picture.classes
        metrics["top-1"].update(predicted, predicted if right else picture.classes[0])
        metrics["calibration"].update(float(p[predicted]), right)

    swept = sweep(model, pictures, lambda: {"top-1": TopOne(), "calibration": Calibration(bins)}, score, options)
    top_one, calibration = swept.metrics["top-1"].compute(), swept.metrics["calibration"].compute()
    confidence, right = np.array(swept.metrics["calibration"].rows, np.float64).T
    estimates = {
        "top-1": mean_estimate(right),
        "mean confidence": mean_estimate(confidence),
        "ECE": distance_estimate(deviations(confidence, right, bins), lambda means: np.abs(means).sum(-1)),
    }
    rows = tuple(
        {"picture": name, "class": picture.classes[0], "confidence": float(c), "right": int(r)}
        for name, picture, c, r in zip(swept.names, swept.pictures, confidence, right, strict=True)
    )
    return AccuracyResult(
        len(swept.pictures), top_one, calibration, estimates={"": estimates}, pictures=rows, failed=swept.failed
    )


class Accuracy(Evaluation):
    """How often the likeliest class is right, and how far its probability can be believed."""

    key = "accuracy"
    title = "Accuracy and calibration"
    summary = "top-1 accuracy and calibration"
    reads = "labels"

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> AccuracyResult:
        """As `accuracy`."""
        return accuracy(model, pictures, options)

    def conventions(self, plan: Plan, results: Results) -> str:
        """Bins of the error."""
        return f"ECE over {BINS} bins of equal width, each weighted by its pictures."

    def tables(self, results: Results) -> list[Table]:
        """Accuracy beside the paper's, and a table of reliability for each checkpoint."""
        head = ["checkpoint", "pictures", "top-1", "mean confidence", "ECE", "the paper's top-1 (ImageNet)"]
        rows = []
        for name, result in results.items():
            numbers = [percent_of(result.estimates[""][figure]) for figure in ("top-1", "mean confidence", "ECE")]
            rows.append([name, str(result.images), *numbers, paper_number(ACCURACY, result.method, "", 0)])
        tables = [Table.of(head, rows)]
        for name, result in results.items():
            bins = [
                [
                    f"{b['low']:.2f} to {b['high']:.2f}",
                    str(b["images"]),
                    percent(b["confidence"]),
                    percent(b["accuracy"]),
                ]
                for b in result.calibration["bins"]
            ]
            tables.append(Table.of([f"{name}: confidence", "pictures", "mean", "right"], bins))
        return tables

    def plot(self, axes: Any, results: Results) -> None:
        """Reliability against the diagonal."""
        axes.plot([0, 1], [0, 1], color="gray", linewidth=0.8, label="as often right as said")
        for name, result in results.items():
            bins = result.calibration["bins"]
            label = f"{name} (ECE {100 * result.calibration['ECE']:.1f} %)"
            axes.plot([b["confidence"] for b in bins], [b["accuracy"] for b in bins], marker="o", label=label)
        axes.set(xlabel="p(y|x) of the predicted class, mean of the bin", ylabel="share that is right")
        axes.legend()


EVALUATIONS.register(Accuracy())
