"""Arranges one to six panes so that the picture is as large as it can be."""

from itertools import pairwise

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from calm_gui.qt.hub import Hub
from calm_gui.qt.panes.pane_widget import PaneWidget
from calm_gui.qt.panes.picture_canvas import Tool
from calm_gui.session.scene import Scene

__all__ = ["PaneGrid", "best_columns"]

_CHROME = (8, 28)
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


class PaneGrid(QWidget):
    """The centre of the window.

    Attributes
    ----------
    panes : list of PaneWidget
    hovered : int
        Position of the pane that the cursor is over; -1 for none.

    Signals
    -------
    resized
        Pictures are drawn larger or smaller.
    menu_wanted : int, QPoint
        As of `PaneWidget`.
    """

    resized = Signal()
    menu_wanted = Signal(int, object)

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.panes: list[PaneWidget] = []
        self.hovered = -1
        self._arranged: tuple[int, int | None] = (0, None)
        self._tool: Tool = "pan"
        self._alone: int | None = None
        self._columns: int | None = None
        self._flickering, self._swapped = False, False
        self._slider = False
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(3, 3, 3, 3)
        self._grid.setSpacing(4)
        hub.hovered_pane.connect(self._on_hovered)
        hub.scene_changed.connect(self.show_scene)
        self.show_scene(hub.scene)

    @property
    def active(self) -> PaneWidget:
        """The active pane."""
        return self.panes[min(self._hub.scene.state.active, len(self.panes) - 1)]

    def focus_active(self) -> None:
        """Bring the keyboard to the active pane."""
        self.active.canvas.setFocus()

    def _on_hovered(self, position: int) -> None:
        self.hovered = position

    def set_tool(self, tool: Tool) -> None:
        """What dragging does in all panes: pan, draw a rectangle or a lasso."""
        self._tool = tool
        for pane in self.panes:
            pane.canvas.tool = tool
            if pane.slider is not None:
                pane.slider.canvas.tool = tool

    # Compare

    def enlarge(self, position: int | None) -> None:
        """Show one pane alone; None shows all again."""
        self._alone = position
        self.show_scene(self._hub.scene)

    @property
    def enlarged(self) -> bool:
        """Whether one pane is shown alone."""
        return self._alone is not None

    def fix_columns(self, columns: int | None) -> None:
        """Arrange the panes in so many columns; None takes those that show the pictures largest."""
        self._columns = columns
        self._arrange()

    def flicker(self, on: bool) -> None:
        """Whether `flicker_once` has an effect; the active pane is itself again where not."""
        self._flickering, self._swapped = on, False
        self.show_scene(self._hub.scene)

    def flicker_once(self) -> None:
        """Show the next pane's content in the active one's place, or its own again."""
        self._swapped = self._flickering and not self._swapped
        self.show_scene(self._hub.scene)

    def set_slider(self, split: float | None) -> None:
        """Show the next pane's content right of a line in the active one; None ends it."""
        self._slider = split is not None
        self.show_scene(self._hub.scene)
        if split is not None and self.active.slider is not None:
            self.active.slider.split = split

    # Show

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's panes."""
        contents = list(scene.panes)
        count, active = len(contents), min(scene.state.active, len(contents) - 1)
        if len(self.panes) != count:
            self._make(count)
        if self._alone is not None:
            self._alone = active
        self._arrange()
        after = contents[(active + 1) % count]
        if self._swapped and count > 1:
            contents[active] = after
        labels = [content.label for content in contents]
        for position, (pane, content) in enumerate(zip(self.panes, contents, strict=True)):
            alike = labels.count(content.label) > 1
            pane.show_content(content, alike, scene, active=position == active and count > 1)
            compared = self._slider and position == active and count > 1
            if compared or pane.slider is not None:
                pane.compare_with(after if compared else None, scene)

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
            pane.enlarged.connect(self._on_enlarged)
            pane.menu_wanted.connect(self.menu_wanted)
            self.panes.append(pane)
            if self.isVisible():  # else it's shown with the grid, which leaves its look until then
                pane.show()
        for before, after in pairwise(self.panes):  # a pane made later stands last otherwise, behind all docks
            self.setTabOrder(before.canvas, after.menu)
            self.setTabOrder(after.menu, after.canvas)
        self._arranged = (0, None)

    def _on_enlarged(self, position: int) -> None:
        self._hub.workspace.activate(position)
        self._hub.enlarge_wanted.emit()

    def _arrange(self) -> None:
        explanation = self._hub.scene.explanation
        width, height = explanation.geometry.picture if explanation else (4, 3)
        shown = self.panes if self._alone is None else [self.panes[min(self._alone, len(self.panes) - 1)]]
        columns = best_columns(len(shown), self.width(), self.height(), width / height)
        if self._columns is not None:
            columns = min(self._columns, len(shown))
        if (columns, self._alone) == self._arranged:
            return
        self._arranged = (columns, self._alone)
        for pane in self.panes:
            self._grid.removeWidget(pane)
            if pane.isHidden() != (pane not in shown):
                pane.setVisible(pane in shown)
        for position, pane in enumerate(shown):
            self._grid.addWidget(pane, position // columns, position % columns)
        for index in range(6):
            self._grid.setColumnStretch(index, int(index < columns))
            self._grid.setRowStretch(index, int(index < -(-len(shown) // columns)))
        self.resized.emit()

    def resizeEvent(self, event: object) -> None:
        self._arrange()
        self.resized.emit()
