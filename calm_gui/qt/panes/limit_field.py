"""A field for one end of a scale."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QLineEdit, QWidget

__all__ = ["LimitField"]


class LimitField(QLineEdit):
    """Typed into, or stepped by Up and Down; the wheel leaves it alone.

    Signals
    -------
    typed : str
        Return was pressed, or the field left, with another text than was shown.
    stepped : int
        Up (1) or Down (-1) was pressed.
    """

    typed = Signal(str)
    stepped = Signal(int)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("limit")
        self.setAccessibleName(name)
        self.setToolTip(f"{name}. Type a number, or press Up or Down")
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._shown = ""
        self.editingFinished.connect(self._finish)

    def show_text(self, text: str) -> None:
        """Show a number, unless another is being typed."""
        self._shown = text
        if text != self.text() and not (self.hasFocus() and self.isModified()):
            self.setText(text)

    def take_back(self) -> None:
        """Show the number that counts again."""
        self.setText(self._shown)

    def _finish(self) -> None:
        if self.text() != self._shown:
            self.setModified(False)
            self.typed.emit(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        if event.key() in by:
            self.setModified(False)
            self.stepped.emit(by[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_Escape and self.text() != self._shown:
            self.take_back()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()
