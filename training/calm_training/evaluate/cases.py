"""Cases for measures of maps: a picture's maps with its region, its pixels and what the network says of it."""

import copy
import zlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from calm_gui.core.classes import ClassSet
from calm_gui.methods import Method
from calm_gui.model.calm import log_class_probabilities
from calm_gui.model.input import input_values, normalised
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture, picture_from_array
from calm_training.datasets.boxes import BoxedPicture
from calm_training.datasets.evaluation_set import Labelled
from calm_training.datasets.masks import MaskedPicture
from calm_training.evaluate.maps import MeasuredMap, check_squash, method_map, min_max, native_maps, reading_map
from calm_training.evaluate.sweep import Outputs
from calm_training.metrics.max_box_acc import Mode, scale_boxes
from calm_training.metrics.measure import Case, Need
from calm_training.metrics.pxap import FOREGROUND, IGNORE, resize_mask

__all__ = ["Cases", "boxes_at", "inside_boxes", "with_random_layers"]


class Cases:
    """Cases of pictures under a checkpoint.

    Parameters
    ----------
    model : LoadedModel
    pictures : sequence of labelled pictures

    Attributes
    ----------
    there : tuple of Need
        What all pictures have.

    Raises
    ------
    DataError
        If there are regions, but the checkpoint crops or pads its input.
    """

    def __init__(self, model: LoadedModel, pictures: Sequence[Labelled]) -> None:
        self.model = model
        has_regions = all(isinstance(picture, BoxedPicture | MaskedPicture) for picture in pictures)
        self._rebuilt: dict[float, LoadedModel] = {}
        self.there: tuple[Need, ...] = ("region",) if has_regions else ()
        if has_regions:
            check_squash(model)

    def of(
        self, picture: Labelled, outputs: Outputs, maps: Sequence[MeasuredMap], *, with_network: bool
    ) -> dict[str, Case]:
        """One picture's cases by the maps' names; with pixels and predictions only if `with_network`."""
        size = self.model.info.input.size
        inside, known = self._region(picture, size)
        pixels, more = None, dict[str, Any]()
        if with_network:
            pixels = input_values(load_picture(picture.path).pixels, self.model.info.input)
            more["mean_colour"] = np.array(self.model.info.input.mean, np.float32)
            more["seed"] = zlib.crc32(np.ascontiguousarray(pixels).tobytes())
        cases = {}
        for one, values in zip(maps, native_maps(self.model, outputs, picture.classes, maps).values(), strict=True):
            calls: dict[str, Any] = {}
            if with_network:
                target = one.about(self.model, picture.classes)
                calls["predict"] = partial(self._predict, target)
                calls["remap"] = partial(self._remap, one, picture.classes)
                calls["rebuilt"] = partial(self._rebuilt_map, one, picture, outputs.inputs)
                calls["parts"] = partial(self._parts, one, picture, outputs)
            cases[one.name] = Case(
                np.asarray(values.cpu().numpy(), np.float32),
                _enlarged(values, size),
                min_max(values[None], size)[0],
                inside,
                known,
                pixels,
                **more,
                **calls,
            )
        return cases

    def _region(self, picture: Labelled, size: int) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]:
        if isinstance(picture, BoxedPicture):
            return inside_boxes(boxes_at(picture, size, "exact"), size), None
        if isinstance(picture, MaskedPicture):
            mask = resize_mask(picture.mask(), size)
            return mask == FOREGROUND, mask != IGNORE
        return None, None

    def _predict(self, target: ClassSet, pictures: NDArray[np.float32]) -> NDArray[np.float64]:
        """p(A|x) of pictures (B,3,H,W); one by one, so that the digits don't depend on how many there are."""
        inputs = torch.from_numpy(normalised(pictures, self.model.info.input))
        rows = target.indices.copy()
        found = []
        for row in inputs:
            f, a = self.model.raw(row[None])
            log_p = log_class_probabilities(f, a, self.model.info.saliency_activation)[0].double()
            found.append(float(log_p[rows].exp().sum()))
        return np.array(found)

    def _remap(self, one: MeasuredMap, classes: Sequence[int], picture: NDArray[np.float32]) -> NDArray[np.float32]:
        if isinstance(one.kind, Method):
            pixels = np.round(np.clip(picture.transpose(1, 2, 0), 0, 1) * 255).astype(np.uint8)
            return method_map(one, one.kind, self.model, picture_from_array(pixels), classes)
        inputs = torch.from_numpy(normalised(picture[None], self.model.info.input))
        f, a = self.model.raw(inputs)
        outputs = Outputs(inputs, f, a, self.model.info.saliency_activation, {})
        return np.asarray(reading_map(one, self.model, outputs, classes).cpu().numpy(), np.float32)

    def _rebuilt_map(
        self, one: MeasuredMap, picture: Labelled, inputs: torch.Tensor, share: float
    ) -> NDArray[np.float32]:
        if share not in self._rebuilt:
            self._rebuilt[share] = with_random_layers(self.model, share)
        model = self._rebuilt[share]
        if isinstance(one.kind, Method):
            return method_map(one, one.kind, model, picture.path, picture.classes)
        f, a = model.raw(inputs)
        outputs = Outputs(inputs, f, a, model.info.saliency_activation, {})
        return np.asarray(reading_map(one, model, outputs, picture.classes).cpu().numpy(), np.float32)

    def _parts(
        self, one: MeasuredMap, picture: Labelled, outputs: Outputs
    ) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        own = ClassSet(picture.classes)
        whole = ClassSet(index for label in own for index in self.model.supersets[label])
        rest = whole - own
        sets = [whole, own, rest] if rest else [whole]
        if isinstance(one.kind, Method):
            explanation = self.model.explain(picture.path)
            found = [one.kind.map(self.model, picture.path, s, explanation=explanation).values for s in sets]
        else:
            found = [
                np.asarray(reading_map(one, self.model, outputs, tuple(s)).cpu().numpy(), np.float32) for s in sets
            ]
        return found[0], found[1:]


