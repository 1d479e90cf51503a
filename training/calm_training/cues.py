"""Cue localization of a checkpoint trained on CUB classes (the paper's section 5.1 and table 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from calm_gui.core.classes import ClassSet
from calm_gui.errors import DataError
from calm_gui.methods import METHODS, attribute
from calm_gui.model.calm import log_conditional, log_saliency
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.cub_cues import CubCues, CuePair
from calm_training.metrics.cue_localization import counterfactual_scores
from calm_training.metrics.pxap import PxAP, log_thresholds
from calm_training.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep

__all__ = ["CUE_MAPS", "cub_classes", "cue_localization", "cue_maps_of"]

GROUPS = (1, 2, 3)
"""Numbers of differing parts that pairs are grouped by."""

CUE_MAPS = {True: ("cam",), False: ("attribution", "conditional", "cue_posterior")}
"""Readings of a CAM (True) and a CALM checkpoint that two classes can differ in; the first is measured by default."""


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


def cue_maps_of(model: LoadedModel, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Names of the maps to measure: those asked for that this checkpoint has, by default the first of `CUE_MAPS`.

    Raises
    ------
    DataError
        If the checkpoint has none of them.
    """
    own = CUE_MAPS[model.info.is_cam]
    chosen = tuple(dict.fromkeys(name for name in names or own[:1] if name in (*own, *METHODS)))
    if not chosen:
        raise DataError(f"two classes can't be told apart by {', '.join(names or ())}; take one of {', '.join(own)}")
    return chosen


def cue_localization(
    model: LoadedModel,
    cub: CubCues,
    *,
    maps: Sequence[str] | None = None,
    mode: Literal["benchmark", "exact"] = "exact",
    groups: Sequence[int] = GROUPS,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> dict[str, Any]:
    """Mean PxAP of the absolute counterfactual maps over class pairs, by number of differing parts.

    CALM's maps are differences of probabilities as they are. Other differences are no probabilities and are scaled to
    0..1 in each picture.

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

    Returns
    -------
    dict
        ``{"maps": {name: {"mPxAP": {parts: mean}, "mean": over all pairs}}, "pairs": {parts: number}, "images",
        "skipped": (picture, pair) cases without a visible differing part, "within", "mode"}``
    """
    index, names = cub_classes(model), cue_maps_of(model, maps)
    pairs = {
        n: [p for p in cub.pairs(n) if all(c in index and _has_pictures(cub, c) for c in p.classes)] for n in groups
    }
    pictures = _pictures(cub, [pair for group in pairs.values() for pair in group])
    if not pictures:
        raise DataError(f"{cub.root} holds no test pictures of a class pair that differs in {groups} parts")

    def fresh() -> dict[str, PxAP]:
        every = [pair for group in pairs.values() for pair in group]
        return {_key(name, pair): PxAP(log_thresholds(), mode) for name in names for pair in every}

    def score(metrics: dict[str, PxAP], picture: CuePicture, outputs: Outputs) -> None:
        for pair in picture.pairs:
            mask = cub.mask(picture.image, pair)
            if mask is None:
                continue
            a, b = (index[c] for c in pair.classes)
            for name in names:
                norm: Literal["clipping", "minmax"] = "minmax" if name in (*METHODS, "cam") else "clipping"
                of_class = outputs.more.get(name) or _reading(outputs, name, model, (a, b))
                metrics[_key(name, pair)].update(counterfactual_scores(of_class[a], of_class[b], cub.size, norm), mask)

    def beside(picture: CuePicture) -> Mapping[str, Any]:
        classes = sorted({index[c] for pair in picture.pairs for c in pair.classes})
        wanted = [name for name in names if name in METHODS]
        return {n: {c: attribute(n, model, picture.path, ClassSet([c])).values for c in classes} for n in wanted}

    metrics = sweep(model, pictures, fresh, score, options, beside=beside)
    skipped = sum(cub.mask(picture.image, pair) is None for picture in pictures for pair in picture.pairs)
    return {
        "maps": {name: _means(name, pairs, metrics) for name in names},
        "pairs": {n: len(group) for n, group in pairs.items()},
        "images": len(pictures),
        "skipped": skipped,
        "within": cub.within,
        "mode": mode,
    }


def _means(name: str, pairs: Mapping[int, Sequence[CuePair]], metrics: Mapping[str, PxAP]) -> dict[str, Any]:
    scores = {n: [metrics[_key(name, pair)].compute() for pair in group] for n, group in pairs.items()}
    every = [score for group in scores.values() for score in group]
    groups = {n: float(np.mean(group)) for n, group in scores.items() if group}
    return {"mPxAP": groups, "mean": float(np.mean(every))}


def _reading(outputs: Outputs, name: str, model: LoadedModel, classes: Sequence[int]) -> dict[int, NDArray[np.float32]]:
    """A reading's map (H,W) of each class."""
    if outputs.a is None or model.info.saliency_activation is None:
        rows: Tensor = outputs.f[0, list(classes)]
    else:
        rows = log_conditional(outputs.f)[0, list(classes)].exp()
        if name != "conditional":
            rows = rows * log_saliency(outputs.a, model.info.saliency_activation)[0].exp()
        if name == "cue_posterior":
            rows = rows / rows.sum((1, 2), keepdim=True)
    return dict(zip(classes, np.asarray(rows.cpu().numpy()), strict=True))


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
