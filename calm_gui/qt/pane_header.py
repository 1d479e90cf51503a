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
_SEPARATOR = len(" — ")


class PaneHeader(QWidget):
    """Paints its texts itself, since labels would lay the whole window out anew at every click.

    The longest subtitle that leaves the title whole is shown. Where none does, the title gives way to the shortest, as
    long as enough of it stays; else there is no subtitle. So a number is seen whole or not at all.

    Attributes
    ----------
    title : str
    short_title : str
        What tells the pane from the others: the title or a part of it.
    subtitles : tuple of str
        The longest first.
    passed : bool or None
        Of the sum check; None where there is none.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.short_title = ""
        self.subtitles: tuple[str, ...] = ("",)
        self.passed: bool | None = None
        self._bold = QFont(self.font())
        self._bold.setBold(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(100, self.fontMetrics().height() + 6)

    def show_texts(
        self, title: str, short_title: str, subtitles: tuple[str, ...], passed: bool | None, tool_tip: str
    ) -> None:
        """Show other texts."""
        texts = (title, short_title, subtitles, passed)
        if texts != (self.title, self.short_title, self.subtitles, self.passed):
            self.title, self.short_title, self.subtitles, self.passed = texts
            self.setAccessibleName(f"{title}, {subtitles[0]}")
            self.update()
        self.setToolTip(tool_tip)

    def fitting(self, width: int) -> tuple[str, str]:
        """Title and subtitle as they are written in a width."""
        plain, bold = QFontMetrics(self.font()), QFontMetrics(self._bold)
        whole, short = bold.horizontalAdvance(self.title), bold.horizontalAdvance(self.short_title)
        last = self.subtitles[-1]
        least = min(short, max(_TITLE_LEAST, int(_TITLE_SHARE * width)))
        if not any(c.isdigit() for c in last) or plain.horizontalAdvance(last) > width - _GAP - least:
            last = ""  # words give way to the title, and a number where it would leave too little of it
        left = width - _GAP - plain.horizontalAdvance(last)
        part = not self.title.startswith(self.short_title)  # else an ellipsis leads from one to the other
        room = width - _GAP - (short if part and whole > left else whole)
        subtitle = next((s for s in self.subtitles if plain.horizontalAdvance(s) <= room), last)
        if subtitle:
            width -= plain.horizontalAdvance(subtitle) + _GAP
        title = bold.elidedText(self.title, Qt.TextElideMode.ElideRight, width)
        if title != self.title and (part or len(title) < len(self.short_title) + _SEPARATOR + 3):
            title = bold.elidedText(self.short_title, Qt.TextElideMode.ElideRight, width)
        if title.endswith("…"):
            title = title.rstrip("… —") + "…"
        return title, subtitle

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
        title, subtitle = self.fitting(area.width())
        painter.setFont(self.font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(area, middle | int(Qt.AlignmentFlag.AlignRight), subtitle)
        painter.setFont(self._bold)
        painter.setPen(QColor(theme.text))
        painter.drawText(area, middle, title)
