"""A label that shortens its text instead of asking for room."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel

__all__ = ["ElidedLabel"]


class ElidedLabel(QLabel):
    """Shows the longest of its texts that fits, the last one with an ellipsis; the first is its tool tip."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self._texts: tuple[str, ...] = (text,)

    def setText(self, text: str, *shorter: str) -> None:
        """Show a text, or one of the shorter ones where there is no room for it."""
        self._texts = (text, *shorter)
        super().setText(text)
        self.setToolTip(text)
        self.setAccessibleName(text)

    def minimumSizeHint(self) -> QSize:
        least = min((t for t in self._texts if t), key=len, default="") if len(self._texts) > 1 else ""
        return QSize(max(30, self.fontMetrics().horizontalAdvance(least) + 4), super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text()) + 4, super().sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        metrics = self.fontMetrics()
        fitting = next((t for t in self._texts if metrics.horizontalAdvance(t) <= self.width()), self._texts[-1])
        text = metrics.elidedText(fitting, Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), int(self.alignment()), text)
