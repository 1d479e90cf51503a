"""Cue localization of a checkpoint trained on CUB classes (the paper's section 5.1 and table 1)."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calm_gui.errors import DataError
from calm_gui.model.calm import log_conditional, log_saliency
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_gui.model.preprocess import prepare
from calm_training.metrics.cue_localization import CueLocalization, CuePair, counterfactual_scores
from calm_training.metrics.pxap import PxAP, log_thresholds

__all__ = ["all_class_maps", "cub_classes", "cue_localization"]

GROUPS = (1, 2, 3)
"""Numbers of differing parts that pairs are grouped by."""


def cub_classes(model: LoadedModel) -> dict[int, int]:
    """Class index of each CUB class number, from class names such as ``004.Groove_billed_Ani``."""
    numbers = {int(c.name[:3]): c.index for c in model.classes if c.name[:3].isdigit() and c.name[3:4] == "."}
    if not numbers:
        raise DataError(f"{model.name} isn't trained on CUB: no class name begins with a number such as 004.")
    return numbers


def cue_localization(
    model: LoadedModel,
    cub: CueLocalization,
    *,
    mode: Literal["benchmark", "exact"] = "exact",
    groups: Sequence[int] = GROUPS,
    progress: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """Mean PxAP of the absolute counterfactual maps over class pairs, by number of differing parts.

    CALM's maps are the attributions p(A,z|x) - p(B,z|x) as they are. A CAM difference is no probability and is
    scaled to 0..1 in each picture.

    Parameters
    ----------
    model : LoadedModel
    cub : CueLocalization
        Pairs with test pictures of both classes here, and both classes in the checkpoint, count.
    mode : {"benchmark", "exact"}
        As in `PxAP`, over the released code's logarithmic thresholds.
    groups : sequence of int
    progress : callable
        Told after each picture, with 1.

    Returns
    -------
    dict
        ``{"mPxAP": {parts: mean}, "mean": over all pairs, "pairs": {parts: number}, "within": ...}``
    """
    index = cub_classes(model)
    pairs = {
        n: [p for p in cub.pairs(n) if all(c in index and _has_pictures(cub, c) for c in p.classes)] for n in groups
    }
    needed = sorted({i for group in pairs.values() for pair in group for i in cub.pictures(pair)})
    if not needed:
        raise DataError(f"{cub.root} holds no test pictures of a class pair that differs in {groups} parts")
    maps = {}
    for image in needed:
        maps[image] = all_class_maps(model, str(cub.root / "images" / cub.files[image]))
        progress(1)
    norm: Literal["clipping", "minmax"] = "minmax" if model.info.is_cam else "clipping"
    scores = {
        n: [_pair_score(cub, pair, {i: maps[i] for i in cub.pictures(pair)}, index, mode, norm) for pair in group]
        for n, group in pairs.items()
    }
    every = [score for group in scores.values() for score in group]
    return {
        "mPxAP": {n: float(np.mean(group)) for n, group in scores.items() if group},
        "mean": float(np.mean(every)),
        "pairs": {n: len(group) for n, group in scores.items()},
        "pictures": len(needed),
        "within": cub.within,
        "mode": mode,
        "norm": norm,
    }


def all_class_maps(model: LoadedModel, path: str) -> NDArray[np.float32]:
    """Joint p(y,z|x) (C,H,W) of a picture; the class maps for a CAM checkpoint."""
    inputs, _ = prepare(load_picture(path), model.info.input, model.grid)
    f, a = model.raw(inputs)
    if a is None or model.info.saliency_activation is None:
        return np.asarray(f[0].cpu().numpy())
    joint = (log_conditional(f) + log_saliency(a, model.info.saliency_activation)[:, None]).exp()
    return np.asarray(joint[0].cpu().numpy())


def _has_pictures(cub: CueLocalization, number: int) -> bool:
    return any(c == number and not cub.is_training[i] for i, c in cub.class_of.items())


def _pair_score(
    cub: CueLocalization,
    pair: CuePair,
    maps: dict[int, NDArray[np.float32]],
    index: dict[int, int],
    mode: Literal["benchmark", "exact"],
    norm: Literal["clipping", "minmax"],
) -> float:
    metric = PxAP(log_thresholds(), mode)
    a, b = (index[c] for c in pair.classes)
    for image, joint in maps.items():
        mask = cub.mask(image, pair)
        if mask is not None:
            metric.update(counterfactual_scores(joint[a], joint[b], cub.size, norm), mask)
    return metric.compute()
