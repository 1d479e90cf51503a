"""Pointing game."""

import numpy as np

from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["POINTING_GAME"]


class PointingGame(Measure):
    """Whether the largest value lies in the object, without a tolerance around it.

    Of several largest pixels, the share of them that does. A point where the data doesn't say is left out.
    """

    key = "pointing"
    title = "Pointing game"
    source = "Zhang et al., Top-down neural attention by excitation backprop, 2018"
    meaning = "share of pictures whose largest pixel lies in the object"
    better = "higher"
    needs = ("region",)

    def score(self, case: Case) -> float:
        """Between 0 and 1."""
        inside, known = case.region
        at_most = (case.enlarged == case.enlarged.max()) & known
        return float(inside[at_most].mean()) if at_most.any() else float(np.nan)


POINTING_GAME = MEASURES.register(PointingGame())
