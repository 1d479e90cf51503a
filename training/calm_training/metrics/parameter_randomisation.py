"""Parameter randomisation."""

import numpy as np
from scipy.stats import spearmanr

from calm_gui.errors import DataError
from calm_training.metrics.measure import MEASURES, Case, Measure

__all__ = ["PARAMETER_RANDOMISATION", "SHARES"]

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the network's layers, from the output down, whose weights are drawn anew."""


class ParameterRandomisation(Measure):
    """How like the map stays when the network's weights are drawn anew, layer by layer from the output (cascading).

    Likeness is the rank correlation of both maps' absolute values; a map that stays the same shows nothing of what the
    network has learnt. A map without variation counts as unlike.
    """

    key = "parameter_randomisation"
    title = "Parameter randomisation"
    source = "Adebayo et al., Sanity checks for saliency maps, 2018"
    meaning = "rank correlation with the maps of networks whose last 25, 50, 75 and 100 % of layers are random"
    better = "lower"
    needs = ("network",)
    many_passes = True

    def score(self, case: Case) -> float:
        """Between -1 and 1."""
        if case.rebuilt is None:
            raise DataError("this measure needs the network")
        return float(np.mean([_likeness(case.native, case.rebuilt(share)) for share in SHARES]))


def _likeness(first: np.ndarray, second: np.ndarray) -> float:
    a, b = np.abs(first).ravel(), np.abs(second).ravel()
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(spearmanr(a, b).statistic)


PARAMETER_RANDOMISATION = MEASURES.register(ParameterRandomisation())
