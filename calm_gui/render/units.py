"""Which units the scale of a map can have, and their words: in full, to choose from, and after a number."""

from typing import NamedTuple

from calm_gui.core.maps import AnyMap, Map
from calm_gui.render.ranks import RANK_UNIT

__all__ = ["PER_CELL", "TIMES_UNIFORM", "Unit", "after_number", "brief_unit", "unit_of", "units_of"]

PER_CELL = "probability per cell"
TIMES_UNIFORM = "times uniform"

_BRIEF = {
    PER_CELL: "p per cell",
    RANK_UNIT: "rank of the cell",
    "probability of A at the cell": "p of A at the cell",
    "place between the extremes": "between the extremes",
}
_AFTER = {PER_CELL: "per cell", TIMES_UNIFORM: "× uniform"}


class Unit(NamedTuple):
    """A unit that can be chosen.

    Attributes
    ----------
    words : str
    relative, ranks : bool
        The settings of the view that it stands for.
    """

    words: str
    relative: bool
    ranks: bool


def units_of(shown: AnyMap | None) -> tuple[Unit, ...]:
    """The units of a map: its own, times uniform where that means something, and the rank of the cell."""
    own = shown.unit if isinstance(shown, Map) else PER_CELL
    units = [Unit(brief_unit(own), False, False)]
    if not isinstance(shown, Map) or shown.kind.times_uniform:
        units.append(Unit(TIMES_UNIFORM, True, False))
    return (*units, Unit(brief_unit(RANK_UNIT), False, True))


def unit_of(units: tuple[Unit, ...], relative: bool, ranks: bool) -> Unit:
    """The one of them that the view's settings lead to."""
    return next((unit for unit in units if unit[1:] == (relative and not ranks, ranks)), units[0])


def brief_unit(unit: str) -> str:
    """A scale's unit in few words."""
    return _BRIEF.get(unit, unit)


def after_number(unit: str) -> str:
    """A scale's unit as it's written after a number."""
    return _AFTER.get(unit, unit)
