"""Classes and sets of classes. A class is its index (and wnid, if known), never its name."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from calm_gui.errors import ClassLookupError

__all__ = ["ClassInfo", "ClassSet", "ClassTable", "fold_text"]


def fold_text(text: str) -> str:
    """Text as search compares it: case, accents, and `_` against blank make no difference."""
    if text.isascii():  # nothing to decompose; thousands of these are folded at the first search
        return text.casefold().replace("_", " ").strip()
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("_", " "))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).strip()


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

    def __or__(self, other: "ClassSet") -> "ClassSet":
        return ClassSet(self._indices | other._indices)

    def __and__(self, other: "ClassSet") -> "ClassSet":
        return ClassSet(self._indices & other._indices)

    def __sub__(self, other: "ClassSet") -> "ClassSet":
        return ClassSet(self._indices - other._indices)

    def __le__(self, other: "ClassSet") -> bool:
        return self._indices <= other._indices

    def complement(self, n_classes: int) -> "ClassSet":
        """All of `n_classes` classes that aren't in this set."""
        return ClassSet(set(range(n_classes)) - self._indices)

    def __repr__(self) -> str:
        shown = ", ".join(str(i) for i in list(self)[:6])
        return f"ClassSet({{{shown}{', …' if len(self) > 6 else ''}}}, {len(self)} classes)"


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
                raise ClassLookupError(f"class {info.index} ({info.name}) stands at position {position}")
        self._by_wnid = {info.wnid: info for info in self._classes if info.wnid}

    @overload
    def __getitem__(self, item: int) -> ClassInfo: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[ClassInfo, ...]: ...
    def __getitem__(self, item: int | slice) -> ClassInfo | tuple[ClassInfo, ...]:
        return self._classes[item]

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

    @cached_property
    def _searchable(self) -> tuple[str, ...]:
        """What `find` looks through, for each class: name, synonyms and wnid, a line each."""
        return tuple(
            "\n".join(fold_text(t) for t in (info.name, *info.synonyms, info.wnid or "")) for info in self._classes
        )

    def find(self, text: str) -> tuple[ClassInfo, ...]:
        """All classes that `text` may mean: part of a name, synonym or wnid, or an index.

        Parameters
        ----------
        text : str

        Returns
        -------
        tuple of ClassInfo
            Whole-name matches first, then by index.
        """
        needle = fold_text(text)
        if not needle:
            return ()
        hits = [
            info
            for info, known in zip(self._classes, self._searchable, strict=True)
            if needle == str(info.index) or needle in known
        ]
        return tuple(sorted(hits, key=lambda info: (fold_text(info.name) != needle, info.index)))
