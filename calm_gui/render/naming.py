"""What sets and maps are called, for people and for files."""

import math
import re
from typing import Protocol

from calm_gui.core.classes import ClassSet, ClassTable, fold_text
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.core.maps import AnyMap, WinnerMap

__all__ = [
    "DECIMALS",
    "MINUS",
    "Named",
    "counted",
    "map_formula",
    "map_slug",
    "map_title",
    "number_text",
    "power_text",
    "probability_text",
    "set_name",
    "set_slug",
    "share_text",
    "value_text",
    "written_out",
]


class Named(Protocol):
    """What knows classes and their groups: an explanation, a checkpoint's metadata, a scene."""

    @property
    def classes(self) -> ClassTable:
        """The classes."""

    @property
    def hierarchy(self) -> Hierarchy | None:
        """Their groups, if there are any."""


DECIMALS = 3
"""Of probabilities, where nothing else is asked for."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "\N{MINUS SIGN}"


def power_text(exponent: int) -> str:
    """A power of ten as people write it: ``×10⁻⁵``; empty for 1."""
    return f"×10{str(exponent).translate(_SUPERSCRIPTS)}" if exponent else ""


def number_text(value: float, decimals: int = DECIMALS) -> str:
    """A probability, or a difference of two, as people read it: three decimals, or a power of ten."""
    if value != 0 and abs(value) < 10.0**-decimals:
        mantissa, exponent = f"{value:.{max(1, decimals - 2)}e}".split("e")
        return f"{mantissa} {power_text(int(exponent))}".replace("-", MINUS)
    return f"{value:.{decimals}f}".replace("-", MINUS)


def value_text(value: float, digits: int = 3) -> str:
    """A value of any size as people read it: so many digits, without zeros at the end.

    From 0.001 up to 10,000 it's written out, otherwise with a power of ten: ``1.5 ×10⁻⁵``.
    """
    if not value or not math.isfinite(value):
        return "0" if not value else str(value).replace("-", MINUS)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if -3 <= int(exponent) < 4:
        return written_out(value, max(0, digits - 1 - int(exponent)))
    return f"{_without_zeros(mantissa)} {power_text(int(exponent))}".replace("-", MINUS)


def written_out(value: float, decimals: int) -> str:
    """A value without a power of ten: at most so many decimals, without zeros at the end."""
    text = _without_zeros(f"{value:.{decimals}f}")
    return "0" if text == "-0" else text.replace("-", MINUS)


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def probability_text(p: float, decimals: int = DECIMALS) -> str:
    """A probability in a fixed width, for rows: three decimals, ``<0.001`` and ``>0.999`` beside the ends."""
    least = 10.0**-decimals
    if 0 < p < least:
        return f"<{least:.{decimals}f}"
    if 1 - least < p < 1 - 5e-4 * least:
        return f">{1 - least:.{decimals}f}"
    return f"{p:.{decimals}f}"


def share_text(share: float) -> str:
    """A share in whole percent."""
    return "<1\N{NARROW NO-BREAK SPACE}%" if 0 < share < 0.005 else f"{100 * share:.0f}\N{NARROW NO-BREAK SPACE}%"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 class``, ``12 classes``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def set_name(chosen: ClassSet, known: Named) -> str:
    """A short name of a set: its class, the deepest node that is exactly it, or its size.

    A class whose name another one has too gets its id.
    """
    if len(chosen) == 1:
        return known.classes.name_of(next(iter(chosen)))
    node = known.hierarchy.node_of(chosen) if known.hierarchy else None
    return node.name if node else counted(len(chosen), "class", "classes")


def set_slug(chosen: ClassSet, known: Named) -> str:
    """A set's name for a file name, with what tells it from its namesakes: ``crane-n02012849``."""
    if len(chosen) == 1:
        info = known.classes[next(iter(chosen))]
        return f"{_slug(info.name)}-{info.wnid or info.index}"
    node = known.hierarchy.node_of(chosen) if known.hierarchy else None
    if node:
        return f"{_slug(node.name)}-{_slug(node.key)}"
    return f"{len(chosen)}-classes-{_fingerprint(chosen)}"


def map_slug(shown: AnyMap) -> str:
    """Reading and sets of a map for a file name: ``counterfactual.beagle-n02088364.vs.basset-n02088238``."""
    if isinstance(shown, WinnerMap):
        return f"{shown.kind.slug}.depth-{shown.depth}"
    parts: list[str] = [shown.kind.slug]
    if shown.target is not None:
        parts.append(set_slug(shown.target, shown.explanation))
    if shown.contrast is not None:
        parts += ["vs", set_slug(shown.contrast, shown.explanation)]
    return ".".join(parts)


def map_title(shown: AnyMap | None, letter: str = "A") -> tuple[str, str]:
    """Two lines about a map: what it is, and its formula with its sum in numbers.

    Parameters
    ----------
    shown : Map, WinnerMap or None
    letter : str
        What the formula calls the set that the map is about.
    """
    if shown is None:
        return "Picture", ""
    if isinstance(shown, WinnerMap):
        groups = counted(len(shown.legend()), "group")
        return f"{shown.kind.title} at depth {shown.depth}", groups + (", some overlap" if shown.overlapping else "")
    title = shown.kind.title_in(shown.explanation)
    if shown.target is not None:
        title += f" — {set_name(shown.target, shown.explanation)}"
    if shown.contrast is not None:
        title += f" − {set_name(shown.contrast, shown.explanation)}"
    return title, map_formula(shown, letter, ", ")


def map_formula(shown: AnyMap, letter: str = "A", joined: str = " · ") -> str:
    """A map's formula and what its sum is, in numbers; of a map without a sum that it is none."""
    if isinstance(shown, WinnerMap):
        return shown.kind.formula
    if shown.check is None:
        return f"{shown.kind.formula_of(letter)}{joined}no probability"
    sign = "+" if shown.kind.signed and shown.sum > 0 else ""
    return joined.join([shown.kind.formula_of(letter), shown.kind.sum_words(sign + number_text(shown.sum), letter)])


def _slug(name: str) -> str:
    """Letters and digits of any alphabet, the rest as hyphens; short enough for any file system."""
    return re.sub(r"[\W_]+", "-", fold_text(name)).strip("-").encode()[:40].decode(errors="ignore") or "unnamed"


def _fingerprint(chosen: ClassSet) -> str:
    import hashlib  # off the start-up path, as OpenSSL with it

    return hashlib.sha256(",".join(map(str, chosen)).encode()).hexdigest()[:8]
