"""Composites of two to four pictures, whose classes are known to lie each in its own part."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from calm_training.objectives import TopTarget

__all__ = ["MOST_PARTS", "Part", "compose_features", "compose_pixels", "compose_targets", "draw_layout", "owners"]

MOST_PARTS = 4


class Part(NamedTuple):
    """A rectangle of cells, the ends not included."""

    top: int
    left: int
    bottom: int
    right: int


def draw_layout(generator: np.random.Generator, side: int) -> list[Part]:
    """Parts of a square grid for as many pictures, a later part laid over the earlier ones.

    Halves side by side or one above the other, quarters, or one to three boxes on the first picture; a box is as wide
    and high as 0.35 to 0.6 of the grid.
    """
    half, whole = side // 2, Part(0, 0, side, side)
    match generator.integers(4):
        case 0:
            return [Part(0, 0, side, half), Part(0, half, side, side)]
        case 1:
            return [Part(0, 0, half, side), Part(half, 0, side, side)]
        case 2:
            return [Part(r, c, r + half or side, c + half or side) for r in (0, half) for c in (0, half)]
        case _:
            return [whole, *(_box(generator, side) for _ in range(generator.integers(1, MOST_PARTS)))]


def _box(generator: np.random.Generator, side: int) -> Part:
    height, width = generator.integers(round(0.35 * side), round(0.6 * side) + 1, 2)
    top, left = generator.integers(side - height + 1), generator.integers(side - width + 1)
    return Part(int(top), int(left), int(top + height), int(left + width))


def owners(layout: Sequence[Part], side: int) -> NDArray[np.int64]:
    """Which picture each cell (side,side) belongs to."""
    result = np.zeros((side, side), np.int64)
    for number, part in enumerate(layout):
        result[part.top : part.bottom, part.left : part.right] = number
    return result


def compose_features(features: Tensor, owner: NDArray[np.int64]) -> Tensor:
    """One feature map (L,H,W) from those (n,L,H,W) of n pictures: each cell from its owner, where it was."""
    return (features * _masks(owner, len(features))[:, None]).sum(0)


def compose_pixels(inputs: Tensor, layout: Sequence[Part], side: int) -> Tensor:
    """One network input (3,h,w) from those (n,3,h,w) of n pictures, each squeezed into its part."""
    result = torch.empty_like(inputs[0])
    cell = inputs.shape[-1] // side
    for picture, part in zip(inputs, layout, strict=True):
        top, left, bottom, right = (edge * cell for edge in part)
        size = (bottom - top, right - left)
        result[:, top:bottom, left:right] = functional.interpolate(
            picture[None], size=size, mode="bilinear", antialias=True
        )[0]
    return result


def compose_targets(
    target: TopTarget, posterior: Tensor, layout: Sequence[Part], side: int, *, squeezed: bool, rows: int
) -> tuple[TopTarget, Tensor]:
    """Classes, weights and posteriors of a composite.

    A picture's posteriors q'_y are restricted to the cells it owns. Its classes share 1/n of the weight by what is left
    of each, w_y times the sum of q'_y over those cells, and the whole is scaled to sum to 1.

    Parameters
    ----------
    target : TopTarget
        Classes and weights (n,K) of the pictures.
    posterior : Tensor (n,K,H,W)
        Of each class.
    layout : sequence of Part
    side : int
        Cells on a side of the grid.
    squeezed : bool
        Whether each picture was squeezed into its part (`compose_pixels`) or stayed where it was (`compose_features`).
    rows : int
        Length of the result, at least n K; what is over has the weight 0.

    Returns
    -------
    TopTarget (rows,), (rows,)
        A class of two of the pictures stands there twice, each time with its own posterior.
    Tensor (rows,H,W)
        Each sums to 1, or is 0 where the weight is.
    """
    n, k = target.classes.shape
    q = (
        torch.stack([_into(p, part, side) for p, part in zip(posterior, layout, strict=True)])
        if squeezed
        else posterior
    )
    q = q * _masks(owners(layout, side), n)[:, None]
    left = q.sum((2, 3))
    weights = (target.weights * left / n).flatten()
    classes = functional.pad(target.classes.flatten(), (0, rows - n * k))
    weights = functional.pad(weights / weights.sum().clamp_min(1e-12), (0, rows - n * k))
    q = (q / left.clamp_min(1e-12)[:, :, None, None]).flatten(0, 1)
    return TopTarget(classes, weights), functional.pad(q, (0, 0, 0, 0, 0, rows - n * k))


def _into(maps: Tensor, part: Part, side: int) -> Tensor:
    """Maps (K,H,W) squeezed into a part of a grid, with their sums."""
    size = (part.bottom - part.top, part.right - part.left)
    small = functional.interpolate(maps[None], size=size, mode="bilinear", antialias=True)[0].clamp_min(0)
    small = small / small.sum((1, 2), keepdim=True).clamp_min(1e-12)
    return functional.pad(small, (part.left, side - part.right, part.top, side - part.bottom))


def _masks(owner: NDArray[np.int64], n: int) -> Tensor:
    return functional.one_hot(torch.from_numpy(owner), n).permute(2, 0, 1).float()
