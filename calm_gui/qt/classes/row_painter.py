"""Paints the rows of the lists of classes and groups: marks, names, probabilities.

Qt's own painting of an item asks the model for eight roles and goes through the style sheet for each; where a page of
rows changes at once, as with the next picture, that takes a frame.
"""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from calm_gui.qt.classes.mark import Mark
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets import numbers
from calm_gui.qt.widgets.letter import draw_letter, letter_colour

__all__ = ["RowPainter", "letter_areas", "mark_area", "name_area"]

_MARKS = 30
"""Width at the left in which marks stand."""

_MIDDLE_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_MIDDLE_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


def mark_area(row: QRect) -> QRect:
    """Where the mark of a row stands: at the left of the view, however deep the row is indented."""
    return QRect(0, row.top(), _MARKS, row.height())


def name_area(area: QRect) -> QRect:
    """Where the text stands in the area of a name; empty where there is no room."""
    return area.adjusted(_MARKS, 0, 0, 0)


def letter_areas(right: int, row: QRect) -> dict[str, QRect]:
    """Where the row under the mouse offers A and B, left of a place."""
    side = min(16, row.height() - 2)
    top = row.top() + (row.height() - side) // 2
    return {"A": QRect(right - 2 * side - 6, top, side, side), "B": QRect(right - side - 2, top, side, side)}


class RowPainter:
    """Paints parts of rows in a view's font and the theme's colours.

    Parameters
    ----------
    view : QWidget
    """

    def __init__(self, view: QWidget) -> None:
        self._view = view
        self._pictures: dict[tuple[object, ...], QPixmap] = {}

    def ground(self, painter: QPainter, area: QRect, letter: str, current: bool, hovered: bool) -> None:
        """Paint the ground of a row that is A or B, current, or under the mouse."""
        theme = current_theme()
        if letter:
            tint = letter_colour(letter)
            tint.setAlpha(28 if theme.name == "light" else 80)
            painter.fillRect(area, tint)
        elif current or hovered:
            painter.fillRect(area, QColor(theme.chosen if current else theme.hover))
        if current:
            painter.fillRect(QRect(area.left(), area.top(), 2, area.height()), QColor(theme.accent))

    def mark(self, painter: QPainter, row: QRect, mark: Mark) -> None:
        """Paint a letter, or a ring or dot for each set that holds some or all of a row."""
        if mark.letter or mark.a is not Qt.CheckState.Unchecked or mark.b is not Qt.CheckState.Unchecked:
            area = mark_area(row)
            painter.drawPixmap(area.topLeft(), self._picture(mark, area.size(), lambda p: _paint_mark(p, area, mark)))

    def name(self, painter: QPainter, area: QRect, text: str, size: int) -> None:
        """Paint a name, which ends in an ellipsis where there is no room, and how many classes a group has."""
        place, metrics = name_area(area), painter.fontMetrics()
        if place.width() <= 0:
            return
        theme = current_theme()
        count = f"{size:,}" if size > 1 else ""
        room = metrics.horizontalAdvance(count) + 6 if count else 0
        painter.setPen(QColor(theme.text))
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, place.width() - room)
        painter.drawText(place, _MIDDLE_LEFT, shown)
        if count:
            painter.setPen(QColor(theme.muted))
            place.setLeft(place.left() + metrics.horizontalAdvance(shown) + 6)
            painter.drawText(place, _MIDDLE_LEFT, count)

    def offer(self, painter: QPainter, row: QRect, right: int) -> None:
        """Paint the letters that the row under the mouse offers."""
        for letter, square in letter_areas(right, row).items():
            draw_letter(painter, square, letter, filled=False)

    def probability(self, painter: QPainter, area: QRect, p: float | None) -> None:
        """Paint a probability over a bar."""
        if p is None:
            return
        theme = current_theme()
        place = area.adjusted(2, 1, -4, -1)
        painter.fillRect(
            QRectF(place.left(), place.top(), max(1.0, place.width() * min(p, 1.0)), place.height()), QColor(theme.bar)
        )
        painter.setPen(QColor(theme.text))
        painter.drawText(place.adjusted(0, 0, -2, 0), _MIDDLE_RIGHT, numbers.probability(p))

    def branch(self, painter: QPainter, area: QRect, is_open: bool) -> None:
        """Paint the arrow of a row with rows below."""
        size = area.size()
        arrow = self._picture(("arrow", is_open), size, lambda p: _paint_arrow(p, size, is_open))
        painter.drawPixmap(area.topLeft(), arrow)

    def _picture(self, what: object, size: QSize, paint: Callable[[QPainter], None]) -> QPixmap:
        """A small part of a row; kept, since lines take longer to draw than a picture."""
        ratio = self._view.devicePixelRatioF()
        key = (what, size.toTuple(), ratio, current_theme())
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


def _paint_mark(painter: QPainter, area: QRect, mark: Mark) -> None:
    """A letter, or rings for groups that hold a set and dots for what a set holds."""
    middle = area.height() / 2
    if mark.letter:
        side = min(16, area.height() - 2)
        draw_letter(painter, QRect((area.width() - side) // 2, (area.height() - side) // 2, side, side), mark.letter)
        return
    for state, letter, x in ((mark.a, "A", area.width() / 2 - 5), (mark.b, "B", area.width() / 2 + 5)):
        if state is not Qt.CheckState.Unchecked:
            painter.setPen(QPen(letter_colour(letter), 1.4))
            painter.setBrush(letter_colour(letter) if state is Qt.CheckState.Checked else Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(x, middle), 3, 3)


def _paint_arrow(painter: QPainter, size: QSize, is_open: bool) -> None:
    """A chevron that points down to open rows, or to the right."""
    x, y = size.width() / 2, size.height() / 2
    points = [(-1.5, -3.0), (1.5, 0.0), (-1.5, 3.0)]
    painter.setPen(_pen(current_theme().muted, 1.3))
    painter.drawPolyline([QPointF(x + b, y + a) if is_open else QPointF(x + a, y + b) for a, b in points])
