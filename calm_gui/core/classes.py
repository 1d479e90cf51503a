"""Classes and sets of classes. A class is its index (and wnid, if known), never its name."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsIndex, cast, overload

from calm_gui.errors import ClassLookupError
from calm_gui.late import np

__all__ = ["ClassInfo", "ClassSet", "ClassTable", "Searchable", "fold_text"]


def fold_text(text: str) -> str:
    """Text as search compares it: case, accents, `_` against blank and the number of blanks make no difference."""
    folded = text.casefold().replace("_", " ")
    if not text.isascii():  # only these have anything to decompose; thousands of texts are folded at the first search
        folded = "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))
    return " ".join(folded.split())


class Searchable:
    """What a search looks through of one class or group, folded.

    Parameters
    ----------
    names : iterable of str
        Name and synonyms.
    wnid, gloss : str
    index : int or None
        Of the class, for a class.
    """

    __slots__ = ("_gloss", "_index", "_names", "_wnid")

    def __init__(self, names: Iterable[str], wnid: str, gloss: str, index: int | None) -> None:
        self._names = "\n".join(map(fold_text, names))
        self._wnid, self._gloss, self._index = fold_text(wnid), fold_text(gloss), str(index)

    def matches(self, needle: str) -> bool:
        """Whether a folded text is found: digits alone are an index, a word of a name, or four or more of a wnid."""
        if needle.isdecimal():
            of_wnid = len(needle) >= 4 and needle in self._wnid
            return needle == self._index or of_wnid or needle in re.findall(r"\w+", self._names)
        return self.is_named(needle) or needle in self._wnid or needle in self._gloss

    def is_named(self, needle: str) -> bool:
        """Whether a folded text is part of a name or synonym."""
        return needle in self._names


@dataclass(frozen=True)
class ClassInfo:
    """One output of the classifier.

    Attributes
    ----------
    index : int
        Row of the class branch.
    name : str
        For people; not unique.
    wnid : str or None
        WordNet id such as ``n02012849``.
    synonyms : tuple of str
    gloss : str
        WordNet's definition, or empty.
    """

    index: int
    name: str
    wnid: str | None = None
    synonyms: tuple[str, ...] = ()
    gloss: str = ""

    @property
    def label(self) -> str:
        """Name with the id that tells it from its namesakes: ``crane (n02012849)``."""
        return f"{self.name} ({self.wnid or f'class {self.index}'})"


class ClassSet:
    """A set of classes: order-free, no duplicates, immutable, hashable.

    Parameters
    ----------
    indices : iterable of int
        Class indices, zero or more, not negative.
    """

    __slots__ = ("__dict__", "_indices")

    def __init__(self, indices: Iterable[int] = ()) -> None:
        self._indices = frozenset(map(int, indices))
        if self._indices and min(self._indices) < 0:
            raise ClassLookupError(f"class indices start at 0, got {min(self._indices)}")

    @classmethod
    def of_valid(cls, indices: frozenset[int]) -> ClassSet:
        """The set of indices that are known to be right; much faster where thousands are made."""
        made = cls.__new__(cls)
        made._indices = indices
        return made

    @cached_property
    def indices(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Sorted indices, (n,)."""
        array = np.array(sorted(self._indices), dtype=np.intp)
        array.flags.writeable = False
        return array

    def __iter__(self) -> Iterator[int]:
        """Sorted indices."""
        return iter(sorted(self._indices))

    def __len__(self) -> int:
        return len(self._indices)

    def __contains__(self, index: object) -> bool:
        return index in self._indices

    def __eq__(self, other: object) -> bool:
        return self._indices == other._indices if isinstance(other, ClassSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._indices)

    def __or__(self, other: Any) -> ClassSet:
        return ClassSet.of_valid(self._indices | _indices_of(other))

    def __and__(self, other: Any) -> ClassSet:
        return ClassSet.of_valid(self._indices & _indices_of(other))

    def __sub__(self, other: Any) -> ClassSet:
        return ClassSet.of_valid(self._indices - _indices_of(other))

    def __xor__(self, other: Any) -> ClassSet:
        return ClassSet.of_valid(self._indices ^ _indices_of(other))

    def __rsub__(self, other: Any) -> ClassSet:
        return ClassSet.of_valid(_indices_of(other) - self._indices)

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__

    def isdisjoint(self, other: ClassSet) -> bool:
        """Whether no class is in both sets."""
        return self._indices.isdisjoint(other._indices)

    def __le__(self, other: ClassSet) -> bool:
        return self._indices <= other._indices

    def complement(self, n_classes: int) -> ClassSet:
        """All of `n_classes` classes that aren't in this set."""
        return ClassSet.of_valid(frozenset(range(n_classes)) - self._indices)

    def __repr__(self) -> str:
        shown = ", ".join(str(i) for i in list(self)[:6])
        return f"ClassSet({{{shown}{', …' if len(self) > 6 else ''}}}, {len(self)} classes)"


