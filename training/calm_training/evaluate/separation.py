"""``calm-evaluate composites``: two pictures squeezed side by side, each class's map against its own half."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import DataError
from calm_gui.methods import Method
from calm_gui.model.calm import check_raw_outputs
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import Picture, load_picture, picture_from_array
from calm_training.datasets.evaluation_set import Labelled
from calm_training.evaluate.evaluation import EVALUATIONS, Evaluation, Plan, Result, Results, checked_labels
from calm_training.evaluate.failures import Failure, check_some_left, failure_of
from calm_training.evaluate.intervals import mean_estimate
from calm_training.evaluate.maps import MeasuredMap, maps_of, method_map, native_maps
from calm_training.evaluate.plot import bars
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, picture_names
from calm_training.evaluate.table import Table, percent_of
from calm_training.metrics.separation import Separation, separation

__all__ = ["SeparationResult", "composite", "composite_scores", "pairs_of"]


@dataclass(frozen=True)
class SeparationResult(Result):
    """Scores of every composite by the map's name."""

    maps: Mapping[str, tuple[Separation, ...]]

    def figures(self) -> dict[str, Any]:
        """Means of each map."""
        means = {name: {figure: one.value for figure, one in of_map.items()} for name, of_map in self.estimates.items()}
        return {"images": self.images, "maps": means}


def pairs_of(pictures: Sequence[Labelled]) -> list[tuple[Labelled, Labelled]]:
    """Each picture on the left of the next one of another class, in the order given, the last before the first.

    Raises
    ------
    DataError
        If all pictures are of one class.
    """
    if len({picture.classes[0] for picture in pictures}) < 2:
        raise DataError("composites need pictures of at least two classes")
    pairs = []
    for i, left in enumerate(pictures):
        following = (pictures[(i + step) % len(pictures)] for step in range(1, len(pictures)))
        pairs.append((left, next(right for right in following if right.classes[0] != left.classes[0])))
    return pairs


def composite(left: Path, right: Path, size: int) -> Picture:
    """Two pictures, each squeezed to half of a square of `size` pixels."""
    half = size // 2
    parts = [
        Image.fromarray(load_picture(path).pixels).resize((width, size), Image.Resampling.BILINEAR)
        for path, width in ((left, half), (right, size - half))
    ]
    return picture_from_array(np.concatenate([np.asarray(part) for part in parts], axis=1))


def composite_scores(
    model: LoadedModel,
    pictures: Sequence[Labelled],
    *,
    maps: Sequence[str] | None = None,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> SeparationResult:
    """Own half, signs of A - B and pointing of maps of a checkpoint, the pictures' true classes given.

    Parameters
    ----------
    model : LoadedModel
    pictures : sequence of labelled pictures
        Of two classes or more.
    maps : sequence of str, optional
        As `maps_of` takes them; those that are of no class (saliency) or of two (counterfactual) are left out.
    options : SweepOptions
        Of it, only the progress.

    Raises
    ------
    DataError
        If all pictures are of one class, the checkpoint lacks a class, or none of the maps is of one class.
    """
    chosen = [one for one in maps_of(model, maps) if one.kind.takes_target and not one.kind.takes_contrast]
    if not chosen:
        raise DataError("composites compare maps of two classes; saliency and counterfactual are no such maps")
    checked_labels(model, pictures)
    found: dict[str, list[Separation]] = {one.name: [] for one in chosen}
    rows: list[dict[str, Any]] = []
    failed: list[Failure] = []
    measured = 0
    paths = [picture.path for picture in pictures]
    names = dict(zip(paths, picture_names(paths), strict=True))
    for left, right in pairs_of(pictures):
        options.progress(1)
        try:
            picture = composite(left.path, right.path, model.info.input.size)
            a_maps, b_maps = _maps(model, picture, (left.classes[0], right.classes[0]), chosen)
            of_maps = {one.name: separation(a_maps[one.name], b_maps[one.name]) for one in chosen}
        except Exception as error:
            failed.append(failure_of(f"{left.path} | {right.path.name}", error))
            continue
        measured += 1
        for name, scores in of_maps.items():
            found[name].append(scores)
            row = {"picture": names[left.path], "right picture": names[right.path], "map": name}
            rows.append(row | {figure: getattr(scores, attribute) for figure, attribute in FIGURES.items()})
    check_some_left(failed, measured)
    estimates = {
        name: {
            figure: mean_estimate([getattr(one, attribute) for one in scores]) for figure, attribute in FIGURES.items()
        }
        for name, scores in found.items()
    }
    return SeparationResult(
        measured,
        {name: tuple(scores) for name, scores in found.items()},
        estimates=estimates,
        pictures=tuple(rows),
        failed=tuple(failed),
    )


FIGURES = {
    "own half": "own_half",
    "A - B sign": "right_sign",
    "A - B halves": "right_halves",
    "pointing": "pointing",
}
"""Attributes of `Separation` by the names of their figures."""


def _maps(
    model: LoadedModel, picture: Picture, labels: tuple[int, int], maps: Sequence[MeasuredMap]
) -> list[dict[str, NDArray[np.float32]]]:
    """The maps of each of two classes by name."""
    inputs = model.prepare(picture)[0]
    f, a = model.raw(inputs)
    check_raw_outputs(f, a, model.info.saliency_activation)
    result = []
    for label in labels:
        more = {
            one.name: method_map(one, one.kind, model, picture, [label]) for one in maps if isinstance(one.kind, Method)
        }
        outputs = Outputs(inputs, f, a, model.info.saliency_activation, more)
        native: dict[str, torch.Tensor] = native_maps(model, outputs, [label], maps)
        result.append({name: np.asarray(values.cpu().numpy(), np.float32) for name, values in native.items()})
    return result


class SeparationOfPairs(Evaluation):
    """Whether a map finds its class's picture beside another one."""

    key = "composites"
    title = "Composites"
    summary = "share of a map in its own half of two pictures side by side"
    reads = "labels"
    takes_maps = True

    def measure(self, plan: Plan, model: LoadedModel, pictures: Any, options: SweepOptions) -> SeparationResult:
        """As `composite_scores`."""
        return composite_scores(model, pictures, maps=plan.maps or None, options=options)

    def conventions(self, plan: Plan, results: Results) -> str:
        """How pictures are put together, and what each figure is."""
        return (
            "Each picture on the left of the next one of another class, both squeezed to half of a square. Own half: "
            "share of the map (values below 0 left out) in the half of its class; A - B sign: share of |A - B|, the "
            "difference of both maps, that is above 0 in A's half or below 0 in B's; A - B halves: halves in which "
            "A - B sums to the sign it should have, which also asks that p(A|x) and p(B|x) are alike; pointing: "
            "largest cell in its own half. A map that ignores places has 50."
        )

    def tables(self, results: Results) -> list[Table]:
        """One row for each map."""
        rows = [
            [name, shown, str(result.images), *map(percent_of, of_map.values())]
            for name, result in results.items()
            for shown, of_map in result.estimates.items()
        ]
        return [Table.of(["checkpoint", "map", "composites", *FIGURES], rows)]

    def plot(self, axes: Any, results: Results) -> None:
        """Bars of the share in its own half."""
        bars(axes, results, "own half", "share of the map in its own half")


EVALUATIONS.register(SeparationOfPairs())
