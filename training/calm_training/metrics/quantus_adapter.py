"""What of the Quantus library measures here: asked for one map of one picture at a time.

Quantus comes with OpenCV, whose wheel holds a Qt of its own: only ``calm-evaluate`` may import it, and only once one of
its measures is asked for (``pip install calm-gui[quantus]``).
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from calm_gui.errors import DataError
from calm_training.metrics.measure import Case

__all__ = ["Predictions", "one_score", "quantus"]


def quantus() -> Any:
    """The library.

    Raises
    ------
    DataError
        If it isn't installed.
    """
    try:
        import quantus as library
    except ImportError as error:
        raise DataError(
            f"this measure needs the library Quantus ({error}); install it with: pip install calm-gui[quantus]"
        ) from error
    return library


class Predictions(nn.Module):
    """p(A|x) of a case as a network with one class, (B,1)."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self._case = case

    def forward(self, pictures: Tensor) -> Tensor:
        """Probabilities of pictures (B,3,H,W) in 0..1."""
        if self._case.predict is None:
            raise DataError("this measure needs the network")
        return torch.from_numpy(self._case.predict(pictures.numpy().astype(np.float32)))[:, None]


def one_score(metric: Any, case: Case, values: NDArray[np.float32], **more: Any) -> float:
    """What a metric of Quantus says of one map.

    Parameters
    ----------
    metric : quantus.Metric
    case : Case
    values : ndarray (H,W)
        The map as the metric is to take it, at the picture's size.
    more
        Further arguments of the metric.

    Returns
    -------
    float
        NaN for a map without variation, which Quantus refuses.
    """
    assert case.picture is not None
    if not np.ptp(values) > 0:
        return float(np.nan)
    found = metric(
        model=Predictions(case).eval(),
        x_batch=case.picture[None].astype(np.float64),
        y_batch=np.zeros(1, int),
        a_batch=values[None, None].astype(np.float64),
        device="cpu",
        channel_first=True,
        softmax=False,
        **more,
    )
    return float(np.asarray(found).ravel()[0])
