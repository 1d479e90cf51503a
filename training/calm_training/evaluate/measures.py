"""Measures of maps, picture by picture: every one of `calm_training.metrics.measures` that the data allow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calm_gui.core.readings import Reading
from calm_gui.errors import DataError
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.evaluation_set import Labelled
from calm_training.evaluate.cases import Cases
from calm_training.evaluate.evaluation import EVALUATIONS, Evaluation, Option, Plan, Result, Results, checked_labels
from calm_training.evaluate.intervals import Estimate, distance_estimate, drawn, estimate, mean_estimate
from calm_training.evaluate.maps import MeasuredMap, maps_of, method_maps
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep
from calm_training.evaluate.table import Table, shown
from calm_training.metrics.measure import Measure, Need
from calm_training.metrics.measures import MEASURES

__all__ = ["MeasureResult", "chosen_measures", "measure_maps"]


class Collected:
    """Scores of pictures, as `sweep` counts them."""

    def __init__(self) -> None:
        self.scores: list[Any] = []

    @property
    def images(self) -> int:
        """Pictures so far."""
        return len(self.scores)

    def to_json(self) -> dict[str, Any]:
        """The scores so far; None for NaN, which JSON doesn't have."""
        return {"scores": [_without_nan(score) for score in self.scores]}

    def add_json(self, state: dict[str, Any]) -> None:
        """Append the scores of `to_json`."""
        self.scores += state["scores"]


@dataclass(frozen=True)
class MeasureResult(Result):
    """Measures of a checkpoint's maps: the estimates hold them by map and measure."""

    def figures(self) -> dict[str, Any]:
        """The values by map and measure, and of how many pictures each is."""
        maps = {
            name: {key: {"value": one.value, "pictures": one.pictures} for key, one in of_map.items()}
            for name, of_map in self.estimates.items()
        }
        return {"images": self.images, "maps": maps}


def chosen_measures(names: Sequence[str], there: Iterable[Need]) -> tuple[Measure, ...]:
    """The measures asked for, or all of one pass that the data allow.

    Parameters
    ----------
    names : sequence of str
    there : iterable of Need
        What the data has.

    Raises
    ------
    DataError
        If one that was asked for is unknown or needs what isn't there.
    """
    has_regions = "region" in there
    if not names:
        return tuple(m for m in MEASURES.values() if not m.many_passes and (has_regions or "region" not in m.needs))
    chosen = tuple(MEASURES[name] for name in dict.fromkeys(names))
    for measure in chosen:
        if "region" in measure.needs and not has_regions:
            raise DataError(f"{measure.title} needs boxes or masks, and the data has none")
    return chosen


def _fits(measure: Measure, measured: MeasuredMap) -> bool:
    """Whether a map is what a measure is about."""
    kind = measured.kind
    if "joint" in measure.needs:
        return isinstance(kind, Reading) and kind.quantity == "joint" and kind.takes_target
    if "distribution" in measure.needs:
        return isinstance(kind, Reading) and kind.unit == "probability per cell" and not kind.signed
    if "parts" in measure.needs:
        return kind.takes_target and not kind.takes_contrast and not measured.of_superset
    return True


def measure_maps(
    model: LoadedModel,
    pictures: Sequence[Labelled],
    *,
    maps: Sequence[str] | None = None,
    measures: Sequence[str] = (),
    options: SweepOptions = DEFAULT_OPTIONS,
) -> MeasureResult:
    """Measures of maps of a checkpoint, each picture's true class given.

    Parameters
    ----------
    model : LoadedModel
    pictures : sequence of labelled pictures
        With boxes or masks where a measure needs them; the checkpoint's preprocessing must then squash.
    maps : sequence of str, optional
        As `maps_of` takes them.
    measures : sequence of str
        Keys of `MEASURES`; by default all of one pass that the data allow.
    options : SweepOptions

    Raises
    ------
    DataError
        If the checkpoint doesn't fit the set, or a measure needs what isn't there.
    """
    checked_labels(model, pictures)
    cases = Cases(model, pictures)
    chosen, wanted = chosen_measures(measures, cases.there), maps_of(model, maps)
    pairs = [(one, measure) for one in wanted for measure in chosen if _fits(measure, one)]
    if not pairs:
        raise DataError(f"none of {', '.join(m.key for m in chosen)} is about {', '.join(m.name for m in wanted)}")

    def fresh() -> dict[str, Collected]:
        return {f"{one.name}/{measure.key}": Collected() for one, measure in pairs}

    def score(metrics: dict[str, Collected], picture: Labelled, outputs: Outputs) -> None:
        built = cases.of(picture, outputs, wanted, with_network=uses_network)
        for one, measure in pairs:
            metrics[f"{one.name}/{measure.key}"].scores.append(measure.score(built[one.name]))

    def beside(picture: Labelled) -> Mapping[str, Any]:
        return method_maps(model, picture.path, picture.classes, wanted)

    uses_network = any(measure.many_passes for measure in chosen)
    swept = sweep(model, pictures, fresh, score, options, beside=beside, overlap=not uses_network)
    estimates: dict[str, dict[str, Estimate]] = {}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for one, measure in pairs:
        scores = np.array(_with_nan(swept.metrics[f"{one.name}/{measure.key}"].scores), np.float64)
        estimates.setdefault(one.name, {})[measure.key] = estimate_of(measure, scores)
        if scores.ndim == 1:
            for picture, value in zip(swept.names, scores, strict=True):
                row = {"picture": picture, "map": one.name}
                rows.setdefault((one.name, picture), row)[measure.key] = float(value)
    return MeasureResult(len(swept.pictures), estimates=estimates, pictures=tuple(rows.values()), failed=swept.failed)


