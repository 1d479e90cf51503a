"""Where in a network of others its features are, and how its tensors become maps (B,L,H,W) and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

__all__ = ["Layout", "Tap", "grid_of_tokens", "layout_of", "opened"]

_MOST_PREFIX = 8
"""Class, distillation and register tokens together; DINOv3 has five."""


@dataclass(frozen=True)
class Layout:
    """How places lie in a tensor of features.

    Attributes
    ----------
    kind : {"map", "last", "tokens"}
        (B,L,H,W), (B,H,W,L) or (B,N,L).
    prefix : int
        Tokens before those of places.
    """

    kind: Literal["map", "last", "tokens"]
    prefix: int = 0


@dataclass(frozen=True)
class Tap:
    """A module of a network whose output is features.

    Attributes
    ----------
    module : str
        Its dotted name.
    channels : int or None
        Channels of its output, where they are known; they tell layouts apart.
    prefix : int or None
        Tokens before those of places, where that is known.
    """

    module: str
    channels: int | None = None
    prefix: int | None = None

    def layout(self, features: object, size: tuple[int, int]) -> Layout | None:
        """The layout of what the module gave for inputs of a height and width; None if it isn't features."""
        if not isinstance(features, Tensor):
            return None
        return layout_of(tuple(features.shape), size, self.channels, self.prefix)


def layout_of(
    shape: tuple[int, ...], size: tuple[int, int], channels: int | None = None, prefix: int | None = None
) -> Layout | None:
    """The layout that a shape has; None if it is that of no features.

    Parameters
    ----------
    shape : tuple of int
    size : (int, int)
        Height and width of the network's input.
    channels, prefix : int, optional
        As for `Tap`; without channels (B,L,H,W) goes before (B,H,W,L) unless only the latter's grid is like the input.
    """
    if len(shape) == 4:
        of_map, of_last = shape[2:], shape[1:3]
        if channels is not None:
            if shape[1] == channels:
                return Layout("map")
            return Layout("last") if shape[3] == channels else None
        return Layout("map") if _alike(of_map, size) or not _alike(of_last, size) else Layout("last")
    if len(shape) == 3 and (channels is None or shape[2] == channels):
        for tokens in (prefix,) if prefix is not None else range(_MOST_PREFIX + 1):
            if shape[1] > tokens and grid_of_tokens(shape[1] - tokens, size):
                return Layout("tokens", tokens)
    return None


def _alike(grid: tuple[int, ...], size: tuple[int, int]) -> bool:
    """Whether a grid has the shape of the input, up to one cell."""
    return abs(grid[0] * size[1] - grid[1] * size[0]) <= max(size)


def grid_of_tokens(count: int, size: tuple[int, int]) -> tuple[int, int] | None:
    """Rows and columns of patch tokens over an input of a height and width; None if no grid of them is like it."""
    rows = round(math.sqrt(count * size[0] / size[1]))
    if rows < 1 or count % rows or not _alike((rows, count // rows), size):
        return None
    return rows, count // rows


def opened(features: Tensor, layout: Layout, size: tuple[int, int]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Features as a map (B,L,H,W), and what makes a changed map the network's own tensor again."""
    if layout.kind == "map":
        return features, lambda changed: changed
    if layout.kind == "last":
        return features.permute(0, 3, 1, 2), lambda changed: changed.permute(0, 2, 3, 1)
    before, places = features[:, : layout.prefix], features[:, layout.prefix :]
    grid = grid_of_tokens(places.shape[1], size)
    if grid is None:
        raise ValueError(f"{places.shape[1]} tokens make no grid over an input of {size}")
    spread = places.transpose(1, 2).reshape(places.shape[0], places.shape[2], *grid)

    def closed(changed: Tensor) -> Tensor:
        return torch.cat([before, changed.flatten(2).transpose(1, 2)], dim=1)

    return spread, closed
