"""Region probability."""

import numpy as np
from numpy.typing import NDArray

from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["REGIONS", "REGION_PROBABILITY", "region_masses"]

REGIONS = 3
"""Rows and columns of regions."""


def region_masses(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """The sum of a map (h,w) in each of `REGIONS` x `REGIONS` equal parts; cells count with the part inside."""
    rows, columns = (_parts(length) for length in values.shape)
    return np.asarray(rows @ np.asarray(values, np.float64) @ columns.T)


def _parts(length: int) -> NDArray[np.float64]:
    """How much of each cell lies in each part, (REGIONS, length)."""
    edges = np.arange(REGIONS + 1)[:, None] * length / REGIONS
    cells = np.arange(length)[None]
    return np.clip(np.minimum(cells + 1, edges[1:]) - np.maximum(cells, edges[:-1]), 0, None)


class RegionProbability(Measure):
    """Brier score of p(A, z in R|x) over the nine parts R of the picture, A being the true class.

    What happens is that the picture shows A and a pixel of the object, drawn at random, lies in R; the expected squared
    error over that draw is summed over the parts.
    """

    key = "region_probability"
    title = "Region probability"
    source = "this program; Brier, Verification of forecasts expressed in terms of probability, 1950"
    meaning = "Brier score of p(A, z in R|x) over nine parts R of the picture"
    better = "lower"
    needs = ("region", "joint")

    def score(self, case: Case) -> float:
        """From 0; NaN for a picture without an object."""
        inside, known = case.region
        there = region_masses((inside & known).astype(np.float64))
        if not there.sum() > 0:
            return float(np.nan)
        truth, p = there / there.sum(), region_masses(case.native)
        # E (p - t)^2 for t = 1 with probability `truth`, else 0.
        return float((p**2 - 2 * p * truth + truth).sum())


REGION_PROBABILITY = MEASURES.register(RegionProbability())
