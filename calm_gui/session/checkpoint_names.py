"""What open checkpoints are called: by folder and file, since all runs call theirs ``best.safetensors``."""

from collections.abc import Iterable

from calm_gui.api import bundled_checkpoints
from calm_gui.core.comparison import distinct_ends

__all__ = ["checkpoint_names"]

_FOLDER_AND_FILE = 2


def checkpoint_names(keys: Iterable[str]) -> dict[str, str]:
    """A name for each key (path): a bundled checkpoint's own, else the end of its path that no other one has."""
    bundled = {str(path.absolute()): name for name, path in bundled_checkpoints().items()}
    given = tuple(dict.fromkeys(keys))
    others = [key for key in given if key not in bundled]
    names = dict(zip(others, distinct_ends(others, least=_FOLDER_AND_FILE), strict=True))
    return {key: bundled[key] if key in bundled else names[key] for key in given}
