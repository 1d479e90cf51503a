"""Infidelity."""

import warnings

import numpy as np

from calm_gui.errors import DataError
from calm_training.metrics.measure import MEASURES, Case, Measure
from calm_training.metrics.quantus_adapter import one_score, quantus

__all__ = ["BLOCKS", "INFIDELITY"]

BLOCKS = 4
"""Rows and columns of blocks of pixels that are set to black, one after another."""


class Infidelity(Measure):
    """Mean squared difference of the map's share in what is removed and the change of p(A|x).

    Blocks become black, the picture's smallest value, one after another. The map's share is the sum of its values,
    which at the picture's size add up to what they do on their own grid, times the mean over channels of what was taken
    from each pixel (0..1).
    """

    key = "infidelity"
    title = "Infidelity"
    source = "Yeh et al., On the (in)fidelity and sensitivity of explanations, 2019; Quantus"
    meaning = "mean squared difference of map times removed brightness and the change of p(A|x), as blocks go black"
    better = "lower"
    needs = ("network", "quantus")
    many_passes = True

    def score(self, case: Case) -> float:
        """From 0."""
        library = quantus()
        if case.picture is None:
            raise DataError("this measure needs the network")
        height, width = case.enlarged.shape
        values = case.enlarged * (case.native.size / case.enlarged.size / len(case.picture))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Quantus warns of its own defaults
            metric = library.Infidelity(
                perturb_patch_sizes=[max(height, width) // BLOCKS],
                n_perturb_samples=1,
                normalise=False,
                disable_warnings=True,
            )
            return one_score(metric, case, np.asarray(values, np.float32))


INFIDELITY = MEASURES.register(Infidelity())
