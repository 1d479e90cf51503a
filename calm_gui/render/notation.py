"""How the numbers of one scale are written: one factor, the same decimals from end to end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calm_gui.render.naming import MINUS, power_text, written_out
from calm_gui.render.scale import Scale

__all__ = ["Notation"]

_DIGITS = 3
"""At the upper limit."""
_MOST = 6
"""Decimals: of a logarithmic scale whose lower end was dragged far down."""


@dataclass(frozen=True)
class Notation:
    """A power of ten that all numbers of a scale share, and their decimals.

    Attributes
    ----------
    times : float
        What values are multiplied by before they are written.
    power : int
        Exponent of ten that is written once beside the numbers; 0 for none.
    decimals : int
        Of a linear scale; a logarithmic one has three digits at each of its values.
    logarithmic : bool
    """

    times: float
    power: int
    decimals: int
    logarithmic: bool = False

    @classmethod
    def of(cls, scale: Scale) -> Notation:
        """The notation of a scale: three digits at its larger end.

        Values from 0.1 up to 1000 are written without a factor. On a logarithmic scale the upper end is in the
        hundreds, so that the lower one, four decades below, has few zeros.
        """
        log = scale.spacing == "log"
        largest = max(abs(scale.low), abs(scale.high)) * scale.factor
        if not largest or not math.isfinite(largest):
            return cls(scale.factor, 0, 1)
        place = math.floor(math.log10(largest) + 1e-9)
        power = place - _DIGITS + 1 if log else 0 if -1 <= place < _DIGITS else 3 * (place // 3)
        return cls(scale.factor / 10.0**power, power, max(0, min(_DIGITS, _DIGITS - 1 - (place - power))), log)

    @property
    def factor(self) -> str:
        """The factor as it's written once: ``×10⁻³``; empty for none."""
        return power_text(self.power)

    def text(self, value: float) -> str:
        """A value without the factor."""
        if self.logarithmic and value:
            place = math.floor(math.log10(abs(value * self.times)))
            return written_out(value * self.times, min(_MOST, max(0, _DIGITS - 1 - place)))
        text = f"{value * self.times:.{self.decimals}f}"
        return text.removeprefix("-") if not float(text) else text.replace("-", MINUS)

    def whole(self, value: float) -> str:
        """A value with the factor."""
        return f"{self.text(value)} {self.factor}".rstrip()

    def value(self, text: str) -> float | None:
        """What a text means that was typed beside the factor; None if it's no number.

        A number with an exponent of its own, such as ``2e-3``, is taken as it is.
        """
        plain = text.strip().replace(MINUS, "-").replace(",", ".").replace("\N{ARABIC DECIMAL SEPARATOR}", ".")
        try:
            number = float(plain)
        except ValueError:
            return None
        if not math.isfinite(number):
            return None
        own_exponent = "e" in plain.lower()
        return number / (self.times * 10.0**self.power) if own_exponent else number / self.times
