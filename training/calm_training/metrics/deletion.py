"""Deletion, and the curve that insertion shares with it."""

import numpy as np
from numpy.typing import NDArray

from calm_gui.errors import DataError
from calm_training.metrics.measure import MEASURES, Case, Measure
from calm_training.metrics.remove_and_classify import erase, erased_pixels

__all__ = ["DELETION", "STEPS", "area_under", "curve"]

STEPS = 28
"""Steps from the whole picture to nothing of it."""


def curve(case: Case, fill: NDArray[np.float32], *, keep: bool = False) -> NDArray[np.float64]:
    """p(A|x) while the map's largest pixels are replaced, or, with `keep`, are alone not replaced.

    Parameters
    ----------
    case : Case
    fill : ndarray that broadcasts to (3,H,W)
        What takes the pixels' place.
    keep : bool

    Returns
    -------
    ndarray (STEPS + 1,)
        At 0, 1 / STEPS, ... 1 of the pixels.

    Raises
    ------
    DataError
        If the case has no network.
    """
    if case.picture is None or case.predict is None:
        raise DataError("this measure needs the network")
    taken = [erased_pixels(case.enlarged, step / STEPS) for step in range(STEPS + 1)]
    variants = [erase(case.picture, ~pixels if keep else pixels, fill) for pixels in taken]
    return np.asarray(case.predict(np.stack(variants)), np.float64)


def area_under(values: NDArray[np.float64]) -> float:
    """Area under a curve over 0..1 by trapezia."""
    return float(np.trapezoid(values, dx=1 / (len(values) - 1)))


class Deletion(Measure):
    """Area under p(A|x) while the map's largest pixels are set to the mean colour, which is 0 to the network."""

    key = "deletion"
    title = "Deletion"
    source = "Petsiuk et al., RISE, 2018"
    meaning = "area under p(A|x) while the largest pixels are set to the mean colour"
    better = "lower"
    needs = ("network",)
    many_passes = True

    def score(self, case: Case) -> float:
        """Between 0 and 1."""
        assert case.mean_colour is not None
        return area_under(curve(case, case.mean_colour[:, None, None]))


DELETION = MEASURES.register(Deletion())
