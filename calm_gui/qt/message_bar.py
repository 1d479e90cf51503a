"""A sentence that something went wrong, above the panes, until it's read."""

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

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
        if sentence.split(" ", 1)[0].isalpha():  # a file's name keeps its own first letter
            sentence = sentence[:1].upper() + sentence[1:]
        sentence += "" if sentence.endswith((".", "?", "!")) else "."
        self.text.setText(sentence)
        self.text.setStyleSheet(f"color: {current_theme().bad};")
        self.text.setAccessibleName(sentence)
        self.show()
        self._timer.start(_SECONDS * 1000)
