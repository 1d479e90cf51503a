"""Separation: how much of each class's map lies in its own half of two pictures side by side."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Separation", "left_share", "separation"]


@dataclass(frozen=True)
class Separation:
    """What one composite's two maps of a kind say, class A on the left, B on the right.

    Attributes
    ----------
    own_half : float
        Mean over A and B of the share of the map that lies in the class's own half. Values below 0 count as 0, a map
        without any above 0 as one that ignores places: 0.5.
    right_sign : float
        Share of |A - B| that has the sign it should have: above 0 on the left, below 0 on the right. Of two maps that
        are alike it is 0.5.
    right_halves : float
        Share of the two halves in which A - B sums to the sign it should have. It asks more: that in its own half
        each class has more in all than the other, however sure the model is of either.
    pointing : float
        Share of the two maps whose largest cell lies in the class's own half.
    """

    own_half: float
    right_sign: float
    right_halves: float
    pointing: float


def left_share(columns: int) -> NDArray[np.float64]:
    """How much of each column (W,) of a grid lies in the left half."""
    return np.clip(columns / 2 - np.arange(columns), 0.0, 1.0)


def separation(map_a: NDArray[np.float32], map_b: NDArray[np.float32]) -> Separation:
    """Separation of the maps (H,W) of the left picture's class and the right one's."""
    a, b = map_a.astype(np.float64), map_b.astype(np.float64)
    left = left_share(a.shape[1])
    difference = a - b
    at_a, at_b = (left[int(m.argmax()) % m.shape[1]] for m in (a, b))
    return Separation(
        own_half=(_share(a, left) + _share(b, 1 - left)) / 2,
        right_sign=_right_share(difference, left),
        right_halves=((difference * left).sum() > 0) / 2 + ((difference * (1 - left)).sum() < 0) / 2,
        pointing=(at_a + 1 - at_b) / 2,
    )


def _share(values: NDArray[np.float64], columns: NDArray[np.float64]) -> float:
    positive = np.maximum(values, 0)
    total = positive.sum()
    return float((positive * columns).sum() / total) if total > 0 else 0.5


def _right_share(difference: NDArray[np.float64], columns: NDArray[np.float64]) -> float:
    total = np.abs(difference).sum()
    right = np.maximum(difference, 0) * columns + np.maximum(-difference, 0) * (1 - columns)
    return float(right.sum() / total) if total > 0 else 0.5
