"""The slim line above a pane: what it shows, of which set, and its number."""

from typing import NamedTuple

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.letter import draw_letter

__all__ = ["HeaderTexts", "PaneHeader"]

_GAP = 7
_LEAST = 30
"""Pixels that a text must get to be worth its place."""


class HeaderTexts(NamedTuple):
    """What a header says.

    Attributes
    ----------
    label : str
        The reading or method.
    letter : str
        A or B where it is about that set alone.
    name : str
        Of the set.
    number : str
        The map's sum; empty where it means nothing.
    alike : bool
        Whether another pane has the same label, so that the name tells them apart.
    passed : bool or None
        Of the sum check.
    source : str
        What the checkpoint is called; empty where only one is open.
    """

    label: str = ""
    letter: str = ""
    name: str = ""
    number: str = ""
    alike: bool = False
    passed: bool | None = None
    source: str = ""


class PaneHeader(QWidget):
    """Paints its texts itself, since labels would lay the whole window out anew at every click.

    A number is seen whole or not at all. Where label and name don't both fit, the name gives way, unless another pane
    has the same label.

    Attributes
    ----------
    texts : HeaderTexts
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.texts = HeaderTexts()
        self._bold = QFont(self.font())
        self._bold.setBold(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def sizeHint(self) -> QSize:
        return QSize(100, max(20, self.fontMetrics().height() + 4))

    def show_texts(self, texts: HeaderTexts, tool_tip: str) -> None:
        """Show other texts."""
        if texts != self.texts:
            self.texts = texts
            parts = (texts.label, texts.name, texts.source, texts.number)
            self.setAccessibleName(", ".join(part for part in parts if part))
            self.update()
        if tool_tip != self.toolTip():
            self.setToolTip(tool_tip)

    def fitting_source(self, width: int) -> str:
        """The checkpoint's name in at most half of a width: where it's too long without its ending, then its middle."""
        metrics, room, source = self.fontMetrics(), width // 2, self.texts.source
        if metrics.horizontalAdvance(source) > room:
            source = source.removesuffix(".safetensors")
        return metrics.elidedText(source, Qt.TextElideMode.ElideMiddle, room)

    def fitting(self, width: int) -> tuple[str, str, str]:
        """Label, name and number as they are written in a width."""
        texts = self.texts
        plain, bold = self.fontMetrics(), QFontMetrics(self._bold)
        badge = plain.height() + 3 if texts.letter else 0
        label, name = bold.horizontalAdvance(texts.label), plain.horizontalAdvance(texts.name)
        least = min(name, _LEAST) + badge if texts.alike and texts.name else min(label, _LEAST)
        number, room = texts.number, width
        if number:
            room -= plain.horizontalAdvance(number) + _GAP
            if room < least:
                number, room = "", width
        elide = Qt.TextElideMode.ElideRight
        if not texts.name:
            return bold.elidedText(texts.label, elide, room), "", number
        name += badge
        if label + _GAP + name <= room:
            return texts.label, texts.name, number
        rest = room - label - _GAP - badge
        if rest >= _LEAST and (not texts.alike or rest >= 2 * _LEAST):
            return texts.label, plain.elidedText(texts.name, elide, rest), number
        if texts.alike:
            return "", plain.elidedText(texts.name, elide, room - badge), number
        return bold.elidedText(texts.label, elide, room), "", number

    def fitting_beside_source(self, width: int) -> tuple[str, str, str, str]:
        """Label, name, number and the checkpoint's name; the last gets shorter where the label would have no place."""
        if not self.texts.source:
            return *self.fitting(width), ""
        metrics, source = self.fontMetrics(), self.fitting_source(width)
        beside = metrics.horizontalAdvance(source) + _GAP
        label, name, number = self.fitting(width - beside)
        if self.texts.label and not label:
            room = beside - _GAP
            while room > _LEAST and not label:
                room -= _GAP
                label, name, number = self.fitting(width - room - _GAP)
            shorter = metrics.elidedText(source, Qt.TextElideMode.ElideMiddle, room)
            if label:
                return label, name, number, shorter
            label, name, number = self.fitting(width - beside)
        return label, name, number, source

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, middle = current_theme(), int(Qt.AlignmentFlag.AlignVCenter)
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.panel))
        area = self.rect().adjusted(7, 0, -2, 0)
        failed = self.texts.passed is False
        mark = painter.fontMetrics().horizontalAdvance("✗ ") if failed else 0
        label, name, number, source = self.fitting_beside_source(area.width() - mark)
        left = area.left()
        painter.setFont(self._bold)
        painter.setPen(QColor(theme.text))
        painter.drawText(QRect(left, 0, area.width(), self.height()), middle, label)
        left += painter.fontMetrics().horizontalAdvance(label) + (_GAP if label else 0)
        painter.setFont(self.font())
        metrics = painter.fontMetrics()
        if name:
            if self.texts.letter:
                side = metrics.height() - 1
                draw_letter(painter, QRect(left, (self.height() - side) // 2, side, side), self.texts.letter)
                left += metrics.height() + 3
            painter.setPen(QColor(theme.text if self.texts.letter else theme.muted))
            painter.drawText(QRect(left, 0, area.right() - left, self.height()), middle, name)
            left += metrics.horizontalAdvance(name) + _GAP
        if source:
            painter.setPen(QColor(theme.muted))
            painter.drawText(QRect(left, 0, area.right() - left, self.height()), middle, source)
        painter.setPen(QColor(theme.bad if failed else theme.text))
        right = middle | int(Qt.AlignmentFlag.AlignRight)
        painter.drawText(area, right, f"✗ {number}" if failed else number)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.ignore()  # the pane takes it
