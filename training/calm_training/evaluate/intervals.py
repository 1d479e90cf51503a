"""95 % intervals by the bootstrap over pictures, and of paired differences.

Every figure of a set of n pictures is computed anew on the same resamples (n pictures drawn with replacement, a fixed
seed), so that the difference of two figures has the resamples' differences for its own. Intervals are percentile
intervals (Efron and Tibshirani, 1993, section 13.3), widened for small sets as Hesterberg (What teachers should know
about the bootstrap, 2015, section 4.3.3) does: with the percentiles that make the interval of a mean as wide as
Student's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Estimate",
    "drawn",
    "estimate",
    "interval_of",
    "mean_estimate",
    "median_estimate",
    "resampled_estimate",
    "times_drawn",
]

RESAMPLES = 1000
LEVEL = 0.95

_SEED = 20211


@dataclass(frozen=True)
class Estimate:
    """A figure of a set of pictures.

    Attributes
    ----------
    value : float or None
        None where it is undefined.
    interval : (float, float) or None
        Ends of its 95 % interval; None where there is none, as for a single picture or for a largest value.
    pictures : int
        How many pictures it is a figure of.
    resamples : ndarray (RESAMPLES,) or None
        The figure on every resample, NaN where it is undefined.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    pictures: int = 0
    resamples: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)

    def minus(self, other: "Estimate") -> "Estimate":
        """The paired difference from another figure of the same pictures."""
        if self.value is None or other.value is None:
            return Estimate(None)
        if self.resamples is None or other.resamples is None or self.resamples.shape != other.resamples.shape:
            return Estimate(self.value - other.value)
        return estimate(self.value - other.value, self.resamples - other.resamples, self.pictures)


@lru_cache(maxsize=4)
def drawn(pictures: int) -> NDArray[np.int64]:
    """Which pictures each resample draws, (RESAMPLES, pictures); always the same for a number of pictures."""
    return np.random.default_rng((_SEED, pictures)).integers(pictures, size=(RESAMPLES, pictures))


@lru_cache(maxsize=4)
def times_drawn(pictures: int) -> NDArray[np.int64]:
    """How often each resample draws each picture, (RESAMPLES, pictures)."""
    return np.stack([np.bincount(row, minlength=pictures) for row in drawn(pictures)])


def interval_of(resamples: ArrayLike, pictures: int) -> tuple[float, float] | None:
    """The interval of a figure from its values on resamples.

    Parameters
    ----------
    resamples : array_like (R,)
        NaN where a resample leaves the figure undefined; those are passed over.
    pictures : int
        Size of the set.

    Returns
    -------
    (float, float) or None
        None for fewer than two pictures, or where half of the resamples leave it undefined.
    """
    from scipy.special import ndtr
    from scipy.stats import t

    values = np.asarray(resamples, np.float64)
    defined = values[np.isfinite(values)]
    if pictures < 2 or len(defined) * 2 < len(values) or not len(defined):
        return None
    tail = (1 - LEVEL) / 2
    lower = float(ndtr(np.sqrt(pictures / (pictures - 1)) * t.ppf(tail, pictures - 1)))
    low, high = np.quantile(defined, [lower, 1 - lower])
    return float(low), float(high)


def estimate(value: float | None, resamples: ArrayLike, pictures: int) -> Estimate:
    """A figure with the interval of its values on resamples."""
    if value is None or not np.isfinite(value):
        return Estimate(None, pictures=pictures)
    values = np.asarray(resamples, np.float64)
    return Estimate(float(value), interval_of(values, pictures), pictures, values)


def mean_estimate(values: ArrayLike) -> Estimate:
    """The mean of one number for each picture, (n,); NaN where a picture has none, which then doesn't count."""
    numbers = np.asarray(values, np.float64)
    known = np.isfinite(numbers)
    count = int(known.sum())
    if not count:
        return Estimate(None)
    times = times_drawn(len(numbers)).astype(np.float64)
    totals = times @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        resamples = (times @ np.where(known, numbers, 0.0)) / totals
    return estimate(float(numbers[known].mean()), resamples, count)


def median_estimate(values: ArrayLike) -> Estimate:
    """The median of one number for each picture, (n,)."""
    numbers = np.asarray(values, np.float64)
    return estimate(float(np.median(numbers)), np.median(numbers[drawn(len(numbers))], axis=1), len(numbers))


def resampled_estimate(
    metric: Any,
    states: Sequence[Mapping[str, Any] | None],
    value: float | None,
    figure: Callable[[Any], float],
) -> Estimate:
    """A figure of a metric that pools its pictures.

    Parameters
    ----------
    metric : Resampled
        Any one with the same settings.
    states : sequence of mapping or None
        ``to_json()`` of each picture; None for one that the metric doesn't count.
    value : float
        The figure over all pictures.
    figure : callable
        Takes a metric and gives its figure.
    """
    resamples = [figure(one) for one in metric.resampled(states, times_drawn(len(states)))]
    return estimate(value, resamples, len(states))
