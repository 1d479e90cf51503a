"""What the File menu does: asks for files and hands them to the workspace."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6 import QtGui, QtWidgets
from PySide6.QtCore import QMimeData

from calm_gui.errors import CalmError
from calm_gui.model.hierarchy_file import read_hierarchy, write_hierarchy
from calm_gui.qt.dialogs.folders import FolderKind, remember_folder, start_folder
from calm_gui.qt.dialogs.save_dialog import ask_where_to_save
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.widgets.screen import fit_to_screen
from calm_gui.qt.window.offered_files import CHECKPOINT_SUFFIXES, Offered, from_mime, offered
from calm_gui.session.failures import told_failure

__all__ = ["FileActions"]

_SESSIONS = "Sessions (*.calm.json);;All files (*)"


class FileActions:
    """Opening and saving.

    Parameters
    ----------
    window : QWidget
        Parent of the dialogs.
    hub : Hub
    settings : Settings
    """

    def __init__(self, window: QtWidgets.QWidget, hub: Hub, settings: Settings) -> None:
        self._window = window
        self._hub = hub
        self._workspace = hub.workspace
        self._settings = settings

    def open(self, paths: Sequence[str]) -> None:
        """Open whatever these are; what is nothing that can be opened is told, and leaves what is open as it was."""
        self._open(offered(paths))

    def take(self, data: QMimeData) -> None:
        """Open what was dropped."""
        self._open(from_mime(data))

    def paste(self) -> None:
        """Open what is on the clipboard; a picture comes beside those that are open."""
        found = from_mime(QtGui.QGuiApplication.clipboard().mimeData())
        for path in found.pictures:
            self._workspace.add_picture(path)
        self._open(found._replace(pictures=()))

    def _open(self, found: Offered) -> None:
        for path in found.sessions[:1]:
            self._settings.add_recent("sessions", path)
            self._workspace.open_session(path)
        for path in found.checkpoints[:1]:
            self._open_checkpoint(path)
        if found.pictures:
            remember_folder(self._settings, "pictures", found.pictures[0])
            self._settings.add_recent("pictures", found.pictures[0])
            self._workspace.open_pictures(found.pictures)
        for path in found.tables[:1]:
            self._workspace.load_truth(path)
        if found.refused:
            self._workspace.complain("; ".join(found.refused[:3]))

    def _open_checkpoint(self, path: str) -> None:
        remember_folder(self._settings, "checkpoint", path)
        self._settings.add_recent("checkpoints", path)
        self._workspace.open_checkpoint(path)

    def open_pictures(self) -> None:
        """Ask for pictures and open them."""
        paths, _ = QtWidgets.QFileDialog.getOpenFileNames(self._window, "Open pictures", self._folder("pictures"))
        if paths:
            self.open(paths)

    def open_folder(self) -> None:
        """Ask for a folder and open its pictures."""
        path = QtWidgets.QFileDialog.getExistingDirectory(
            self._window, "Open a folder of pictures", self._folder("pictures")
        )
        if path:
            self.open([path])

    def open_checkpoint(self) -> None:
        """Ask for a checkpoint and open it."""
        patterns = " ".join(f"*{suffix}" for suffix in CHECKPOINT_SUFFIXES)
        path = self._ask("Open a checkpoint", f"Checkpoints ({patterns});;All files (*)", "checkpoint")
        if path:
            self._open_checkpoint(path)

    def open_session(self) -> None:
        """Ask for a session and open it."""
        if path := self._ask("Open a session", _SESSIONS, "session"):
            self._workspace.open_session(path)

    def save_session(self) -> None:
        """Ask for a place and save the session."""
        start = self._start(".calm.json")
        path = ask_where_to_save(self._window, "Save the session", start, _SESSIONS)
        if path and self._guarded(lambda: self._workspace.save_session(path)):
            remember_folder(self._settings, "session", path)
            self._settings.add_recent("sessions", path)
            self._hub.saved.emit(path)

    def pack_session(self) -> None:
        """Ask for a place and write session, pictures and table as one file for somebody else."""
        from calm_gui.session.packing import pack_session

        path = ask_where_to_save(self._window, "Pack the session", self._start(".zip"), "Zip (*.zip)")
        if path and self._guarded(lambda: self._hub.said.emit(pack_session(path, self._workspace))):
            remember_folder(self._settings, "session", path)
            self._hub.saved.emit(path)

    def restore_last(self) -> None:
        """Open the session that was ended last."""
        from calm_gui.qt.autosave import autosave_folder, ended_sessions

        if ended := ended_sessions(autosave_folder()):
            self._workspace.open_session(ended[0])
        else:
            self._workspace.complain("There is no earlier session on this computer")

    def load_truth(self) -> None:
        """Ask for a table of ground truth."""
        if path := self._ask("Ground truth", "Tables (*.csv);;All files (*)", "truth"):
            self._workspace.load_truth(path)

    def load_hierarchy(self) -> None:
        """Ask for a hierarchy of the checkpoint's classes."""
        if path := self._ask("Load your own hierarchy", "Hierarchies (*.json *.csv *.txt);;All files (*)", "hierarchy"):
            self.use_hierarchy(path)

    def use_hierarchy(self, path: str) -> None:
        """Use the hierarchy of a file, or say why not."""
        try:
            hierarchy = read_hierarchy(path, self._hub.scene.classes)
        except CalmError as error:
            self._workspace.complain(str(error))
        else:
            self._workspace.set_hierarchy(hierarchy)

    def save_hierarchy(self) -> None:
        """Ask for a place and save the hierarchy."""
        hierarchy = self._hub.scene.hierarchy
        name = f"{Path(self._workspace.state.selection.checkpoint).stem}.hierarchy.json"
        start = str(Path(self._folder("hierarchy")) / name)
        path = ask_where_to_save(self._window, "Save the hierarchy", start, "JSON (*.json)")
        inputs = self._workspace.state.files
        if path and hierarchy is not None and self._guarded(lambda: write_hierarchy(path, hierarchy, inputs)):
            remember_folder(self._settings, "hierarchy", path)
            self._hub.saved.emit(path)

    def _folder(self, kind: FolderKind) -> str:
        """Where a dialog begins."""
        return start_folder(self._settings, kind, self._workspace.state.picture)

    def _start(self, suffix: str) -> str:
        """Where saving a session begins, with the name of the current picture's folder."""
        picture = self._workspace.state.picture
        stem = Path(picture).parent.name if picture else ""
        return str(Path(self._folder("session")) / f"{stem or 'session'}{suffix}")

    def export(self) -> None:
        """Ask how, and save a figure of what the panes show."""
        from calm_gui.qt.dialogs.export_dialog import ExportDialog

        self.run(ExportDialog(self._hub, self._settings, self._window))

    def batch(self) -> None:
        """Explain all open pictures."""
        from calm_gui.qt.dialogs.batch_dialog import BatchDialog

        self.run(BatchDialog(self._hub, self._settings, self._window))

    def export_numbers(self) -> None:
        """Ask for a place and save the active pane's map as numbers."""
        from calm_gui.session.scene_figure import active_map

        name = f"{Path(self._workspace.state.picture or 'map').stem}.{self._hub.scene.active.shows.key}.npz"
        start = str(Path(self._folder("export")) / name)
        path = ask_where_to_save(self._window, "Export numbers", start, "NumPy (*.npz)")
        if path and self._guarded(lambda: active_map(self._hub.scene).save(path)):
            remember_folder(self._settings, "export", path)
            self._hub.saved.emit(path)

    def _ask(self, title: str, filters: str, kind: FolderKind) -> str:
        path, _ = QtWidgets.QFileDialog.getOpenFileName(self._window, title, self._folder(kind), filters)
        if path:
            remember_folder(self._settings, kind, path)
        return path

    def _guarded(self, action: Callable[[], object]) -> bool:
        """Do something, or tell why it can't be done; whether it was done."""
        try:
            action()
        except Exception as error:
            self._workspace.complain(told_failure(error))
            return False
        return True

    @staticmethod
    def run(dialog: "QtWidgets.QDialog") -> None:
        """Show a dialog, no larger than the screen, until it's closed, and forget it."""
        fit_to_screen(dialog)
        dialog.exec()
        dialog.deleteLater()
