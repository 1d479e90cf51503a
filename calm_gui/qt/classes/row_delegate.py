"""Rows of a table of classes, painted by a `RowPainter`."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem

from calm_gui.qt.classes.hierarchy_model import PROBABILITY_ROLE
from calm_gui.qt.classes.item_view import RowUnderMouse
from calm_gui.qt.classes.row_painter import RowPainter

__all__ = ["RowDelegate"]


class RowDelegate(QStyledItemDelegate):
    """For items with a name and a tick in the first column and a `PROBABILITY_ROLE` in the others."""

    def __init__(self, view: QAbstractItemView, under_mouse: RowUnderMouse) -> None:
        super().__init__(view)
        self._view, self._under_mouse = view, under_mouse
        self._rows = RowPainter(view)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        current = self._view.selectionModel().isSelected(index)
        if current or self._under_mouse.holds(index):
            self._rows.ground(painter, option.rect, current)
        if index.column() == 0:
            tick = Qt.CheckState(index.data(Qt.ItemDataRole.CheckStateRole))
            self._rows.name(painter, option.rect, index.data(), tick)
        else:
            self._rows.probability(painter, option.rect, index.data(PROBABILITY_ROLE))

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(110, option.fontMetrics.height() + 6)
