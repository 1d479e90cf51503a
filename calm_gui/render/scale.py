"""Scales: which value gets which colour. A scale is always told in numbers and never changes silently."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from calm_gui.late import np
from calm_gui.render.naming import value_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LOG_DECADES", "Scale", "fit_scale", "remark", "shared_scale"]

LOG_DECADES = 4
"""Decades that a logarithmic scale spans below its upper end."""

_LEAST_SPAN = 1e-36
"""Below it 255 / span is infinite in float32."""

_MIDDLE = 128

Spacing = Literal["linear", "log"]


@dataclass(frozen=True)
class Scale:
    """A range of values and the way colours are spread over it.

    Attributes
    ----------
    low, high : float
        Values of the first and the last colour; values outside get these colours. ``low == high`` for a map
        without variation, whose cells all get the colour `flat`.
    spacing : {"linear", "log"}
        Logarithmic scales are one-sided: zero and below get the first colour.
    factor : float
        What values are multiplied by when they are written out: 1 for a probability per cell, the number of
        cells for a probability relative to uniform.
    unit : str
        Written at the colour bar.
    flat : int
        Index of the colour where there is no variation: the first, or the middle of a signed scale.
    """

    low: float
    high: float
    spacing: Spacing = "linear"
    factor: float = 1.0
    unit: str = "probability per cell"
    flat: int = 0

    def indices(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Colour indices 0..255 of values of any shape; NaN gets 0.

        Parameters
        ----------
        values : ndarray, float32

        Returns
        -------
        ndarray of the same shape, uint8
        """
        return self.clipped(self.steps(values)).astype(np.uint8)

    def steps(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Places of values on the scale: their colour indices and a half, before these are cut to whole ones in 0..255.

        With linear spacing this is linear too, so that it may come before interpolation.
        """
        if not self.high > self.low:
            return np.full(values.shape, self.flat + 0.5, dtype=np.float32)
        if self.spacing == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log(np.maximum(values, np.float32(self.low)))
            start, span = math.log(self.low), math.log(self.high / self.low)
        else:
            start, span = self.low, self.high - self.low
        number: type[np.floating[Any]] = np.float32 if span > _LEAST_SPAN else np.float64
        steps = (values - number(start)) * number(255.0 / span)
        steps += number(0.5)
        return steps.astype(np.float32, copy=False)

    @staticmethod
    def clipped(steps: NDArray[np.float32]) -> NDArray[np.float32]:
        """Steps of values beyond the scale brought to its ends, in place; of what isn't a number, to 0."""
        np.fmax(steps, 0, out=steps)  # of NaN and 0 this takes 0
        return np.fmin(steps, 255, out=steps)

    def position(self, value: float) -> float:
        """Place of a value on the colour bar, 0 (bottom) to 1 (top)."""
        if not self.high > self.low:
            return 0.0
        if self.spacing == "log":
            value = max(value, self.low)
            place = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, place))

    def value_at(self, position: float) -> float:
        """Value at a place on the colour bar; the inverse of `position`."""
        if self.spacing == "log" and self.high > self.low:
            return float(self.low * (self.high / self.low) ** position)
        return self.low + position * (self.high - self.low)

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Positions 0..1 and labels for a colour bar, the two ends always among them."""
        if not self.high > self.low:
            return [(0.0, self.text(self.low))]
        inner = self.round_values(about)
        gap = 0.5 / about
        ends = [(0.0, self.text(self.low)), (1.0, self.text(self.high))]
        middle = [(self.position(v), self.text(v)) for v in inner if gap < self.position(v) < 1 - gap]
        return sorted(ends + middle)

    def round_values(self, about: int = 5) -> list[float]:
        """About so many values between the ends that are round as written: powers of ten, multiples of a round step."""
        if not self.high > self.low:
            return []
        if self.spacing == "log":
            first, last = math.log10(self.low * self.factor), math.log10(self.high * self.factor)
            return [10.0**e / self.factor for e in range(math.ceil(first), math.floor(last) + 1)]
        step = _round_step((self.high - self.low) * self.factor / about) / self.factor
        return [i * step for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]

    def text(self, value: float) -> str:
        """A value in this scale's unit, in three digits."""
        return value_text(value * self.factor)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form for the file beside an export."""
        return {
            "low": self.low,
            "high": self.high,
            "spacing": self.spacing,
            "factor": self.factor,
            "unit": self.unit,
            **({"flat": self.flat} if self.flat else {}),
        }


def _round_step(step: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(step))
    return float(next(m for m in (1, 2, 2.5, 5, 10) if m * magnitude >= step * 0.999) * magnitude)


def fit_scale(
    values: NDArray[np.floating[Any]],
    signed: bool = False,
    spacing: Spacing = "linear",
    factor: float = 1.0,
    unit: str = "probability per cell",
) -> Scale:
    """The scale of one map: zero to its maximum, or symmetric about zero.

    Parameters
    ----------
    values : ndarray
        Non-finite values are left out.
    signed : bool
        Symmetric about 0, so that the middle colour means no difference. Logarithmic spacing does not apply.
    spacing, factor, unit
        As for `Scale`. A logarithmic scale ends `LOG_DECADES` decades below the maximum.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Scale(0.0, 0.0, spacing, factor, unit)
    high = float(np.abs(finite).max()) if signed else float(finite.max())
    if signed:
        return Scale(-high, high, "linear", factor, unit, flat=_MIDDLE)
    if high <= 0:
        return Scale(0.0, 0.0, spacing, factor, unit)
    return Scale(high / 10**LOG_DECADES if spacing == "log" else 0.0, high, spacing, factor, unit)


def shared_scale(scales: Iterable[Scale]) -> Scale:
    """The smallest scale that holds several of one unit and spacing.

    Raises
    ------
    ValueError
        If units or spacings differ: different quantities never share a scale.
    """
    scales = list(scales)
    if len({(s.spacing, s.factor, s.unit) for s in scales}) != 1:
        raise ValueError("only scales of one unit and spacing can be shared")
    first = scales[0]
    high = max(s.high for s in scales)
    low = high / 10**LOG_DECADES if first.spacing == "log" and high > 0 else min(s.low for s in scales)
    return Scale(low, high, first.spacing, first.factor, first.unit, first.flat)


def remark(values: NDArray[np.floating[Any]]) -> str:
    """What a viewer must be told about a map before trusting its colours; empty if nothing."""
    broken = int((~np.isfinite(values)).sum())
    if broken:
        return f"{broken} of {values.size} cells are not finite; the map can't be trusted"
    if float(values.max()) == float(values.min()):
        return f"no variation: every cell is {value_text(float(values.flat[0]))}"
    return ""
