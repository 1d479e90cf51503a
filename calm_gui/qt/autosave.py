"""The session is kept while the program runs, so that a crash costs nothing, and after it, so that it can be restored.

Each running program has a file of its own, which a lock marks as in use. A file whose lock nobody holds was left by a
program that didn't end well. What ended well is kept under another name.
"""

import logging
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import platformdirs
from PySide6.QtCore import QLockFile, QObject, QTimer

from calm_gui.errors import CalmError, SessionError
from calm_gui.model.files import put_aside
from calm_gui.session.workspace import Workspace

__all__ = ["Autosave", "LeftOver", "autosave_folder", "ended_sessions"]

_SECONDS = 5
_MOST_ENDED = 10
_RUNNING, _ENDED, _SUFFIX = "running", "ended", ".calm.json"
_OF_0_1 = "autosave.calm.json"
"""The one file that all programs of version 0.1 shared."""

_log = logging.getLogger(__name__)


def autosave_folder() -> Path:
    """Where the sessions of running and ended programs are kept."""
    return Path(platformdirs.user_state_dir("calm-gui", appauthor=False))


def ended_sessions(folder: Path) -> list[Path]:
    """Sessions of programs that ended well, the latest first."""
    return _latest_first(folder.glob(f"{_ENDED}-*{_SUFFIX}"))


def _latest_first(paths: Iterable[Path]) -> list[Path]:
    stamped = []
    for path in paths:
        try:
            stamped.append((path.stat().st_mtime_ns, path))
        except OSError:  # another program took it meanwhile
            continue
    return [path for _, path in sorted(stamped, reverse=True)]


class LeftOver(NamedTuple):
    """A session of a program that didn't end well.

    Attributes
    ----------
    path : Path
    lock : QLockFile
        Held, so that no other program offers the same session.
    saved : float
        When it was written, in seconds of `time.time`.
    pictures : tuple of str
        Paths of its pictures.
    """

    path: Path
    lock: QLockFile
    saved: float
    pictures: tuple[str, ...]


class Autosave(QObject):
    """Saves a changed session every few seconds.

    Parameters
    ----------
    workspace : Workspace
    folder : Path

    Attributes
    ----------
    path : Path
        This program's own file.
    """

    def __init__(self, workspace: Workspace, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._folder = folder
        self._name = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
        self.path = folder / f"{_RUNNING}-{self._name}{_SUFFIX}"
        self._lock = _lock_of(self.path)
        self._first: object = workspace.state
        self._saved: object = workspace.state
        self._told = False
        self._left: list[LeftOver] = []
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.save)

    def start(self) -> None:
        """Save from now on; what is open now can be had again by opening it, so only changes to it count."""
        self._first = self._saved = self._workspace.state
        self._timer.start(_SECONDS * 1000)

    def left_over(self) -> list[LeftOver]:
        """Sessions of programs that didn't end well, the latest first; no other program gets the same ones.

        Files that are no sessions are put aside with another ending, and told.
        """
        from calm_gui.session.persistence import load_session  # off the start-up path

        try:
            paths = [*self._folder.glob(f"{_RUNNING}-*{_SUFFIX}"), *self._folder.glob(_OF_0_1)]
        except OSError as error:
            _log.warning("%s can't be listed: %s", self._folder, error)
            return []
        for path in _latest_first(paths):
            lock = _lock_of(path)
            if path == self.path or not lock.tryLock(0):
                continue
            try:
                state, missing = (saved := load_session(path)).state, saved.missing
                self._left.append(LeftOver(path, lock, path.stat().st_mtime, (*state.pictures, *missing)))
            except SessionError as error:
                self._put_aside(path, error)
                lock.unlock()
            except OSError as error:
                _log.warning("%s can't be read: %s", path, error)
                lock.unlock()
        return list(self._left)

    def _put_aside(self, path: Path, error: SessionError) -> None:
        aside = put_aside(path)
        if aside is None:
            _log.warning("%s couldn't be moved aside", path)
            return
        self._workspace.complain(
            f"The session of a program that ended unexpectedly can't be used ({error}); it is kept as {aside}"
        )

    def restore(self, left: LeftOver) -> bool:
        """Open a session that was left; it goes once this program has kept all of it itself."""
        saved = self._workspace.open_session(left.path)
        if saved is None:
            return False
        self._saved = None
        if self.save() and not saved.missing:
            self.discard(left)
        return True

    def discard(self, left: LeftOver) -> None:
        """Forget a session that was left."""
        try:
            left.path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s couldn't be removed: %s", left.path, error)
        left.lock.unlock()
        self._left = [other for other in self._left if other is not left]

    def save(self) -> bool:
        """Save if anything has changed; whether all of it is on disk now."""
        state = self._workspace.state
        if state is self._saved:
            return True
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._lock.isLocked():
                self._lock.tryLock(0)
            self._workspace.save_session(self.path)
        except (CalmError, OSError) as error:
            _log.warning("autosave failed: %s", error)
            if not self._told:
                self._told = True
                self._workspace.complain(f"Your work can't be saved automatically: {error}")
            return False
        self._saved = state
        self._told = False
        return True

    def finish(self) -> None:
        """The program ends well: its session is kept as one that has ended, if the user changed anything."""
        self._timer.stop()
        changed = self._workspace.state != self._first
        kept = self.save()
        try:
            if changed and kept:
                self.path.replace(self._folder / f"{_ENDED}-{self._name}{_SUFFIX}")
                for old in ended_sessions(self._folder)[_MOST_ENDED:]:
                    old.unlink(missing_ok=True)
            elif kept:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("the session couldn't be saved: %s", error)
        for left in self._left:
            left.lock.unlock()
        self._lock.unlock()


def _lock_of(path: Path) -> QLockFile:
    lock = QLockFile(f"{path}.lock")
    lock.setStaleLockTime(0)  # it's held as long as its program runs, however long that is
    return lock
