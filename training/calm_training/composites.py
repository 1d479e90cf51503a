"""Two pictures squeezed side by side into one: how much of each class's map lies in its own half (docs/context.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from calm_gui.errors import DataError
from calm_gui.methods import Method
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import Picture, load_picture, picture_from_array
from calm_training.datasets.boxes import BoxedPicture
from calm_training.evaluate.maps import MeasuredMap, maps_of
from calm_training.evaluate.sweep import DEFAULT_OPTIONS, SweepOptions

__all__ = ["Scores", "composite", "composite_scores", "left_share", "pairs_of", "scores_of"]


@dataclass(frozen=True)
class Scores:
    """What one composite's two maps of a kind say, class A on the left, B on the right.

    Attributes
    ----------
    own_half : float
        Mean over A and B of the share of the map that lies in the class's own half. Values below 0 count as 0, a map
        without any above 0 as one that ignores places: 0.5.
    right_sign : float
        Share of the two halves in which A - B sums to the sign it should have: above 0 on the left, below on the right.
    pointing : float
        Share of the two maps whose largest cell lies in the class's own half.
    """

    own_half: float
    right_sign: float
    pointing: float


def pairs_of(pictures: Sequence[BoxedPicture]) -> list[tuple[BoxedPicture, BoxedPicture]]:
    """Each picture on the left of the next one of another class, in the order given, the last before the first.

    Raises
    ------
    DataError
        If all pictures are of one class.
    """
    if len({picture.label for picture in pictures}) < 2:
        raise DataError("composites need pictures of at least two classes")
    pairs = []
    for i, left in enumerate(pictures):
        following = (pictures[(i + step) % len(pictures)] for step in range(1, len(pictures)))
        pairs.append((left, next(right for right in following if right.label != left.label)))
    return pairs


def composite(left: Path, right: Path, size: int) -> Picture:
    """Two pictures, each squeezed to half of a square of `size` pixels."""
    half = size // 2
    parts = [
        Image.fromarray(load_picture(path).pixels).resize((width, size), Image.Resampling.BILINEAR)
        for path, width in ((left, half), (right, size - half))
    ]
    return picture_from_array(np.concatenate([np.asarray(part) for part in parts], axis=1))


def left_share(columns: int) -> NDArray[np.float64]:
    """How much of each column (W,) of a grid lies in the left half."""
    return np.clip(columns / 2 - np.arange(columns), 0.0, 1.0)


def scores_of(map_a: NDArray[np.float32], map_b: NDArray[np.float32]) -> Scores:
    """Scores of the maps (H,W) of the left picture's class and the right one's."""
    a, b = map_a.astype(np.float64), map_b.astype(np.float64)
    left = left_share(a.shape[1])
    difference = a - b
    at_a, at_b = (left[int(m.argmax()) % m.shape[1]] for m in (a, b))
    return Scores(
        own_half=(_share(a, left) + _share(b, 1 - left)) / 2,
        right_sign=((difference * left).sum() > 0) / 2 + ((difference * (1 - left)).sum() < 0) / 2,
        pointing=(at_a + 1 - at_b) / 2,
    )


def _share(values: NDArray[np.float64], columns: NDArray[np.float64]) -> float:
    positive = np.maximum(values, 0)
    total = positive.sum()
    return float((positive * columns).sum() / total) if total > 0 else 0.5


def composite_scores(
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    *,
    maps: Sequence[str] | None = None,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> dict[str, Any]:
    """Own half, sign of A - B and pointing of maps of a checkpoint, the pictures' true classes given.

    Parameters
    ----------
    model : LoadedModel
    pictures : sequence of BoxedPicture
        Of two classes or more; their boxes aren't used.
    maps : sequence of str, optional
        As `maps_of` takes them; those that are of no class (saliency) or of two (counterfactual) are left out.
    options : SweepOptions

    Returns
    -------
    dict
        ``{"images": n, "maps": {name: {"own half": {"mean", "interval", "each"}, "A - B sign", "pointing"}}}``; the
        interval holds the 95 % bounds of the mean over composites.

    Raises
    ------
    DataError
        If all pictures are of one class, the checkpoint lacks a class, or none of the maps is of one class.
    """
    chosen = [one for one in maps_of(model, maps) if one.kind.takes_target and not one.kind.takes_contrast]
    names = [one.name for one in chosen]
    if not names:
        raise DataError("composites compare maps of two classes; saliency and counterfactual are no such maps")
    if (largest := max(picture.label for picture in pictures)) >= len(model.classes):
        raise DataError(f"a picture is of class {largest}, the checkpoint has {len(model.classes)} classes")
    found: dict[str, list[Scores]] = {name: [] for name in names}
    for left, right in pairs_of(pictures):
        picture = composite(left.path, right.path, model.info.input.size)
        a_maps, b_maps = _maps(model, picture, (left.label, right.label), chosen)
        for name in names:
            found[name].append(scores_of(a_maps[name], b_maps[name]))
        options.progress(1)
    return {"images": len(pictures), "maps": {name: _summary(scores) for name, scores in found.items()}}


def _maps(
    model: LoadedModel, picture: Picture, labels: tuple[int, int], maps: Sequence[MeasuredMap]
) -> list[dict[str, NDArray[np.float32]]]:
    """The maps of each of two classes by name; class scores as they are."""
    explanation = model.explain(picture)
    result = []
    for label in labels:
        found = {}
        for one in maps:
            about = one.about(model, [label])
            if isinstance(one.kind, Method):
                found[one.name] = one.kind.map(model, picture, about, explanation=explanation).values
            else:
                found[one.name] = explanation.reading(one.kind.key, about, normalisation="none").values
        result.append(found)
    return result


def _summary(scores: Sequence[Scores]) -> dict[str, Any]:
    columns = {
        "own half": [s.own_half for s in scores],
        "A - B sign": [s.right_sign for s in scores],
        "pointing": [s.pointing for s in scores],
    }
    return {name: _mean(values) for name, values in columns.items()}


def _mean(values: Sequence[float]) -> dict[str, Any]:
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return {"mean": mean, "interval": [mean - 1.96 * error, mean + 1.96 * error], "each": list(values)}
