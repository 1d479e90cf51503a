"""One pane: a slim header, and the picture with its map."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from calm_gui.core.maps import Map, WinnerMap
from calm_gui.qt.hub import Hub
from calm_gui.qt.panes.before_after import BeforeAfter
from calm_gui.qt.panes.colour_bar import ColourBar
from calm_gui.qt.panes.map_canvas import MapCanvas
from calm_gui.qt.panes.pane_header import HeaderTexts, PaneHeader
from calm_gui.qt.panes.pane_menu import fill_pane_menu
from calm_gui.qt.panes.region_editor import RegionEditor
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets import numbers
from calm_gui.render.naming import number_text, value_text
from calm_gui.session.scene import PaneContent, Scene

__all__ = ["PaneWidget"]

_FRAME = 2
"""Of the active pane; the others leave the same room."""


class PaneWidget(QFrame):
    """Shows the pane of one position.

    Signals
    -------
    activated : int
        The pane was clicked.
    enlarged : int
        The pane was double-clicked.
    menu_wanted : int, QPoint
        The context menu of the pane at a position, at a global place.
    """

    activated = Signal(int)
    enlarged = Signal(int)
    menu_wanted = Signal(int, object)

    def __init__(self, hub: Hub, position: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._position = position
        self._content: PaneContent | None = None
        self._active = False
        self.header = PaneHeader()
        self.menu = QToolButton()
        self.menu.setObjectName("icon")
        self.menu.setText("⋮")
        self.menu.setToolTip("What this pane shows")
        self.menu.setAccessibleName("What this pane shows")
        self.menu.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        choices = QMenu(self.menu)
        choices.aboutToShow.connect(lambda: fill_pane_menu(choices, hub, self._content, position))
        self.menu.setMenu(choices)
        self.canvas = MapCanvas()
        self.bar = ColourBar()
        self.slider: BeforeAfter | None = None
        self._head = QWidget()
        self._head.setObjectName("paneHead")
        head = QHBoxLayout(self._head)
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(0)
        head.addWidget(self.header, 1)
        head.addWidget(self.menu)
        body = QHBoxLayout()
        body.setSpacing(4)
        body.addWidget(self.canvas, 1)
        body.addWidget(self.bar)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(_FRAME, 1, _FRAME, 1)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addLayout(body, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.bar.hide()
        self.wire(self.canvas)
        hub.hovered.connect(self._on_hover)
        self.fit_text()

    def wire(self, canvas: MapCanvas) -> None:
        """Let a canvas of this pane be pointed at, clicked, dragged and drawn on."""
        workspace = self._hub.workspace
        canvas.hovered.connect(self._on_canvas_hover)
        canvas.clicked.connect(self._on_click)
        canvas.double_clicked.connect(lambda: self.enlarged.emit(self._position))
        canvas.menu_wanted.connect(lambda place: self.menu_wanted.emit(self._position, place))
        canvas.focused.connect(lambda: self.activated.emit(self._position))
        canvas.moved.connect(lambda zoom, centre: workspace.update_view(undoable=False, zoom=zoom, centre=centre))
        canvas.drawn.connect(self._on_drawn)
        canvas.editor = RegionEditor(canvas, workspace)

    def fit_text(self) -> None:
        """Take the height that the letters ask for."""
        height = max(20, self.fontMetrics().height() + 6)
        self._head.setFixedHeight(height)
        self.header.setFixedHeight(height)
        self.menu.setFixedSize(height, height)

    def show_content(self, content: PaneContent, alike: bool, scene: Scene, active: bool) -> None:
        """Show what the pane shows in a scene; `alike` if another pane shows the same of another set."""
        self._content = content
        shown = content.shown
        check = shown.check if isinstance(shown, Map) else None
        tip = "\n".join(part for part in (content.title, content.source, content.subtitle) if part)
        if check is not None and isinstance(shown, Map):
            tip += (
                f"\nSum of {shown.values.size} cells {value_text(check.total, 7)}, "
                f"expected {value_text(check.expected, 7)}, relative error {number_text(check.error)}"
            )
        passed = check.passed if check else None
        number = _number(content)
        texts = HeaderTexts(content.label, content.letter, content.name, number, alike, passed, content.source)
        self.header.show_texts(texts, tip)
        view = scene.state.view
        picture = content.pane.picture or scene.state.picture
        truth = self._hub.workspace.truth.boxes_of(picture) if picture else ()
        self.canvas.fades = self._hub.fades
        regions = scene.state.regions_of(picture) if view.regions else ()
        self.canvas.show_content(content, view, regions, truth, picture)
        table = view.diverging if isinstance(shown, Map) and shown.signed else view.sequential
        own = content.scale if view.scale_mode == "fit" else None
        if own is not None or not self.bar.isHidden():
            self.bar.show_scale(own, table)
        if active != self._active:
            self._active = active
            self.update()
        name = f"pane {self._position + 1}: {content.heading}"
        self.setAccessibleName(name)
        self.canvas.setAccessibleName(name)

    def compare_with(self, other: PaneContent | None, scene: Scene) -> None:
        """Show another pane's content right of a line that can be dragged; None ends it."""
        if other is None:
            if self.slider is not None:
                self.slider.hide()
            return
        if self.slider is None:
            self.slider = BeforeAfter(self.canvas)
            self.wire(self.slider.canvas)
        picture = other.pane.picture or scene.state.picture
        regions = scene.state.regions_of(picture) if scene.state.view.regions else ()
        truth = self._hub.workspace.truth.boxes_of(picture) if picture else ()
        self.slider.canvas.show_content(other, scene.state.view, regions, truth, picture)
        self.slider.canvas.tool = self.canvas.tool
        own = self._content
        left = (own.label, own.name, own.source) if own is not None else ()
        right = [part for part in (other.label, other.name, other.source) if part]
        self.slider.name(" · ".join(right), " · ".join(part for part in right if part not in left))
        self.slider.show()
        self.slider.raise_()

    @property
    def content(self) -> PaneContent | None:
        """What the pane shows."""
        return self._content

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.canvas))
        painter.setPen(QColor(theme.accent if self._active else theme.border))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        if self._active:
            painter.drawRect(self.rect().adjusted(1, 1, -2, -2))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.activated.emit(self._position)
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.enlarged.emit(self._position)

    def _on_click(self, x: float, y: float) -> None:
        """Make the pane active; in a winner map, also make the group under the cursor the target."""
        self.activated.emit(self._position)
        shown = self._content.shown if self._content else None
        cell = shown.geometry.cell_at(x, y) if isinstance(shown, WinnerMap) else None
        if isinstance(shown, WinnerMap) and cell is not None and shown.winner[cell] >= 0:
            self._hub.workspace.set_target_of(shown.nodes[int(shown.winner[cell])], shown.explanation)

    def _on_drawn(self, kind: str, points: tuple[tuple[float, float], ...], radius: float) -> None:
        picture = self._content.pane.picture if self._content else None
        self._hub.workspace.add_region(kind, points, radius, picture)

    def _on_canvas_hover(self, point: tuple[float, float] | None) -> None:
        self._hub.hovered_pane.emit(self._position if point else -1)
        self._hub.hovered.emit(point)

    def _on_hover(self, point: tuple[float, float] | None) -> None:
        linked = self._hub.scene.state.view.linked
        self.canvas.set_cross(point if linked or self.canvas.underMouse() else None)
        if self.bar.isHidden():
            return
        value = None
        if point and self._content and isinstance(self._content.drawn, Map):
            cell = self._content.drawn.geometry.cell_at(*point)
            value = float(self._content.drawn.values[cell]) if cell else None
        self.bar.set_mark(value)


def _number(content: PaneContent) -> str:
    """The map's sum with the decimals that are set, where it means something; else what the content says."""
    shown = content.shown
    if not isinstance(shown, Map) or shown.check is None:
        return content.number
    return ("+" if shown.kind.signed and shown.sum > 0 else "") + numbers.number(shown.sum)
