"""Maps of whole batches for the localization metrics, and the figures of a checkpoint on a set with boxes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
from calm_training.annotations import BoxedPicture
from calm_training.metrics.max_box_acc import Contours, MaxBoxAcc, Mode, scale_boxes

__all__ = ["READINGS", "accuracy", "box_accuracy", "class_maps", "min_max", "predictions"]

READINGS = {True: ("cam", "cam-superset"), False: ("attribution", "superset", "saliency")}
"""Names of the maps of a CAM (True) and a CALM checkpoint: the class's own, its superset's, p(z|x)."""


def predictions(f: Tensor, a: Tensor | None, activation: Activation | None) -> Tensor:
    """Predicted classes (B,) of raw outputs."""
    if a is None or activation is None:
        return f.mean((2, 3)).argmax(1)
    log_joint = log_conditional(f) + log_saliency(a, activation)[:, None]
    return log_joint.flatten(2).logsumexp(2).argmax(1)


def class_maps(
    f: Tensor, a: Tensor | None, activation: Activation | None, labels: Tensor, membership: Tensor
) -> dict[str, Tensor]:
    """Maps (B,H,W) of each picture's class on the native grid, by name (`READINGS`).

    Parameters
    ----------
    f, a : Tensor (B,C,H,W), Tensor (B,1,H,W) or None
        Raw outputs; None for CAM.
    activation : {"relu", "softplus"} or None
    labels : Tensor (B,) int64
    membership : Tensor (C,C) float32
        Row y is 1 for the classes in y's superset.
    """
    rows = torch.arange(len(f), device=f.device)
    if a is None or activation is None:
        of_superset = torch.einsum("bc,bchw->bhw", membership[labels], f)
        return {"cam": f[rows, labels], "cam-superset": of_superset}
    h = log_saliency(a, activation).exp()
    log_g = log_conditional(f)
    g_of_superset = torch.einsum("bc,bchw->bhw", membership[labels], log_g.exp())
    return {"attribution": log_g[rows, labels].exp() * h, "superset": g_of_superset * h, "saliency": h}


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
    if model.info.input.resize != "squash":
        raise DataError(f"box accuracy needs a checkpoint that squashes pictures; this one {model.info.input.resize}s")
    count = len(model.classes)
    strange = [picture for picture in pictures if picture.label >= count]
    if strange:
        raise DataError(f"{strange[0].path.name} is of class {strange[0].label}, the checkpoint has {count} classes")
    membership = torch.zeros(count, count, device=model.device)
    for label in {picture.label for picture in pictures}:
        membership[label, model.supersets[label].indices.tolist()] = 1
    size, activation = model.info.input.size, model.info.saliency_activation
    metrics = {name: MaxBoxAcc(contours=contours, mode=mode) for name in READINGS[model.info.is_cam]}
    right = 0
    for part, f, a in _raw_outputs(model, pictures, batch):
        labels = torch.tensor([picture.label for picture in part], device=f.device)
        right += int((predictions(f, a, activation) == labels).sum())
        for name, maps in class_maps(f, a, activation, labels, membership).items():
            for picture, score_map in zip(part, min_max(maps, size), strict=True):
                metrics[name].update(score_map, _boxes_at(picture, size, mode))
        progress(len(part))
    maps_of = {name: metric.compute() for name, metric in metrics.items()}
    return {"images": len(pictures), "top-1": right / len(pictures), "maps": maps_of}


def _boxes_at(picture: BoxedPicture, size: int, mode: Mode) -> NDArray[Any]:
    if mode == "benchmark":
        return scale_boxes(picture.boxes, picture.size, (size, size))
    return picture.boxes * np.tile(size / np.array(picture.size, np.float64), 2)


def _raw_outputs(
    model: LoadedModel, pictures: Sequence[BoxedPicture], batch: int
) -> Iterator[tuple[Sequence[BoxedPicture], Tensor, Tensor | None]]:
    """Pictures of each batch with their raw outputs, checked to be finite."""
    for start in range(0, len(pictures), batch):
        part = pictures[start : start + batch]
        inputs = torch.cat([prepare(load_picture(p.path), model.info.input, model.grid)[0] for p in part])
        f, a = model.raw(inputs)
        check_raw_outputs(f, a, model.info.saliency_activation)
        yield part, f, a
