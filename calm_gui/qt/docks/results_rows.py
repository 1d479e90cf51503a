"""A batch's rows for a table view: values, thumbnails, a filter, sorting by value with what is missing last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPixmap

from calm_gui.core.classes import fold_text
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets import numbers
from calm_gui.session.batch_run import ResultRow
from calm_gui.session.results_table import SHOWN_COLUMNS
from calm_gui.session.summary_columns import MEANINGS

__all__ = ["VALUE_ROLE", "FilteredRows", "ResultsRows"]

Index = QModelIndex | QPersistentModelIndex
VALUE_ROLE = Qt.ItemDataRole.UserRole
_TITLES = tuple(SHOWN_COLUMNS.values())
_KEYS = tuple(SHOWN_COLUMNS)
_NONE = QModelIndex()


class ResultsRows(QAbstractTableModel):
    """The rows of one run; those that arrive are added at the end."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[ResultRow] = []
        self._icons: dict[int, QIcon] = {}

    def show(self, rows: list[ResultRow]) -> None:
        """Show rows; where they begin with those shown, the others are added."""
        known = len(self.rows)
        if known and len(rows) >= known and rows[known - 1] is self.rows[-1]:
            if len(rows) > known:
                self.beginInsertRows(_NONE, known, len(rows) - 1)
                self.rows += rows[known:]
                self.endInsertRows()
            return
        self.beginResetModel()
        self.rows, self._icons = list(rows), {}
        self.endResetModel()

    @property
    def empty_columns(self) -> tuple[bool, ...]:
        """Whether no row has a value, for each column; no column is empty while there are no rows."""
        return tuple(bool(self.rows) and all(row.values.get(key) is None for row in self.rows) for key in _KEYS)

    def rowCount(self, parent: Index = _NONE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _NONE) -> int:
        return 0 if parent.isValid() else len(_KEYS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return _TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            key = _KEYS[section]
            return f"{_TITLES[section]}: {MEANINGS[key]}; {key} in the filter and in tables"
        if role == Qt.ItemDataRole.TextAlignmentRole and _is_number(_KEYS[section]):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, key = self.rows[index.row()], _KEYS[index.column()]
        value = row.values.get(key)
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(key, value)
        if role == VALUE_ROLE:
            return value
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.picture if key == "name" else None if value is None else str(value)
        if role == Qt.ItemDataRole.TextAlignmentRole and _is_number(key):
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.DecorationRole and key == "name":
            return self._icon(index.row())
        if role == Qt.ItemDataRole.ForegroundRole and key == "truth_name":
            wrong = value is not None and row.values.get("truth_index") != row.values.get("predicted_index")
            return QColor(current_theme().bad) if wrong else None
        return None

    def _icon(self, number: int) -> QIcon | None:
        pixels = self.rows[number].thumbnail
        if pixels is None:
            return None
        if number not in self._icons:
            height, width = pixels.shape[:2]
            image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
            self._icons[number] = QIcon(QPixmap.fromImage(image))
        return self._icons[number]


class FilteredRows(QSortFilterProxyModel):
    """The rows that a test is true of, sorted by value; rows without a value come last in both orders."""

    def __init__(self, rows: ResultsRows) -> None:
        super().__init__(rows)
        self._rows = rows
        self._test: Callable[[dict[str, Any]], bool] | None = None
        self.setSourceModel(rows)
        self.setDynamicSortFilter(True)

    def show_those(self, test: Callable[[dict[str, Any]], bool] | None) -> None:
        """Show the rows that a test is true of; None shows all."""
        self._test = test
        self.invalidate()

    @property
    def shown(self) -> list[ResultRow]:
        """The rows in the order of the view."""
        return [self.row_at(number) for number in range(self.rowCount())]

    def row_at(self, number: int) -> ResultRow:
        """The row at a place of the view."""
        return self._rows.rows[self.mapToSource(self.index(number, 0)).row()]

    def filterAcceptsRow(self, number: int, parent: Index) -> bool:
        return self._test is None or self._test(self._rows.rows[number].values)

    def lessThan(self, left: Index, right: Index) -> bool:
        one, other = left.data(VALUE_ROLE), right.data(VALUE_ROLE)
        if one is None or other is None:
            ascending = self.sortOrder() == Qt.SortOrder.AscendingOrder
            return (other is None and one is not None) if ascending else (one is None and other is not None)
        if isinstance(one, str):
            return fold_text(one) < fold_text(str(other))
        return bool(one < other)


def _is_number(key: str) -> bool:
    return key in ("p_predicted", "p", "p_truth", "share_in_box", "iou", "area")


def _text(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key == "area":
        return f"{100 * value:.0f} %"
    return numbers.number(value) if isinstance(value, float) else str(value)
