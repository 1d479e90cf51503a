"""The row on top: the menus, and the tools at its right."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenuBar, QSizePolicy, QToolButton, QWidget

from calm_gui.qt.widgets.elided_label import ElidedLabel
from calm_gui.qt.widgets.measure import scaled
from calm_gui.session.scene import Scene

__all__ = ["MenuRow"]

_DROPS_NAME_BELOW = 850
_NAME = 150
"""Width of the window below which the picture's name goes; the name's own width."""

_TOOLS = ("undo", "redo", "", "fit", "box", "lasso", "brush", "", "!export")
"""Actions; an empty name stands for a line between them, ``!name`` shows the text too."""


class MenuRow(QWidget):
    """Menus at the left on every platform, since a native menu bar would leave the tools no row.

    Attributes
    ----------
    menus : QMenuBar
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("menuRow")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.menus = QMenuBar()
        self.menus.setNativeMenuBar(False)
        self.menus.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.name = ElidedLabel()
        self.name.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.place = QLabel()
        self.place.setObjectName("muted")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(4, 0, 8, 0)
        self._row.setSpacing(2)
        self._row.addWidget(self.menus)
        self._row.addStretch(1)
        self.tools: list[QToolButton] = []
        self._always: list[QToolButton] = []
        self._lesser: list[QWidget] = []
        self._lines: list[QWidget] = []
        self.fit_text()

    def add_tools(self, actions: dict[str, QAction]) -> None:
        """Put the tools at the right, once the actions are there."""
        self._add(actions["previous"])
        self._row.addWidget(self.name)
        self._row.addSpacing(6)
        self._row.addWidget(self.place)
        self._add(actions["next"])
        self._line()
        for name in _TOOLS:
            if name:
                self._add(actions[name.lstrip("!")], with_text=name.startswith("!"))
            else:
                self._line()
        self._always = [self.tools[0], self.tools[1], self.tools[-1]]
        self._lesser = [*self.tools[2:-1], *self._lines]

    def _add(self, action: QAction, with_text: bool = False) -> None:
        button = QToolButton()
        button.setObjectName("icon")
        button.setDefaultAction(action)
        styles = Qt.ToolButtonStyle
        button.setToolButtonStyle(styles.ToolButtonTextBesideIcon if with_text else styles.ToolButtonIconOnly)
        button.setAccessibleName(action.text().replace("&", ""))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.tools.append(button)
        self._row.addWidget(button)

    def _line(self) -> None:
        line = QFrame()
        line.setObjectName("line")
        line.setFixedSize(1, 16)
        self._lines.append(line)
        self._row.addSpacing(3)
        self._row.addWidget(line)
        self._row.addSpacing(3)

    def fit_text(self) -> None:
        """Take the height that the letters ask for."""
        self.setFixedHeight(max(scaled(self, 28), self.fontMetrics().height() + 10))
        self.name.setFixedWidth(scaled(self, _NAME))
        self.place.setFixedWidth(self.fontMetrics().horizontalAdvance("1000 of 1000") + 6)

    def show_scene(self, scene: Scene) -> None:
        """Name the picture and its place among the open ones."""
        state = scene.state
        self.name.setText(Path(state.picture).name if state.picture else "no picture")
        self.place.setText(f"{state.current + 1} of {len(state.pictures)}" if state.picture else "")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what the menus need the room of: the picture's name first, then the tools, which menus have too."""
        super().resizeEvent(event)
        named = self.width() >= scaled(self, _DROPS_NAME_BELOW)
        self.name.setVisible(named)
        self.place.setVisible(named)
        room = self.width() - self.menus.sizeHint().width() - 24
        kept = sum(tool.sizeHint().width() + 2 for tool in self._always)
        for part in self._lesser:
            part.setVisible(room >= kept + sum(each.sizeHint().width() + 6 for each in self._lesser))
