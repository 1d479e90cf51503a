"""The line above a pane: title on the left, numbers on the right, the tick of the sum check."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.qt.theme import current_theme

__all__ = ["PaneHeader"]

_GAP = 8
_TITLE_SHARE = 0.4
_TITLE_LEAST = 36
"""Of the line, and in pixels: what a number leaves to the title."""
_MOST_CUT = len(" — Af…")
"""Characters that an ellipsis must leave to what follows the reading."""


class PaneHeader(QWidget):
    """Paints its texts itself, since labels would lay the whole window out anew at every click.

    The longest subtitle that leaves the title whole is shown. Where none does, the title gives way to the shortest, as
    long as enough of it stays; else there is no subtitle. So a number is seen whole or not at all.

    Attributes
    ----------
    titles, subtitles : tuple of str
        The longest first.
    passed : bool or None
        Of the sum check; None where there is none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.titles: tuple[str, ...] = ("",)
        self.subtitles: tuple[str, ...] = ("",)
        self.passed: bool | None = None
        self._bold = QFont(self.font())
        self._bold.setBold(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumWidth(62)

    def sizeHint(self) -> QSize:
        return QSize(100, self.fontMetrics().height() + 6)

    def show_texts(
        self, titles: tuple[str, ...], subtitles: tuple[str, ...], passed: bool | None, tool_tip: str
    ) -> None:
        """Show other texts."""
        if (titles, subtitles, passed) != (self.titles, self.subtitles, self.passed):
            self.titles, self.subtitles, self.passed = titles, subtitles, passed
            self.setAccessibleName(f"{titles[0]}, {subtitles[0]}")
            self.update()
        self.setToolTip(tool_tip)

    def fitting(self, width: int) -> tuple[str, str]:
        """Title and subtitle as they are written in a width."""
        plain, bold = QFontMetrics(self.font()).horizontalAdvance, QFontMetrics(self._bold).horizontalAdvance
        whole, shortest, number = self.titles[0], self.titles[-1], self.subtitles[-1]
        least = min(bold(shortest), max(_TITLE_LEAST, int(_TITLE_SHARE * width)))
        if not any(c.isdigit() for c in number) or plain(number) > width - _GAP - least:
            number = ""  # words give way to the title, and a number where it would leave too little of it
        left = width - _GAP - plain(number)
        title = next((t for t in self.titles if bold(t) <= left), shortest)
        if whole.startswith(title):
            title = whole  # as much of it as there is room for
        room = width - _GAP - bold(title)
        subtitle = next((s for s in self.subtitles if plain(s) <= room), number)
        if subtitle:
            width -= plain(subtitle) + _GAP
        text = self._elided(title, width)
        if text != title and len(text) < len(shortest) + _MOST_CUT:
            text = self._elided(shortest, width)
        return text, subtitle

    def _elided(self, title: str, width: int) -> str:
        text = QFontMetrics(self._bold).elidedText(title, Qt.TextElideMode.ElideRight, width)
        return text.rstrip("… —") + "…" if text != title else title

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        area = self.rect()
        painter.fillRect(area, QColor(theme.panel))
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        if self.passed is not None:
            painter.setFont(self._bold)
            painter.setPen(QColor(theme.good if self.passed else theme.bad))
            mark = QRect(area.right() - 14, area.top(), 15, area.height())
            painter.drawText(mark, middle | int(Qt.AlignmentFlag.AlignRight), "✓" if self.passed else "✗")
            area.setRight(mark.left() - 2)
        title, subtitle = self.fitting(area.width())
        painter.setFont(self.font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(area, middle | int(Qt.AlignmentFlag.AlignRight), subtitle)
        painter.setFont(self._bold)
        painter.setPen(QColor(theme.text))
        painter.drawText(area, middle, title)
