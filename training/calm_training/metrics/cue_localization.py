"""Scores of counterfactual maps for cue localization (the paper's section 5.1)."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calm_gui.core.geometry import interpolate

__all__ = ["counterfactual_scores"]


def counterfactual_scores(
    map_a: NDArray[np.float32],
    map_b: NDArray[np.float32],
    size: int = 224,
    norm: Literal["clipping", "max", "minmax"] = "clipping",
) -> NDArray[np.float32]:
    """Absolute counterfactual map, scored against cue masks: subtract, enlarge, take the absolute value, scale.

    Parameters
    ----------
    map_a, map_b : ndarray (H,W) float32
        Maps of the two classes on the native grid.
    size : int
        Rows and columns of the result.
    norm : {"clipping", "max", "minmax"}
        Cut to 0..1 only, which keeps probabilities as they are; or divide by the maximum, first taking away the
        minimum for `minmax`.

    Returns
    -------
    ndarray (size,size) float32 in [0,1]
    """
    rows, columns = ((np.arange(size) + 0.5) * length / size for length in map_a.shape)
    scores = np.abs(interpolate(np.asarray(map_a - map_b, np.float32), columns, rows))
    if norm == "minmax":
        scores = scores - scores.min()
    if norm != "clipping" and scores.max() > 0:
        scores = scores / scores.max()
    return np.clip(scores, 0, 1)
