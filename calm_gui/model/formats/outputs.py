"""Outputs of a classifier in a file of another program: how many, and which classes they are."""

from collections.abc import Mapping

from torch import Tensor

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import CheckpointError
from calm_gui.model.class_names import class_table
from calm_gui.model.imagenet import imagenet_classes
from calm_gui.model.known_classes import KnownClasses, known_classes

__all__ = ["IMAGENET_CLASSES", "MAX_CLASSES", "classes_of", "imagenet_names", "outputs"]

IMAGENET_CLASSES = 1000

MAX_CLASSES = 100_000
"""Files that claim more are refused before a network of that size is built."""


def outputs(weights: Mapping[str, Tensor], key: str, name: str) -> int:
    """Number of outputs of a linear layer or 1x1 convolution.

    Raises
    ------
    CheckpointError
        If the tensor is that of no classifier.
    """
    shape = weights[key].shape
    if len(shape) not in (2, 4) or not 0 < shape[0] <= MAX_CLASSES:
        raise CheckpointError(f"{key} of {name} has the shape {tuple(shape)}, which no classifier has")
    return int(shape[0])


def classes_of(names: tuple[str, ...] | None, n: int, name: str) -> tuple[KnownClasses, tuple[str, ...]]:
    """The classes with what WordNet knows of them, and what was assumed.

    Raises
    ------
    CheckpointError
        If the number of names isn't that of the outputs.
    """
    if names is not None:
        if len(names) != n:
            raise CheckpointError(f"{name} has {n} classes, but {len(names)} names were given")
        return known_classes(class_table(names)), ("classes: named by the user",)
    if n == IMAGENET_CLASSES:
        return known_classes(imagenet_classes()), ("classes: ImageNet-1k in the usual order, since there are 1,000",)
    return KnownClasses(ClassTable(ClassInfo(i, f"class {i}") for i in range(n))), ()


def imagenet_names() -> tuple[str, ...]:
    """ImageNet's classes as `Answers` takes them."""
    return tuple(f"{info.wnid} {info.name}" for info in imagenet_classes())
