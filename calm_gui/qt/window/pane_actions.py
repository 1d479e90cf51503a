"""What menus and keys do with the panes: copy, zoom, draw, compare."""

from collections.abc import Mapping

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget

from calm_gui.core.maps import Map
from calm_gui.core.threshold import component_boxes
from calm_gui.qt.hub import Hub
from calm_gui.qt.panes.map_canvas import MapCanvas
from calm_gui.qt.panes.pane_grid import PaneGrid
from calm_gui.qt.panes.pane_menu import fill_pane_menu
from calm_gui.qt.panes.picture_canvas import Tool
from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.qt.window.dock_places import DockPlaces
from calm_gui.session.ledger import sentence
from calm_gui.session.marked_cells import chosen_cells

__all__ = ["PaneActions"]

_TOOLS: dict[str, Tool] = {"box": "box", "lasso": "polygon", "brush": "brush"}
_FLICKER_MS = 500
_MENU = (
    ("copy_picture", "copy_sentence", "export", "numbers"),
    ("box", "lasso", "brush"),
    ("fit", "actual", "enlarge", "flicker", "slider"),
    ("add_pane", "close_pane"),
)
"""Commands that a pane's context menu offers."""


class PaneActions:
    """Acts on the panes of a window.

    Parameters
    ----------
    window : QWidget
    hub : Hub
    panes : PaneGrid
    docks : DockPlaces
    actions : mapping
        The window's, by name.
    """

    def __init__(
        self, window: QWidget, hub: Hub, panes: PaneGrid, docks: DockPlaces, actions: Mapping[str, QAction]
    ) -> None:
        self._window, self._hub, self._workspace = window, hub, hub.workspace
        self._panes, self._docks, self._actions = panes, docks, actions
        self._timer = QTimer(window)
        self._timer.setInterval(_FLICKER_MS)
        self._timer.timeout.connect(self._panes.flicker_once)

    @property
    def canvas(self) -> MapCanvas:
        """The active pane's picture."""
        return self._panes.active.canvas

    # Copy

    def copy(self) -> None:
        """Copy what is selected where the keyboard is; on a pane, the pane as it is seen."""
        focus = QApplication.focusWidget()
        if isinstance(focus, QLabel) and focus.hasSelectedText():
            QGuiApplication.clipboard().setText(focus.selectedText())
        elif focus is None or isinstance(focus, MapCanvas) or focus is self._window:
            self.copy_picture()

    def copy_picture(self) -> None:
        """Put the active pane on the clipboard as it is seen."""
        QGuiApplication.clipboard().setPixmap(self.canvas.grab())
        self._hub.said.emit("Copied the pane as a picture")

    def copy_sentence(self) -> None:
        """Put the ledger's sentence on the clipboard."""
        QGuiApplication.clipboard().setText(sentence(self._hub.scene))
        self._hub.said.emit("Copied the sentence")

    def copy_boxes(self) -> None:
        """Put the boxes of the active pane's threshold on the clipboard: x0 y0 x1 y1, a line each."""
        shown = self._hub.scene.active.shown
        cells = chosen_cells(shown, self._workspace.state.view.threshold) if isinstance(shown, Map) else None
        if isinstance(shown, Map) and cells is not None:
            boxes = component_boxes(cells, shown.geometry)
            lines = [f"{box.x0:.2f} {box.y0:.2f} {box.x1:.2f} {box.y1:.2f}" for box in boxes]
            QGuiApplication.clipboard().setText("\n".join(lines))
            self._hub.said.emit("Copied the boxes")

    # Zoom

    def zoom(self, factor: float) -> None:
        """Zoom all panes about their middle."""
        self.canvas.zoom_by(factor)

    def zoom_to_pixels(self) -> None:
        """Show each pixel of the picture as one of the screen."""
        share = self._shown_share()
        if share:
            self.canvas.zoom_by(1 / share)

    def zoom_text(self) -> str:
        """How large the active pane's picture is shown, in percent of its own pixels."""
        share = self._shown_share()
        return f"{100 * share:.0f} %" if share else ""

    def _shown_share(self) -> float:
        """Pixels of the screen for each of the picture; 0 without one."""
        explanation = self._hub.scene.active.explanation
        if explanation is None:
            return 0.0
        canvas = self.canvas
        return canvas.picture_rect().width() * canvas.devicePixelRatioF() / explanation.geometry.picture[0]

    # Draw

    def use_tool(self, tool: Tool, on: bool) -> None:
        """Let dragging draw regions, or pan again."""
        actions = self._actions
        if on:
            for name, other in _TOOLS.items():
                if other != tool:
                    actions[name].setChecked(False)
            if not self._docks.is_open("regions"):
                self._docks.open("regions")
        active: Tool = next((t for name, t in _TOOLS.items() if actions[name].isChecked()), "pan")
        self._panes.set_tool(active)

    def clear_regions(self) -> None:
        """Remove the regions of the current picture."""
        state = self._workspace.state
        self._workspace.store.update(regions=tuple(r for r in state.regions if r.picture != state.picture))

    # Menu

    def open_menu(self, position: int, place: QPoint) -> None:
        """Show what can be done with the pane at a position, and what it can show."""
        show_menu(self.menu(position), place)

    def menu(self, position: int) -> QMenu:
        """The context menu of a pane, which becomes the active one."""
        self._workspace.activate(position)
        self._panes.focus_active()  # where the keyboard is when the menu has closed
        menu = QMenu(self._window)
        shows = menu.addMenu("Shows")
        fill_pane_menu(shows, self._hub, self._panes.panes[position].content, position)
        editor = self._panes.panes[position].canvas.editor
        if editor is not None and (shape := editor.chosen) is not None:
            menu.addAction(f"Remove {shape.name}", lambda: self._workspace.remove_region(shape))
        for names in _MENU:
            menu.addSeparator()
            menu.addActions([self._actions[name] for name in names])
        return menu

    # Compare

    def next_pane(self) -> None:
        """Let all that speaks of one pane speak of the next."""
        state = self._workspace.state
        self._workspace.activate((state.active + 1) % len(state.panes))
        self._panes.focus_active()

    def enlarge(self, on: bool) -> None:
        """Show the active pane alone, or all again."""
        self._panes.enlarge(self._workspace.state.active if on else None)

    def flicker(self, on: bool) -> None:
        """Show the active pane and the next one by turns in one place."""
        self._panes.flicker(on)
        (self._timer.start if on else self._timer.stop)()

    def slider(self, on: bool) -> None:
        """Show the active pane left and the next one right of a line that can be dragged."""
        self._panes.set_slider(0.5 if on else None)

    def escape(self) -> None:
        """End whatever is on: drawing, comparing, the pictures alone."""
        for name in (*_TOOLS, "flicker", "slider", "enlarge", "pictures_alone"):
            self._actions[name].setChecked(False)
