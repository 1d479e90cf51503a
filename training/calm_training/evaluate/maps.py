"""Maps that evaluation measures: readings and methods by their names, of a class or of its superset.

What a reading is and how it is computed stands in `calm_gui.core.readings`, what a method is in `calm_gui.methods`;
here they are only asked, about each picture's true class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from calm_gui.core.classes import ClassSet
from calm_gui.core.joint import ClassLogits, ClassScores, Joint
from calm_gui.core.readings import ATTRIBUTION, CAM, READINGS, SALIENCY, Asked, Reading
from calm_gui.errors import DataError
from calm_gui.methods import METHODS, Method
from calm_gui.model.classifier import Classifier
from calm_gui.model.loaded import LoadedModel
from calm_training.evaluate.sweep import Outputs

__all__ = [
    "SCALED",
    "MeasuredMap",
    "check_squash",
    "evidence_kind",
    "map_names",
    "map_of",
    "maps_of",
    "method_map",
    "method_maps",
    "min_max",
    "native_maps",
    "own_map",
    "reading_map",
    "scaled_maps",
]

OF_SUPERSET = "-superset"
"""What follows a map's name where it is about the class's superset instead of the class."""

SCALED = "Maps enlarged bilinearly to the input's size and scaled to 0..1 each; true class given."
"""How `scaled_maps` says what it does."""

SUPERSET = "superset"
"""Short for the attribution of the superset, as version 0.1 had it."""


@dataclass(frozen=True)
class MeasuredMap:
    """A map that is measured.

    Attributes
    ----------
    name : str
        What results call it.
    kind : Reading or Method
    of_superset : bool
        Whether it is about the superset of the picture's class.
    """

    name: str
    kind: Reading | Method
    of_superset: bool = False

    def fits(self, model: LoadedModel) -> bool:
        """Whether the checkpoint has it."""
        if isinstance(self.kind, Method):
            return not self.kind.refusal(model.network)
        return self.kind.needs is evidence_kind(model)

    @property
    def is_probability(self) -> bool:
        """Whether its values are probabilities, so that they need no scaling to be compared."""
        return isinstance(self.kind, Reading) and self.kind.unit.startswith("probability")

    def about(self, model: LoadedModel, classes: Sequence[int]) -> ClassSet:
        """The class set that it is about for a picture of some classes."""
        if not self.of_superset:
            return ClassSet(classes)
        return ClassSet(index for label in classes for index in model.supersets[label])


def evidence_kind(model: LoadedModel) -> type[Joint] | type[ClassScores] | type[ClassLogits]:
    """What a checkpoint's readings are computed from."""
    if isinstance(model.network, Classifier):
        return ClassLogits
    return ClassScores if model.info.is_cam else Joint


def own_map(model: LoadedModel) -> str:
    """Name of the map that stands for a checkpoint: the class's own."""
    return {Joint: ATTRIBUTION.key, ClassScores: CAM.key, ClassLogits: "grad_cam"}[evidence_kind(model)]


def _readings() -> dict[str, Reading]:
    """Readings that give each cell a score: not those that cut the hierarchy at a depth."""
    return {key: reading for key, reading in READINGS.items() if not reading.takes_depth}


def map_names() -> tuple[str, ...]:
    """Names that an evaluation takes for a map, besides those with `OF_SUPERSET` for maps of the superset."""
    return (*_readings(), SUPERSET, f"{CAM.key}{OF_SUPERSET}", *METHODS)


def map_of(name: str) -> MeasuredMap:
    """The map of a name.

    Raises
    ------
    DataError
        If there is none.
    """
    if name == SUPERSET:
        return MeasuredMap(name, ATTRIBUTION, of_superset=True)
    key = name.replace(OF_SUPERSET, "", 1)  # settings of a method may follow it
    kind: Reading | Method | None = _readings().get(key)
    if kind is None and key in METHODS:
        kind = METHODS[key]
    if kind is None or (key != name and not kind.takes_target):
        raise DataError(f"there is no map {name!r}; there are {', '.join(map_names())}")
    return MeasuredMap(name, kind, of_superset=key != name)


def maps_of(model: LoadedModel, names: Sequence[str] | None = None) -> tuple[MeasuredMap, ...]:
    """The maps to measure: those asked for that a checkpoint has.

    By default those that the paper reports: the class's own, its superset's (unless every class is its own superset)
    and p(z|x); Grad-CAM of a network that has none of them.

    Raises
    ------
    DataError
        If a name is unknown, or the checkpoint has none of them.
    """
    beside: tuple[str, ...] = {
        Joint: (SUPERSET, SALIENCY.key),
        ClassScores: (f"{CAM.key}{OF_SUPERSET}",),
        ClassLogits: (),
    }[evidence_kind(model)]
    if all(len(model.supersets[index]) == 1 for index in range(len(model.classes))):
        beside = tuple(name for name in beside if not map_of(name).of_superset)
    usual = (own_map(model), *beside)
    chosen = tuple(one for one in map(map_of, dict.fromkeys(names or usual)) if one.fits(model))
    if not chosen:
        there = [name for name in map_names() if map_of(name).fits(model)]
        raise DataError(f"{model.name} has no map {', '.join(names or ())}; it has {', '.join(there)}")
    return chosen


