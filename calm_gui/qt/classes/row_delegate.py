"""Rows of a table of classes, painted by a `RowPainter`."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem

from calm_gui.qt.classes.hierarchy_model import MARK_ROLE, PROBABILITY_ROLE
from calm_gui.qt.classes.item_view import RowUnderMouse
from calm_gui.qt.classes.row_painter import RowPainter, letter_areas

__all__ = ["RowDelegate"]


class RowDelegate(QStyledItemDelegate):
    """For items with a name and a `MARK_ROLE` in the first column and a `PROBABILITY_ROLE` in the others."""

    def __init__(self, view: QAbstractItemView, under_mouse: RowUnderMouse) -> None:
        super().__init__(view)
        self._view, self._under_mouse = view, under_mouse
        self._rows = RowPainter(view)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        current = self._view.selectionModel().isSelected(index)
        hovered = self._under_mouse.holds(index)
        mark = index.data(MARK_ROLE)
        self._rows.ground(painter, option.rect, mark.letter, current, hovered)
        if index.column() == 0:
            area = QRect(option.rect)
            if hovered:
                self._rows.offer(painter, option.rect, area.right())
                area.setRight(letter_areas(area.right(), area)["A"].left() - 4)
            self._rows.mark(painter, option.rect, mark)
            self._rows.name(painter, area, index.data(), 1)
        else:
            self._rows.probability(painter, option.rect, index.data(PROBABILITY_ROLE))

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(110, option.fontMetrics.height() + 7)
