"""What a family of backbones is."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.parts import Parts
from calm_gui.model.info import InputSpec

__all__ = ["Backbone", "Family"]


def _no_parts(_: nn.Module) -> Parts:
    return Parts(None)


def _usual_input(_: str) -> InputSpec:
    return InputSpec()


@dataclass(frozen=True)
class Family:
    """Backbones that one file builds.

    Attributes
    ----------
    names : tuple of str
        What `build` takes; one that ends in a colon stands for all names that begin with it.
    build : callable
        From a name, an output stride and whether to dilate to a `Backbone` with random weights.
    strides : tuple of int
        Output strides that it can have; empty where each network has its own, and building one tells.
    dilates : bool
        Whether it can dilate where a stride was taken away.
    whole : callable or None
        From a name and a number of outputs to a whole classifier with random weights; None if it builds none.
    parts : callable
        The parts of such a classifier.
    input : callable
        The input that published weights of a name were trained with.
    """

    names: tuple[str, ...]
    build: Callable[[str, int, bool], Backbone]
    strides: tuple[int, ...] = (8, 16, 32)
    dilates: bool = False
    whole: Callable[[str, int], nn.Module] | None = None
    parts: Callable[[nn.Module], Parts] = _no_parts
    input: Callable[[str], InputSpec] = _usual_input

    def has(self, name: str) -> bool:
        """Whether a name is one of this family's."""
        return any(name.startswith(own) if own.endswith(":") else name == own for own in self.names)
