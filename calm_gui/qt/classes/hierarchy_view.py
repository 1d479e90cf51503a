"""The hierarchy as a tree that is clicked, ticked, searched and sorted."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyleOptionViewItem, QTreeView, QWidget

from calm_gui.qt.classes.hierarchy_model import KEY_ROLE, NAME, PROBABILITY, SIZE, HierarchyModel
from calm_gui.qt.classes.item_view import RowUnderMouse, give_viewport
from calm_gui.qt.classes.row_delegate import RowDelegate
from calm_gui.qt.classes.row_painter import RowPainter, tick_box
from calm_gui.session.scene import Scene

__all__ = ["HierarchyView"]

_EXPAND_HITS_UP_TO = 150
_WIDTHS = ((300, 88, 8), (240, 70, 8), (0, 50, 5))
"""From which width on, how wide the probabilities are (at last without bars), and by how much rows are indented."""

_ARROW = 8


class HierarchyView(QTreeView):
    """A tree of nodes.

    Signals
    -------
    chosen : str
        A node was clicked or Return was pressed: it is the target.
    toggled : str
        A node was ctrl-clicked, ticked, or Space was pressed.
    contrasted : str
        A node was alt-clicked, or B was pressed: it is the contrast.
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
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(SIZE, QHeaderView.ResizeMode.Fixed)  # by contents asks every row each time
        header.resizeSection(SIZE, self.fontMetrics().horizontalAdvance("10000") + 8)
        header.setSectionResizeMode(PROBABILITY, QHeaderView.ResizeMode.Fixed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)
        self._was_searching = False
        self._probabilities: dict[str, float] = {}

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's hierarchy, probabilities and target."""
        if scene.hierarchy is not self.nodes.hierarchy:
            self.nodes.set_hierarchy(scene.hierarchy, self.nodes.folded)
            self.expandToDepth(1)
        if scene.node_probabilities is self._probabilities:
            self._repaint_ticks(scene)
            return
        self._probabilities = scene.node_probabilities
        self.nodes.show(scene.node_probabilities, scene.target)
        if self.nodes.sorted_by_probability:
            self.nodes.resort()
        self.viewport().update()

    def _repaint_ticks(self, scene: Scene) -> None:
        """Take another target, and paint only the rows in sight whose tick it changes."""
        if scene.target == self.nodes.target:
            return
        for index in self.nodes.tick_anew(scene.target, self._in_sight()):
            self.viewport().update(self.visualRect(index))

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

    def resizeEvent(self, event: QResizeEvent) -> None:
        _, probability, indentation = next(widths for widths in _WIDTHS if self.width() >= widths[0])
        self.header().resizeSection(PROBABILITY, probability)
        self.nodes.set_brief(probability < 60)
        self.setIndentation(indentation)
        super().resizeEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        key = index.data(KEY_ROLE)
        on_branch = key and event.position().x() < self.visualRect(index.siblingAtColumn(NAME)).left()
        if not key or on_branch or event.button() != Qt.MouseButton.LeftButton:
            super().mouseReleaseEvent(event)
            return
        if event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.contrasted.emit(key)
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier or self._on_tick_box(index, event):
            self.toggled.emit(key)
        else:
            self.chosen.emit(key)

    def _on_tick_box(self, index: QModelIndex, event: QMouseEvent) -> bool:
        box = tick_box(self.visualRect(index.siblingAtColumn(NAME)))
        return bool(box.adjusted(-2, -2, 2, 2).contains(event.position().toPoint()))

    def drawRow(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint a row at once."""
        row, header = self.nodes.row(index), self.header()
        top, height = option.rect.top(), option.rect.height()
        name, size, probability = (
            QRect(header.sectionViewportPosition(column), top, header.sectionSize(column), height)
            for column in (NAME, SIZE, PROBABILITY)
        )
        name.setLeft(name.left() + (row.depth + 1) * self.indentation())
        current = self.selectionModel().isSelected(index)
        if current or self._under_mouse.holds(index):
            self._rows.ground(painter, QRect(0, top, self.viewport().width(), height), current)
        arrow = QRect(name.left() - _ARROW, top, _ARROW, height)
        if row.has_children and arrow.right() <= name.right():
            self._rows.branch(painter, arrow, self.isExpanded(index))
        self._rows.name(painter, name, row.name, row.tick)
        self._rows.number(painter, size.adjusted(0, 0, -3, 0), str(row.size))
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

    def _on_menu(self, position: QPoint) -> None:
        key = self.indexAt(position).data(KEY_ROLE)
        if key:
            self.menu_wanted.emit(key, self.viewport().mapToGlobal(position))
