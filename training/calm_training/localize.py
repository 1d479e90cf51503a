"""Maps of pictures for the localization metrics, and the figures of a checkpoint on sets with boxes and masks."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from calm_gui.core.classes import ClassSet
from calm_gui.errors import DataError
from calm_gui.methods import METHODS, attribute
from calm_gui.model.calm import log_conditional, log_saliency
from calm_gui.model.info import Activation
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.boxes import BoxedPicture
from calm_training.datasets.masks import MaskedPicture
from calm_training.metrics.calibration import Calibration
from calm_training.metrics.max_box_acc import Contours, MaxBoxAcc, Mode, scale_boxes
from calm_training.metrics.pxap import PxAP, resize_mask
from calm_training.metrics.top_one import TopOne
from calm_training.sweep import DEFAULT_OPTIONS, Outputs, SweepOptions, sweep

__all__ = [
    "ALL_MAPS",
    "MAPS",
    "READINGS",
    "accuracy",
    "box_accuracy",
    "class_maps",
    "class_probabilities",
    "maps_of",
    "mask_accuracy",
    "memberships",
    "method_maps",
    "min_max",
    "predictions",
    "scaled_maps",
]

READINGS = {True: ("cam", "cam-superset"), False: ("attribution", "superset", "saliency")}
"""Maps of a CAM (True) and a CALM checkpoint that are measured unless others are asked for: the class's own, its
superset's, p(z|x)."""

MAPS = {True: READINGS[True], False: (*READINGS[False], "conditional", "cue_posterior", "counterfactual")}
"""All readings of a CAM (True) and a CALM checkpoint that score places. The counterfactual's contrast is the likeliest
class outside the target."""

ALL_MAPS = (*MAPS[False], *MAPS[True], *METHODS)
"""Every name that an evaluation takes for a map."""


