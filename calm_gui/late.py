"""NumPy, imported when something of it is first used: the window's first frame needs none (docs/decisions/0007)."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["np"]


class _LateModule(ModuleType):
    """Stands for a module; what was asked for once is found without detour from then on."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import numpy as np
else:
    np = _LateModule("numpy")
