"""The chips that show a class set of several terms: one for each, removable."""

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QVBoxLayout, QWidget

from calm_gui.errors import CalmError
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.flow_layout import FlowLayout
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.session.expression import SPECIAL, Expression, term_name
from calm_gui.session.scene import Scene

__all__ = ["Chip", "TermRow"]

_MOST_CHIPS = 8
_MOST_NAMED = 30
"""Terms without a chip that the tooltip of the last one names."""


class Chip(QWidget):
    """A coloured label with a cross.

    Signals
    -------
    removed
        The cross was clicked, or Delete pressed.
    menu_wanted : QPoint
        The context menu, at a global position.
    """

    removed = Signal()
    menu_wanted = Signal(object)

    def __init__(self, role: str) -> None:
        super().__init__()
        self.text = ""
        self._role = role
        self._removable = True
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def show_text(self, text: str, tool_tip: str, removable: bool = True) -> None:
        """Say something else; the layout must be told, since the size changes."""
        self.text = text
        self._removable = removable
        self.setToolTip(tool_tip)
        self.setAccessibleName(f"{self._role}: {text}" + (", Delete removes it" if removable else ""))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if removable else Qt.FocusPolicy.NoFocus)
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        cross = metrics.height() if self._removable else 0
        return QSize(metrics.horizontalAdvance(self.text) + 16 + cross, metrics.height() + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(min(60, self.sizeHint().width()), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.panel))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(theme.text) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.target if self._role == "target" else theme.contrast))
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 4, 4)
        painter.setPen(QColor("#ffffff"))
        metrics = painter.fontMetrics()
        cross = metrics.height() if self._removable else 0
        area = self.rect().adjusted(8, 0, -6 - cross, 0)
        text = metrics.elidedText(self.text, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, int(Qt.AlignmentFlag.AlignVCenter), text)
        if self._removable:
            painter.drawText(
                self.rect().adjusted(0, 0, -7, 0), int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), "×"
            )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._removable and event.position().x() > self.width() - QFontMetrics(self.font()).height() - 6:
            self.removed.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._removable:
            self.menu_wanted.emit(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._removable and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)


class TermRow(QWidget):
    """The terms of a set.

    Signals
    -------
    edited : Expression
        A chip was removed.
    """

    edited = Signal(object)

    def __init__(self, role: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._role = role
        self._shown_of: tuple[object, ...] = ()
        self._expression: Expression | None = None
        self._texts: list[str] = []
        self._chips = QWidget()
        self._flow = FlowLayout(self._chips)
        self._shown: list[Chip] = []
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._chips)

    @property
    def chips(self) -> tuple[Chip, ...]:
        """All chips that were made, those out of use among them."""
        return tuple(self._shown)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's target or contrast."""
        selection = scene.state.selection
        if (selection, scene.explanation, scene.info) == self._shown_of:
            return  # the view has changed, or other panes are shown
        self._shown_of = selection, scene.explanation, scene.info
        expression = selection.target if self._role == "target" else selection.contrast
        texts = [self._text(scene, expression, i) for i in range(min(len(expression.terms), _MOST_CHIPS + _MOST_NAMED))]
        if expression != self._expression or texts != self._texts:
            self._expression, self._texts = expression, texts
            self._fill(expression, texts)

    def _text(self, scene: Scene, expression: Expression, position: int) -> str:
        term = expression.terms[position]
        sign = "− " if term.sign == "-" else ""
        try:
            name = term_name(term, scene.classes, scene.hierarchy)
            size = len(scene._set(Expression.of(term.key), part_of=expression))
        except CalmError:
            return f"{sign}{term.key}?"
        if term.key in SPECIAL:
            now = scene.term_text(expression, term)
            return f"{sign}{now}" + (f" · {size} classes" if size > 1 else "") + (f" ({name})" if now != name else "")
        return f"{sign}{name}" + (f" · {size} classes" if size > 1 else "")

    def _fill(self, expression: Expression, texts: list[str]) -> None:
        chips = zip(texts[:_MOST_CHIPS], expression.terms, strict=False)
        labels = [(text, f"{text}\n{term.key}", True) for text, term in chips]
        if more := len(expression.terms) - len(labels):
            named = texts[_MOST_CHIPS:]
            labels.append((f"{more} more", "\n".join([*named, "…"] if len(named) < more else named), False))
        while len(self._shown) < len(labels):
            chip, position = Chip(self._role), len(self._shown)
            chip.removed.connect(lambda at=position: self._remove(at))
            chip.menu_wanted.connect(lambda place, at=position: self._show_menu(at, place))
            self._shown.append(chip)
            self._flow.addWidget(chip)
        for position, chip in enumerate(self._shown):
            chip.setVisible(position < len(labels))
            if position < len(labels):
                chip.show_text(*labels[position])
        self._flow.refresh()

    def _remove(self, position: int) -> None:
        if self._expression is not None and position < len(self._expression.terms):
            self.edited.emit(self._expression.without(position))

    def menu(self, position: int) -> QMenu:
        """What can be done with a term."""
        menu = QMenu(self)
        menu.addAction("Remove", lambda: self._remove(position))
        if self._expression is not None and self._expression.terms[position].sign != "-":
            alone = Expression.of(self._expression.terms[position].key)
            menu.addAction("Keep only this", lambda: self.edited.emit(alone))
        return menu

    def _show_menu(self, position: int, place: QPoint) -> None:
        menu = self.menu(position)
        show_menu(menu, place)
