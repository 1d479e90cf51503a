"""Sums, differences and multiples of maps: maps again, which say that they were computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from calm_gui.core.maps import Map, MapKind, Telling
from calm_gui.errors import ReadingError
from calm_gui.late import np

__all__ = ["Computed", "combined"]

_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "\N{MINUS SIGN}": operator.sub,
    "\N{MULTIPLICATION SIGN}": operator.mul,
    "/": operator.truediv,
}


class Computed(MapKind):
    """What a map computed from others is: no reading, so that nothing is promised of its sum.

    Parameters
    ----------
    title : str
        How it was computed.
    unit : str
    """

    family, key = "computed", "computed"
    question = "What this is was said where it was computed."
    meaning = "computed from other maps"
    signed = True
    sum_text = "sum {}"

    def __init__(self, title: str, unit: str) -> None:
        self.title = self.formula = title
        self.unit, self.quantity = unit, f"computed: {unit}"

    def sentence(self, telling: Telling) -> str:
        """What it was computed from, and its sum."""
        return f"{self.title}; its cells add up to {telling.number(telling.total)}."


def combined(sign: str, first: Any, second: Any) -> Map:
    """A map and a number, an array or another map as one map.

    Parameters
    ----------
    sign : {"+", "−", "×", "/"}
    first, second : Map, number, or array of the map's grid
        At least one is a map.

    Returns
    -------
    Map
        Of the first map's explanation; its values are float32, computed in float64. A division by zero gives NaN or
        infinity, as NumPy does.

    Raises
    ------
    ReadingError
        If the grids, or the pictures of two maps, differ.
    """
    own = first if isinstance(first, Map) else second
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _OPERATIONS[sign](_values(first, own), _values(second, own)).astype(np.float32)
    others = [m for m in (first, second) if isinstance(m, Map)]
    same = len({m.unit for m in others}) == 1 and (len(others) == 2) == (sign in ("+", "\N{MINUS SIGN}"))
    title = f"{_title(first, sign)} {sign} {_title(second, sign)}"
    target = own.target if all(m.target == own.target for m in others) else None
    unit = own.unit if same else "computed value"
    return replace(own, values=values, kind=Computed(title, unit), target=target, contrast=None, check=None, unit=unit)


def _values(part: Any, own: Map) -> Any:
    values = np.asarray(part, dtype=np.float64)
    if values.ndim and values.shape != own.values.shape:
        raise ReadingError(
            f"a map of {_cells(own.values)} and one of {_cells(values)} can't be put together; both can be brought to "
            "the picture's size: upsampled()"
        )
    if isinstance(part, Map) and _picture(part) != _picture(own):
        raise ReadingError("maps of two pictures can't be put together as a map; np.asarray(map) gives their numbers")
    return values


def _cells(values: Any) -> str:
    return "x".join(map(str, values.shape)) + " cells"


def _picture(shown: Map) -> Any:
    source = shown.explanation.source.get("picture", {})
    return source.get("sha256") or source.get("path"), shown.geometry.picture


def _title(part: Any, sign: str) -> str:
    if not isinstance(part, Map):
        return f"{part:g}" if np.ndim(part) == 0 else "an array"
    if isinstance(part.kind, Computed):
        return part.kind.title if sign == "+" else f"({part.kind.title})"
    return part.kind.title + (f" of {part.named_target}" if part.target else "")
