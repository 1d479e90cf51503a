"""A number that a method's user may choose, such as how many samples it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calm_gui.errors import ReadingError

__all__ = ["Number", "Parameter", "said_settings"]

Number = int | float


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method.

    Attributes
    ----------
    key : str
        On command lines: ``smoothgrad:samples=50``.
    default : int or float
        An int takes whole numbers only.
    least, most : int or float
        Ends of its range, both allowed.
    words : str
        What it is, with ``{}`` in the number's place: ``{} samples``.
    """

    key: str
    default: Number
    least: Number
    most: Number
    words: str

    @property
    def whole(self) -> bool:
        """Whether it takes whole numbers only."""
        return isinstance(self.default, int)

    def checked(self, value: str | Number, title: str) -> Number:
        """A value, written or not, as a number in the range.

        Raises
        ------
        ReadingError
            If it isn't one, with the method's title.
        """
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not self.least <= number <= self.most or (self.whole and not number.is_integer()):
            kind = "a whole number" if self.whole else "a number"
            raise ReadingError(
                f"{self.key} of {title} must be {kind} from {self.least:g} to {self.most:g}, not {str(value)!r}"
            )
        return int(number) if self.whole else number


def said_settings(text: str, title: str) -> dict[str, str]:
    """The settings in ``samples=50,noise=0.1``, as they are written.

    Raises
    ------
    ReadingError
        If one has no value or is given twice.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (one.strip() for one in part.partition("="))
        if not (key and equals and value):
            raise ReadingError(f"{part!r} is no setting of {title}; write them as key=value, with commas between them")
        if key in found:
            raise ReadingError(f"{key} of {title} is set twice; leave one of them out")
        found[key] = value
    return found
