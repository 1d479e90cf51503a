"""Settings that survive: recent files, theme, window. A broken settings file is put aside, and counts as none."""

import json
import logging
from pathlib import Path
from typing import Any

import platformdirs

from calm_gui.errors import CalmError, why_unreadable
from calm_gui.model.files import put_aside, read_bounded, write_text

__all__ = ["Settings", "settings_path"]

_log = logging.getLogger(__name__)
_MOST_RECENT = 10
_MAX_BYTES = 5_000_000


def settings_path() -> Path:
    """Where the settings are kept."""
    return Path(platformdirs.user_config_dir("calm-gui", appauthor=False)) / "settings.json"


class Settings:
    """A JSON object on disk, read once and written at each change.

    Parameters
    ----------
    path : Path or None
        None keeps nothing.

    Attributes
    ----------
    note : str
        What the user must know about them, in one sentence; empty if nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._values: dict[str, Any] = {}
        self.note = ""
        if path is None:
            return
        try:
            path.lstat()
            values = json.loads(read_bounded(path, _MAX_BYTES, CalmError))
            if not isinstance(values, dict):
                raise ValueError("not a JSON object")
            self._values = values
        except FileNotFoundError:
            return
        except (CalmError, OSError) as error:  # it can't be read, whatever it holds: it is left as it is
            self._path = None
            why = why_unreadable(error)
            self.note = f"the settings can't be read, so the defaults are used and changes aren't saved: {why}"
        except (ValueError, RecursionError) as error:
            self.note = self._damaged(path, error)
        if self.note:
            _log.warning("%s", self.note)

    def _damaged(self, path: Path, error: Exception) -> str:
        """Put settings aside that make no sense; what is said about it."""
        what = f"the settings {path} are damaged ({why_unreadable(error)})"
        if (aside := put_aside(path)) is None:
            self._path = None
            return f"{what}, so the defaults are used and changes aren't saved"
        return f"{what}, so the defaults are used; the old file is kept as {aside.name}"

    @property
    def values(self) -> dict[str, Any]:
        """A copy of all settings."""
        return dict(self._values)

    def text(self, key: str, default: str = "") -> str:
        """A setting that is text."""
        value = self._values.get(key)
        return value if isinstance(value, str) else default

    def number(self, key: str, default: float) -> float:
        """A setting that is a number of 0 or more."""
        value = self._values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e12:
            return default
        return float(value)

    def recent(self, kind: str) -> list[str]:
        """Recently opened files of a kind (``pictures`` or ``checkpoints``), the latest first."""
        value = self._values.get(f"recent {kind}")
        return [path for path in value if isinstance(path, str)] if isinstance(value, list) else []

    def add_recent(self, kind: str, path: str) -> None:
        """Remember a file."""
        self.set(f"recent {kind}", [path, *(p for p in self.recent(kind) if p != path)][:_MOST_RECENT])

    def set(self, key: str, value: Any) -> None:
        """Change a setting and write the file; a failure is logged, for no work is lost by it."""
        self._values[key] = value
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self._path, json.dumps(self._values, indent=1), overwrite=True)
        except (CalmError, OSError) as error:
            _log.warning("settings not saved: %s", error)
