"""From whatever names a class set to the set: an index, a wnid, a hierarchy node, a unique name, or several."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, TypeGuard

from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable
from calm_gui.core.hierarchy import Hierarchy, Node
from calm_gui.errors import ClassLookupError
from calm_gui.late import np

__all__ = ["ClassSetLike", "resolve"]

ClassSetLike = ClassSet | ClassInfo | Node | int | str | Iterable[Any]
"""Whatever names a class set: an index (also of NumPy or torch), a wnid, a hierarchy node, a unique name, a class, a
row of ``top()``, a Boolean mask over all classes, or an iterable of these."""


def resolve(what: ClassSetLike, classes: ClassTable, hierarchy: Hierarchy | None = None) -> ClassSet:
    """The class set that `what` names; see `ClassSetLike`. True, False and fractions name none.

    Raises
    ------
    ClassLookupError
        If it names nothing, several classes or nodes (they are listed), or an index out of range.
    """
    if isinstance(what, str):
        return _resolve_text(what, classes, hierarchy)
    if isinstance(what, (bool, np.bool_)):
        raise ClassLookupError(f"{what} is neither a class nor a set of classes; give an index, wnid or name")
    if isinstance(what, ClassSet):
        chosen = what
    elif isinstance(what, Node):
        chosen = hierarchy[what.key].classes if hierarchy is not None and what.key in hierarchy else what.classes
    elif isinstance(what, ClassInfo):
        chosen = _from_class(what, classes)
    elif _is_row(what):
        chosen = resolve(what[0], classes, hierarchy)
    elif str(getattr(what, "dtype", "")).removeprefix("torch.") == "bool":
        chosen = _from_mask(what, classes)
    elif (index := _as_index(what)) is not None:
        chosen = ClassSet([index])
    else:
        chosen = ClassSet(i for item in _items(what) for i in resolve(item, classes, hierarchy))
    if chosen and max(chosen) >= len(classes):
        raise ClassLookupError(
            f"there is no class {max(chosen)}; the checkpoint has the classes 0 to {len(classes) - 1}"
        )
    return chosen


def _from_class(info: ClassInfo, classes: ClassTable) -> ClassSet:
    """The class itself, or of another table's that of the same wnid or, without one, of the same name at its place."""
    own = classes.by_wnid(info.wnid) if info.wnid else None
    if own is None and info.index < len(classes) and classes[info.index].name == info.name:
        own = classes[info.index]
    if own is None:
        raise ClassLookupError(f"{info.label} is a class of another checkpoint, and not one of this one's")
    return ClassSet([own.index])


def _is_row(what: object) -> TypeGuard[tuple[Any, Any]]:
    """Whether it is a row of ``top()``: an index and its probability."""
    return (
        isinstance(what, tuple)
        and len(what) == 2
        and isinstance(what[1], (float, np.floating))
        and _as_index(what[0]) is not None
    )


def _as_index(what: Any) -> int | None:
    """The index that one whole number is, whosever it is; None for anything else."""
    try:
        return operator.index(what)
    except TypeError:
        return None


def _items(what: Any) -> list[Any]:
    try:
        return list(what)
    except TypeError as error:
        raise ClassLookupError(
            f"{what!r} names no class; give an index, wnid, name, node, or several of these"
        ) from error


def _from_mask(mask: Any, classes: ClassTable) -> ClassSet:
    """The classes at which an array of truth values is true."""
    values = np.asarray(mask.tolist(), dtype=np.bool_)
    if values.shape != (len(classes),):
        raise ClassLookupError(
            f"a Boolean mask must have one value for each of {len(classes)} classes, not the shape {values.shape}"
        )
    return ClassSet(np.flatnonzero(values).tolist())


def _resolve_text(text: str, classes: ClassTable, hierarchy: Hierarchy | None) -> ClassSet:
    if hierarchy is not None and text in hierarchy:
        return hierarchy[text].classes
    if info := classes.by_wnid(text):
        return ClassSet([info.index])
    if text.isdecimal():
        return resolve(int(text), classes, hierarchy)
    candidates: dict[str, ClassSet] = {info.label: ClassSet([info.index]) for info in classes.named(text)}
    if hierarchy is not None:
        candidates |= {
            f"{node.name} ({node.key})": node.classes
            for node in hierarchy.values()
            if node.class_index is None and node.name.casefold() == text.replace("_", " ").casefold()
        }
    if len(candidates) == 1:
        return next(iter(candidates.values()))
    if candidates:
        raise ClassLookupError(f"{text!r} names several things; use an id instead: {', '.join(candidates)}")
    near = ", ".join(info.label for info in classes.find(text)[:5])
    raise ClassLookupError(
        f"no class or group is called {text!r}" + (f"; did you mean {near}?" if near else "; search by part of a name")
    )
