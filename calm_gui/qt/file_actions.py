"""What the File menu does: asks for files and hands them to the workspace."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6 import QtWidgets

from calm_gui.errors import CalmError
from calm_gui.model.hierarchy_file import read_hierarchy, write_hierarchy
from calm_gui.qt.hub import Hub
from calm_gui.qt.save_dialog import ask_where_to_save
from calm_gui.qt.settings import Settings
from calm_gui.qt.widgets.screen import fit_to_screen

__all__ = ["CHECKPOINT_SUFFIXES", "FileActions"]

_SESSIONS = "Sessions (*.calm.json);;All files (*)"
CHECKPOINT_SUFFIXES = (".safetensors", ".pth", ".pt", ".tar", ".ckpt")


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
        """Open whatever these are: sessions and checkpoints by their ending, the rest as pictures."""
        sessions = [path for path in paths if path.lower().endswith(".calm.json")]
        checkpoints = [path for path in paths if path.lower().endswith(CHECKPOINT_SUFFIXES)]
        pictures = [path for path in paths if path not in (*checkpoints, *sessions)]
        if sessions:
            self._workspace.open_session(sessions[0])
        if checkpoints:
            self._settings.set("checkpoint folder", str(Path(checkpoints[0]).parent))
            self._settings.add_recent("checkpoints", checkpoints[0])
            self._workspace.open_checkpoint(checkpoints[0])
        if pictures:
            self._settings.set("folder", str(Path(pictures[0]).parent))
            self._settings.add_recent("pictures", pictures[0])
            self._workspace.open_pictures(pictures)

    def open_pictures(self) -> None:
        """Ask for pictures and open them."""
        paths, _ = QtWidgets.QFileDialog.getOpenFileNames(self._window, "Open pictures", self._settings.text("folder"))
        if paths:
            self.open(paths)

    def open_folder(self) -> None:
        """Ask for a folder and open its pictures."""
        path = QtWidgets.QFileDialog.getExistingDirectory(
            self._window, "Open a folder of pictures", self._settings.text("folder")
        )
        if path:
            self.open([path])

    def open_checkpoint(self) -> None:
        """Ask for a checkpoint and open it."""
        patterns = " ".join(f"*{suffix}" for suffix in CHECKPOINT_SUFFIXES)
        path = self._ask("Open a checkpoint", f"Checkpoints ({patterns});;All files (*)", "checkpoint folder")
        if path:
            self.open([path])

    def open_session(self) -> None:
        """Ask for a session and open it."""
        if path := self._ask("Open a session", _SESSIONS, "session folder"):
            self._workspace.open_session(path)

    def save_session(self) -> None:
        """Ask for a place and save the session."""
        start = str(Path(self._settings.text("session folder", str(Path.home()))) / "session.calm.json")
        if path := ask_where_to_save(self._window, "Save the session", start, _SESSIONS):
            self._guarded(lambda: self._workspace.save_session(path))

    def restore_last(self) -> None:
        """Open the session that was ended last."""
        from calm_gui.qt.autosave import autosave_folder, ended_sessions

        if ended := ended_sessions(autosave_folder()):
            self._workspace.open_session(ended[0])
        else:
            self._workspace.complain("No session has ended yet on this computer")

    def load_truth(self) -> None:
        """Ask for a table of ground truth."""
        if path := self._ask("Ground truth", "Tables (*.csv);;All files (*)", "truth folder"):
            self._workspace.load_truth(path)

    def load_hierarchy(self) -> None:
        """Ask for a hierarchy of the checkpoint's classes."""
        if path := self._ask("Load a hierarchy", "Hierarchies (*.json *.csv *.txt);;All files (*)", "hierarchy folder"):
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
        path = ask_where_to_save(self._window, "Save the hierarchy", "hierarchy.json", "JSON (*.json)")
        if path and hierarchy is not None:
            self._guarded(lambda: write_hierarchy(path, hierarchy))

    def export(self) -> None:
        """Ask how, and save a figure of what the panes show."""
        from calm_gui.qt.export_dialog import ExportDialog

        self.run(ExportDialog(self._hub, self._settings, self._window))

    def batch(self) -> None:
        """Explain all open pictures."""
        from calm_gui.qt.batch_dialog import BatchDialog

        self.run(BatchDialog(self._hub, self._settings, self._window))

    def export_numbers(self) -> None:
        """Ask for a place and save the active pane's map as numbers."""
        start = str(Path(self._settings.text("export folder", str(Path.home()))) / "map.npz")
        if path := ask_where_to_save(self._window, "Export numbers", start, "NumPy (*.npz)"):
            from calm_gui.session.scene_figure import active_map

            self._guarded(lambda: active_map(self._hub.scene).save(path))

    def _ask(self, title: str, filters: str, folder: str) -> str:
        path, _ = QtWidgets.QFileDialog.getOpenFileName(self._window, title, self._settings.text(folder), filters)
        if path:
            self._settings.set(folder, str(Path(path).parent))
        return path

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except CalmError as error:
            self._workspace.complain(str(error))

    @staticmethod
    def run(dialog: "QtWidgets.QDialog") -> None:
        """Show a dialog, no larger than the screen, until it's closed, and forget it."""
        fit_to_screen(dialog)
        dialog.exec()
        dialog.deleteLater()
