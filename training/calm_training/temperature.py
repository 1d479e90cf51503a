"""A checkpoint's temperature: what f is divided by so that p(y|x) is as often right as it says (Guo et al., ICML 2017).

The temperature acts inside the softmax at each place, not on p(y|x), so that every map still sums to its p.
"""

from collections.abc import Sequence

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from calm_gui.errors import DataError
from calm_gui.model.calm import log_conditional, log_saliency
from calm_gui.model.choices import Activation

__all__ = ["HIGHEST", "LOWEST", "fit_temperature"]

LOWEST, HIGHEST = 0.4, 2.5
"""Temperatures between which the best one is looked for."""


def fit_temperature(
    outputs: Sequence[tuple[Tensor, Tensor]], labels: Sequence[int], activation: Activation = "softplus"
) -> float:
    """The temperature with the largest likelihood of the true classes.

    Parameters
    ----------
    outputs : sequence of (Tensor, Tensor)
        Raw f (1,C,H,W) and a (1,1,H,W) of each picture, at temperature 1.
    labels : sequence of int
        True class of each.
    activation : {"softplus", "relu"}

    Returns
    -------
    float
        To three digits behind the point.

    Raises
    ------
    DataError
        If there are no pictures, or the likelihood still rises at `LOWEST` or `HIGHEST`.
    """
    if not outputs:
        raise DataError("a temperature needs pictures with labels to be fitted on")

    def loss(temperature: float) -> float:
        total = 0.0
        for (f, a), label in zip(outputs, labels, strict=True):
            log_joint = log_conditional(f.float() / temperature)[0, label] + log_saliency(a, activation)[0]
            total -= torch.logsumexp(log_joint.flatten(), 0).item()
        return total / len(outputs)

    with torch.inference_mode():
        found = float(minimize_scalar(loss, bounds=(LOWEST, HIGHEST), method="bounded", options={"xatol": 1e-3}).x)
    if min(found - LOWEST, HIGHEST - found) < 0.01:
        raise DataError(f"no temperature between {LOWEST} and {HIGHEST} calibrates this checkpoint")
    return round(found, 3)
