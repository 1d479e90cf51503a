"""The context menu of a list, table or tree: for the row under the mouse, or by its key for the current row."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractItemView

__all__ = ["RowMenu"]


class RowMenu(QObject):
    """Watches a view.

    Parameters
    ----------
    view : QAbstractItemView
    show : callable
        Gets the row, which is not valid below the last one, and the menu's place on the screen.
    """

    def __init__(self, view: QAbstractItemView, show: Callable[[QModelIndex, QPoint], None]) -> None:
        super().__init__(view)
        self._view, self._show = view, show
        for widget in (view, view.viewport()):  # keys come to the one, clicks to the other
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ContextMenu or not isinstance(event, QContextMenuEvent):
            return False
        view, area = self._view, self._view.viewport()
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            index, place = view.indexAt(area.mapFromGlobal(event.globalPos())), event.globalPos()
        else:
            index = view.currentIndex()
            row = view.visualRect(index).intersected(area.rect())
            place = area.mapToGlobal((row if row.isValid() else area.rect()).center())
        self._show(index, place)
        return True
