"""Ranks of a map's cells: the honest common scale of maps whose values can't be compared."""

from __future__ import annotations

from dataclasses import replace

from calm_gui.core.maps import Map
from calm_gui.late import np
from calm_gui.render.scale import Scale

__all__ = ["RANK_UNIT", "rank_scale", "ranked"]

RANK_UNIT = "% of cells below"


def ranked(shown: Map) -> Map:
    """The same map with each value replaced by its rank: the share of cells below, in percent.

    Cells of one value share the mean of their ranks, so that a map without variation is 50 everywhere. In a signed
    map magnitudes are ranked and keep their sign, so that the middle colour still means no difference.
    """
    values = np.abs(shown.values).ravel() if shown.signed else shown.values.ravel()
    finite = np.where(np.isfinite(values), values, -np.inf)
    order = np.sort(finite)
    below = np.searchsorted(order, finite, side="left")
    up_to = np.searchsorted(order, finite, side="right")
    ranks = (below + up_to) * (50.0 / max(1, finite.size))
    if shown.signed:
        ranks = np.copysign(np.where(values == 0, 0.0, ranks), shown.values.ravel())
    return replace(shown, values=ranks.reshape(shown.values.shape).astype(np.float32), unit=RANK_UNIT, check=None)


def rank_scale(shown: Map) -> Scale:
    """The scale of ranks: 0 to 100, or -100 to 100 of a signed map."""
    return Scale(-100.0 if shown.signed else 0.0, 100.0, "linear", 1.0, RANK_UNIT, 128 if shown.signed else 0)
