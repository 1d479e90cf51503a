"""The line above a pane: title on the left, numbers on the right, the tick of the sum check."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.qt.theme import current_theme

__all__ = ["PaneHeader"]

_GAP = 8


class PaneHeader(QWidget):
    """Paints its texts itself, since labels would lay the whole window out anew at every click.

    The longest subtitle that leaves the title whole is shown. Where none does, the shortest is, and the title gives
    way: a number is never hidden.

    Attributes
    ----------
    title : str
    subtitles : tuple of str
        The longest first.
    passed : bool or None
        Of the sum check; None where there is none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ""
        self.subtitles: tuple[str, ...] = ("",)
        self.passed: bool | None = None
        self._bold = QFont(self.font())
        self._bold.setBold(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(100, self.fontMetrics().height() + 6)

    def show_texts(self, title: str, subtitles: tuple[str, ...], passed: bool | None, tool_tip: str) -> None:
        """Show other texts."""
        if (title, subtitles, passed) != (self.title, self.subtitles, self.passed):
            self.title, self.subtitles, self.passed = title, subtitles, passed
            self.setAccessibleName(f"{title}, {subtitles[0]}")
            self.update()
        self.setToolTip(tool_tip)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        area = self.rect()
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        if self.passed is not None:
            painter.setFont(self._bold)
            painter.setPen(QColor(theme.good if self.passed else theme.bad))
            mark = QRect(area.right() - 14, area.top(), 15, area.height())
            painter.drawText(mark, middle | int(Qt.AlignmentFlag.AlignRight), "✓" if self.passed else "✗")
            area.setRight(mark.left() - 2)
        plain, bold = QFontMetrics(self.font()), QFontMetrics(self._bold)
        shortest = self.subtitles[-1]
        if not any(c.isdigit() for c in shortest):
            shortest = ""  # words give way to the title, numbers don't
        left = area.width() - _GAP - plain.horizontalAdvance(shortest)
        name = self.title.split(" — ", 1)[-1]  # what tells panes of one reading apart
        title = next((t for t in (self.title, name) if bold.horizontalAdvance(t) <= left), name)
        room = area.width() - _GAP - bold.horizontalAdvance(title)
        subtitle = next((s for s in self.subtitles if plain.horizontalAdvance(s) <= room), shortest)
        painter.setFont(self.font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(area, middle | int(Qt.AlignmentFlag.AlignRight), subtitle)
        area.setRight(area.right() - plain.horizontalAdvance(subtitle) - _GAP)
        painter.setFont(self._bold)
        painter.setPen(QColor(theme.text))
        painter.drawText(area, middle, bold.elidedText(title, Qt.TextElideMode.ElideRight, area.width()))
