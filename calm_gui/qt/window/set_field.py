"""One of the question's sets: its letter, name and probability in a field of fixed size."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets import numbers
from calm_gui.qt.widgets.letter import draw_letter
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.qt.window.set_popup import SetPopup
from calm_gui.render.naming import counted, value_text
from calm_gui.session.expression import Expression
from calm_gui.session.scene import Scene

__all__ = ["SetField"]

_EMPTY = {"target": "choose a class or group", "contrast": "nothing"}
_FIRST = {"target": "predicted class", "contrast": "runner-up"}
_ROLES = {"target": "evidence for A", "contrast": "as opposed to B"}


class SetField(QWidget):
    """Opens a search with suggestions; its cross empties the set.

    Parameters
    ----------
    hub : Hub
    role : {"target", "contrast"}

    Attributes
    ----------
    name, number : str
        What is written.
    """

    def __init__(self, hub: Hub, role: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub, self._role = hub, role
        self._told: object = None
        self.name, self.number = "", ""
        self._filled = False
        self._popup: SetPopup | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(213, 28)

    @property
    def letter(self) -> str:
        """A or B."""
        return "A" if self._role == "target" else "B"

    @property
    def popup(self) -> SetPopup:
        """The search with its suggestions, made when it's first opened."""
        if self._popup is None:
            self._popup = SetPopup(self._hub, self._role, self)
        return self._popup

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's set."""
        selection = scene.state.selection
        known = (selection, scene.explanation, scene.info, scene.state.picture, numbers.decimals())
        if known == self._told:
            return
        self._told = known
        expression = selection.target if self._role == "target" else selection.contrast
        classes = scene.target if self._role == "target" else scene.contrast
        p = scene.probability(classes) if classes else None
        self._filled = bool(expression)
        if not expression:
            self.name = _EMPTY[self._role]
        elif scene.explanation is None and any(term.key.startswith("@") for term in expression.terms):
            self.name = _FIRST[self._role] if scene.state.picture is None else "…"
        else:
            self.name = scene.name(expression)
        self.number = "" if p is None else numbers.number(p)
        size = f" · {counted(len(classes), 'class', 'classes')}" if len(classes) > 1 else ""
        exact = f"\np = {value_text(p, 7)}" if p is not None else ""
        self.setToolTip(f"{_ROLES[self._role]}: {self.name}{size}{exact}\nClick to choose another; Delete empties it")
        self.setAccessibleName(f"{_ROLES[self._role]}: {self.name}, {self.number}".rstrip(", "))
        self.update()

    # Painting

    def _cross(self) -> QRect:
        side = self.height()
        return QRect(self.width() - 2 * side + 12, 0, side - 10, side) if self._filled else QRect()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, metrics = current_theme(), self.fontMetrics()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(theme.accent if self.hasFocus() else theme.border))
        painter.setBrush(QColor(theme.field))
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 4, 4)
        side = self.height() - 12
        draw_letter(painter, QRect(6, 6, side, side), self.letter)
        left, right = side + 14, self.width() - self.height() + 8
        cross = self._cross()
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        painter.setPen(QColor(theme.muted))
        painter.drawText(
            QRect(right, 0, self.width() - right - 4, self.height()), int(Qt.AlignmentFlag.AlignCenter), "⌄"
        )
        if not cross.isEmpty():
            painter.drawText(cross, int(Qt.AlignmentFlag.AlignCenter), "×")
            right = cross.left() - 4
        number = metrics.horizontalAdvance(self.number)
        if number and right - left - number - 8 > 40:
            painter.setPen(QColor(theme.text))
            painter.drawText(
                QRect(left, 0, right - left, self.height()), middle | int(Qt.AlignmentFlag.AlignRight), self.number
            )
            right -= number + 8
        font = QFont(self.font())
        font.setWeight(QFont.Weight.Medium)
        painter.setFont(font)
        painter.setPen(QColor(theme.text if self._filled and self.number else theme.muted))
        name = painter.fontMetrics().elidedText(self.name, Qt.TextElideMode.ElideRight, right - left)
        painter.drawText(QRect(left, 0, right - left, self.height()), middle, name)

    # Mouse and keys

    def empty(self) -> None:
        """Choose nothing."""
        self._choose(Expression())

    def _choose(self, expression: Expression) -> None:
        workspace = self._hub.workspace
        (workspace.set_target if self._role == "target" else workspace.set_contrast)(expression)

    def open(self) -> None:
        """Show the search with its suggestions."""
        QToolTip.hideText()
        self.popup.open_below(self)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)
        elif self._cross().contains(event.position().toPoint()):
            self.empty()
        else:
            self.open()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.menu()
        show_menu(menu, event.globalPos())

    def menu(self) -> QMenu:
        """What can be done with the set."""
        menu = QMenu(self)
        menu.addAction("Choose another…", self.open)
        menu.addAction("Swap A and B", self._hub.workspace.swap)
        menu.addAction("Copy the name", lambda: QGuiApplication.clipboard().setText(self.name))
        if self._role == "target":
            menu.addAction("Keep under a name…", self._hub.keep_wanted.emit)
        menu.addAction("Empty", self.empty).setEnabled(self._filled)
        return menu

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Down):
            self.open()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.empty()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: object) -> None:
        self.update()

    def focusOutEvent(self, event: object) -> None:
        self.update()
