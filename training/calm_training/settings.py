"""Typed settings: frozen dataclasses whose fields have ranges, read from tables, refused in a sentence."""

import dataclasses
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from calm_gui.errors import CalmError

__all__ = ["Section", "build", "idle", "setting"]

T = TypeVar("T")


def setting(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    only: tuple[str, str] | None = None,
    unless: tuple[str, str] | None = None,
) -> Any:
    """A field of a `Section` with its range.

    Parameters
    ----------
    default
        Its value where none is given.
    low, high : float, optional
        The range, both ends included.
    above, below : float, optional
        The range, that end not included.
    only, unless : (str, str), optional
        Another field of the section, and the value of it under which alone, or not, this one has any effect.
    """
    limits = {"low": low, "high": high, "above": above, "below": below}
    return field(default=default, metadata={"limits": limits, "only": only, "unless": unless})


@dataclass(frozen=True)
class Section:
    """Settings that belong together; made of values within their ranges, or not at all.

    Attributes
    ----------
    section : str
        What they are called in a recipe.
    """

    section: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for entry in dataclasses.fields(self):
            if wanted := _wanted_range(entry, getattr(self, entry.name)):
                raise CalmError(
                    f"{self.section}.{entry.name} must be {wanted}, not {getattr(self, entry.name)!r}".lstrip(".")
                )


def idle(section: Any, name: str) -> tuple[str, str] | None:
    """Whether a setting of a section has no effect beside the others.

    Parameters
    ----------
    section : Section
    name : str
        Of the setting.

    Returns
    -------
    (str, str) or None
        The other setting that leaves it without effect, and why in words.
    """
    metadata = next(entry for entry in dataclasses.fields(section) if entry.name == name).metadata
    if (only := metadata.get("only")) and (present := getattr(section, only[0])) != only[1]:
        return only[0], f"it counts only where {only[0]} is {only[1]}, and that is {present}"
    if (unless := metadata.get("unless")) and getattr(section, unless[0]) == unless[1]:
        return unless[0], f"{unless[0]} is {unless[1]}"
    return None


def build(kind: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """A dataclass from a table, section by section.

    Parameters
    ----------
    kind : type
        A dataclass; fields that are dataclasses take tables of their own.
    values : mapping
        As a TOML or JSON file gives them.
    where : str
        What to put before a name in a message, with its dot.

    Raises
    ------
    CalmError
        If a key isn't known, or a value is of another type or out of its range.
    """
    if not isinstance(values, Mapping):
        raise CalmError(f"{where.rstrip('.')} must be a table of settings, not {values!r}")
    hints = {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}
    unknown = sorted(set(values) - {entry.name for entry in dataclasses.fields(kind)})  # type: ignore[arg-type]
    if unknown:
        known = ", ".join(sorted(hints)) or "none"
        raise CalmError(f"unknown setting {where}{unknown[0]}; known are {known}")
    arguments = {}
    for name, value in values.items():
        if dataclasses.is_dataclass(hints[name]) and isinstance(value, Mapping):
            arguments[name] = build(hints[name], value, f"{where}{name}.")
        else:
            arguments[name] = _checked(hints[name], value, where + name)
    return kind(**arguments)


def _wanted_range(entry: "dataclasses.Field[Any]", value: Any) -> str:
    """The range of a field in words where a value lies outside of it, else nothing."""
    limits = entry.metadata.get("limits", {})
    low, high, above, below = (limits.get(name) for name in ("low", "high", "above", "below"))
    lies_within = (
        (low is None or value >= low)
        and (high is None or value <= high)
        and (above is None or value > above)
        and (below is None or value < below)
    )
    if lies_within:
        return ""
    ends = ((low, "at least"), (above, "more than"), (high, "at most"), (below, "less than"))
    return " and ".join(f"{words} {end:g}" for end, words in ends if end is not None)


def _checked(hint: Any, value: Any, where: str) -> Any:
    """A value of the type that a setting has; whole numbers do for floats, lists for tuples."""
    origin = get_origin(hint)
    if origin is Literal:
        if value in get_args(hint):
            return value
        raise CalmError(f"{where} must be one of {', '.join(map(str, get_args(hint)))}, not {value!r}")
    if origin is tuple and isinstance(value, list | tuple) and len(value) == len(get_args(hint)):
        return tuple(_checked(part, v, where) for part, v in zip(get_args(hint), value, strict=True))
    if origin in (Union, types.UnionType):
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is float and isinstance(value, float) and not math.isfinite(value):
        raise CalmError(f"{where} must be a finite number, not {value}")
    if origin is None and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise CalmError(f"{where} can't be {value!r}; it must be of type {getattr(hint, '__name__', hint)}")
