"""Calibrated mass."""

import numpy as np
from numpy.typing import NDArray

from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["CALIBRATED_MASS", "SHARES", "coverage"]

SHARES = tuple(i / 20 for i in range(1, 20))
"""Shares of the mass that regions hold."""


def coverage(values: NDArray[np.floating], inside: NDArray[np.bool_], known: NDArray[np.bool_]) -> list[float]:
    """How much of the object lies in the smallest region that holds each of `SHARES` of a map's mass.

    Parameters
    ----------
    values : ndarray (H,W)
        The map, not negative.
    inside, known : ndarray (H,W) bool

    Returns
    -------
    list of float
        Shares of the object's pixels; NaN for a map that is 0 everywhere or a picture without an object.
    """
    object_pixels = inside & known
    mass = np.asarray(values, np.float64).ravel()
    if not (mass.sum() > 0 and object_pixels.any()):
        return [float(np.nan)] * len(SHARES)
    order = np.argsort(-mass, kind="stable")
    held = mass[order].cumsum() / mass.sum()
    covered = object_pixels.ravel()[order].cumsum() / object_pixels.sum()
    # The pixel with which the region reaches its share belongs to it.
    return [float(covered[min(np.searchsorted(held, share), len(held) - 1)]) for share in SHARES]


class CalibratedMass(Measure):
    """Does a region that holds a share s of the mass contain the object's place in a share s of the pictures?

    The place is a pixel of the object drawn at random, so that a picture counts with the share of the object's pixels
    in the region. The figure is the mean over s of the distance between both shares, as the expected calibration error
    of probabilities of classes.
    """

    key = "calibrated_mass"
    title = "Calibrated mass"
    source = "this program; the coverage of highest density regions, Hyndman, 1996"
    meaning = "mean distance between a region's mass and how often it holds a pixel of the object"
    better = "lower"
    needs = ("region", "distribution")

    def score(self, case: Case) -> list[float]:
        """Shares of the object, see `coverage`."""
        return coverage(case.enlarged, *case.region)

    def deviations(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far each picture's shares (n,k) lie from `SHARES`."""
        return scores - np.array(SHARES)

    def figure(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean distance from `SHARES`; between 0 and 1."""
        mean = super().figure(np.moveaxis(scores, -1, 0))
        return np.asarray(np.abs(np.moveaxis(mean, 0, -1) - np.array(SHARES)).mean(-1))


CALIBRATED_MASS = MEASURES.register(CalibratedMass())
