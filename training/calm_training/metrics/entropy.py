"""Entropy of a map."""

import numpy as np

from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["ENTROPY", "shares"]


def shares(values: np.ndarray) -> np.ndarray:
    """Each cell's share of the map's size: absolute values over their sum; NaN for a map that is 0 everywhere."""
    size = np.abs(np.asarray(values, np.float64)).ravel()
    total = size.sum()
    return size / total if total > 0 else np.full(size.shape, np.nan)


class Entropy(Measure):
    """Entropy of the cells' shares of the map, relative to that of an even map: 0 for one cell, 1 for an even map.

    The source's complexity, divided by its largest value so that grids of different sizes can be compared.
    """

    key = "entropy"
    title = "Entropy"
    source = "Bhatt et al., Evaluating and aggregating feature-based model explanations, 2020"
    meaning = "how even the map is, from 0 (one cell) to 1"

    def score(self, case: Case) -> float:
        """Between 0 and 1; NaN for a map that is 0 everywhere or has one cell."""
        p = shares(case.native)
        if p.size < 2 or not np.isfinite(p).all():
            return float(np.nan)
        positive = p[p > 0]
        return float(-(positive * np.log(positive)).sum() / np.log(p.size)) + 0.0


ENTROPY = MEASURES.register(Entropy())
