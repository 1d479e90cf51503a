"""What a backbone is, and a family of them."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

__all__ = ["Backbone", "Family"]


class Backbone(nn.Module):
    """A network without its classifier: pictures (B,3,h,w) to features (B,L,H,W).

    Attributes
    ----------
    channels : int
        Channels L of the features.
    """

    channels: int


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
        Output strides that it can have.
    dilates : bool
        Whether it can dilate where a stride was taken away.
    """

    names: tuple[str, ...]
    build: Callable[[str, int, bool], Backbone]
    strides: tuple[int, ...] = (8, 16, 32)
    dilates: bool = False

    def has(self, name: str) -> bool:
        """Whether a name is one of this family's."""
        return any(name.startswith(own) if own.endswith(":") else name == own for own in self.names)
