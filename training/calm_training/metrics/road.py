"""ROAD: remove and debias."""

import numpy as np

from calm_gui.errors import DataError
from calm_training.metrics.measure import MEASURES, Case, Measure
from calm_training.metrics.quantus_adapter import quantus
from calm_training.metrics.remove_and_classify import erased_pixels

__all__ = ["ROAD", "SHARES"]

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the pixels that are removed."""

NOISE = 0.01


class Road(Measure):
    """Mean of p(A|x) after the map's largest pixels were filled from around them, with a little noise.

    The filling (noisy linear imputation) is Quantus's. Unlike a blur it leaves no outline from which a network could
    tell what was removed.
    """

    key = "road"
    title = "ROAD"
    source = "Rong et al., A consistent and efficient evaluation strategy for attribution methods, 2022; Quantus"
    meaning = "mean of p(A|x) after 10, 30, 50, 70 and 90 % of the largest pixels were filled from around them"
    better = "lower"
    needs = ("network", "quantus")
    many_passes = True

    def score(self, case: Case) -> float:
        """Between 0 and 1."""
        impute = quantus().functions.perturb_func.noisy_linear_imputation
        if case.picture is None or case.predict is None:
            raise DataError("this measure needs the network")
        generator = np.random.default_rng(case.seed)
        pictures = []
        for share in SHARES:
            pixels = erased_pixels(case.enlarged, share)
            filled = impute(case.picture.astype(np.float64), np.flatnonzero(pixels), noise=0.0)
            # The noise is drawn here, so that it depends on the picture alone.
            noise = generator.normal(scale=NOISE, size=filled.shape) * pixels
            pictures.append(np.clip(filled + noise, 0, 1))
        return float(np.mean(case.predict(np.stack(pictures).astype(np.float32))))


ROAD = MEASURES.register(Road())
