"""The search below a set's field, with suggestions that depend on the picture."""

from typing import Any, NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QMenu,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets import numbers
from calm_gui.qt.widgets.measure import scaled
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.qt.widgets.row_menu import RowMenu
from calm_gui.qt.window.term_row import TermRow
from calm_gui.render.naming import value_text
from calm_gui.session.expression import Expression
from calm_gui.session.scene import Scene
from calm_gui.session.suggestions import Suggestion, found_sets, suggested_sets

__all__ = ["SetPopup"]

_MOST_ROWS = 9
_ROW_ROLE = Qt.ItemDataRole.UserRole


class _Rows(QAbstractListModel):
    """Suggestions, or what a search found."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[Suggestion] = []

    def show(self, rows: list[Suggestion]) -> None:
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == _ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            words = f"{row.title}, {row.note}" + (f", p = {value_text(row.p, 7)}" if row.p is not None else "")
            return f"{words}. Delete forgets it" if row.kept else words
        return None


class _Delegate(QStyledItemDelegate):
    """Two lines and a probability."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme, metrics = current_theme(), option.fontMetrics
        row: Suggestion = index.data(_ROW_ROLE)
        if option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.fillRect(option.rect, QColor(theme.hover))
        area = option.rect.adjusted(10, 3, -10, -3)
        number = "" if row.p is None else numbers.probability(row.p)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.setPen(QColor(theme.text))
        painter.drawText(area, right, number)
        area.setRight(area.right() - metrics.horizontalAdvance(number) - 8)
        line = metrics.height()
        elide = Qt.TextElideMode.ElideRight
        painter.drawText(
            QRect(area.topLeft(), QSize(area.width(), line)), metrics.elidedText(row.title, elide, area.width())
        )
        painter.setPen(QColor(theme.muted))
        below = QRect(area.left(), area.top() + line, area.width(), line)
        painter.drawText(below, metrics.elidedText(row.note, elide, area.width()))

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, 2 * option.fontMetrics.height() + 6)


class _Mark(NamedTuple):
    """What the rows were made of."""

    selection: object
    explanation: object
    named: object
    text: str


class SetPopup(QFrame):
    """Chosen by click or Return; Up and Down choose nothing. Delete, or a right click, forgets a set that was kept.

    Parameters
    ----------
    hub : Hub
    role : {"target", "contrast"}
    field : QWidget
        What it opens below.
    """

    def __init__(self, hub: Hub, role: str, field: QWidget) -> None:
        super().__init__(field, Qt.WindowType.Popup)
        self.setObjectName("popup")
        self._hub, self._role = hub, role
        self._mark: _Mark | None = None
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search class or group")
        self.search.setAccessibleName(f"Search {'A' if role == 'target' else 'B'}")
        self.search.textChanged.connect(lambda _: self._fill())
        self.search.installEventFilter(self)
        self.terms = TermRow(role)
        self.terms.edited.connect(self._choose)
        self.list = QListView()
        self.list.setAccessibleName("Suggestions")
        self.list.setMouseTracking(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setUniformItemSizes(True)
        self.rows = _Rows(self)
        self.list.setModel(self.rows)
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.clicked.connect(lambda index: self._take(index.row()))
        RowMenu(self.list, self._show_menu)
        self.keep = QPushButton("Keep this set under a name…")
        self.keep.setObjectName("menuItem")
        self.keep.setAutoDefault(False)
        self.keep.clicked.connect(self._keep)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.setSpacing(4)
        for widget in (self.search, self.terms, self.list, self.keep):
            layout.addWidget(widget)

    def open_below(self, field: QWidget) -> None:
        """Open below the field, inside the screen."""
        self.search.clear()
        self._keep_room(False)
        self._mark = None
        self._fill()
        width = max(field.width(), scaled(self, 298))
        row = 2 * self.fontMetrics().height() + 6
        self.list.setFixedHeight(row * min(_MOST_ROWS, max(3, len(self.rows.rows))) + 2)
        self.setFixedWidth(width)
        self.adjustSize()
        corner = field.mapToGlobal(QPoint(0, field.height() + 2))
        room = field.screen().availableGeometry()
        corner.setX(max(room.left(), min(corner.x(), room.right() - width + 1)))
        corner.setY(max(room.top(), min(corner.y(), room.bottom() - self.height() + 1)))
        self.move(corner)
        self.show()
        self._keep_room(not self.terms.isHidden())
        self.search.setFocus()

    def _keep_room(self, on: bool) -> None:
        """Keep the height that the chips have now, so that rows below don't move under the mouse as they go."""
        policy = self.terms.sizePolicy()
        policy.setRetainSizeWhenHidden(on)
        self.terms.setSizePolicy(policy)
        self.terms.setMinimumHeight(self.terms.height() if on else 0)

    def _fill(self) -> None:
        scene = self._hub.scene
        text = self.search.text().strip()
        mark = _Mark(scene.state.selection, scene.explanation, scene.state.named_sets, text)
        if mark == self._mark:
            return
        self._mark = mark
        rows = found_sets(scene, text) if text else suggested_sets(scene, self._role)
        self.rows.show(rows)
        if rows:
            now = scene.target if self._role == "target" else scene.contrast
            other = (i for i, row in enumerate(rows) if scene.classes_of(row.expression) != now)
            self.list.setCurrentIndex(self.rows.index(0 if text else next(other, 0)))  # what would change something
        self._show_terms(scene)

    def _show_terms(self, scene: Scene) -> None:
        self.terms.show_scene(scene)
        selection = scene.state.selection
        expression = selection.target if self._role == "target" else selection.contrast
        self.terms.setVisible(len(expression.terms) > 1)
        self.keep.setVisible(self._role == "target" and bool(expression))

    def _take(self, row: int) -> None:
        if 0 <= row < len(self.rows.rows):
            chosen = self.rows.rows[row].expression
            self.hide()
            self._choose(chosen)

    def menu(self, row: int) -> QMenu:
        """What can be done with a set that was kept."""
        menu, suggestion = QMenu(self), self.rows.rows[row]
        menu.addAction("Choose it", lambda: self._take(row))
        menu.addAction(f"Forget {suggestion.kept}", lambda: self._forget(row))
        return menu

    def _show_menu(self, index: QModelIndex, place: QPoint) -> None:
        if index.isValid() and self.rows.rows[index.row()].kept:
            show_menu(self.menu(index.row()), place)

    def _forget(self, row: int) -> None:
        if name := self.rows.rows[row].kept:
            self._hub.workspace.forget_set(name)
            self._fill()
            self.list.setCurrentIndex(self.rows.index(min(row, len(self.rows.rows) - 1)))
            self._hub.said.emit(f"{name} is no longer kept; undo brings it back.")

    def _choose(self, expression: Expression) -> None:
        workspace = self._hub.workspace
        (workspace.set_target if self._role == "target" else workspace.set_contrast)(expression)
        if self.isVisible():
            self._mark = None
            self._fill()

    def _keep(self) -> None:
        self.hide()
        self._hub.keep_wanted.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """In the search field, Up and Down go through the rows, Return takes one, Delete forgets one that was kept."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            row = self.list.currentIndex().row()
            by = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
            if event.key() in by and self.rows.rows:
                goal = min(max(row + by[Qt.Key(event.key())], 0), len(self.rows.rows) - 1)
                self.list.setCurrentIndex(self.rows.index(goal))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._take(row)
                return True
            if event.key() == Qt.Key.Key_Delete and not self.search.text() and 0 <= row < len(self.rows.rows):
                self._forget(row)
                return True
        return super().eventFilter(watched, event)
