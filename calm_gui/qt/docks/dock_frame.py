"""The frame of one dock: a slim title bar, and the panel below it."""

from itertools import pairwise

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDockWidget, QFrame, QHBoxLayout, QLabel, QMainWindow, QSizePolicy, QVBoxLayout, QWidget

from calm_gui.qt.dock import Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.qt.widgets.icon_button import IconButton
from calm_gui.qt.widgets.measure import scaled
from calm_gui.session.scene import Scene

__all__ = ["DockFrame"]

_LEAST = 130
"""Width of a title bar without its tools."""

_MORE = 3
"""How much sooner a tool that can grow gets room than the title."""

_GRIP = 4
"""The edge by which a floating dock is resized."""

_AREAS = Qt.DockWidgetArea.LeftDockWidgetArea | Qt.DockWidgetArea.RightDockWidgetArea
_AREAS |= Qt.DockWidgetArea.BottomDockWidgetArea


class _TitleBar(QFrame):
    """As high as it's fixed to be: a dock asks for the hint alone. Its tools don't keep the dock from being narrow.

    Attributes
    ----------
    tools : tuple of QWidget
        Those that don't fit go, the first of them first.
    """

    tools: tuple[QWidget, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self._left_out: set[QWidget] = set()

    def sizeHint(self) -> QSize:
        return QSize(_LEAST, self.maximumHeight())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        """A tool that says more or less asks for a layout."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def _fit(self) -> None:
        """Leave out the tools that there is no room for."""
        row = self.layout()
        if row is None:
            return
        margins = row.contentsMargins()
        room = self.width() - margins.left() - margins.right()
        for position in range(row.count()):
            item = row.itemAt(position)
            widget = item.widget() if item is not None else None
            if widget is not None and widget not in self.tools and not widget.isHidden():
                room -= widget.minimumSizeHint().width() + 4
        for tool in reversed(self.tools):
            if tool.isHidden() and tool not in self._left_out:
                continue
            room -= (tool.minimumWidth() or tool.minimumSizeHint().width()) + 4
            if room < 0 and not tool.isHidden():
                self._left_out.add(tool)
                tool.hide()
            elif room >= 0 and tool in self._left_out:
                self._left_out.remove(tool)
                tool.show()


class DockFrame(QDockWidget):
    """Makes its panel when it's first seen, and tells it of scenes only while it is seen.

    Signals
    -------
    fold_wanted : str
        Key of the dock whose fold button was pressed.
    """

    fold_wanted = Signal(str)

    def __init__(self, dock: Dock, hub: Hub, settings: Settings) -> None:
        super().__init__(dock.title)
        self.dock = dock
        self._hub, self._settings = hub, settings
        self._panel: DockPanel | None = None
        self.setObjectName(f"dock {dock.key}")
        self.setAccessibleName(dock.title)
        self.setAllowedAreas(_AREAS)
        self._body = QFrame()
        self._body.setObjectName("dock")
        self._inside = QVBoxLayout(self._body)
        self._inside.setContentsMargins(0, 0, 0, 0)
        self.setWidget(self._body)
        self._bar = _TitleBar()
        self._bar.setObjectName("dockTitle")
        self._row = QHBoxLayout(self._bar)
        self._row.setContentsMargins(10, 0, 4, 0)
        self._row.setSpacing(2)
        self._title = QLabel(dock.title)
        self._title.setObjectName("heading")
        self._title.setSizePolicy(QSizePolicy.Policy.MinimumExpanding, QSizePolicy.Policy.Fixed)
        self._title.setToolTip(dock.tip)
        self._float = IconButton("float", f"Float {dock.title}")
        self._float.clicked.connect(lambda: self.setFloating(not self.isFloating()))
        self._fold = IconButton("minus", f"Fold {dock.title}")
        self._fold.clicked.connect(lambda: self.fold_wanted.emit(dock.key))
        for widget, stretch in ((self._title, 1), (self._float, 0), (self._fold, 0)):
            self._row.addWidget(widget, stretch)
        self.setTitleBarWidget(self._bar)
        self.fit_text()
        self.visibilityChanged.connect(self._on_visible)
        self.topLevelChanged.connect(self._on_floating)
        hub.scene_changed.connect(self._on_scene)

    def fit_text(self) -> None:
        """Take the heights and the least sizes that the letters ask for."""
        self._bar.setFixedHeight(max(scaled(self, 28), self.fontMetrics().height() + 8))
        least = scaled(self, self.dock.least)
        below = self.dock.area == "bottom"
        self._body.setMinimumSize(0 if below else least, max(0, least - self._bar.height()) if below else 80)

    @property
    def panel(self) -> DockPanel:
        """What the dock holds, made when it's first asked for."""
        if self._panel is None:
            self._panel = panel = self.dock.make(self._hub, self._settings)
            self._inside.addWidget(panel)
            if panel.heading is not None:
                self._row.replaceWidget(self._title, panel.heading)
                self._row.setStretchFactor(panel.heading, 1)
                self._title.hide()
            for position, tool in enumerate(panel.tools, start=1):
                grows = tool.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Expanding
                self._row.insertWidget(position, tool, _MORE if grows else 0)
            self._bar.tools = panel.tools
            panel.show()
            panel.show_scene(self._hub.scene)
            self._order_tabs(panel)
        return self._panel

    def _order_tabs(self, panel: DockPanel) -> None:
        """Let Tab go through the title bar first, and then through the panel."""
        heading = (panel.heading,) if panel.heading is not None else ()
        order = (*heading, *panel.tools, self._float, self._fold, *panel.in_tab_order)
        for before, after in pairwise(order):
            self.setTabOrder(before, after)

    @property
    def is_made(self) -> bool:
        """Whether the panel was made."""
        return self._panel is not None

    @property
    def sits_at_the_bottom(self) -> bool:
        """Whether its size is its height."""
        window = self.parentWidget()
        return isinstance(window, QMainWindow) and window.dockWidgetArea(self) == Qt.DockWidgetArea.BottomDockWidgetArea

    def _on_visible(self, seen: bool) -> None:
        if seen:
            made = self.is_made
            if made:
                self.panel.show_scene(self._hub.scene)
            else:
                self.panel  # noqa: B018  made now

    def _on_scene(self, scene: Scene) -> None:
        if self._panel is not None and self._panel.isVisible():
            self._panel.show_scene(scene)

    def _on_floating(self, floating: bool) -> None:
        edge = _GRIP if floating else 0
        self.setContentsMargins(edge, edge, edge, edge)