def _indices_of(other: Any) -> frozenset[int]:
    """What `|` and the like take beside a set: another one, a node, a class, an index, or several of these.

    A name needs the classes that it names, which a set doesn't know.
    """
    if isinstance(other, ClassSet):
        return other._indices
    if isinstance(other, ClassInfo):
        return frozenset((other.index,))
    if isinstance(classes := getattr(other, "classes", None), ClassSet):  # a node
        return classes._indices
    if isinstance(other, (str, bytes, bool)):
        raise ClassLookupError(
            f"a set of classes doesn't know {other!r}; give an index, a node, or explanation.class_set({other!r})"
        )
    try:
        return ClassSet([operator.index(other)])._indices
    except TypeError:
        pass
    try:
        return frozenset().union(*map(_indices_of, other))
    except TypeError:
        raise ClassLookupError(f"{other!r} is no class or set of classes; give an index, node or ClassSet") from None


class _NoSuchClassError(ClassLookupError, IndexError):
    """Raised for an index that is out of range, which ends loops over a sequence."""


class ClassTable(Sequence[ClassInfo]):
    """The classes of one checkpoint, in the order of its class branch.

    Parameters
    ----------
    classes : iterable of ClassInfo
        ``classes[i].index`` must be i.
    """

    def __init__(self, classes: Iterable[ClassInfo]) -> None:
        self._classes = tuple(classes)
        for position, info in enumerate(self._classes):
            if info.index != position:
                raise ClassLookupError(f"class {info.index} ({info.name}) is at position {position}")
        self._by_wnid = {info.wnid: info for info in self._classes if info.wnid}

    @overload
    def __getitem__(self, item: int | str) -> ClassInfo: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[ClassInfo, ...]: ...
    def __getitem__(self, item: int | str | slice) -> ClassInfo | tuple[ClassInfo, ...]:
        """The class of an index, a wnid or a name that only it has; or several.

        Raises
        ------
        ClassLookupError
            If there is no such class, or several have that name.
        """
        if isinstance(item, slice):
            return self._classes[item]
        if isinstance(item, str):
            return self._of_text(item)
        if isinstance(item, bool):
            raise ClassLookupError(f"{item} is no class; give an index, wnid or name")
        try:
            return self._classes[operator.index(item)]
        except IndexError:
            raise _NoSuchClassError(f"there is no class {item}; there are {len(self)}, the first is 0") from None
        except TypeError:
            raise ClassLookupError(f"{item!r} is no class; give an index, wnid or name") from None

    def _of_text(self, text: str) -> ClassInfo:
        if info := self.by_wnid(text):
            return info
        found = self.named(text)
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(info.label for info in found)
            raise ClassLookupError(f"{text!r} names several classes; use an id instead: {names}")
        near = ", ".join(info.label for info in self.find(text)[:5])
        raise ClassLookupError(f"no class is called {text!r}" + (f"; did you mean {near}?" if near else ""))

    def __iter__(self) -> Iterator[ClassInfo]:
        return iter(self._classes)

    def __contains__(self, item: object) -> bool:
        """Whether a class is one of these: by its wnid, a name (even one that several have), index, or itself."""
        if isinstance(item, str):
            return item in self._by_wnid or bool(self.named(item))
        if isinstance(item, ClassInfo):
            return item in self._classes
        try:
            return not isinstance(item, bool) and 0 <= operator.index(cast("SupportsIndex", item)) < len(self)
        except TypeError:
            return False

    def __repr__(self) -> str:
        names = ", ".join(info.name for info in self._classes[:3])
        return f"<ClassTable: {len(self)} classes, {names}{', …' if len(self) > 3 else ''}>"

    def __len__(self) -> int:
        return len(self._classes)

    @property
    def all(self) -> ClassSet:
        """The set of all classes."""
        return ClassSet(range(len(self)))

    def by_wnid(self, wnid: str) -> ClassInfo | None:
        """The class with this WordNet id, or None."""
        return self._by_wnid.get(wnid)

    @cached_property
    def _by_text(self) -> dict[str, list[ClassInfo]]:
        found: dict[str, list[ClassInfo]] = {}
        for info in self._classes:
            for text in dict.fromkeys(fold_text(t) for t in (info.name, *info.synonyms)):
                found.setdefault(text, []).append(info)
        return found

    def named(self, name: str) -> tuple[ClassInfo, ...]:
        """Classes whose name (or, where no name matches, a synonym) is exactly `name`, case aside."""
        text = fold_text(name)
        matches = self._by_text.get(text, [])
        named = [info for info in matches if fold_text(info.name) == text]
        return tuple(named or matches)

    def name_of(self, index: int) -> str:
        """What a class is called: its name, with its id where another class has that name too."""
        info = self._classes[index]
        return info.name if len(self.named(info.name)) == 1 else info.label

    @cached_property
    def _searchable(self) -> tuple[Searchable, ...]:
        """What `find` looks through, for each class."""
        return tuple(
            Searchable((info.name, *info.synonyms), info.wnid or "", info.gloss, info.index) for info in self._classes
        )

    def find(self, text: str) -> tuple[ClassInfo, ...]:
        """All classes that `text` may mean: part of a name, synonym, wnid or description, or an index.

        Parameters
        ----------
        text : str
            See `Searchable.matches`; a blank one finds nothing.

        Returns
        -------
        tuple of ClassInfo
            Whole-name matches first, then names and synonyms, then the rest; each by index.
        """
        needle = fold_text(text)
        if not needle:
            return ()
        known = self._searchable
        hits = [info for info in self._classes if known[info.index].matches(needle)]
        return tuple(
            sorted(hits, key=lambda i: (fold_text(i.name) != needle, not known[i.index].is_named(needle), i.index))
        )
