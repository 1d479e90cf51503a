"""Remove and classify: the accuracy that is left when the pixels that a map ranks highest are erased (section 5.2)."""

import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d

from calm_gui.errors import DataError
from calm_training.metrics.counts import Counts

__all__ = ["Erasure", "RemoveAndClassify", "blur", "erase", "erased_pixels"]

Erasure = Literal["blur", "zero", "mean"]
"""Blurred picture (the paper), zero after normalisation, that is the data set's mean colour (the released code), or
the picture's own mean colour."""

Classifier = Callable[[NDArray[np.float32]], NDArray[np.int64]]

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of erased pixels in the paper's figure."""

_BLUR_SIGMA = 15.0
_BLUR_RADIUS = 15


def blur(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Blur every channel with a 31 x 31 Gaussian of standard deviation 15, the picture mirrored at its edge.

    Parameters
    ----------
    picture : ndarray (C,H,W) float32

    Returns
    -------
    ndarray (C,H,W) float32
    """
    offsets = np.arange(-_BLUR_RADIUS, _BLUR_RADIUS + 1)
    kernel = np.exp(-(offsets**2) / (2 * _BLUR_SIGMA**2))
    kernel /= kernel.sum()
    # "mirror" doesn't repeat the edge pixel.
    rows_blurred = correlate1d(np.asarray(picture, np.float64), kernel, axis=1, mode="mirror")
    return correlate1d(rows_blurred, kernel, axis=2, mode="mirror").astype(np.float32)


def erased_pixels(score_map: NDArray[Any], share: float) -> NDArray[np.bool_]:
    """The highest-scoring pixels of a map.

    Parameters
    ----------
    score_map : ndarray (H,W)
    share : float
        Share of the pixels, 0 to 1; their number is cut to an integer.

    Returns
    -------
    ndarray (H,W) bool
        Of equal scores, those that come first in reading order.
    """
    number = int(share * score_map.size)
    erased = np.zeros(score_map.size, np.bool_)
    erased[np.argsort(-score_map.ravel(), kind="stable")[:number]] = True
    return erased.reshape(score_map.shape)


def erase(picture: NDArray[np.float32], erased: NDArray[np.bool_], fill: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take the erased pixels (H,W) of a picture (C,H,W) from `fill`, which broadcasts to its shape."""
    return np.where(erased, fill, picture).astype(np.float32)


class RemoveAndClassify(Counts):
    """Accuracy under erasing by a map, relative to erasing at random: R_k = A_k / A_k of random erasing.

    Parameters
    ----------
    classify : callable
        Maps pictures (B,3,H,W) float32, RGB in 0..1, to class indices (B,).
    shares : sequence of float
        Shares k of erased pixels.
    erasure : {"blur", "zero", "mean"}
        What takes the erased pixels' place.
    mean_colour : sequence of float
        RGB in 0..1 that normalisation maps to zero; for `zero`.
    random_seeds : sequence of int
        One random erasing for each.
    """

    counted = ("correct", "correct_at_random")

    def __init__(
        self,
        classify: Classifier,
        shares: Sequence[float] = SHARES,
        erasure: Erasure = "blur",
        mean_colour: Sequence[float] = (0.485, 0.456, 0.406),
        random_seeds: Sequence[int] = (0, 1, 2),
    ) -> None:
        if erasure not in get_args(Erasure):
            raise ValueError(f"erasure must be one of {', '.join(get_args(Erasure))}, not {erasure!r}")
        self.classify = classify
        self.shares = tuple(shares)
        self.erasure: Erasure = erasure
        self.mean_colour = tuple(mean_colour)
        self.random_seeds = tuple(random_seeds)
        self.reset()

    def reset(self) -> None:
        """Forget all pictures."""
        self.correct = np.zeros(len(self.shares), np.int64)
        self.correct_at_random = np.zeros((len(self.random_seeds), len(self.shares)), np.int64)
        self.images = 0

    def update(
        self,
        picture: NDArray[np.float32],
        score_map: NDArray[np.float32],
        label: int | Sequence[int],
        at_random: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """Count one picture.

        Parameters
        ----------
        picture : ndarray (3,H,W) float32
            RGB in 0..1, before normalisation.
        score_map : ndarray (H,W)
        label : int or sequence of int
            True class, or all classes that mean it.
        at_random : ndarray (seeds, shares) bool, optional
            What another metric's update for the same picture returned, to spare the random erasings.

        Returns
        -------
        ndarray (seeds, shares) bool
            Whether the class was right after each random erasing.

        Raises
        ------
        DataError
            If map and picture differ in size, or the map isn't finite.
        """
        if score_map.shape != picture.shape[1:]:
            raise DataError(f"the map has the shape {score_map.shape}, the picture {picture.shape[1:]}")
        if not np.isfinite(score_map).all():
            raise DataError("the map holds NaN or infinity")
        fill = self._fill(picture)
        maps: list[NDArray[Any]] = [score_map]
        if at_random is None:
            # One random order for a picture, whatever the method and the pictures before it: all maps are compared
            # against one baseline.
            content = zlib.crc32(np.ascontiguousarray(picture).tobytes())
            generators = [np.random.default_rng((seed, content)) for seed in self.random_seeds]
            maps += [generator.random(score_map.shape) for generator in generators]
        variants = [erase(picture, erased_pixels(m, share), fill) for m in maps for share in self.shares]
        right = np.isin(self.classify(np.stack(variants)), label).reshape(-1, len(self.shares))
        self.correct += right[0]
        at_random = right[1:] if at_random is None else at_random
        self.correct_at_random += at_random
        self.images += 1
        return at_random

    def compute(self) -> dict[str, Any]:
        """Curves over the shares.

        Returns
        -------
        dict
            ``{"shares", "accuracy": A_k, "random": A_k at random (mean over seeds), "relative": R_k,
            "interval": 95 % interval (low, high) of each R_k, "images": n}``

            The interval is a normal approximation from the two binomial errors, taken as independent.

        Raises
        ------
        DataError
            If no picture was counted.
        """
        if not self.images:
            raise DataError("remove-and-classify of no picture is undefined; count at least one")
        accuracy = self.correct / self.images
        at_random = self.correct_at_random.mean(0) / self.images
        rows = zip(accuracy.tolist(), at_random.tolist(), strict=True)
        relative = [a / r if r > 0 else math.nan for a, r in rows]
        return {
            "shares": list(self.shares),
            "accuracy": accuracy.tolist(),
            "random": at_random.tolist(),
            "relative": relative,
            "interval": [self._interval(a, r) for a, r in zip(accuracy.tolist(), at_random.tolist(), strict=True)],
            "images": self.images,
        }

    def _interval(self, accuracy: float, at_random: float) -> tuple[float, float]:
        if at_random == 0:
            return math.nan, math.nan
        draws = self.images * max(len(self.random_seeds), 1)
        variance = accuracy * (1 - accuracy) / self.images / at_random**2
        variance += at_random * (1 - at_random) / draws * accuracy**2 / at_random**4
        half = 1.96 * math.sqrt(variance)
        ratio = accuracy / at_random
        return max(0.0, ratio - half), ratio + half

    def _fill(self, picture: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.erasure == "blur":
            return blur(picture)
        if self.erasure == "zero":
            return np.array(self.mean_colour, np.float32)[:, None, None]
        return picture.mean((1, 2), keepdims=True)
