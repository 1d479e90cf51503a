"""Max-sensitivity."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.errors import DataError
from calm_training.metrics.measure import MEASURES, Case, Measure
from calm_training.metrics.quantus_adapter import one_score, quantus

__all__ = ["MAX_SENSITIVITY", "RADIUS", "SAMPLES"]

RADIUS = 0.05
"""Most that a value of the picture, 0..1, is changed by."""

SAMPLES = 10


class MaxSensitivity(Measure):
    """Largest change of the map, relative to its size, when the picture is changed by a little noise."""

    key = "max_sensitivity"
    title = "Max-sensitivity"
    source = "Yeh et al., On the (in)fidelity and sensitivity of explanations, 2019; Quantus"
    meaning = "largest relative change of the map in ten pictures with uniform noise up to 0.05 of the range"
    better = "lower"
    needs = ("network", "quantus")
    many_passes = True

    def score(self, case: Case) -> float:
        """From 0; NaN for a map without variation."""
        library, remap = quantus(), case.remap
        if case.picture is None or remap is None:
            raise DataError("this measure needs the network")
        if not np.ptp(case.native) > 0:
            return float(np.nan)
        generator = np.random.default_rng(case.seed)

        def noisy(arr: NDArray[Any], **_: Any) -> NDArray[Any]:
            return arr + generator.uniform(-RADIUS, RADIUS, arr.shape)

        def explain(inputs: NDArray[Any], **_: Any) -> NDArray[Any]:
            return np.stack([_padded(remap(picture.astype(np.float32)), picture.shape[1:]) for picture in inputs])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Quantus warns of its own defaults
            metric = library.MaxSensitivity(
                nr_samples=SAMPLES, perturb_func=noisy, normalise=False, disable_warnings=True
            )
            values = _padded(case.native, case.picture.shape[1:])[0]
            return one_score(metric, case, values, explain_func=explain)


def _padded(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """A map (h,w) as Quantus wants it, (1,H,W): zeros around it, which no norm sees."""
    result = np.zeros((1, *shape), np.float32)
    result[0, : values.shape[0], : values.shape[1]] = values
    return result


MAX_SENSITIVITY = MEASURES.register(MaxSensitivity())
