"""Energy-based pointing game."""

import numpy as np

from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["ENERGY_POINTING_GAME"]


class EnergyPointingGame(Measure):
    """Share of the map that lies in the object; values below 0 count as 0, as in the source.

    Taken of the values as they are. A map whose background is far above 0, such as one between its own extremes, has a
    share near that of the object's area.
    """

    key = "energy"
    title = "Energy-based pointing game"
    source = "Wang et al., Score-CAM, 2020"
    meaning = "share of the map that lies in the object"
    better = "higher"
    needs = ("region",)

    def score(self, case: Case) -> float:
        """Between 0 and 1; NaN for a map that is 0 everywhere."""
        inside, known = case.region
        energy = np.maximum(case.enlarged.astype(np.float64), 0) * known
        total = energy.sum()
        return float((energy * inside).sum() / total) if total > 0 else float(np.nan)


ENERGY_POINTING_GAME = MEASURES.register(EnergyPointingGame())
