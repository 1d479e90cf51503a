"""Arranges one to six panes so that the picture is as large as it can be."""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtWidgets import QGridLayout, QWidget

from calm_gui.qt.hub import Hub
from calm_gui.qt.map_canvas import Tool
from calm_gui.qt.pane_widget import PaneWidget
from calm_gui.session.scene import Scene

__all__ = ["PaneGrid", "best_columns", "titles_of_panes"]

_CHROME = (80, 40)
"""Width and height of a pane that the picture can't use."""


def best_columns(count: int, width: int, height: int, aspect: float) -> int:
    """The number of columns at which pictures of an aspect ratio are drawn largest.

    Parameters
    ----------
    count : int
        Panes.
    width, height : int
        Of the whole grid.
    aspect : float
        Width over height of the picture.
    """

    def drawn_width(columns: int) -> float:
        rows = -(-count // columns)
        return min(width / columns - _CHROME[0], (height / rows - _CHROME[1]) * aspect)

    return max(range(1, count + 1), key=lambda columns: (drawn_width(columns), -columns))


def titles_of_panes(titles: Sequence[str]) -> list[tuple[str, ...]]:
    """Each pane's title, and those of its parts, sets and reading, that tell it from the others."""
    parts = [title.partition(" — ") for title in titles]
    readings, sets = [part[0] for part in parts], [part[2] for part in parts]
    found = []
    for title, reading, name in zip(titles, readings, sets, strict=True):
        telling = [part for part, among in ((name, sets), (reading, readings)) if part and among.count(part) == 1]
        found.append((title, *(part for part in telling if part != title)))
    return found


class PaneGrid(QWidget):
    """The centre of the window."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.panes: list[PaneWidget] = []
        self._columns = 0
        self._tool: Tool = "pan"
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(8)
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)

    def set_tool(self, tool: Tool) -> None:
        """What dragging does in all panes: pan, draw a rectangle or a lasso."""
        self._tool = tool
        for pane in self.panes:
            pane.canvas.tool = tool

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's panes."""
        contents = scene.panes
        if len(self.panes) != len(contents):
            self._make(len(contents))
        self._arrange()
        titles = titles_of_panes([content.title for content in contents])
        for position, (pane, content, title) in enumerate(zip(self.panes, contents, titles, strict=True)):
            pane.show_content(content, title, scene, active=position == scene.state.active and len(contents) > 1)

    def _make(self, count: int) -> None:
        while len(self.panes) > count:
            pane = self.panes.pop()
            self._grid.removeWidget(pane)
            pane.hide()
            pane.deleteLater()
        while len(self.panes) < count:
            pane = PaneWidget(self._hub, len(self.panes), self)
            pane.canvas.tool = self._tool
            pane.activated.connect(self._hub.workspace.activate)
            self.panes.append(pane)
            if self.isVisible():  # else it's shown with the grid, which leaves its look until then
                pane.show()
        for before, after in pairwise(self.panes):  # a pane made later stands last otherwise, behind all panels
            self.setTabOrder(before.canvas, after.menu)
            self.setTabOrder(after.menu, after.canvas)
        self._columns = 0

    def _arrange(self) -> None:
        explanation = self._hub.scene.explanation
        width, height = explanation.geometry.picture if explanation else (4, 3)
        columns = best_columns(len(self.panes), self.width(), self.height(), width / height)
        if columns == self._columns:
            return
        self._columns = columns
        for pane in self.panes:
            self._grid.removeWidget(pane)
        for position, pane in enumerate(self.panes):
            self._grid.addWidget(pane, position // columns, position % columns)
        for index in range(6):
            self._grid.setColumnStretch(index, int(index < columns))
            self._grid.setRowStretch(index, int(index < -(-len(self.panes) // columns)))

    def resizeEvent(self, event: object) -> None:
        self._arrange()
