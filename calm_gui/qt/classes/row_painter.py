"""Paints the rows of the lists of classes and groups: ticks, names, probabilities.

Qt's own painting of an item asks the model for eight roles and goes through the style sheet for each; where a page of
rows changes at once, as with the next picture, that takes a frame.
"""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from calm_gui.qt.theme import current_theme
from calm_gui.render.naming import probability_text

__all__ = ["RowPainter", "name_area", "tick_box"]

_WIDEST_NUMBER = "0.0000"
_TICK = 14
"""Side of a tick box, with its border, in the style sheet."""

_LEAST_BAR = 6
_CURRENT_ALPHA = 45
_TICK_LEFT = 3
_NAME_LEFT = 23

_MARKS = {
    Qt.CheckState.Checked: ((3.7, 7.2), (6.0, 9.5), (10.4, 4.6)),
    Qt.CheckState.PartiallyChecked: ((4.0, 7.0), (10.0, 7.0)),
    Qt.CheckState.Unchecked: (),
}
"""What is drawn into a tick box: the points of a line."""

_MIDDLE_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_MIDDLE_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


def tick_box(area: QRect) -> QRect:
    """Where the tick stands in the area of a name."""
    return QRect(area.left() + _TICK_LEFT, area.top() + (area.height() - _TICK) // 2, _TICK, _TICK)


def name_area(area: QRect) -> QRect:
    """Where the text stands in the area of a name; empty where there is no room."""
    return area.adjusted(_NAME_LEFT, 0, 0, 0)


class RowPainter:
    """Paints parts of rows in a view's font and the theme's colours.

    Parameters
    ----------
    view : QWidget
    """

    def __init__(self, view: QWidget) -> None:
        self._view = view
        self._pictures: dict[tuple[object, ...], QPixmap] = {}

    def ground(self, painter: QPainter, area: QRect, current: bool) -> None:
        """Paint the ground of a row that is current, or under the mouse."""
        colour = QColor(current_theme().accent if current else current_theme().hover)
        if current:
            colour.setAlpha(_CURRENT_ALPHA)
        painter.fillRect(area, colour)

    def name(self, painter: QPainter, area: QRect, text: str, tick: Qt.CheckState) -> None:
        """Paint a tick box and a name, which ends in an ellipsis where there is no room."""
        box = tick_box(area)
        if box.right() > area.right():
            return
        painter.drawPixmap(box.topLeft(), self._tick(tick))
        place = name_area(area)
        if place.width() > 0:
            painter.setPen(QColor(current_theme().text))
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, _MIDDLE_LEFT, shown)

    def number(self, painter: QPainter, area: QRect, text: str) -> None:
        """Paint a number at the right."""
        painter.setPen(QColor(current_theme().text))
        painter.drawText(area, _MIDDLE_RIGHT, text)

    def probability(self, painter: QPainter, area: QRect, p: float | None) -> None:
        """Paint a probability as a bar with its number beside it, or as the number where there is no more room."""
        if p is None:
            return
        theme = current_theme()
        width = painter.fontMetrics().horizontalAdvance(_WIDEST_NUMBER)
        place = QRectF(area).adjusted(2, 0, -6, 0)
        bar = QRectF(place.left(), place.center().y() - 4, max(0.0, place.width() - width - 6), 8)
        if bar.width() > _LEAST_BAR:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.bar))
            painter.drawRoundedRect(bar, 3, 3)
            if p > 0:
                painter.setBrush(QColor(theme.accent))
                painter.drawRoundedRect(QRectF(bar.left(), bar.top(), max(2.0, bar.width() * min(p, 1.0)), 8), 3, 3)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QColor(theme.text))
        painter.drawText(place, _MIDDLE_RIGHT, probability_text(p))

    def branch(self, painter: QPainter, area: QRect, is_open: bool) -> None:
        """Paint the arrow of a row with rows below."""
        size = area.size()
        arrow = self._picture(("arrow", is_open), size, lambda p: _paint_arrow(p, size, is_open))
        painter.drawPixmap(area.topLeft(), arrow)

    def _tick(self, tick: Qt.CheckState) -> QPixmap:
        return self._picture(("tick", tick), QSize(_TICK, _TICK), lambda p: _paint_tick(p, tick))

    def _picture(self, what: tuple[object, ...], size: QSize, paint: Callable[[QPainter], None]) -> QPixmap:
        """A small part of a row; kept, since lines take longer to draw than a picture."""
        ratio = self._view.devicePixelRatioF()
        key = (what, size.toTuple(), ratio, current_theme().name)
        if key not in self._pictures:
            pixmap = QPixmap(size * ratio)
            pixmap.setDevicePixelRatio(ratio)
            pixmap.fill(Qt.GlobalColor.transparent)
            painter = QPainter(pixmap)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint(painter)
            painter.end()
            self._pictures[key] = pixmap
        return self._pictures[key]


def _pen(colour: str, width: float) -> QPen:
    return QPen(QColor(colour), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)


def _paint_tick(painter: QPainter, tick: Qt.CheckState) -> None:
    """A tick box, as the style sheet draws those of check boxes."""
    theme = current_theme()
    fill, border = {
        Qt.CheckState.Checked: (theme.fill, theme.fill),
        Qt.CheckState.PartiallyChecked: (theme.muted, theme.muted),
        Qt.CheckState.Unchecked: (theme.field, theme.muted),
    }[tick]
    painter.setPen(_pen(border, 1))
    painter.setBrush(QColor(fill))
    painter.drawRoundedRect(QRectF(0.5, 0.5, _TICK - 1, _TICK - 1), 2.5, 2.5)
    painter.setPen(_pen("#ffffff", 1.6))
    painter.drawPolyline([QPointF(x, y) for x, y in _MARKS[tick]])


def _paint_arrow(painter: QPainter, size: QSize, is_open: bool) -> None:
    """A chevron that points down to open rows, or to the right."""
    x, y = size.width() / 2, size.height() / 2
    points = [(-1.5, -3.0), (1.5, 0.0), (-1.5, 3.0)]
    painter.setPen(_pen(current_theme().muted, 1.3))
    painter.drawPolyline([QPointF(x + b, y + a) if is_open else QPointF(x + a, y + b) for a, b in points])
