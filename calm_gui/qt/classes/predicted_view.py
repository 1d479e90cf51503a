"""The classes, most probable first."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from calm_gui.core.classes import ClassSet, ClassTable, fold_text
from calm_gui.late import np
from calm_gui.qt.classes.hierarchy_model import KEY_ROLE, MARK_ROLE, PROBABILITY_ROLE
from calm_gui.qt.classes.item_view import RowUnderMouse, give_viewport
from calm_gui.qt.classes.mark import Mark, mark_of
from calm_gui.qt.classes.row_delegate import RowDelegate
from calm_gui.qt.classes.row_painter import letter_areas, mark_area
from calm_gui.qt.widgets import numbers
from calm_gui.qt.widgets.row_menu import RowMenu
from calm_gui.session.expression import class_key
from calm_gui.session.scene import Scene

__all__ = ["PredictedModel", "PredictedView"]

Index = QModelIndex | QPersistentModelIndex
_HEADERS = ("class", "p")
_TIPS = (
    "The class, with its mark: A, B, or a dot where one of the sets holds it",
    "p(y|x): the model's own probability",
)


class PredictedModel(QAbstractTableModel):
    """All classes in the order of p(y|x), or those that a search finds.

    Roles as in `HierarchyModel`.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._classes = ClassTable([])
        self._p: Any = None
        self._order: list[int] = []
        self._text = ""
        self._target, self._contrast = ClassSet(), ClassSet()

    def show(self, classes: ClassTable, p: Any, target: ClassSet, contrast: ClassSet, text: str) -> None:
        """Show other classes, probabilities, sets or search.

        For other sets alone no signal is sent, since views know best which rows are in sight.
        """
        if classes is self._classes and p is self._p and text == self._text:
            self._target, self._contrast = target, contrast
            return
        self.beginResetModel()
        self._classes, self._p, self._text = classes, p, text
        self._target, self._contrast = target, contrast
        order = list(range(len(classes))) if p is None else [int(i) for i in np.argsort(-p, kind="stable")]
        if fold_text(text):
            hits = {info.index for info in classes.find(text)}
            order = [i for i in order if i in hits]
        self._order = order
        self.endResetModel()

    def mark(self, row: int) -> Mark:
        """How a row's class stands to A and B."""
        return mark_of(ClassSet([self._order[row]]), self._target, self._contrast)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(_HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return _HEADERS[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TIPS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == 1:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        info = self._classes[self._order[index.row()]]
        match role:
            case Qt.ItemDataRole.DisplayRole if index.column() == 0:
                return info.name
            case Qt.ItemDataRole.CheckStateRole if index.column() == 0:
                return Qt.CheckState.Checked if info.index in self._target else Qt.CheckState.Unchecked
            case x if x == MARK_ROLE:
                return self.mark(index.row())
            case Qt.ItemDataRole.ToolTipRole:
                also = f"<br>also: {', '.join(info.synonyms)}" if info.synonyms else ""
                gloss = f"<br><i>{info.gloss}</i>" if info.gloss else ""
                return f"<p><b>{info.name}</b> · class {info.index} · {info.wnid or 'no wnid'}{also}{gloss}</p>"
            case x if x == KEY_ROLE:
                return class_key(info.index, self._classes)
            case x if x == PROBABILITY_ROLE:
                return None if self._p is None else float(self._p[info.index])
            case _:
                return None


class PredictedView(QTableView):
    """The list of classes; signals as those of `HierarchyView`."""

    chosen = Signal(str)
    toggled = Signal(str)
    contrasted = Signal(str)
    menu_wanted = Signal(str, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        give_viewport(self)
        self.setAccessibleName("Classes by probability")
        self.classes = PredictedModel(self)
        self.setModel(self.classes)
        self._under_mouse = RowUnderMouse(self)
        self.setItemDelegate(RowDelegate(self, self._under_mouse))
        self.setShowGrid(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 7)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)
        RowMenu(self, self._on_menu)

    def show_scene(self, scene: Scene, text: str) -> None:
        """Show a scene's classes; `text` filters them."""
        rows = self._in_sight()
        before = [self.classes.mark(row) for row in rows]
        self.classes.show(scene.classes, scene.class_probabilities, scene.target, scene.contrast, text)
        for row, mark in zip(self._in_sight(), before, strict=False):
            if self.classes.mark(row) != mark:
                self.viewport().update(self.visualRect(self.classes.index(row, 0)))

    def _in_sight(self) -> range:
        """The rows that can be seen now."""
        if not self.isVisible():
            return range(0)
        first, last = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        return range(max(0, first), last + 1 if last >= 0 else self.classes.rowCount())

    def fit_numbers(self) -> None:
        """Give probabilities the width that they need."""
        width = self.fontMetrics().horizontalAdvance(numbers.widest_probability()) + 14
        if self.horizontalHeader().sectionSize(1) != width:
            self.horizontalHeader().resizeSection(1, width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.fit_numbers()
        super().resizeEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        key = index.data(KEY_ROLE) if index.isValid() else None
        if not key or event.button() != Qt.MouseButton.LeftButton:
            super().mouseReleaseEvent(event)
            return
        at, area = event.position().toPoint(), self.visualRect(index.siblingAtColumn(0))
        offered = letter_areas(area.right(), area)
        if offered["B"].contains(at):
            self.contrasted.emit(key)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier or mark_area(area).contains(at):
            self.toggled.emit(key)
        else:
            self.chosen.emit(key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = self.currentIndex().data(KEY_ROLE) if self.currentIndex().isValid() else None
        if key and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            ctrl = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            (self.contrasted if ctrl else self.chosen).emit(key)
        elif key and event.key() == Qt.Key.Key_Space:
            self.toggled.emit(key)
        else:
            super().keyPressEvent(event)

    def _on_menu(self, index: QModelIndex, place: QPoint) -> None:
        if index.isValid():
            self.menu_wanted.emit(index.data(KEY_ROLE), place)
