"""Cue localization of a checkpoint trained on CUB classes (the paper's section 5.1 and table 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from calm_gui.errors import DataError
from calm_gui.methods import Method
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.cub_cues import CubCues, CuePair
from calm_training.evaluate.evaluation import EVALUATIONS, Evaluation, Option, Plan, Result, Results, first_of
from calm_training.evaluate.failures import NothingMeasuredError
from calm_training.evaluate.intervals import Estimate, mean_estimate
from calm_training.evaluate.maps import MeasuredMap, map_names, map_of, maps_of, method_maps, native_maps
from calm_training.evaluate.paper import CUES
from calm_training.evaluate.plot import bars
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep
from calm_training.evaluate.table import Table, percent_of
from calm_training.metrics.cue_localization import counterfactual_scores
from calm_training.metrics.pxap import PxAP, log_thresholds

__all__ = ["CueResult", "CueScores", "cub_classes", "cue_localization", "cue_maps_of"]

GROUPS = (1, 2, 3)
"""Numbers of differing parts that pairs are grouped by."""


@dataclass(frozen=True)
class CueScores:
    """Mean PxAP of one map over class pairs.

    Attributes
    ----------
    by_parts : mapping
        Fractions by the number of parts that the classes differ in.
    mean : float
        Over all pairs.
    """

    by_parts: Mapping[int, float]
    mean: float


@dataclass(frozen=True)
class CueResult(Result):
    """Cue localization of a checkpoint.

    Attributes
    ----------
    maps : mapping
        `CueScores` by the map's name.
    pairs : mapping
        Number of pairs by the number of differing parts.
    skipped : int
        (picture, pair) cases without a visible differing part.
    within, mode : str
    """

    maps: Mapping[str, CueScores]
    pairs: Mapping[int, int]
    skipped: int
    within: str
    mode: str

    def figures(self) -> dict[str, Any]:
        """As version 0.1 wrote them."""
        return {
            "maps": {name: {"mPxAP": dict(s.by_parts), "mean": s.mean} for name, s in self.maps.items()},
            "pairs": dict(self.pairs),
            "images": self.images,
            "skipped": self.skipped,
            "within": self.within,
            "mode": self.mode,
        }


@dataclass(frozen=True)
class CuePicture:
    """A picture and the pairs that it counts for."""

    path: Path
    image: int
    pairs: tuple[CuePair, ...]


def cub_classes(model: LoadedModel) -> dict[int, int]:
    """Class index of each CUB class number, from class names such as ``004.Groove_billed_Ani``."""
    numbers = {int(c.name[:3]): c.index for c in model.classes if c.name[:3].isdigit() and c.name[3:4] == "."}
    if not numbers:
        raise DataError(f"{model.name} isn't trained on CUB: no class name begins with a number such as 004.")
    return numbers


def cue_maps_of(model: LoadedModel, names: Sequence[str] | None = None) -> tuple[MeasuredMap, ...]:
    """The maps to measure: those asked for in which two classes can differ and that a checkpoint has.

    By default the class's own: its attribution, or CAM.

    Raises
    ------
    DataError
        If the checkpoint has none of them.
    """
    usual = maps_of(model)[:1]
    asked = [map_of(name) for name in dict.fromkeys(names)] if names else usual
    chosen = tuple(one for one in asked if _tells_classes(one, model))
    if not chosen:
        there = [name for name in map_names() if _tells_classes(map_of(name), model)]
        raise DataError(f"two classes can't be distinguished by {', '.join(names or ())}; use {', '.join(there)}")
    return chosen


def _tells_classes(measured: MeasuredMap, model: LoadedModel) -> bool:
    kind = measured.kind
    return measured.fits(model) and not measured.of_superset and kind.takes_target and not kind.takes_contrast


def cue_localization(
    model: LoadedModel,
    cub: CubCues,
    *,
    maps: Sequence[str] | None = None,
    mode: Literal["benchmark", "exact"] = "exact",
    groups: Sequence[int] = GROUPS,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> CueResult:
    """Mean PxAP of the absolute counterfactual maps over class pairs, by number of differing parts.

    Differences of probabilities count as they are. Others are scaled to 0..1 in each picture.

    Parameters
    ----------
    model : LoadedModel
    cub : CubCues
        Pairs with test pictures of both classes here, and both classes in the checkpoint, count.
    maps : sequence of str, optional
        As `cue_maps_of` takes them.
    mode : {"benchmark", "exact"}
        As in `PxAP`, over the released code's logarithmic thresholds.
    groups : sequence of int
    options : SweepOptions

    Raises
    ------
    DataError
        If the checkpoint isn't trained on CUB, or no picture of a pair is here.
    """
    index, chosen = cub_classes(model), cue_maps_of(model, maps)
    pairs = {
        n: [p for p in cub.pairs(n) if all(c in index and _has_pictures(cub, c) for c in p.classes)] for n in groups
    }
    pictures = _pictures(cub, [pair for group in pairs.values() for pair in group])
    if not pictures:
        raise DataError(f"{cub.root} holds no test pictures of a class pair that differs in {groups} parts")

    def fresh() -> dict[str, PxAP]:
        every = [pair for group in pairs.values() for pair in group]
        return {_key(one.name, pair): PxAP(log_thresholds(), mode) for one in chosen for pair in every}

    def score(metrics: dict[str, PxAP], picture: CuePicture, outputs: Outputs) -> None:
        readings = [one for one in chosen if not isinstance(one.kind, Method)]
        of_class: dict[int, dict[str, Any]] = dict(outputs.more)
        for pair in picture.pairs:
            mask = cub.mask(picture.image, pair)
            if mask is None:
                continue
            a, b = (
                {**of_class.get(c, {}), **_arrays(native_maps(model, outputs, [c], readings))}
                for c in (index[number] for number in pair.classes)
            )
            for one in chosen:
                norm: Literal["clipping", "minmax"] = "clipping" if one.is_probability else "minmax"
                scores = counterfactual_scores(a[one.name], b[one.name], cub.size, norm)
                metrics[_key(one.name, pair)].update(scores, mask)

    def beside(picture: CuePicture) -> Mapping[Any, Any]:
        classes = sorted({index[c] for pair in picture.pairs for c in pair.classes})
        if not any(isinstance(one.kind, Method) for one in chosen):
            return {}
        return {c: method_maps(model, picture.path, [c], chosen) for c in classes}

    swept = sweep(model, pictures, fresh, score, options, beside=beside)
    shown = {
        pair: swept.metrics[_key(chosen[0].name, pair)].foreground.any() for group in pairs.values() for pair in group
    }
    pairs = {n: [pair for pair in group if shown[pair]] for n, group in pairs.items()}
    if not any(pairs.values()):
        raise NothingMeasuredError("no picture shows a part that its classes differ in")
    skipped = sum(cub.mask(picture.image, pair) is None for picture in swept.pictures for pair in picture.pairs)
    found: dict[str, CueScores] = {}
    estimates: dict[str, dict[str, Estimate]] = {}
    rows: list[dict[str, Any]] = []
    for one in chosen:
        scores = {n: [swept.metrics[_key(one.name, pair)].compute() for pair in group] for n, group in pairs.items()}
        every = [score for group in scores.values() for score in group]
        found[one.name] = CueScores(
            {n: float(np.mean(group)) for n, group in scores.items() if group}, float(np.mean(every))
        )
        estimates[one.name] = {f"{n} parts": mean_estimate(group) for n, group in scores.items() if group}
        estimates[one.name]["mean"] = mean_estimate(every)
        rows += [
            {"pair": f"{pair.classes[0]} {pair.classes[1]}", "map": one.name, "parts": n, "PxAP": value}
            for n, group in pairs.items()
            for pair, value in zip(group, scores[n], strict=True)
        ]
    numbers = {n: len(group) for n, group in pairs.items()}
    return CueResult(
        len(swept.pictures),
        found,
        numbers,
        skipped,
        cub.within,
        mode,
        estimates=estimates,
        pictures=tuple(rows),
        failed=swept.failed,
    )


def _arrays(maps: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(values.cpu().numpy()) for name, values in maps.items()}


def _pictures(cub: CubCues, pairs: Sequence[CuePair]) -> list[CuePicture]:
    of_image: dict[int, list[CuePair]] = {}
    for pair in pairs:
        for image in cub.pictures(pair):
            of_image.setdefault(image, []).append(pair)
    folder = cub.root / "images"
    return [CuePicture(folder / cub.files[i], i, tuple(found)) for i, found in sorted(of_image.items())]


def _has_pictures(cub: CubCues, number: int) -> bool:
    return any(c == number and not cub.is_training[i] for i, c in cub.class_of.items())


def _key(name: str, pair: CuePair) -> str:
    return f"{name} {pair.classes[0]} {pair.classes[1]}"


class Cues(Evaluation):
    """Maps of two like classes, subtracted, against the parts in which the classes differ."""

    key = "cues"
    title = "Cue localization"
    summary = "cue localization on pairs of CUB classes"
    reads = "cues"
    takes_maps = True
    options = (Option("mode", "exact", "what becomes of pixels below the lowest threshold", ("benchmark", "exact")),)

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> CueResult:
        """As `cue_localization`."""
        return cue_localization(model, pictures, maps=plan.maps or None, options=options, **plan.settings)

    def which(self, results: Results) -> str:
        """What was skipped."""
        skipped = first_of(results).skipped
        return f"test pictures, {skipped} cases of picture and pair skipped as no differing part is visible"

    def conventions(self, plan: Plan, results: Results) -> str:
        """Thresholds, masks, scaling; what intervals are over."""
        mode = plan.settings["mode"]
        return (
            f"Mode {mode}: PxAP over the released code's logarithmic thresholds, "
            f"{'every pixel counted' if mode != 'benchmark' else 'pixels below the lowest dropped'}; "
            f"each pair on its own; masks within the {first_of(results).within}. Differences of probabilities as they "
            "are, other maps' differences scaled to 0..1 in each picture. Intervals are over pairs."
        )

    def tables(self, results: Results) -> list[Table]:
        """One row for each map, beside the paper's."""
        head = ["checkpoint", "map", "1 part", "2 parts", "3 parts", "mean", "pairs", "pictures", "masks within"]
        rows = []
        for name, result in results.items():
            pairs = " + ".join(str(n) for n in result.pairs.values())
            for shown in result.maps:
                of_map = result.estimates[shown]
                groups = [of_map.get(f"{n} parts") for n in GROUPS]
                numbers = [percent_of(one) if one else "" for one in groups]
                paper = CUES.get(shown) or CUES.get(f"{shown} {result.method}") or ()
                row = [name, shown, *numbers, percent_of(of_map["mean"]), pairs, str(result.images), result.within]
                rows.append([*row, ", ".join(f"{value:.1f}" for value in paper)])
        return [Table.of([*head, "the paper's, by parts and mean"], rows)]

    def plot(self, axes: Any, results: Results) -> None:
        """Bars of the mean over all pairs."""
        bars(axes, results, "mean", "mPxAP over all pairs")


EVALUATIONS.register(Cues())
