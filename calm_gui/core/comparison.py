"""Two lists compared: classes by identity, pictures by path, settings by key; what differs is said in words.

Wherever two lists meet (the classes of training and test, of a checkpoint and data, a table's pictures and those that
are there, a run's settings and those of its resumption), the question goes here instead of trusting positions.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from calm_gui.core.classes import ClassInfo, ClassTable, fold_text

__all__ = [
    "Change",
    "ListDifference",
    "class_keys",
    "class_named",
    "class_positions",
    "class_there",
    "compare_lists",
    "compare_values",
    "contradiction",
    "distinct_ends",
    "normal_path",
    "path_names",
    "same_classes",
    "same_shape",
    "say_changes",
    "several_named",
]

_MOST_SAID = 3
"""Names that a sentence lists before it only counts."""


@dataclass(frozen=True)
class ListDifference:
    """How two lists of names differ.

    Attributes
    ----------
    missing : tuple of str
        In the first list alone.
    unknown : tuple of str
        In the second list alone.
    moved : bool
        Whether the names that both have stand in another order.
    """

    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    moved: bool = False

    def __bool__(self) -> bool:
        return bool(self.missing or self.unknown or self.moved)

    def sentence(self, first: str, second: str) -> str:
        """What differs, in words: ``test lacks bee; train lacks ant, cat``; empty if nothing does."""
        parts = [
            f"{name} lacks {_listed(names)}" for name, names in ((second, self.missing), (first, self.unknown)) if names
        ]
        if self.moved:
            parts.append(f"{second} has another order than {first}")
        return "; ".join(parts)


def compare_lists(first: Sequence[str], second: Sequence[str]) -> ListDifference:
    """Compare two lists of names, each of which stands once in its list."""
    ours, theirs = set(first), set(second)
    both_first, both_second = [n for n in first if n in theirs], [n for n in second if n in ours]
    return ListDifference(
        tuple(name for name in first if name not in theirs),
        tuple(name for name in second if name not in ours),
        both_first != both_second,
    )


def class_keys(classes: Iterable[ClassInfo]) -> tuple[str, ...]:
    """What identifies each class: its wnid, else its name; of several without wnid and with one name the first is bare.

    Two checkpoints of the same data have the same keys in some order, whatever indices their classes have.
    """
    found: dict[str, int] = {}
    keys = []
    for info in classes:
        key = info.wnid or unicodedata.normalize("NFC", info.name)
        found[key] = found.get(key, 0) + 1
        keys.append(key if found[key] == 1 else f"{key} ({found[key]})")
    return tuple(keys)


def class_positions(classes: Iterable[ClassInfo], others: Iterable[ClassInfo]) -> tuple[int | None, ...]:
    """Index among `classes` of each of the other classes, None where there is no such class."""
    known = {key: index for index, key in enumerate(class_keys(classes))}
    return tuple(known.get(key) for key in class_keys(others))


@lru_cache(maxsize=16)
def same_classes(first: ClassTable, second: ClassTable) -> bool:
    """Whether two tables hold the same classes in the same order, by wnid or name."""
    return first is second or (len(first) == len(second) and class_keys(first) == class_keys(second))


def class_there(index: int, here: ClassTable, there: ClassTable) -> int | None:
    """Index in another table of a class of this one: by wnid, or by a name that only one class of each table has.

    Returns
    -------
    int or None
        None also where two classes of one name have different wnids.
    """
    if same_classes(here, there):
        return index
    info = here[index]
    if info.wnid and (found := there.by_wnid(info.wnid)):
        return found.index
    found = class_named(info.name, there)
    if found is None or (found.wnid and info.wnid) or class_named(info.name, here) is not info:
        return None
    return found.index


def class_named(text: str, classes: ClassTable) -> ClassInfo | None:
    """The class that a folder or a table calls so: by wnid, by whole name, or by the name behind CUB's number.

    ``001.Black_footed_Albatross`` is the class of that very name, else the class ``Black footed Albatross``. A number
    that belongs to the name (``2.5 mm``) is never taken off.

    Returns
    -------
    ClassInfo or None
        None also where several classes are called so.
    """
    if info := classes.by_wnid(text):
        return info
    for name in dict.fromkeys((text, re.sub(r"^\d+\.(?=[^\W\d])", "", text))):
        exact = [info for info in classes if info.name == name]
        if len(exact) == 1:  # where case or an accent alone tells two classes apart
            return exact[0]
        named = [info for info in classes.named(name) if fold_text(info.name) == fold_text(name)]
        if named:
            return named[0] if len(named) == 1 else None
    return None


def contradiction(said: ClassInfo, own: ClassInfo, classes: ClassTable) -> tuple[str, str] | None:
    """What a table calls a class and what the class of its number is called, if these are two classes.

    They are if their wnids differ, or if the name that is said is that of another class. A name that no class has may
    be another word for the same.

    Parameters
    ----------
    said : ClassInfo
        What stands beside a number; either of name and wnid may be empty.
    own : ClassInfo
        The class of that number.
    classes : ClassTable
        That it is one of.
    """
    if said.wnid and own.wnid:
        return (said.wnid, own.wnid) if said.wnid != own.wnid else None
    for text in (said.wnid, said.name):
        meant = class_named(text, classes) if text else None
        if meant is not None and meant is not own:
            return str(text), own.name
    return None


def normal_path(text: str) -> str:
    """A path as it is compared: forward slashes, composed letters, no ``./``."""
    parts = [part for part in unicodedata.normalize("NFC", text).replace("\\", "/").split("/") if part != "."]
    first, *rest = parts or [""]
    return "/".join([first, *(part for part in rest if part)])


def path_names(picture: str | Path) -> tuple[str, ...]:
    """What a table may call a picture: the path as given, or any end of its whole path, the longest first."""
    parts = normal_path(str(Path(picture).absolute())).split("/")
    ends = ("/".join(parts[i:]) for i in range(len(parts)))
    return tuple(dict.fromkeys((normal_path(str(picture)), *ends)))


def several_named(names: Iterable[str], pictures: Sequence[str]) -> dict[str, list[str]]:
    """Those of a table's names (as `normal_path` writes them) that stand for several of the pictures."""
    wanted, found = set(names), dict[str, list[str]]()
    for picture in pictures:
        if name := next((name for name in path_names(picture) if name in wanted), None):
            found.setdefault(name, []).append(picture)
    return {name: same for name, same in found.items() if len(same) > 1}


