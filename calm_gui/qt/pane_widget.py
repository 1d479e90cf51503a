"""One pane: title with numbers, the picture with its map, the colour bar."""

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.readings import ATTRIBUTION, READINGS
from calm_gui.methods import METHODS
from calm_gui.qt.colour_bar import ColourBar
from calm_gui.qt.hub import Hub
from calm_gui.qt.map_canvas import MapCanvas
from calm_gui.qt.pane_header import PaneHeader
from calm_gui.session.expression import Expression
from calm_gui.session.pane import PICTURE, About, Pane, Shows
from calm_gui.session.scene import PaneContent, Scene

__all__ = ["PaneWidget"]

_ABOUT_NAMES: dict[About, str] = {"target": "of target A", "contrast": "of contrast B", "superset": "of A's superset"}


class PaneWidget(QFrame):
    """Shows the pane of one position.

    Signals
    -------
    activated : int
        The pane was clicked.
    """

    activated = Signal(int)

    def __init__(self, hub: Hub, position: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pane")
        self._hub = hub
        self._position = position
        self._content: PaneContent | None = None
        self.header = PaneHeader()
        self.menu = QToolButton()
        self.menu.setText("⋮")
        self.menu.setToolTip("What this pane shows")
        self.menu.setAccessibleName("What this pane shows")
        self.menu.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.menu.setMinimumWidth(20)  # in a narrow pane the title needs the room of its margins
        choices = QMenu(self.menu)
        choices.aboutToShow.connect(self._fill_menu)
        self.menu.setMenu(choices)
        self.canvas = MapCanvas()
        self.bar = ColourBar()
        head = QHBoxLayout()
        head.setContentsMargins(2, 0, 0, 0)
        head.setSpacing(4)
        head.addWidget(self.header, 1)
        head.addWidget(self.menu)
        body = QHBoxLayout()
        body.setSpacing(6)
        body.addWidget(self.canvas, 1)
        body.addWidget(self.bar)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 6, 6)
        layout.setSpacing(3)
        layout.addLayout(head)
        layout.addLayout(body, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

        workspace = hub.workspace
        self.canvas.hovered.connect(hub.hovered)
        self.canvas.clicked.connect(self._on_click)
        self.canvas.focused.connect(lambda: self.activated.emit(self._position))
        self.canvas.moved.connect(lambda zoom, centre: workspace.update_view(undoable=False, zoom=zoom, centre=centre))
        self.canvas.drawn.connect(self._on_drawn)
        hub.hovered.connect(self._on_hover)

    def show_content(self, content: PaneContent, titles: tuple[str, ...], scene: Scene, active: bool) -> None:
        """Show what the pane shows in a scene."""
        self._content = content
        shown = content.shown
        check = shown.check if isinstance(shown, Map) else None
        tip = f"{content.title}\n{content.subtitle}".rstrip()
        if check is not None:
            words = "agrees with" if check.passed else "DIFFERS from"
            tip += (
                f"\nthe map's sum {check.total:.7g} {words} p computed anew in float64, {check.expected:.7g}; "
                f"relative error {check.error:.1e}"
            )
        subtitles = (content.subtitle, *content.shorter_subtitles)
        self.header.show_texts(titles, subtitles, check.passed if check else None, tip)
        view = scene.state.view
        picture = content.pane.picture or scene.state.picture
        truth = self._hub.workspace.truth.boxes_of(picture) if picture else ()
        self.canvas.show_content(content, view, scene.state.regions_of(picture), truth)
        table = view.diverging if isinstance(shown, Map) and shown.signed else view.sequential
        self.bar.show_scale(content.scale, table)
        if self.property("active") != active:
            self.setProperty("active", active)
            if self.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):  # or its look is still to come
                self.style().unpolish(self)
                self.style().polish(self)
        name = f"pane {self._position + 1}: {content.title}, {content.subtitle}"
        self.setAccessibleName(name)
        self.canvas.setAccessibleName(name)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.activated.emit(self._position)
        super().mousePressEvent(event)

    def _on_click(self, x: float, y: float) -> None:
        """Make the pane active; in a winner map, also make the group under the cursor the target."""
        self.activated.emit(self._position)
        shown = self._content.shown if self._content else None
        cell = shown.geometry.cell_at(x, y) if isinstance(shown, WinnerMap) else None
        if isinstance(shown, WinnerMap) and cell is not None and shown.winner[cell] >= 0:
            self._hub.workspace.set_target(Expression.of(shown.nodes[int(shown.winner[cell])].key))

    def _on_drawn(self, kind: str, points: tuple[tuple[float, float], ...], radius: float) -> None:
        picture = self._content.pane.picture if self._content else None
        self._hub.workspace.add_region(kind, points, radius, picture)

    def _on_hover(self, point: tuple[float, float] | None) -> None:
        self.canvas.set_cross(point)
        value = None
        if point and self._content and isinstance(self._content.shown, Map):
            cell = self._content.shown.geometry.cell_at(*point)
            value = float(self._content.shown.values[cell]) if cell else None
        self.bar.set_mark(value)

    def _fill_menu(self) -> None:
        menu = self.menu.menu()
        menu.clear()
        workspace, pane = self._hub.workspace, self._content.pane if self._content else Pane()
        explanation = self._content.explanation if self._content else None
        for reading in READINGS.values():
            refusal = reading.refusal(explanation) if explanation else ""
            for about, words in _ABOUT_NAMES.items() if reading is ATTRIBUTION else (("target", ""),):
                action = self._choice(menu, f"{reading.title} {words}".rstrip(), reading, about)
                action.setEnabled(not refusal)
                action.setToolTip(refusal or reading.meaning)
        self._choice(menu, "Picture only", PICTURE, "target")
        menu.setToolTipsVisible(True)
        methods = menu.addMenu("Other method")
        for method in METHODS.values():
            self._choice(methods, method.title, method, pane.about)
        menu.addSeparator()
        checkpoints = menu.addMenu("Checkpoint")
        first = checkpoints.addAction("the chosen one")
        first.triggered.connect(lambda: workspace.change_pane(self._position, checkpoint=None))
        for key in workspace.compute.infos:
            action = checkpoints.addAction(Path(key).name)
            action.setCheckable(True)
            action.setChecked(pane.checkpoint == key)
            action.triggered.connect(lambda _=False, k=key: workspace.change_pane(self._position, checkpoint=k))
        pin = menu.addAction("Keep this picture")
        pin.setCheckable(True)
        pin.setChecked(pane.picture is not None)
        pin.triggered.connect(
            lambda on: workspace.change_pane(self._position, picture=workspace.state.picture if on else None)
        )
        menu.addSeparator()
        menu.addAction("Add a pane like this").triggered.connect(self._add)
        close = menu.addAction("Close pane")
        close.setEnabled(len(workspace.state.panes) > 1)
        close.triggered.connect(lambda: workspace.close_pane(self._position))

    def _choice(self, menu: QMenu, text: str, shows: Shows, about: About) -> QAction:
        """An action that lets the pane show something else."""
        content = self._content
        now = (content.shows, content.pane.about if shows is ATTRIBUTION else about) if content else None
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(now == (shows, about))
        workspace = self._hub.workspace
        action.triggered.connect(lambda: workspace.change_pane(self._position, shows=shows, about=about))
        return action

    def _add(self) -> None:
        workspace = self._hub.workspace
        pane = self._content.pane if self._content else Pane()
        workspace.set_panes((*workspace.state.panes, pane))
