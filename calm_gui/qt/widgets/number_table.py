"""A read-only table of numbers that sorts by value and copies as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from calm_gui.late import np
from calm_gui.render.naming import value_text

__all__ = ["NumberTable", "TableModel"]

Index = QModelIndex | QPersistentModelIndex
VALUE_ROLE = Qt.ItemDataRole.UserRole


class TableModel(QAbstractTableModel):
    """Rows of text and numbers under a heading; sorting is stable and by value.

    Parameters
    ----------
    parent : QObject, optional
    number : callable
        Writes a number.

    Attributes
    ----------
    tips : sequence of str
        What the columns are.
    """

    def __init__(self, parent: QObject | None = None, number: Callable[[float], str] = value_text) -> None:
        super().__init__(parent)
        self._number = number
        self.tips: Sequence[str] = ()
        self._heading: Sequence[str] = ()
        self._rows: list[Sequence[Any]] = []
        self._sorting: tuple[int, bool] | None = None

    def show(self, heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Show other rows, in the order that was sorted by last."""
        self.beginResetModel()
        self._heading, self._rows = heading, list(rows)
        self._order()
        self.endResetModel()

    def _order(self) -> None:
        if self._sorting is not None and self._sorting[0] < len(self._heading):
            column, descending = self._sorting
            self._rows.sort(key=lambda row: row[column], reverse=descending)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.layoutAboutToBeChanged.emit()
        self._sorting = (column, order == Qt.SortOrder.DescendingOrder) if column >= 0 else None
        self._order()
        self.layoutChanged.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._heading)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole and orientation == Qt.Orientation.Horizontal:
            return self.tips[section] if section < len(self.tips) else None
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._heading[section] if orientation == Qt.Orientation.Horizontal else section

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        value = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._number(float(value)) if isinstance(value, float | np.floating) else str(value)
        if role == Qt.ItemDataRole.ToolTipRole and isinstance(value, str):
            return value
        if role == VALUE_ROLE:
            return value
        if role == Qt.ItemDataRole.TextAlignmentRole and not isinstance(value, str):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def text(self, chosen: Sequence[int] | None = None) -> str:
        """Some rows or all, a line each, with tabs between the values and numbers in full."""
        rows = self._rows if chosen is None else [self._rows[row] for row in chosen]
        lines = ["\t".join(self._heading)]
        lines += ["\t".join(repr(float(v)) if isinstance(v, float | np.floating) else str(v) for v in r) for r in rows]
        return "\n".join(lines)


class NumberTable(QTableView):
    """Shows a `TableModel`; Ctrl+C copies the rows that are selected, or all."""

    def __init__(self, name: str, parent: QWidget | None = None, number: Callable[[float], str] = value_text) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.rows = TableModel(self, number)
        self.setModel(self.rows)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setResizeContentsPrecision(30)  # not every row is asked for its width

    def event(self, event: QEvent) -> bool:
        """Keep Ctrl+C from the window, where it copies the picture."""
        ours = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if ours and event.matches(QKeySequence.StandardKey.Copy):  # type: ignore[attr-defined]
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            chosen = sorted({index.row() for index in self.selectedIndexes()})
            QGuiApplication.clipboard().setText(self.rows.text(chosen or None))
        else:
            super().keyPressEvent(event)
