"""Help > Report a problem: what a report needs, to copy or save. No picture contents, and nothing is sent."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from PySide6.QtCore import qVersion
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from calm_gui.log_file import log_path
from calm_gui.model.files import write_text
from calm_gui.qt.dialogs.folders import remember_folder, start_folder
from calm_gui.qt.dialogs.save_dialog import ask_where_to_save
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.session.failures import told_failure
from calm_gui.session.pane import shows_text
from calm_gui.version import __version__

__all__ = ["ReportDialog", "report_text"]

_LIBRARIES = ("torch", "torchvision", "timm", "PySide6-Essentials", "numpy", "pillow", "safetensors", "matplotlib")
_RIVALS = ("PyQt5", "PyQt6", "PySide2", "opencv-python", "opencv-contrib-python")
_LOG_BYTES = 20_000


def report_text(hub: Hub, settings: Settings) -> str:
    """Versions, device, settings, what is open, and the end of the log.

    The home folder's name is replaced by ``~``.
    """
    workspace = hub.workspace
    state = workspace.state
    model = workspace.compute.models.get(state.selection.checkpoint)
    rivals = [f"{name} {found}" for name in _RIVALS if (found := _version(name))]
    parts = [
        f"calm-gui {__version__}",
        f"Python {platform.python_version()} on {platform.platform()}",
        f"Qt {qVersion()}, platform {QGuiApplication.platformName()}",
        ", ".join(f"{name} {_version(name) or 'missing'}" for name in _LIBRARIES),
        *([f"also installed: {', '.join(rivals)}"] if rivals else []),
        f"device: {model.device if model else 'nothing loaded'} (asked for: {workspace.compute.device})",
        f"checkpoint: {Path(state.selection.checkpoint).name}, SHA-256 {model.sha256 if model else 'unknown'}",
        f"pictures: {len(state.pictures)} open, panes: {', '.join(shows_text(pane.shows) for pane in state.panes)}",
        f"\nSettings\n{json.dumps(settings.values, indent=1, ensure_ascii=False)}",
        f"\nEnd of the log {log_path()}\n{_end_of_log()}",
    ]
    home = str(Path.home())
    text = "\n".join(parts)
    return text.replace(home, "~") if len(home) > 1 else text


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _end_of_log() -> str:
    try:
        with log_path().open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        return f"(can't be read: {error.strerror})"


class ReportDialog(QDialog):
    """Shows `report_text`, which can be edited before it is copied or saved."""

    def __init__(self, hub: Hub, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Report a problem")
        self.resize(720, 560)
        self._hub, self._settings = hub, settings
        self.message = QLabel("Nothing is sent. Copy or save this text, remove what you don't want to share.")
        self.message.setWordWrap(True)
        self.text = QPlainTextEdit(report_text(hub, settings))
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setAccessibleName("Report")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        copy = buttons.addButton("&Copy", QDialogButtonBox.ButtonRole.ActionRole)
        save = buttons.addButton("&Save…", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        save.clicked.connect(self._ask_place)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (self.message, self.text, buttons):
            layout.addWidget(widget)

    def _ask_place(self) -> None:
        folder = start_folder(self._settings, "report", self._hub.workspace.state.picture)
        start = Path(folder) / "calm-gui-report.txt"
        if path := ask_where_to_save(self, "Save the report", str(start), "Text (*.txt);;All files (*)"):
            self.save(path)

    def save(self, path: str) -> None:
        """Write the text, or say why it can't be written."""
        try:
            write_text(path, self.text.toPlainText(), overwrite=True, inputs=self._hub.workspace.state.files)
        except Exception as error:
            self.message.setText(told_failure(error))
        else:
            remember_folder(self._settings, "report", path)
            self.message.setText(f"Saved as {path}")
