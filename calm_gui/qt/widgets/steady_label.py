"""A label whose text changes often."""

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QLabel

__all__ = ["SteadyLabel"]


class SteadyLabel(QLabel):
    """Keeps the size that its widest text so far needed, since a label of fixed size asks no layout for another text.

    Parameters
    ----------
    text : str
        What there is room for from the start; not shown.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._fit()
        super().setText("")

    def setText(self, text: str) -> None:
        if text != self.text():
            super().setText(text)
            self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        needed = super().sizeHint()
        fixed = self.minimumSize().expandedTo(needed)
        if fixed != self.minimumSize():
            self.setFixedSize(fixed)
