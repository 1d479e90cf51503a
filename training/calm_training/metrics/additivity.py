"""Additivity."""

import numpy as np

from calm_gui.errors import DataError
from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["ADDITIVITY"]


class Additivity(Measure):
    """How far the map of a superset is from the sum of the maps of its parts, relative to its own size.

    The parts are the picture's class and the rest of its superset. 0 for whatever is a probability of class and place.
    """

    key = "additivity"
    title = "Additivity"
    source = "this program; the paper's section 4.1 (sums of the joint)"
    meaning = "distance between a superset's map and the sum of its parts', over its size"
    better = "lower"
    needs = ("parts",)
    many_passes = True

    def score(self, case: Case) -> float:
        """From 0; NaN where the superset is the class alone, or its map is 0 everywhere."""
        if case.parts is None:
            raise DataError("additivity needs maps of the superset's parts")
        whole, parts = case.parts()
        size = float(np.abs(whole.astype(np.float64)).sum())
        if len(parts) < 2 or size == 0:
            return float(np.nan)
        return float(np.abs(whole.astype(np.float64) - np.sum(parts, axis=0, dtype=np.float64)).sum() / size)


ADDITIVITY = MEASURES.register(Additivity())
