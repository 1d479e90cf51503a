"""Models that are loaded: the least recently used ones go when all of them together are too large."""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["MOST_BYTES", "OpenModels", "give_back_memory"]

MOST_BYTES = 512 * 2**20
"""Of weights in memory. One that is larger alone is kept all the same, alone."""


class OpenModels:
    """Models by the key of their checkpoint; one that went is loaded again when it's asked.

    Used by the worker and by who asks it.

    Parameters
    ----------
    most_bytes : int
    unloaded : callable
        Called after models were unloaded.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, unloaded: Callable[[], None] = lambda: None) -> None:
        self._most_bytes = most_bytes
        self._unloaded = unloaded
        self._models: OrderedDict[str, LoadedModel] = OrderedDict()
        self._identities: dict[str, str] = {}
        self._lock = Lock()

    def __contains__(self, key: object) -> bool:
        return key in self._models

    def __len__(self) -> int:
        return len(self._models)

    def __getitem__(self, key: str) -> LoadedModel:
        return self._models[key]

    def get(self, key: str) -> LoadedModel | None:
        """A model if it is loaded; it counts as used just now."""
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
            return self._models.get(key)

    def keep(self, key: str, model: LoadedModel) -> bool:
        """Keep a model, for which others may have to go; whether its file or its answers aren't those of before."""
        with self._lock:
            self._models[key] = model
            self._models.move_to_end(key)
            loaded = len(self._models)
            total = sum(one.weight_bytes for one in self._models.values())
            for other in list(self._models):
                if total <= self._most_bytes or other == key:
                    break
                total -= self._models.pop(other).weight_bytes
            before, self._identities[key] = self._identities.get(key), model.identity
            fewer = len(self._models) < loaded
        if fewer:
            self._unloaded()
        return before is not None and before != model.identity

    def forget(self, key: str) -> None:
        """Forget a model and what its file was."""
        with self._lock:
            gone = self._models.pop(key, None)
            self._identities.pop(key, None)
        if gone is not None:
            self._unloaded()

    def clear(self) -> None:
        """Unload all of them."""
        with self._lock:
            self._models.clear()
        self._unloaded()


def give_back_memory() -> None:
    """Give memory that was freed back to the system, where the C library keeps it for later; takes up to 0.1 s.

    After some ResNet50s came and went it keeps as much as two or three of them take.
    """
    if sys.platform.startswith("linux") and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
