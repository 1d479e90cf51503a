"""An ordered collection of things of one kind, each known by its key; others may add to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

__all__ = ["Registered", "Registry"]

_log = logging.getLogger(__name__)


class Registered(Protocol):
    """What a registry holds: anything with a key."""

    @property
    def key(self) -> str:
        """What it is called in files and on command lines."""


Item = TypeVar("Item", bound=Registered)


class Registry(Mapping[str, Item], Generic[Item]):
    """Things by key, in the order in which they were registered.

    Parameters
    ----------
    noun : str
        What one of them is called in messages, such as "reading".
    error : exception class
        Raised, with the names there are, where a key is unknown.
    incomplete : callable, optional
        What a thing lacks, in words; an empty text if nothing.
    group : str
        Group of entry points through which installed packages add things, each naming one; none if empty. They are
        looked for when all things are asked for, or one that isn't known. One that can't be used is logged and passed
        over.
    """

    def __init__(
        self,
        noun: str,
        error: type[Exception] = KeyError,
        incomplete: Callable[[Item], str] = lambda _: "",
        group: str = "",
    ) -> None:
        self._noun = noun
        self._error = error
        self._incomplete = incomplete
        self._group = group
        self._items: dict[str, Item] = {}

    def register(self, item: Item) -> Item:
        """Add a thing and give it back.

        Raises
        ------
        TypeError
            If it lacks what every one of them must have, or another one has its key.
        """
        if lacking := self._incomplete(item):
            raise TypeError(f"the {self._noun} {item.key or type(item).__name__!r} lacks {lacking}")
        if item.key in self._items:
            raise TypeError(f"there is a {self._noun} {item.key!r} already")
        self._items[item.key] = item
        return item

    def forget(self, key: str) -> None:
        """Take a thing out again."""
        del self._items[key]

    def _find_others(self) -> None:
        """Add what installed packages offer, once."""
        if not self._group:
            return
        from importlib.metadata import entry_points  # off the start-up path

        group, self._group = self._group, ""
        for entry in entry_points(group=group):
            try:
                self.register(entry.load())
            except Exception as error:  # whatever a stranger's package raises, it ends only itself
                _log.warning("the %s %s of another package can't be used: %s", self._noun, entry.name, error)

    def __getitem__(self, key: str) -> Item:
        if key not in self:
            raise self._error(f"there is no {self._noun} {key!r}; there are {', '.join(self)}")
        return self._items[key]

    def __contains__(self, key: object) -> bool:
        if key not in self._items:
            self._find_others()
        return key in self._items

    def __iter__(self) -> Iterator[str]:
        self._find_others()
        return iter(list(self._items))

    def __len__(self) -> int:
        self._find_others()
        return len(self._items)
