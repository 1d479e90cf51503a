"""Paints the rows of the lists of classes and groups: ticks, names, probabilities.

Qt's own painting of an item asks the model for eight roles and goes through the style sheet for each; where a page of
rows changes at once, as with the next picture, that takes a frame.
"""

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget

from calm_gui.qt.theme import current_theme

__all__ = ["RowPainter", "probability_text", "tick_box"]

_WIDEST_NUMBER = "0.0000"
_TICK = 14
"""Side of a tick box, with its border, in the style sheet."""

_CURRENT_ALPHA = 45
_TICK_LEFT = 3
_NAME_LEFT = 23

_TICK_STATES = {
    Qt.CheckState.Checked: QStyle.StateFlag.State_On,
    Qt.CheckState.PartiallyChecked: QStyle.StateFlag.State_NoChange,
    Qt.CheckState.Unchecked: QStyle.StateFlag.State_Off,
}

_MIDDLE_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_MIDDLE_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


def probability_text(p: float) -> str:
    """A probability in a fixed width: three digits, or a power of ten where these would be zeros."""
    return f"{p:.3f}" if p >= 0.0005 or p == 0 else f"{p:.0e}".replace("e-0", "e-")


def tick_box(area: QRect) -> QRect:
    """Where the tick stands in the area of a name."""
    return QRect(area.left() + _TICK_LEFT, area.top() + (area.height() - _TICK) // 2, _TICK, _TICK)


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
        left = area.left() + _NAME_LEFT
        metrics = painter.fontMetrics()
        room = max(0, area.right() + 1 - left)
        painter.setPen(QColor(current_theme().text))
        painter.drawText(
            QRect(left, area.top(), room, area.height()),
            _MIDDLE_LEFT,
            metrics.elidedText(text, Qt.TextElideMode.ElideRight, room),
        )

    def number(self, painter: QPainter, area: QRect, text: str) -> None:
        """Paint a number at the right."""
        painter.setPen(QColor(current_theme().text))
        painter.drawText(area, _MIDDLE_RIGHT, text)

    def probability(self, painter: QPainter, area: QRect, p: float | None) -> None:
        """Paint a probability as a bar with its number beside it."""
        if p is None:
            return
        theme = current_theme()
        width = painter.fontMetrics().horizontalAdvance(_WIDEST_NUMBER)
        place = QRectF(area).adjusted(2, 0, -6, 0)
        bar = QRectF(place.left(), place.center().y() - 4, max(0.0, place.width() - width - 6), 8)
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
        state = QStyle.StateFlag.State_Item | QStyle.StateFlag.State_Children
        if is_open:
            state |= QStyle.StateFlag.State_Open
        painter.drawPixmap(
            area.topLeft(), self._picture(QStyle.PrimitiveElement.PE_IndicatorBranch, state, area.size())
        )

    def _tick(self, tick: Qt.CheckState) -> QPixmap:
        return self._picture(
            QStyle.PrimitiveElement.PE_IndicatorItemViewItemCheck, _TICK_STATES[tick], QSize(_TICK, _TICK)
        )

    def _picture(self, element: QStyle.PrimitiveElement, state: QStyle.StateFlag, size: QSize) -> QPixmap:
        """A part of a row as the style draws it; kept, since the style takes longer for it than for all else."""
        ratio = self._view.devicePixelRatioF()
        key = (element, state, size.toTuple(), ratio, current_theme().name)
        if key not in self._pictures:
            pixmap = QPixmap(size * ratio)
            pixmap.setDevicePixelRatio(ratio)
            pixmap.fill(Qt.GlobalColor.transparent)
            option = QStyleOptionViewItem()
            option.initFrom(self._view)
            option.rect = QRect(QPoint(0, 0), size)
            option.state = state | QStyle.StateFlag.State_Enabled
            option.features = QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
            painter = QPainter(pixmap)
            self._view.style().drawPrimitive(element, option, painter, self._view)
            painter.end()
            self._pictures[key] = pixmap
        return self._pictures[key]