def with_random_layers(model: LoadedModel, share: float) -> LoadedModel:
    """A copy of a checkpoint with the weights of a share of its layers, from the output down, drawn anew.

    Each tensor of weights is drawn from a normal distribution with its own mean and standard deviation, always the
    same one; statistics of batch normalisation stay.
    """
    network = copy.deepcopy(model.network)
    generator = torch.Generator().manual_seed(0)
    layers = [layer for layer in network.modules() if any(True for _ in layer.parameters(recurse=False))]
    with torch.no_grad():
        for layer in layers[len(layers) - round(share * len(layers)) :]:
            for weights in layer.parameters(recurse=False):
                spread = float(weights.std()) if weights.numel() > 1 else 0.0
                drawn = torch.randn(weights.shape, generator=generator) * spread + float(weights.mean())
                weights.copy_(drawn)
    return LoadedModel(network, model.info, model.device, f"{model.name}, {share:.0%} random")


def boxes_at(picture: BoxedPicture, size: int, mode: Mode) -> NDArray[Any]:
    """A picture's boxes (N,4) in pixels of a square map of a size."""
    if mode == "benchmark":
        return scale_boxes(picture.boxes, picture.size, (size, size))
    return picture.boxes * np.tile(size / np.array(picture.size, np.float64), 2)


def inside_boxes(boxes: NDArray[np.float64], size: int) -> NDArray[np.bool_]:
    """Where the centres of pixels (size,size) lie in any of the boxes (N,4), half-open."""
    centres = np.arange(size) + 0.5
    x0, y0, x1, y1 = (boxes[:, i, None] for i in range(4))
    columns, rows = (x0 <= centres) & (centres < x1), (y0 <= centres) & (centres < y1)
    return np.asarray((rows[:, :, None] & columns[:, None, :]).any(0))


def _enlarged(values: torch.Tensor, size: int) -> NDArray[np.float32]:
    large = functional.interpolate(values[None, None].float(), size=(size, size), mode="bilinear", align_corners=False)
    return np.asarray(large[0, 0].cpu().numpy(), np.float32)