def reading_map(measured: MeasuredMap, model: LoadedModel, outputs: Outputs, classes: Sequence[int]) -> Tensor:
    """A reading's map (H,W) of one picture, float32.

    The contrast, where it takes one, is the likeliest class outside the target; class scores are left as they are.
    """
    assert isinstance(measured.kind, Reading)
    evidence, target = outputs.evidence, measured.about(model, classes)
    contrast = None
    if measured.kind.takes_contrast:
        contrast = _rival(evidence.class_probabilities.clone(), target)
    values = measured.kind.values(evidence, Asked(target, contrast, normalisation="none"))
    return torch.as_tensor(values).float()


def _rival(p: Tensor, target: ClassSet) -> ClassSet:
    """The likeliest class outside a target, by p(y|x), which is changed."""
    p[target.indices.copy()] = -1
    return ClassSet([int(p.argmax())])


def method_maps(
    model: LoadedModel, path: Path, classes: Sequence[int], maps: Sequence[MeasuredMap]
) -> dict[str, NDArray[np.float32]]:
    """Maps by name of those of `maps` that are methods, each on its own grid."""
    wanted = [(one, one.kind) for one in maps if isinstance(one.kind, Method)]
    if not wanted:
        return {}
    explanation = model.explain(path)
    return {one.name: method_map(one, method, model, path, classes, explanation) for one, method in wanted}


def method_map(
    measured: MeasuredMap,
    method: Method,
    model: LoadedModel,
    picture: Any,
    classes: Sequence[int],
    explanation: Any = None,
) -> NDArray[np.float32]:
    """A method's map on its own grid; the contrast, where it takes one, is the likeliest class outside the target."""
    explanation = explanation or model.explain(picture)
    target, contrast = measured.about(model, classes), None
    if method.takes_contrast:
        contrast = _rival(torch.from_numpy(explanation.class_probabilities.copy()), target)
    found: NDArray[np.float32] = method.map(model, picture, target, explanation=explanation, contrast=contrast).values
    return found


def native_maps(
    model: LoadedModel, outputs: Outputs, classes: Sequence[int], maps: Sequence[MeasuredMap]
) -> dict[str, Tensor]:
    """One picture's maps (h,w), each on its own grid, by name.

    Parameters
    ----------
    model : LoadedModel
    outputs : Outputs
        Its `more` holds the methods' maps.
    classes : sequence of int
        What the maps are about.
    maps : sequence of MeasuredMap
    """
    return {
        one.name: torch.from_numpy(outputs.more[one.name])
        if isinstance(one.kind, Method)
        else reading_map(one, model, outputs, classes)
        for one in maps
    }


def scaled_maps(
    model: LoadedModel, outputs: Outputs, classes: Sequence[int], maps: Sequence[MeasuredMap]
) -> dict[str, NDArray[np.float32]]:
    """The same at the input's size, each scaled to 0..1 (`min_max`)."""
    return scaled(native_maps(model, outputs, classes, maps), model.info.input.size)


def scaled(maps: Mapping[str, Tensor], size: int) -> dict[str, NDArray[np.float32]]:
    """Maps enlarged to size x size and scaled to 0..1."""
    return {name: min_max(values[None], size)[0] for name, values in maps.items()}


def check_squash(model: LoadedModel) -> None:
    """Refuse a checkpoint whose input isn't the whole picture squashed to a square."""
    resize = model.info.input.resize
    if resize != "squash":
        raise DataError(f"the benchmark squashes pictures to a square, but this checkpoint {resize}s them")


def min_max(maps: Tensor, size: int) -> NDArray[np.float32]:
    """Enlarge maps (B,H,W) to size x size (bilinear, half-pixel centres) and scale each to 0..1.

    A map without any variation becomes 0 everywhere.
    """
    large = functional.interpolate(maps[:, None].float(), size=(size, size), mode="bilinear", align_corners=False)
    large = large[:, 0]
    low, high = large.amin((1, 2), keepdim=True), large.amax((1, 2), keepdim=True)
    scaled_values = torch.where(high > low, (large - low) / (high - low), 0.0).clamp(0, 1)
    return np.asarray(scaled_values.cpu().numpy(), np.float32)
