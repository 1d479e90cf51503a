"""PxAP: pixel-wise average precision of score maps against masks (Choe et al. 2020; the paper's section 5)."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calm_gui.errors import DataError
from calm_training.metrics.counts import Counts

__all__ = ["FOREGROUND", "IGNORE", "PxAP", "even_thresholds", "log_thresholds", "resize_mask", "unite_masks"]

Mode = Literal["benchmark", "exact"]

FOREGROUND = 1
IGNORE = 255


def even_thresholds(number: int = 1000) -> NDArray[np.float64]:
    """Thresholds i / number and then 1, as the public benchmark has them, (number + 1,)."""
    return np.append(np.arange(0, 1, 1 / number)[:number], 1.0)


def log_thresholds() -> NDArray[np.float64]:
    """The released CALM code's 1,000 thresholds for cue localization: 10^-6.993 to 1, 0.007 decades apart."""
    return np.asarray(10.0 ** (-0.007 * np.arange(999, -1, -1)))


class PxAP(Counts):
    """Area under the pixel-wise precision and recall curve, the pixels of all pictures pooled.

    A pixel is found at a threshold if its score is at least the threshold. The area is the sum over thresholds,
    from the highest down, of precision times gain in recall.

    Parameters
    ----------
    thresholds : int or ndarray
        Ascending thresholds, or their number for `even_thresholds`.
    mode : {"benchmark", "exact"}
        They differ only for pixels that score below the lowest threshold, which no even grid has. `benchmark`
        drops them altogether, also from the foreground that recall is measured against, as the released code
        does; sparse maps gain a lot by that. `exact` counts every pixel, those as scoring lowest.

    Attributes
    ----------
    foreground, background : ndarray (len(thresholds) + 1,) int64
        Pixels so far whose score lies below the first threshold, between the first and the second, and so on.
    """

    counted = ("foreground", "background")

    def __init__(self, thresholds: int | NDArray[np.float64] = 1000, mode: Mode = "exact") -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"mode must be one of {', '.join(get_args(Mode))}, not {mode!r}")
        self.thresholds = even_thresholds(thresholds) if isinstance(thresholds, int) else np.asarray(thresholds)
        if not (np.diff(self.thresholds) > 0).all():
            raise ValueError("thresholds must ascend")
        self.mode: Mode = mode
        self.reset()

    def reset(self) -> None:
        """Forget all pictures."""
        self.foreground = np.zeros(len(self.thresholds) + 1, np.int64)
        self.background = np.zeros(len(self.thresholds) + 1, np.int64)
        self.images = 0

    def update(self, score_map: ArrayLike, mask: ArrayLike) -> None:
        """Count one picture.

        Parameters
        ----------
        score_map : array_like (H,W) float
            Scores; finite, usually in [0,1].
        mask : array_like (H,W)
            0 background, 1 foreground, 255 doesn't count. A picture without foreground adds background only.

        Raises
        ------
        DataError
            If the shapes differ, a score isn't finite or the mask holds another value.
        """
        scores, truth = np.asarray(score_map), np.asarray(mask)
        if scores.shape != truth.shape:
            raise DataError(f"the score map has the shape {scores.shape}, its mask {truth.shape}")
        if not np.isfinite(scores).all():
            raise DataError("the score map holds NaN or infinity")
        known = np.isin(truth, (0, FOREGROUND, IGNORE))
        if not known.all():
            raise DataError(f"a mask holds 0, 1 and 255 (ignore), not {truth[~known].flat[0]}")
        bins = np.searchsorted(self.thresholds, scores.astype(np.float64), side="right")
        self.foreground += np.bincount(bins[truth == FOREGROUND], minlength=len(self.foreground))
        self.background += np.bincount(bins[truth == 0], minlength=len(self.background))
        self.images += 1

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precision and recall at every threshold (T,), the highest threshold first; precision of nothing is 1.

        In `exact` mode a last entry follows at which every pixel is found.

        Raises
        ------
        DataError
            If there is no foreground pixel to recall.
        """
        first = 0 if self.mode == "exact" else 1
        found = self.foreground[first:][::-1].cumsum()
        false = self.background[first:][::-1].cumsum()
        if not found[-1]:
            raise DataError("PxAP without any foreground pixel is undefined; the set needs a mask that isn't empty")
        precision = np.divide(found, found + false, out=np.ones(len(found)), where=found + false > 0)
        return precision, found / found[-1]

    def compute(self) -> float:
        """PxAP as a fraction.

        Raises
        ------
        DataError
            If there is no foreground pixel to recall.
        """
        precision, recall = self.curve()
        return float((precision * np.diff(recall, prepend=0)).sum())


def resize_mask(mask: ArrayLike, size: int = 224) -> NDArray[Any]:
    """Bring a mask to size x size as the benchmark does: source pixel floor(i * s), s = 1 / (size / length).

    That s can be a hair below length / size, which now and then takes the pixel before; numbers that should agree
    with the benchmark's need it.

    Parameters
    ----------
    mask : array_like (H,W)
    size : int
        Rows and columns of the result.

    Returns
    -------
    ndarray (size,size)
    """
    values = np.asarray(mask)
    rows, columns = (
        np.minimum((np.arange(size) * (1 / (size / length))).astype(np.int64), length - 1) for length in values.shape
    )
    return values[np.ix_(rows, columns)]


def unite_masks(masks: list[NDArray[Any]], ignore: NDArray[Any] | None) -> NDArray[np.uint8]:
    """One mask of a picture: foreground where any mask is, ignored where only the ignore mask is.

    Parameters
    ----------
    masks : list of ndarray (H,W)
        Not 0 where the object is.
    ignore : ndarray (H,W), optional
        Not 0 where pixels don't count; None means that all count.

    Returns
    -------
    ndarray (H,W) uint8 of 0, 1 and 255
    """
    foreground = np.any([mask > 0 for mask in masks], 0)
    united = foreground.astype(np.uint8) * FOREGROUND
    if ignore is not None:
        united[(ignore > 0) & ~foreground] = IGNORE
    return united
