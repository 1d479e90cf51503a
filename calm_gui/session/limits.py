"""Limits of the colours that a person has set, for maps of one quantity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from calm_gui.core.maps import Map
from calm_gui.late import np
from calm_gui.render.scale import LOG_DECADES, Scale

__all__ = ["Limits", "limited", "limits_for"]


class Limits(NamedTuple):
    """Ends of the scale that maps of one quantity share.

    Attributes
    ----------
    quantity : str
        Of the maps; see `calm_gui.render.map_scale.quantity`.
    low, high : float
        In the quantity's own unit.
    percent : float
        Above 0, the upper end is where this share of the cells, in percent, lies below; `low` and `high` don't count.
    picture : str or None
        Key of the picture that they hold for; None keeps them for all pictures.
    """

    quantity: str
    low: float = 0.0
    high: float = 0.0
    percent: float = 0.0
    picture: str | None = None

    @property
    def kept(self) -> bool:
        """Whether typed limits hold for all pictures."""
        return self.picture is None and not self.percent


def limits_for(limits: Iterable[Limits], quantity: str, picture: str | None) -> Limits | None:
    """The limits that count for a quantity while a picture is shown."""
    return next((one for one in limits if one.quantity == quantity and one.picture in (None, picture)), None)


def limited(own: Scale, limits: Limits, maps: Sequence[Map]) -> Scale:
    """A scale with the ends that were set.

    Parameters
    ----------
    own : Scale
        What fits the maps.
    limits : Limits
    maps : sequence of Map
        Those that share the scale, of which percentiles are taken.
    """
    signed = own.low < 0
    if limits.percent:
        cells = [values[np.isfinite(values)] for values in (shown.values.ravel() for shown in maps)]
        joined = np.concatenate(cells) if cells else np.zeros(0, np.float32)
        if not joined.size:
            return own
        high = float(np.percentile(np.abs(joined) if signed else joined, limits.percent))
        low = -high if signed else own.low
    else:
        low, high = limits.low, limits.high
    if own.spacing == "log" and low <= 0:
        low = high / 10**LOG_DECADES
    return replace(own, low=low, high=high) if high > low else own
