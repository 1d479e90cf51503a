"""Effective area of a map."""

import numpy as np

from calm_training.metrics.entropy import shares
from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["EFFECTIVE_AREA", "MASS"]

MASS = 0.9
"""Share of the map that the area holds."""


class EffectiveArea(Measure):
    """The smallest share of the picture that holds 90 % of the map; the last cell counts with the part it takes."""

    key = "area"
    title = "Effective area"
    source = "the spread of this program's window; the highest density region of Hyndman, 1996"
    meaning = "smallest share of the picture that holds 90 % of the map"

    def score(self, case: Case) -> float:
        """Between 0 and 1; NaN for a map that is 0 everywhere."""
        p = np.sort(shares(case.native))[::-1]
        if not np.isfinite(p).all():
            return float(np.nan)
        filled = np.concatenate([[0.0], p.cumsum()])
        cells = np.interp(MASS, filled, np.arange(len(filled)))
        return float(cells / p.size)


EFFECTIVE_AREA = MEASURES.register(EffectiveArea())