def maps_of(model: LoadedModel, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Names of the maps to measure: those asked for that this checkpoint has, by default its `READINGS`.

    Raises
    ------
    DataError
        If a name is unknown, or the checkpoint has none of them.
    """
    if not names:
        return READINGS[model.info.is_cam]
    for name in names:
        if name not in ALL_MAPS:
            raise DataError(f"there is no map {name!r}; there are {', '.join(ALL_MAPS)}")
    chosen = tuple(dict.fromkeys(name for name in names if name in (*MAPS[model.info.is_cam], *METHODS)))
    if not chosen:
        raise DataError(f"{model.name} has no map {', '.join(names)}; it has {', '.join(MAPS[model.info.is_cam])}")
    return chosen


def predictions(f: Tensor, a: Tensor | None, activation: Activation | None) -> Tensor:
    """Predicted classes (B,) of raw outputs."""
    if a is None or activation is None:
        return f.mean((2, 3)).argmax(1)
    log_joint = log_conditional(f) + log_saliency(a, activation)[:, None]
    return log_joint.flatten(2).logsumexp(2).argmax(1)


def class_probabilities(f: Tensor, a: Tensor | None, activation: Activation | None) -> Tensor:
    """p(y|x) (B,C), float64, of raw outputs; the softmax of the mean scores for CAM."""
    if a is None or activation is None:
        return f.double().mean((2, 3)).softmax(1)
    log_joint = log_conditional(f) + log_saliency(a, activation)[:, None]
    return log_joint.double().flatten(2).logsumexp(2).exp()


def class_maps(
    f: Tensor,
    a: Tensor | None,
    activation: Activation | None,
    own: Tensor,
    superset: Tensor,
    names: Sequence[str] | None = None,
) -> dict[str, Tensor]:
    """Maps (B,H,W) of each picture's class and its superset on the native grid, by name (`MAPS`).

    Parameters
    ----------
    f, a : Tensor (B,C,H,W), Tensor (B,1,H,W) or None
        Raw outputs; None for CAM.
    activation : {"relu", "softplus"} or None
    own, superset : Tensor (B,C) float32
        1 for the classes that each picture's map is about, else 0.
    names : sequence of str, optional
        Only these, by default `READINGS`; names of methods are passed over.
    """
    if a is None or activation is None:
        rows = {"cam": own, "cam-superset": superset}
        return {name: _rows_of(f, rows[name]) for name in names or READINGS[True] if name in rows}
    h = log_saliency(a, activation).exp()
    g = log_conditional(f).exp()
    compute: dict[str, Callable[[], Tensor]] = {
        "attribution": lambda: _rows_of(g, own) * h,
        "superset": lambda: _rows_of(g, superset) * h,
        "saliency": lambda: h,
        "conditional": lambda: _rows_of(g, own),
        "cue_posterior": lambda: _posterior(_rows_of(g, own) * h),
        "counterfactual": lambda: _rows_of(g, own - _likeliest_other(g, h, own)) * h,
    }
    return {name: compute[name]() for name in names or READINGS[False] if name in compute}


def _posterior(attribution: Tensor) -> Tensor:
    return attribution / attribution.sum((1, 2), keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)


def _likeliest_other(g: Tensor, h: Tensor, own: Tensor) -> Tensor:
    """Rows (B,C) with 1 for the likeliest class that isn't of the target's."""
    p = (g * h[:, None]).sum((2, 3))
    return functional.one_hot(p.masked_fill(own > 0, -1).argmax(1), own.shape[1]).to(own.dtype)


def method_maps(
    model: LoadedModel, path: Path, classes: Sequence[int], names: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """Maps of those of `names` that are methods (`calm_gui.methods.METHODS`), each on its own grid."""
    wanted = [name for name in names if name in METHODS]
    return {name: attribute(name, model, path, ClassSet(classes)).values for name in wanted}


def scaled_maps(
    model: LoadedModel, outputs: Outputs, classes: Sequence[int], names: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """One picture's maps of the readings and methods at the input's size, each scaled to 0..1 (`min_max`).

    Parameters
    ----------
    model : LoadedModel
    outputs : Outputs
        Its `more` holds the methods' maps.
    classes : sequence of int
        What the maps are about.
    names : sequence of str
    """
    rows = memberships(model, [classes])
    maps = class_maps(outputs.f, outputs.a, model.info.saliency_activation, *rows, names)
    maps |= {name: torch.from_numpy(outputs.more[name])[None] for name in names if name in METHODS}
    return {name: min_max(maps[name], model.info.input.size)[0] for name in names}


def memberships(model: LoadedModel, class_sets: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Rows for `class_maps`: each picture's classes, and the union of their supersets."""
    own = torch.zeros(len(class_sets), len(model.classes))
    superset = torch.zeros_like(own)
    for row, classes in enumerate(class_sets):
        own[row, list(classes)] = 1
        for label in classes:
            superset[row, model.supersets[label].indices.tolist()] = 1
    return own.to(model.device), superset.to(model.device)


def min_max(maps: Tensor, size: int) -> NDArray[np.float32]:
    """Enlarge maps (B,H,W) to size x size (bilinear, half-pixel centres) and scale each to 0..1.

    A map without any variation becomes 0 everywhere.
    """
    large = functional.interpolate(maps[:, None].float(), size=(size, size), mode="bilinear", align_corners=False)
    large = large[:, 0]
    low, high = large.amin((1, 2), keepdim=True), large.amax((1, 2), keepdim=True)
    scaled = torch.where(high > low, (large - low) / (high - low), 0.0).clamp(0, 1)
    return np.asarray(scaled.cpu().numpy(), np.float32)


def accuracy(
    model: LoadedModel, pictures: Sequence[BoxedPicture], options: SweepOptions = DEFAULT_OPTIONS, bins: int = 15
) -> dict[str, Any]:
    """Top-1 accuracy and calibration.

    Returns
    -------
    dict
        ``{"images": n, "top-1": fraction, "calibration": result of Calibration.compute()}``
    """
    _check_labels(model, {picture.path: (picture.label,) for picture in pictures})

    def score(metrics: dict[str, Any], picture: BoxedPicture, outputs: Outputs) -> None:
        p = class_probabilities(outputs.f, outputs.a, model.info.saliency_activation)[0]
        predicted = int(p.argmax())
        metrics["top-1"].update(predicted, picture.label)
        metrics["calibration"].update(float(p[predicted]), predicted == picture.label)

    metrics = sweep(model, pictures, lambda: {"top-1": TopOne(), "calibration": Calibration(bins)}, score, options)
    results = {name: metric.compute() for name, metric in metrics.items()}
    return {"images": len(pictures), **results}


def box_accuracy(
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    *,
    maps: Sequence[str] | None = None,
    contours: Contours = "all",
    mode: Mode = "benchmark",
    options: SweepOptions = DEFAULT_OPTIONS,
) -> dict[str, Any]:
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

    Returns
    -------
    dict
        ``{"images": n, "top-1": fraction, "maps": {name: result of MaxBoxAcc.compute()}}``

    Raises
    ------
    DataError
        If the checkpoint crops or pads, or a picture's class isn't one of its classes.
    """
    _check_squash(model)
    _check_labels(model, {picture.path: (picture.label,) for picture in pictures})
    names, size = maps_of(model, maps), model.info.input.size

    def fresh() -> dict[str, Any]:
        return {"top-1": TopOne(), **{name: MaxBoxAcc(contours=contours, mode=mode) for name in names}}

    def score(metrics: dict[str, Any], picture: BoxedPicture, outputs: Outputs) -> None:
        predicted = predictions(outputs.f, outputs.a, model.info.saliency_activation)
        metrics["top-1"].update(int(predicted), picture.label)
        for name, score_map in scaled_maps(model, outputs, [picture.label], names).items():
            metrics[name].update(score_map, _boxes_at(picture, size, mode))

    def beside(picture: BoxedPicture) -> Mapping[str, Any]:
        return method_maps(model, picture.path, [picture.label], names)

    metrics = sweep(model, pictures, fresh, score, options, beside=beside)
    of_maps = {name: metrics[name].compute() for name in names}
    return {"images": len(pictures), "top-1": metrics["top-1"].compute(), "maps": of_maps}


def mask_accuracy(
    model: LoadedModel,
    pictures: Sequence[MaskedPicture],
    *,
    maps: Sequence[str] | None = None,
    options: SweepOptions = DEFAULT_OPTIONS,
) -> dict[str, Any]:
    """PxAP of maps of a checkpoint against masks, maps scaled to 0..1 in each picture.

    Parameters
    ----------
    model : LoadedModel
        Its preprocessing must squash.
    pictures : sequence of MaskedPicture
        A map is about all the classes that stand for the mask's object.
    maps, options
        As in `box_accuracy`.

    Returns
    -------
    dict
        ``{"images": n, "maps": {name: PxAP}}``

    Raises
    ------
    DataError
        If the checkpoint crops or pads, or lacks a class.
    """
    _check_squash(model)
    _check_labels(model, {picture.path: picture.classes for picture in pictures})
    names, size = maps_of(model, maps), model.info.input.size

    def score(metrics: dict[str, Any], picture: MaskedPicture, outputs: Outputs) -> None:
        mask = resize_mask(picture.mask(), size)
        for name, score_map in scaled_maps(model, outputs, picture.classes, names).items():
            metrics[name].update(score_map, mask)

    def beside(picture: MaskedPicture) -> Mapping[str, Any]:
        return method_maps(model, picture.path, picture.classes, names)

    fresh = partial(_pixel_metrics, names)
    metrics = sweep(model, pictures, fresh, score, options, beside=beside)
    of_maps = {name: metric.compute() for name, metric in metrics.items()}
    return {"images": len(pictures), "maps": of_maps}


def _pixel_metrics(names: Sequence[str]) -> dict[str, Any]:
    return {name: PxAP() for name in names}


def _check_squash(model: LoadedModel) -> None:
    resize = model.info.input.resize
    if resize != "squash":
        raise DataError(f"the benchmark squashes pictures to a square, but this checkpoint {resize}s them")


def _check_labels(model: LoadedModel, classes: Mapping[Path, Sequence[int]]) -> None:
    for path, labels in classes.items():
        if max(labels) >= len(model.classes):
            raise DataError(f"{path.name} is of class {max(labels)}, the checkpoint has {len(model.classes)} classes")


def _rows_of(values: Tensor, rows: Tensor) -> Tensor:
    """Sum (B,H,W) of the rows of (B,C,H,W) that are 1 in (B,C)."""
    return torch.einsum("bc,bchw->bhw", rows, values)


def _boxes_at(picture: BoxedPicture, size: int, mode: Mode) -> NDArray[Any]:
    if mode == "benchmark":
        return scale_boxes(picture.boxes, picture.size, (size, size))
    return picture.boxes * np.tile(size / np.array(picture.size, np.float64), 2)
