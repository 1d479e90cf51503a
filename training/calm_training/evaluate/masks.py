"""Localization against masks: PxAP (the paper's section 5.3; Choe et al. 2020)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calm_gui.errors import DataError
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.masks import MaskedPicture
from calm_training.evaluate.evaluation import EVALUATIONS, Evaluation, Plan, Result, Results, checked_labels
from calm_training.evaluate.intervals import resampled_estimate
from calm_training.evaluate.maps import SCALED, check_squash, maps_of, method_maps, scaled_maps
from calm_training.evaluate.paper import WSOL, paper_number
from calm_training.evaluate.plot import bars
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep
from calm_training.evaluate.table import Table, percent_of
from calm_training.metrics.pxap import PxAP, resize_mask

__all__ = ["MaskResult", "mask_accuracy"]


@dataclass(frozen=True)
class MaskResult(Result):
    """PxAP of a checkpoint's maps, as fractions by the map's name."""

    maps: Mapping[str, float]

    def figures(self) -> dict[str, Any]:
        """As version 0.1 wrote them."""
        return {"images": self.images, "maps": dict(self.maps)}


def mask_accuracy(
    model: LoadedModel,
    pictures: Sequence[MaskedPicture],
    *,
    maps: Sequence[str] | None = None,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> MaskResult:
    """PxAP of maps of a checkpoint against masks, maps scaled to 0..1 in each picture.

    Parameters
    ----------
    model : LoadedModel
        Its preprocessing must squash.
    pictures : sequence of MaskedPicture
        A map is about all the classes that stand for the mask's object.
    maps, options
        As in `calm_training.evaluate.wsol.box_accuracy`.

    Raises
    ------
    DataError
        If the checkpoint crops or pads, or lacks a class.
    """
    check_squash(model)
    checked_labels(model, pictures)
    chosen, size = maps_of(model, maps), model.info.input.size

    def fresh() -> dict[str, Any]:
        return {one.name: PxAP() for one in chosen}

    def score(metrics: dict[str, Any], picture: MaskedPicture, outputs: Outputs) -> None:
        mask = resize_mask(picture.mask(), size)
        for name, score_map in scaled_maps(model, outputs, picture.classes, chosen).items():
            metrics[name].update(score_map, mask)

    def beside(picture: MaskedPicture) -> Mapping[str, Any]:
        return method_maps(model, picture.path, picture.classes, chosen)

    swept = sweep(model, pictures, fresh, score, options, beside=beside)
    found = {name: metric.compute() for name, metric in swept.metrics.items()}
    estimates = {
        name: {"PxAP": resampled_estimate(swept.metrics[name], swept.of(name), value, _pxap)}
        for name, value in found.items()
    }
    rows = tuple(
        {"picture": picture, "map": name, "PxAP of this picture": _pxap(metric)}
        for name in found
        for picture, metric in zip(swept.names, map(_alone, swept.of(name)), strict=True)
    )
    return MaskResult(len(swept.pictures), found, estimates=estimates, pictures=rows, failed=swept.failed)


def _alone(state: Mapping[str, Any] | None) -> PxAP:
    metric = PxAP()
    if state:
        metric.add_json(dict(state))
    return metric


def _pxap(metric: PxAP) -> float:
    """PxAP, or NaN where there is no foreground."""
    try:
        return metric.compute()
    except DataError:
        return float("nan")


class Masks(Evaluation):
    """Every pixel's score against true masks."""

    key = "masks"
    title = "Localization against masks"
    summary = "PxAP against masks"
    reads = "masks"
    takes_maps = True

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> MaskResult:
        """As `mask_accuracy`."""
        return mask_accuracy(model, pictures, maps=plan.maps or None, options=options)

    def conventions(self, plan: Plan, results: Results) -> str:
        """Thresholds."""
        return f"PxAP over 1,000 even thresholds, all pixels pooled. {SCALED}"

    def tables(self, results: Results) -> list[Table]:
        """One row for each map, beside the paper's."""
        rows = [
            [name, shown, str(r.images), percent_of(r.estimates[shown]["PxAP"]), paper_number(WSOL, shown, r.method, 2)]
            for name, r in results.items()
            for shown in r.maps
        ]
        return [Table.of(["checkpoint", "map", "pictures", "PxAP", "the paper's (OpenImages)"], rows)]

    def plot(self, axes: Any, results: Results) -> None:
        """Bars of PxAP."""
        bars(axes, results, "PxAP")


EVALUATIONS.register(Masks())