def estimate_of(measure: Measure, scores: np.ndarray) -> Estimate:
    """A measure's figure of a set with its interval, from the scores (n,) or (n,k) of its pictures."""
    deviations = measure.deviations(scores)
    if deviations is not None:
        return distance_estimate(deviations, lambda means: np.abs(means).mean(-1))
    if type(measure).figure is Measure.figure:
        return mean_estimate(scores)
    known = int(np.isfinite(scores).reshape(len(scores), -1).all(1).sum())
    if not known:
        return Estimate(None)
    return estimate(float(measure.figure(scores)), measure.figure(scores[drawn(len(scores))]), known)


def _without_nan(score: Any) -> Any:
    if isinstance(score, list):
        return [_without_nan(one) for one in score]
    return float(score) if np.isfinite(score) else None


def _with_nan(score: Any) -> Any:
    if isinstance(score, list):
        return [_with_nan(one) for one in score]
    return np.nan if score is None else score


class Measures(Evaluation):
    """Localization by points and mass, faithfulness, sensitivity, calibration of places."""

    key = "measures"
    title = "Measures of maps"
    summary = "pointing games, mass, faithfulness and more, of readings and methods"
    reads = "regions"
    takes_maps = True
    options = (Option("measure", (), "one of the measures; repeatable (default: all that take one pass)", MEASURES),)

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> MeasureResult:
        """As `measure_maps`."""
        return measure_maps(model, pictures, maps=plan.maps or None, measures=plan.settings["measure"], options=options)

    def conventions(self, plan: Plan, results: Results) -> str:
        """What each measure is, and its source."""
        keys = dict.fromkeys(key for r in results.values() for of_map in r.estimates.values() for key in of_map)
        said = [
            f"{measure.title}: {measure.meaning}{f' ({measure.better} is better)' if measure.better else ''}; "
            f"{measure.source}."
            for measure in (MEASURES[key] for key in keys)
        ]
        return " ".join(["True class given; maps enlarged bilinearly to the input's size.", *said])

    def tables(self, results: Results) -> list[Table]:
        """One row for each map, one column for each measure."""
        keys = dict.fromkeys(key for r in results.values() for of_map in r.estimates.values() for key in of_map)
        rows = [
            [name, map_name, str(result.images), *(shown(of_map[key]) if key in of_map else "" for key in keys)]
            for name, result in results.items()
            for map_name, of_map in result.estimates.items()
        ]
        return [Table.of(["checkpoint", "map", "pictures", *(MEASURES[key].title for key in keys)], rows)]

    def plot(self, axes: Any, results: Results) -> None:
        """A row for each map, a mark with its interval for each measure."""
        names = [(name, shown_map) for name, result in results.items() for shown_map in result.estimates]
        keys = list(dict.fromkeys(key for r in results.values() for of_map in r.estimates.values() for key in of_map))
        for number, key in enumerate(keys):
            offset = (number + 0.5) / len(keys) * 0.8 - 0.4
            found = [
                (row + offset, results[name].estimates[shown_map][key])
                for row, (name, shown_map) in enumerate(names)
                if key in results[name].estimates[shown_map]
            ]
            found = [(at, one) for at, one in found if one.value is not None]
            points = axes.plot([one.value for _, one in found], [at for at, _ in found], "o", markersize=4)[0]
            points.set_label(MEASURES[key].title)
            for at, one in found:
                if one.interval:
                    axes.plot(one.interval, (at, at), color=points.get_color(), linewidth=1.2)
        axes.set_yticks(range(len(names)), [f"{name}: {shown_map}" for name, shown_map in names])
        axes.invert_yaxis()
        axes.set_xlabel("value")
        axes.legend(fontsize="small")


EVALUATIONS.register(Measures())
