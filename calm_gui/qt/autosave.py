"""The session is kept while the program runs, so that a crash costs nothing."""

import logging
from pathlib import Path

import platformdirs
from PySide6.QtCore import QObject, QTimer

from calm_gui.errors import CalmError
from calm_gui.session.workspace import Workspace

__all__ = ["Autosave", "autosave_path"]

_SECONDS = 10
_log = logging.getLogger(__name__)


def autosave_path() -> Path:
    """Where the session of a running program is kept."""
    return Path(platformdirs.user_state_dir("calm-gui", appauthor=False)) / "autosave.calm.json"


class Autosave(QObject):
    """Saves a changed session every few seconds, and removes the file when the program ends well.

    Parameters
    ----------
    workspace : Workspace
    path : Path
    """

    def __init__(self, workspace: Workspace, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._path = path
        self._saved: object = workspace.state
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.save)

    def start(self) -> bool:
        """Begin; whether a session was left over from a program that didn't end well."""
        self._timer.start(_SECONDS * 1000)
        return self._path.exists()

    def save(self) -> None:
        """Save if anything has changed."""
        state = self._workspace.state
        if state is self._saved or not state.pictures:
            return
        self._saved = state
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._workspace.save_session(self._path)
        except (CalmError, OSError) as error:
            _log.warning("autosave failed: %s", error)

    def finish(self) -> None:
        """The program ends well: nothing is left."""
        self._timer.stop()
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("autosave not removed: %s", error)
