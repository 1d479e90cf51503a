"""Draws a probability as a bar with its number beside it."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from calm_gui.qt.hierarchy_model import PROBABILITY_ROLE
from calm_gui.qt.theme import current_theme

__all__ = ["ProbabilityDelegate", "probability_text"]

_NUMBER_WIDTH = "0.0000"


def probability_text(p: float) -> str:
    """A probability in a fixed width: three digits, or a power of ten where these would be zeros."""
    return f"{p:.3f}" if p >= 0.0005 or p == 0 else f"{p:.0e}".replace("e-0", "e-")


class ProbabilityDelegate(QStyledItemDelegate):
    """For a column whose items have a `PROBABILITY_ROLE`."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme = current_theme()
        style = option.widget.style()
        style.drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, option.widget)
        p = index.data(PROBABILITY_ROLE)
        if p is None:
            return
        area = QRectF(option.rect).adjusted(2, 0, -6, 0)
        number = option.fontMetrics.horizontalAdvance(_NUMBER_WIDTH)
        bar = QRectF(area.left(), area.center().y() - 4, max(0.0, area.width() - number - 6), 8)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.bar))
        painter.drawRoundedRect(bar, 3, 3)
        if p > 0:
            filled = QRectF(bar.left(), bar.top(), max(2.0, bar.width() * min(p, 1.0)), bar.height())
            painter.setBrush(QColor(theme.accent))
            painter.drawRoundedRect(filled, 3, 3)
        painter.setPen(QColor(theme.text))
        painter.drawText(area, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), probability_text(p))
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(110, option.fontMetrics.height() + 6)
