"""The hierarchy as a tree that is clicked, searched and sorted."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyleOptionViewItem, QTreeView, QWidget

from calm_gui.qt.classes.hierarchy_model import KEY_ROLE, NAME, PROBABILITY, SIZE, HierarchyModel
from calm_gui.qt.classes.item_view import RowUnderMouse, give_viewport
from calm_gui.qt.classes.row_delegate import RowDelegate
from calm_gui.qt.classes.row_painter import RowPainter, letter_areas, mark_area
from calm_gui.qt.widgets import numbers
from calm_gui.qt.widgets.row_menu import RowMenu
from calm_gui.session.scene import Scene

__all__ = ["HierarchyView"]

_EXPAND_HITS_UP_TO = 150
_WIDTHS = ((240, 7), (0, 5))
"""From which width on, by how much rows are indented."""

_ARROW = 10


class HierarchyView(QTreeView):
    """A tree of nodes.

    Signals
    -------
    chosen : str
        A node was clicked or Return was pressed: it is the target.
    toggled : str
        A node or its mark was ctrl-clicked or clicked, or Space was pressed.
    contrasted : str
        The B that a row offers was clicked, or Ctrl+Return was pressed: it is the contrast.
    menu_wanted : str, QPoint
        The context menu of a node, at a global position.
    """

    chosen = Signal(str)
    toggled = Signal(str)
    contrasted = Signal(str)
    menu_wanted = Signal(str, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        give_viewport(self)
        self.setAccessibleName("WordNet hierarchy")
        self.nodes = HierarchyModel(self)
        self.setModel(self.nodes)
        self._under_mouse = RowUnderMouse(self)
        self.setItemDelegate(RowDelegate(self, self._under_mouse))  # for the rows' height; they are painted below
        self._rows = RowPainter(self)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSortingEnabled(True)
        self.sortByColumn(NAME, Qt.SortOrder.AscendingOrder)
        self.setExpandsOnDoubleClick(False)
        header = self.header()
        header.setStretchLastSection(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)  # and not below the arrow
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionHidden(SIZE, True)  # it stands after the name
        header.setSectionResizeMode(PROBABILITY, QHeaderView.ResizeMode.Fixed)
        RowMenu(self, self._on_menu)
        self._on_arrow = False
        self._was_searching = False
        self._probabilities: dict[str, float] = {}

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's hierarchy, probabilities and target."""
        if scene.hierarchy is not self.nodes.hierarchy:
            self.nodes.set_hierarchy(scene.hierarchy, self.nodes.folded)
            self.expandToDepth(1)
        if scene.node_probabilities is self._probabilities:
            self._repaint_marks(scene)
            return
        self._probabilities = scene.node_probabilities
        self.nodes.show(scene.node_probabilities, scene.target, scene.contrast)
        if self.nodes.sorted_by_probability:
            self.nodes.resort()
        self.viewport().update()

    def _repaint_marks(self, scene: Scene) -> None:
        """Take other sets, and paint only the rows in sight whose mark they change."""
        if (scene.target, scene.contrast) == (self.nodes.target, self.nodes.contrast):
            return
        for index in self.nodes.mark_anew(scene.target, scene.contrast, self._in_sight()):
            row = self.visualRect(index)
            self.viewport().update(QRect(0, row.top(), self.viewport().width(), row.height()))

    def _in_sight(self) -> list[QModelIndex]:
        found: list[QModelIndex] = []
        index = self.indexAt(QPoint(0, 0))
        rows = self.viewport().height() // max(1, self.rowHeight(index)) + 2 if index.isValid() else 0
        while index.isValid() and len(found) < rows:
            found.append(index)
            index = self.indexBelow(index)
        return found

    def set_folded(self, folded: bool) -> None:
        """Fold or unfold chains of nodes that repeat one class set, keeping the current node in sight."""
        key = self.currentIndex().data(KEY_ROLE)
        self.nodes.set_hierarchy(self.nodes.hierarchy, folded)
        self.expandToDepth(1)
        if key:
            self.reveal(key)

    def search(self, text: str) -> int:
        """Show only what a text finds, opened if it isn't too much; returns the number of nodes found."""
        found = self.nodes.search(text)
        if 0 < found <= _EXPAND_HITS_UP_TO:
            self.expandAll()
        elif text:
            self.expandToDepth(3)
        elif self._was_searching:
            self.collapseAll()
            self.expandToDepth(1)
        self._was_searching = bool(text)
        return found

    def first_hit(self) -> str | None:
        """Key of the first node in sight that a search found, or None without a search."""
        return next((key for index in self._in_sight() if self.nodes.is_hit(key := index.data(KEY_ROLE))), None)

    def reveal(self, key: str) -> None:
        """Open the tree at a node's first place and make it current, without choosing it."""
        for index in self.nodes.places(key)[:1]:
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
            self.selectionModel().setCurrentIndex(
                index, QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            )

    def fit_numbers(self) -> None:
        """Give probabilities the width that they need."""
        width = self.fontMetrics().horizontalAdvance(numbers.widest_probability()) + 14
        if self.header().sectionSize(PROBABILITY) != width:
            self.header().resizeSection(PROBABILITY, width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        indentation = next(indented for width, indented in _WIDTHS if self.width() >= width)
        self.fit_numbers()
        self.setIndentation(indentation)
        super().resizeEvent(event)

    def _arrow(self, index: QModelIndex | QPersistentModelIndex) -> QRect:
        """Where a row's arrow stands, right of the marks."""
        row = self.visualRect(index)
        depth = self.nodes.row(index).depth
        return QRect(mark_area(row).right() + depth * self.indentation() - 2, row.top(), _ARROW, row.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The arrow opens and closes its row; Qt's own place for it lies below the marks."""
        index = self.indexAt(event.position().toPoint()).siblingAtColumn(NAME)
        left = event.button() == Qt.MouseButton.LeftButton
        if left and index.isValid() and self._arrow(index).adjusted(-3, 0, 2, 0).contains(event.position().toPoint()):
            self.setExpanded(index, not self.isExpanded(index))
            self._on_arrow = True
            return
        self._on_arrow = False
        if event.button() == Qt.MouseButton.RightButton:
            return  # the menu comes by itself, and nothing else shall
        self.setItemsExpandable(False)
        super().mousePressEvent(event)
        self.setItemsExpandable(True)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        index = self.indexAt(at)
        key = index.data(KEY_ROLE)
        if not key or self._on_arrow or event.button() != Qt.MouseButton.LeftButton:
            self._on_arrow = False
            super().mouseReleaseEvent(event)
            return
        row = self.visualRect(index)
        if letter_areas(self.header().sectionSize(NAME), row)["B"].contains(at):
            self.contrasted.emit(key)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier or mark_area(row).contains(at):
            self.toggled.emit(key)
        else:
            self.chosen.emit(key)

    def drawRow(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint a row at once."""
        row, header = self.nodes.row(index), self.header()
        whole = QRect(0, option.rect.top(), self.viewport().width(), option.rect.height())
        name, probability = (
            QRect(header.sectionViewportPosition(column), whole.top(), header.sectionSize(column), whole.height())
            for column in (NAME, PROBABILITY)
        )
        current, hovered = self.selectionModel().isSelected(index), self._under_mouse.holds(index)
        self._rows.ground(painter, whole, row.mark.letter, current, hovered)
        if hovered:
            self._rows.offer(painter, whole, name.right() + 1)
            name.setRight(letter_areas(name.right() + 1, whole)["A"].left() - 4)
        self._rows.mark(painter, whole, row.mark)
        name.setLeft(name.left() + (row.depth + 1) * self.indentation())
        arrow = QRect(
            mark_area(whole).right() + row.depth * self.indentation() - 2, whole.top(), _ARROW, whole.height()
        )
        if row.has_children and arrow.right() <= name.right():
            self._rows.branch(painter, arrow, self.isExpanded(index))
        self._rows.name(painter, name, row.name, row.size)
        self._rows.probability(painter, probability, row.probability)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = self.currentIndex().data(KEY_ROLE)
        if key and event.modifiers() == Qt.KeyboardModifier.NoModifier:
            match event.key():
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    self.chosen.emit(key)
                    return
                case Qt.Key.Key_Space:
                    self.toggled.emit(key)
                    return
        if key and event.modifiers() == Qt.KeyboardModifier.ControlModifier and event.key() == Qt.Key.Key_Return:
            self.contrasted.emit(key)
            return
        super().keyPressEvent(event)

    def _on_menu(self, index: QModelIndex, place: QPoint) -> None:
        if key := index.data(KEY_ROLE):
            self.menu_wanted.emit(key, place)
