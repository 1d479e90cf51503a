"""Top-k intersection."""

import numpy as np

from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["K_OF_224", "TOP_K_INTERSECTION"]

K_OF_224 = 1000
"""Pixels of a map of 224 x 224; the same share of others."""


class TopKIntersection(Measure):
    """Share of the k largest pixels that lies in the object; of equal ones, those that come last in reading order.

    k is 1,000 for a map of 224 x 224 pixels, as in the source, and the same share of the pixels of others.
    """

    key = "top_k"
    title = "Top-k intersection"
    source = "Theiner et al., Interpretable semantic photo geolocation, 2021"
    meaning = "share of the 2 % largest pixels that lie in the object"
    better = "higher"
    needs = ("region",)

    def score(self, case: Case) -> float:
        """Between 0 and 1; NaN where fewer than k pixels are known."""
        inside, known = case.region
        k = max(1, round(K_OF_224 * case.enlarged.size / 224**2))
        if known.sum() < k:
            return float(np.nan)
        values = np.where(known, case.enlarged, -np.inf).ravel()
        largest = np.argsort(values, kind="stable")[-k:]
        return float(inside.ravel()[largest].mean())


TOP_K_INTERSECTION = MEASURES.register(TopKIntersection())
