"""A sentence that something went wrong, or what was written, above the panes, until it's read."""

from pathlib import Path

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from calm_gui.qt.theme import current_theme

__all__ = ["MessageBar"]

_SECONDS = 20


class MessageBar(QFrame):
    """Shows one sentence; goes by itself after a while, or by its cross."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.text = QLabel()
        self.text.setWordWrap(True)
        close = QToolButton()
        close.setText("×")
        close.setAccessibleName("Dismiss")
        close.clicked.connect(self.hide)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 4, 4, 4)
        layout.addWidget(self.text, 1)
        self.folder = QPushButton("Open folder")
        self.folder.clicked.connect(self._open_folder)
        self._written = Path()
        layout.addWidget(self.folder)
        layout.addWidget(close)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def say(self, sentence: str) -> None:
        """Show a sentence; an empty one hides the bar."""
        if not sentence:
            self.hide()
            return
        self.folder.hide()
        if sentence.split(" ", 1)[0].isalpha():  # a file's name keeps its own first letter
            sentence = sentence[:1].upper() + sentence[1:]
        sentence += "" if sentence.endswith((".", "?", "!")) else "."
        self.text.setText(sentence)
        self.text.setStyleSheet(f"color: {current_theme().bad};")
        self.text.setAccessibleName(sentence)
        self.show()
        self._timer.start(_SECONDS * 1000)

    def wrote(self, path: str, more: str = "") -> None:
        """Say that a file was written, with a way to its folder, and more of it."""
        self._written = Path(path).absolute()
        self.text.setText(f"{self._written.name} is written. {more}".rstrip())
        self.text.setStyleSheet("")
        self.text.setAccessibleName(self.text.text())
        self.folder.show()
        self.show()
        self._timer.start(_SECONDS * 1000)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._written.parent)))
