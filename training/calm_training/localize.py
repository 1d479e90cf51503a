"""Maps of whole batches for the localization metrics, and the figures of a checkpoint on a set with boxes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from calm_gui.errors import DataError
from calm_gui.model.calm import check_raw_outputs, log_conditional, log_saliency
from calm_gui.model.info import Activation
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_gui.model.preprocess import prepare
from calm_training.annotations import BoxedPicture, MaskedPicture
from calm_training.metrics.max_box_acc import Contours, MaxBoxAcc, Mode, scale_boxes
from calm_training.metrics.pxap import PxAP, resize_mask

__all__ = [
    "READINGS",
    "accuracy",
    "box_accuracy",
    "class_maps",
    "mask_accuracy",
    "memberships",
    "min_max",
    "predictions",
]

AnyPicture = TypeVar("AnyPicture", BoxedPicture, MaskedPicture)

READINGS = {True: ("cam", "cam-superset"), False: ("attribution", "superset", "saliency")}
"""Names of the maps of a CAM (True) and a CALM checkpoint: the class's own, its superset's, p(z|x)."""


def predictions(f: Tensor, a: Tensor | None, activation: Activation | None) -> Tensor:
    """Predicted classes (B,) of raw outputs."""
    if a is None or activation is None:
        return f.mean((2, 3)).argmax(1)
    log_joint = log_conditional(f) + log_saliency(a, activation)[:, None]
    return log_joint.flatten(2).logsumexp(2).argmax(1)


def class_maps(
    f: Tensor, a: Tensor | None, activation: Activation | None, own: Tensor, superset: Tensor
) -> dict[str, Tensor]:
    """Maps (B,H,W) of each picture's class and its superset on the native grid, by name (`READINGS`).

    Parameters
    ----------
    f, a : Tensor (B,C,H,W), Tensor (B,1,H,W) or None
        Raw outputs; None for CAM.
    activation : {"relu", "softplus"} or None
    own, superset : Tensor (B,C) float32
        1 for the classes that each picture's map is about, else 0.
    """
    if a is None or activation is None:
        return {"cam": _rows_of(f, own), "cam-superset": _rows_of(f, superset)}
    h = log_saliency(a, activation).exp()
    g = log_conditional(f).exp()
    return {"attribution": _rows_of(g, own) * h, "superset": _rows_of(g, superset) * h, "saliency": h}


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
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    batch: int = 32,
    progress: Callable[[int], object] = lambda _: None,
) -> float:
    """Top-1 accuracy as a fraction."""
    right = 0
    for part, f, a in _raw_outputs(model, pictures, batch):
        labels = torch.tensor([picture.label for picture in part], device=f.device)
        right += int((predictions(f, a, model.info.saliency_activation) == labels).sum())
        progress(len(part))
    return right / len(pictures)


def box_accuracy(
    model: LoadedModel,
    pictures: Sequence[BoxedPicture],
    *,
    contours: Contours = "all",
    mode: Mode = "benchmark",
    batch: int = 32,
    progress: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """Top-1 accuracy and box accuracy of every map of a checkpoint, each picture's true class given.

    Parameters
    ----------
    model : LoadedModel
        Its preprocessing must squash, as the benchmark does; boxes are then only scaled.
    pictures : sequence of BoxedPicture
    contours, mode
        As in `MaxBoxAcc`.
    batch : int
        Pictures in a forward pass; the result doesn't depend on it.
    progress : callable
        Told after each batch how many pictures it was.

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
    for picture in pictures:
        _check_label(model, picture.path, picture.label)
    size, activation = model.info.input.size, model.info.saliency_activation
    metrics = {name: MaxBoxAcc(contours=contours, mode=mode) for name in READINGS[model.info.is_cam]}
    right = 0
    for part, f, a in _raw_outputs(model, pictures, batch):
        labels = torch.tensor([picture.label for picture in part], device=f.device)
        right += int((predictions(f, a, activation) == labels).sum())
        rows = memberships(model, [[picture.label] for picture in part])
        for name, maps in class_maps(f, a, activation, *rows).items():
            for picture, score_map in zip(part, min_max(maps, size), strict=True):
                metrics[name].update(score_map, _boxes_at(picture, size, mode))
        progress(len(part))
    maps_of = {name: metric.compute() for name, metric in metrics.items()}
    return {"images": len(pictures), "top-1": right / len(pictures), "maps": maps_of}


def mask_accuracy(
    model: LoadedModel,
    pictures: Sequence[MaskedPicture],
    *,
    batch: int = 32,
    progress: Callable[[int], object] = lambda _: None,
) -> dict[str, Any]:
    """PxAP of every map of a checkpoint against masks, maps scaled to 0..1 in each picture.

    Parameters
    ----------
    model : LoadedModel
        Its preprocessing must squash.
    pictures : sequence of MaskedPicture
        A map is about all the classes that stand for the mask's object.
    batch, progress
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
    for picture in pictures:
        for label in picture.classes:
            _check_label(model, picture.path, label)
    size = model.info.input.size
    metrics = {name: PxAP() for name in READINGS[model.info.is_cam]}
    for part, f, a in _raw_outputs(model, pictures, batch):
        rows = memberships(model, [picture.classes for picture in part])
        for name, maps in class_maps(f, a, model.info.saliency_activation, *rows).items():
            for picture, score_map in zip(part, min_max(maps, size), strict=True):
                metrics[name].update(score_map, resize_mask(picture.mask(), size))
        progress(len(part))
    return {"images": len(pictures), "maps": {name: metric.compute() for name, metric in metrics.items()}}


def _check_squash(model: LoadedModel) -> None:
    resize = model.info.input.resize
    if resize != "squash":
        raise DataError(f"the benchmark squashes pictures to a square, but this checkpoint {resize}s them")


def _check_label(model: LoadedModel, path: Path, label: int) -> None:
    if label >= len(model.classes):
        raise DataError(f"{path.name} is of class {label}, the checkpoint has {len(model.classes)} classes")


def _rows_of(values: Tensor, rows: Tensor) -> Tensor:
    """Sum (B,H,W) of the rows of (B,C,H,W) that are 1 in (B,C)."""
    return torch.einsum("bc,bchw->bhw", rows, values)


def _boxes_at(picture: BoxedPicture, size: int, mode: Mode) -> NDArray[Any]:
    if mode == "benchmark":
        return scale_boxes(picture.boxes, picture.size, (size, size))
    return picture.boxes * np.tile(size / np.array(picture.size, np.float64), 2)


def _raw_outputs(
    model: LoadedModel, pictures: Sequence[AnyPicture], batch: int
) -> Iterator[tuple[Sequence[AnyPicture], Tensor, Tensor | None]]:
    """Pictures of each batch with their raw outputs, checked to be finite."""
    for start in range(0, len(pictures), batch):
        part = pictures[start : start + batch]
        inputs = torch.cat([prepare(load_picture(p.path), model.info.input, model.grid)[0] for p in part])
        f, a = model.raw(inputs)
        check_raw_outputs(f, a, model.info.saliency_activation)
        yield part, f, a
