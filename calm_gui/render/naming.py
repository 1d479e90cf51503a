"""What sets and maps are called, for people and for files."""

import re

from calm_gui.core.classes import ClassSet, fold_text
from calm_gui.core.explanation import AnyExplanation, Map, WinnerMap

__all__ = ["counted", "map_slug", "map_title", "number_text", "set_name", "set_slug"]

_TITLES = {
    "attribution": "Attribution",
    "saliency": "Saliency",
    "conditional": "Conditional",
    "cue_posterior": "Cue posterior",
    "counterfactual": "Counterfactual",
    "cam": "CAM",
}
_SUMS = {
    "attribution": "p(A,z|x), sum {} = p(A|x)",
    "saliency": "p(z|x), sum {}",
    "conditional": "p(A|x,z), weighted by p(z|x) {} = p(A|x)",
    "cue_posterior": "p(z|x,A), sum {}",
    "counterfactual": "p(A,z|x) − p(B,z|x), sum {}",
}


def number_text(value: float) -> str:
    """A probability as people read it: three digits, or a power of ten."""
    if value != 0 and abs(value) < 0.001:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.3f}"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 class``, ``12 classes``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def set_name(chosen: ClassSet, explanation: AnyExplanation) -> str:
    """A short name of a set: its class, the deepest node that is exactly it, or its size.

    A class whose name another one has too gets its id.
    """
    if len(chosen) == 1:
        info = explanation.classes[next(iter(chosen))]
        return info.name if len(explanation.classes.named(info.name)) == 1 else info.label
    nodes = [node for node in (explanation.hierarchy or {}).values() if node.classes == chosen]
    return max(nodes, key=lambda node: node.depth).name if nodes else f"{len(chosen)} classes"


def set_slug(chosen: ClassSet, explanation: AnyExplanation) -> str:
    """A set's name for a file name, with what tells it from its namesakes: ``crane-n02012849``."""
    if len(chosen) == 1:
        info = explanation.classes[next(iter(chosen))]
        return f"{_slug(info.name)}-{info.wnid or info.index}"
    nodes = [node for node in (explanation.hierarchy or {}).values() if node.classes == chosen]
    if nodes:
        node = max(nodes, key=lambda node: node.depth)
        return f"{_slug(node.name)}-{_slug(node.key)}"
    return f"{len(chosen)}-classes-{_fingerprint(chosen)}"


def map_slug(shown: Map | WinnerMap) -> str:
    """Reading and sets of a map for a file name: ``counterfactual.beagle-n02088364.vs.basset-n02088238``."""
    if isinstance(shown, WinnerMap):
        return f"winner.depth-{shown.depth}"
    parts: list[str] = [_slug(shown.method_name) if shown.method_name else shown.reading]
    if shown.target is not None:
        parts.append(set_slug(shown.target, shown.explanation))
    if shown.contrast is not None:
        parts += ["vs", set_slug(shown.contrast, shown.explanation)]
    return ".".join(parts)


def map_title(shown: Map | WinnerMap | None) -> tuple[str, str]:
    """Two lines about a map: what it is, and its formula with its sum in numbers."""
    if shown is None:
        return "Picture", ""
    if isinstance(shown, WinnerMap):
        groups = counted(len(shown.legend()), "group")
        return f"Winner at depth {shown.depth}", groups + (", some overlap" if shown.overlapping else "")
    title = shown.method_name or _TITLES.get(shown.reading, shown.reading)
    if shown.target is not None:
        title += f" — {set_name(shown.target, shown.explanation)}"
    if shown.contrast is not None:
        title += f" − {set_name(shown.contrast, shown.explanation)}"
    if shown.check is None:
        return title, f"{shown.unit}; the sum means nothing"
    return title, _SUMS[shown.reading].format(number_text(shown.sum))


def _slug(name: str) -> str:
    """Letters and digits of any alphabet, the rest as hyphens; short enough for any file system."""
    return re.sub(r"[\W_]+", "-", fold_text(name)).strip("-").encode()[:40].decode(errors="ignore") or "unnamed"


def _fingerprint(chosen: ClassSet) -> str:
    import hashlib  # off the start-up path, as OpenSSL with it

    return hashlib.sha256(",".join(map(str, chosen)).encode()).hexdigest()[:8]
