"""Models that are loaded: the least recently used ones go when all of them together are too large."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["MOST_BYTES", "OpenModels"]

MOST_BYTES = 512 * 2**20
"""Of weights in memory. One that is larger alone is kept all the same, alone."""


class OpenModels:
    """Models by the key of their checkpoint; one that went is loaded again when it's asked.

    Used by the worker and by who asks it.

    Parameters
    ----------
    most_bytes : int
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
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
            total = sum(one.weight_bytes for one in self._models.values())
            for other in list(self._models):
                if total <= self._most_bytes or other == key:
                    break
                total -= self._models.pop(other).weight_bytes
            before, self._identities[key] = self._identities.get(key), model.identity
        return before is not None and before != model.identity

    def forget(self, key: str) -> None:
        """Forget a model and what its file was."""
        with self._lock:
            self._models.pop(key, None)
            self._identities.pop(key, None)

    def clear(self) -> None:
        """Unload all of them."""
        with self._lock:
            self._models.clear()