def same_shape(stated: tuple[int, int], real: tuple[int, int]) -> bool:
    """Whether a size (w,h) that is stated may be that of a picture, as it is or enlarged or reduced.

    The sides have the same ratio, within a pixel and a half of the shortest. A square fits every picture: it is what
    one was squashed to.
    """
    (w0, h0), (w1, h1) = stated, real
    return w0 == h0 or abs(math.log(w0 * h1 / (h0 * w1))) <= 1.5 / min(*stated, *real)


def distinct_ends(paths: Sequence[str | Path], least: int = 1) -> tuple[str, ...]:
    """The shortest end of each path that tells it from the others; the same path given twice has one name.

    All runs call their checkpoint ``best.safetensors``; two of them are ``run1/best.safetensors`` and
    ``run2/best.safetensors``.

    Parameters
    ----------
    paths : sequence of str or Path
    least : int
        Parts that each end has at least, as far as the path has them.
    """
    whole = [normal_path(str(Path(path).absolute())).split("/") for path in paths]
    found = []
    for parts in whole:
        others = [other for other in whole if other != parts]
        number = min(least, len(parts))
        while number < len(parts) and any(_folded(other[-number:]) == _folded(parts[-number:]) for other in others):
            number += 1
        found.append("/".join(parts[-number:]))
    return tuple(found)


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in parts)


@dataclass(frozen=True)
class Change:
    """One value that differs: its key, with a dot for each level, what it was and what it is (None: not there)."""

    key: str
    before: Any
    now: Any


def compare_values(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[Change, ...]:
    """The values in which two nested mappings differ, by key."""
    changes: list[Change] = []
    for key in dict.fromkeys((*before, *now)):
        was, is_now = before.get(key), now.get(key)
        if isinstance(was, Mapping) and isinstance(is_now, Mapping):
            changes += [Change(f"{key}.{c.key}", c.before, c.now) for c in compare_values(was, is_now)]
        elif was != is_now or (key in before) != (key in now):
            changes.append(Change(str(key), was, is_now))
    return tuple(changes)


def say_changes(changes: Sequence[Change]) -> str:
    """Changes in words: ``data.layout was csv, now folder``; no values where they are long."""
    return _listed([_said(change) for change in changes], "; ")


def _said(change: Change) -> str:
    was, is_now = (_value(value) for value in (change.before, change.now))
    if max(len(was), len(is_now)) > 60:
        return f"{change.key} differs"
    return f"{change.key} was {was}, now {is_now}"


def _value(value: Any) -> str:
    return "nothing" if value is None else value if isinstance(value, str) and value else repr(value)


def _listed(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - _MOST_SAID
    return between.join(names[:_MOST_SAID]) + (f"{between}{more} more" if more > 0 else "")
