"""The dock of the ladder: the map at every step from all classes down to the leading one, to compare and to click."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from calm_gui.qt.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.docks.ladder_plot import LadderPlot
from calm_gui.qt.docks.ladder_rows import PICTURE, LadderRows
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.icon_button import IconButton
from calm_gui.qt.widgets.set_menu import show_set_menu
from calm_gui.session.expression import Expression
from calm_gui.session.scene import Scene

__all__ = ["LADDER", "LadderPanel"]


class _Heading(QWidget):
    """Names the columns."""

    def __init__(self, rows: LadderRows) -> None:
        super().__init__()
        self._rows = rows
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(
            "p: probability of the group. Spread: the smallest part of the picture that holds 90 % of its map"
        )

    def sizeHint(self) -> QSize:
        return QSize(100, self.fontMetrics().height() + 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), current_theme()
        painter.fillRect(self.rect(), QColor(theme.panel))
        painter.setPen(QColor(theme.border))
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)
        painter.setPen(QColor(theme.muted))
        middle, right = int(Qt.AlignmentFlag.AlignVCenter), int(Qt.AlignmentFlag.AlignRight)
        area = QRect(0, 0, self._rows.width() - 8, self.height())
        painter.drawText(area, middle | right, "spread")
        area.setRight(area.right() - painter.fontMetrics().horizontalAdvance("spread") - 8)
        painter.drawText(area, middle | right, "p")
        painter.drawText(QRect(8 + PICTURE + 9, 0, 100, self.height()), middle, "group")


class LadderPanel(DockPanel):
    """The steps, and a plot of their numbers."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._seen: object = None
        self.own = IconButton("scales", "Each step on its own scale instead of a shared one", checkable=True)
        self.own.toggled.connect(lambda _: self.show_scene(self._hub.scene))
        self.plotted = IconButton("plot", "Plot p and spread against the steps", checkable=True)
        self.plot = LadderPlot()
        self.plot.hide()
        self.plotted.toggled.connect(self._show_plot)
        self.tools = (self.plotted, self.own)
        self.row = LadderRows()
        self.row.chosen.connect(lambda key: hub.workspace.set_target(Expression.of(key)))
        self.row.contrasted.connect(lambda key: hub.workspace.set_contrast(Expression.of(key)))
        self.row.menu_wanted.connect(lambda key, place: show_set_menu(self, hub.workspace, key, place))
        self._heading = _Heading(self.row)
        self.scroller = QScrollArea()
        self.scroller.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it has
        self.scroller.setWidget(self.row)
        self.scroller.setWidgetResizable(True)
        self.scroller.setFrameShape(QFrame.Shape.NoFrame)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._heading)
        layout.addWidget(self.scroller, 1)
        layout.addWidget(self.plot)

    @property
    def in_tab_order(self) -> tuple[QWidget, ...]:
        return (self.row,)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's steps."""
        self.row.show_steps(scene, self.own.isChecked())
        if scene.target != self._seen:
            self._seen = scene.target
            QTimer.singleShot(0, self._show_chosen)  # once the rows have their places
        if not self.plot.isHidden():
            self.plot.show_steps(scene.strip)

    def _show_chosen(self) -> None:
        """Scroll to the step that is A."""
        if any(step.chosen for step in self.row.steps):
            place = self.row.area(self.row.current)
            self.scroller.ensureVisible(place.center().x(), place.center().y(), place.width() // 2, place.height())

    def _show_plot(self, on: bool) -> None:
        self.plot.show_steps(self._hub.scene.strip)
        self.plot.setVisible(on)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        lying = self.width() > 2 * self.height()
        if lying != self.row.lying:
            self.row.lying = lying
            self._heading.setVisible(not lying)
            self.row.updateGeometry()
        bars = Qt.ScrollBarPolicy
        self.scroller.setVerticalScrollBarPolicy(bars.ScrollBarAlwaysOff if lying else bars.ScrollBarAsNeeded)
        self.scroller.setHorizontalScrollBarPolicy(bars.ScrollBarAsNeeded if lying else bars.ScrollBarAlwaysOff)


LADDER = DOCKS.register(
    Dock(
        key="ladder",
        title="Ladder",
        tip="The map at every step from all classes down to the leading one",
        area="right",
        size=272,
        least=180,
        make=lambda hub, _: LadderPanel(hub),
        opened=True,
    )
)
