"""What the views of classes and groups share."""

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, Qt
from PySide6.QtGui import QHoverEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import QAbstractItemView, QWidget

__all__ = ["RowUnderMouse", "give_viewport"]


def give_viewport(view: QAbstractItemView) -> None:
    """Give a view a viewport of ours: asked for Qt's own, PySide makes all its widget classes to find which it is."""
    viewport = QWidget()
    viewport.setBackgroundRole(QPalette.ColorRole.Base)
    viewport.setAutoFillBackground(True)
    viewport.setAttribute(Qt.WidgetAttribute.WA_Hover)
    view.setViewport(viewport)


class RowUnderMouse(QObject):
    """The row of a view that the mouse is over, also when rows move below a mouse that rests.

    Parameters
    ----------
    view : QAbstractItemView
    """

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view
        self._mouse = QPoint(-1, -1)
        self._row = QPersistentModelIndex()
        view.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the mouse, or forget it when it leaves; before rows are painted, see which one has come below it."""
        if isinstance(event, QHoverEvent):
            self._mouse = event.position().toPoint()
        if isinstance(event, QHoverEvent | QPaintEvent):
            self._follow()
        return False

    def _follow(self) -> None:
        """Find the row under the mouse; if it's another, paint it and the one before."""
        under = QPersistentModelIndex(self._view.indexAt(self._mouse).siblingAtColumn(0))
        if under != self._row:
            viewport = self._view.viewport()
            for row in (self._row, under):
                rect = self._view.visualRect(row)
                viewport.update(QRect(0, rect.top(), viewport.width(), rect.height()))
            self._row = under

    def holds(self, index: QModelIndex | QPersistentModelIndex) -> bool:
        """Whether an index is in the row."""
        return self._row == index.sibling(index.row(), 0)
