"""95 % intervals by the bootstrap over pictures, and of paired differences; of shares by Wilson's formula.

Every figure of a set of n pictures is computed anew on the same resamples (n pictures drawn with replacement, a fixed
seed), so that the difference of two figures has the resamples' differences for its own. Intervals are percentile
intervals (Efron and Tibshirani, 1993, section 13.3), widened for small sets as Hesterberg (What teachers should know
about the bootstrap, 2015, section 4.3.3) does: with the percentiles that make the interval of a mean as wide as
Student's. Three kinds of figures take other intervals, since in simulations with a known truth this one missed it
too often: shares of pictures, the best of many means, and distances of means from 0 (decision 0014).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Estimate",
    "best_estimate",
    "distance_estimate",
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


def _tail(pictures: int) -> float:
    """The lower percentile, as a fraction, of a set of pictures."""
    from scipy.special import ndtr
    from scipy.stats import t

    return float(ndtr(np.sqrt(pictures / (pictures - 1)) * t.ppf((1 - LEVEL) / 2, pictures - 1)))


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
    values = np.asarray(resamples, np.float64)
    defined = values[np.isfinite(values)]
    if pictures < 2 or len(defined) * 2 < len(values) or not len(defined):
        return None
    low, high = np.quantile(defined, [_tail(pictures), 1 - _tail(pictures)])
    return float(low), float(high)


def _share_below(values: NDArray[np.float64], value: float) -> float:
    """Share of the values that lie below one, half of those that equal it."""
    return float((values < value).mean() + (values == value).mean() / 2)


def estimate(value: float | None, resamples: ArrayLike, pictures: int) -> Estimate:
    """A figure with the interval of its values on resamples."""
    if value is None or not np.isfinite(value):
        return Estimate(None, pictures=pictures)
    values = np.asarray(resamples, np.float64)
    return Estimate(float(value), interval_of(values, pictures), pictures, values)


def best_estimate(scores: ArrayLike, resamples: ArrayLike, chosen: ArrayLike) -> Estimate:
    """The largest of several means, such as the accuracy at the best of many thresholds.

    What is best on a set is best partly by chance. How much that adds is told by the resamples: theirs, less what the
    same choices have on the whole set (the optimism of Efron and Tibshirani, 1993, section 17.6). The interval is
    Wilson's around the mean without it, of as many pictures as a share would need to vary as little as the mean.

    Parameters
    ----------
    scores : array_like (n,)
        Of every picture, 0 to 1, under the choice that is the best on the set.
    resamples : array_like (R,)
        The largest mean on each resample.
    chosen : array_like (R,)
        The mean on the set under the choice that is the best on that resample.
    """
    numbers, values = np.asarray(scores, np.float64), np.asarray(resamples, np.float64)
    count, value = len(numbers), float(numbers.mean())
    if count < 2:
        return Estimate(value, None, count, values)
    optimism = float((values - np.asarray(chosen, np.float64)).mean())
    like = count * value * (1 - value) / float(numbers.var()) if np.ptp(numbers) else count
    tail = (1 - LEVEL) / 2 if np.isin(numbers, (0, 1)).all() else _tail(count)
    low, high = _wilson(min(max(value - optimism, 0.0), 1.0), like, tail)
    return Estimate(value, (low, max(high, value)), count, values)


def distance_estimate(
    deviations: ArrayLike, distance: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> Estimate:
    """How far means lie from 0 in all: such as an expected calibration error, which noise alone makes larger than 0.

    Its lower end is the smallest distance for which the one that was found is no surprise: of the means, drawn in so
    that they have that distance, with the noise of the resamples. The upper end is the resamples' own percentile.

    Parameters
    ----------
    deviations : array_like (n,k)
        Of every picture; NaN in a whole row for one that doesn't count.
    distance : callable
        Takes means (...,k) and gives how far they lie from 0; a multiple of a mean lies as many times as far.
    """
    table = np.asarray(deviations, np.float64)
    known = np.asarray(np.isfinite(table).all(1))
    count = int(known.sum())
    if not count:
        return Estimate(None)
    mean = table[known].mean(0)
    times = times_drawn(len(table)).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (times @ np.where(known[:, None], table, 0.0)) / (times @ known)[:, None]
    resamples, value = distance(means), float(distance(mean))
    if count < 2:
        return Estimate(value, None, count, resamples)
    noise = (means - mean)[np.asarray(np.isfinite(means).all(1))] * np.sqrt(count / (count - 1))

    tail = _tail(count)

    def is_surprise(factor: float) -> bool:
        """Whether means of that size hardly ever have as large a distance as the one that was found."""
        return _share_below(distance(factor * mean + noise), value) > 1 - tail

    low, high = 0.0, 1.0
    if is_surprise(low):
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if is_surprise(middle) else (low, middle)
    upper = np.quantile(distance(mean + noise), 1 - tail)
    return Estimate(value, (low * value, max(float(upper), value)), count, resamples)


def _wilson(share: float, pictures: float, tail: float) -> tuple[float, float]:
    """Wilson's interval (1927) of a share of so many pictures, which leaves out `tail` on either side."""
    from scipy.special import ndtri

    z = -float(ndtri(tail))
    middle = share + z * z / 2 / pictures
    reach = z * float(np.sqrt(share * (1 - share) / pictures + (z / 2 / pictures) ** 2))
    within = 1 + z * z / pictures
    return max(0.0, (middle - reach) / within), min(1.0, (middle + reach) / within)


def mean_estimate(values: ArrayLike) -> Estimate:
    """The mean of one number for each picture, (n,); NaN where a picture has none, which then doesn't count.

    Where all are 0 or 1 it is a share, whose interval is Wilson's.
    """
    numbers = np.asarray(values, np.float64)
    known = np.isfinite(numbers)
    count = int(known.sum())
    if not count:
        return Estimate(None)
    times = times_drawn(len(numbers)).astype(np.float64)
    totals = times @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        resamples = (times @ np.where(known, numbers, 0.0)) / totals
    found = estimate(float(numbers[known].mean()), resamples, count)
    if np.isin(numbers[known], (0, 1)).all():
        interval = _wilson(float(numbers[known].mean()), count, (1 - LEVEL) / 2) if count > 1 else None
        return replace(found, interval=interval)
    return found


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
