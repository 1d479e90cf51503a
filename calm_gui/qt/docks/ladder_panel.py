"""The map at every step from the class up to the root: small pictures to compare and to click."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from calm_gui.core.explanation import CamExplanation
from calm_gui.core.geometry import interpolate
from calm_gui.late import np
from calm_gui.qt.docks.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.docks.ladder_plot import StripPlot
from calm_gui.qt.hub import Hub
from calm_gui.qt.theme import current_theme
from calm_gui.qt.widgets.elided_label import ElidedLabel
from calm_gui.render.colormap import premultiplied_table
from calm_gui.render.naming import probability_text
from calm_gui.render.scale import Scale, fit_scale
from calm_gui.session.expression import Expression
from calm_gui.session.scene import Scene, StripStep

__all__ = ["LADDER", "LadderPanel"]

_PICTURE_HEIGHT = 66


class _StepRow(QWidget):
    """Draws all steps; clicked and walked through by keys.

    Signals
    -------
    chosen : str
        Key of the node of a step.
    """

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Steps from the class up to everything")
        self._steps: tuple[StripStep, ...] = ()
        self._empty = ""
        self._scales: list[Scale] = []
        self._tables = ("inferno", 0.6)
        self._thumbnail = QImage()
        self._thumbnail_of: object = None
        self._overlays: dict[tuple, QImage] = {}

    def show_steps(self, scene: Scene, own_scales: bool) -> None:
        """Show a scene's steps, on the root's scale or each on its own."""
        self._steps = scene.strip
        cam = isinstance(scene.explanation, CamExplanation)
        self._empty = (
            "CAM's maps don't add up over groups" if cam else "choose a target, or a checkpoint with a hierarchy"
        )
        view = scene.state.view
        self._tables = (view.sequential, view.opacity if view.overlay else 0.0)
        explanation = scene.explanation
        if explanation is not None and explanation is not self._thumbnail_of and explanation.picture is not None:
            self._thumbnail_of = explanation
            self._overlays.clear()
            height, width = explanation.picture.shape[:2]
            image = QImage(explanation.picture.data, width, height, 3 * width, QImage.Format.Format_RGB888)
            side = int(_PICTURE_HEIGHT * self.devicePixelRatioF())
            self._thumbnail = image.scaledToHeight(side, Qt.TransformationMode.SmoothTransformation)
        if self._steps:
            largest = fit_scale(self._steps[-1].shown.values)
            self._scales = [fit_scale(step.shown.values) if own_scales else largest for step in self._steps]
        self.setMinimumWidth(int(self._step_width() * len(self._steps)))
        self.setMinimumHeight(self.sizeHint().height())
        self.update()

    def _step_width(self) -> float:
        aspect = self._thumbnail.width() / max(1, self._thumbnail.height())
        return max(92.0, _PICTURE_HEIGHT * aspect + 10)

    def sizeHint(self) -> QSize:
        return QSize(200, _PICTURE_HEIGHT + 3 * self.fontMetrics().height() + 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self._steps:
            painter.setPen(QColor(theme.muted))
            painter.drawText(
                self.rect(),
                int(Qt.AlignmentFlag.AlignCenter),
                f"nothing to climb: {self._empty}",
            )
            return
        metrics, line = painter.fontMetrics(), painter.fontMetrics().height()
        width = self._step_width()
        for position, (step, scale) in enumerate(zip(self._steps, self._scales, strict=True)):
            left = position * width
            if not event.rect().intersects(QRectF(left, 0, width, self.height()).toAlignedRect()):
                continue
            aspect = self._thumbnail.width() / max(1, self._thumbnail.height())
            picture = QRectF(left + 4, 3, _PICTURE_HEIGHT * aspect, _PICTURE_HEIGHT)
            painter.drawImage(picture, self._thumbnail)
            painter.drawImage(picture, self._overlay(step, scale))
            if step.chosen or step.suggested:
                style = Qt.PenStyle.SolidLine if step.chosen else Qt.PenStyle.DashLine
                painter.setPen(QPen(QColor(theme.accent), 2.4, style))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(picture)
            lines = (
                (step.node.name, theme.accent if step.suggested else theme.text),
                (f"{len(step.node.classes)} · {probability_text(step.probability)}", theme.text),
                (f"area {step.area * 100:.0f} %", theme.muted),
            )
            for row, (text, colour) in enumerate(lines):
                painter.setPen(QColor(colour))
                area = QRectF(left + 4, picture.bottom() + 3 + row * line, width - 8, line)
                painter.drawText(area, metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(area.width())))
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _overlay(self, step: StripStep, scale: Scale) -> QImage:
        key = (step.shown, scale, self._tables)
        if key not in self._overlays:
            if len(self._overlays) > 100:
                self._overlays.clear()
            geometry = step.shown.geometry
            height, width = self._thumbnail.height(), self._thumbnail.width()
            x = (np.arange(width) + 0.5) * geometry.picture[0] / width
            y = (np.arange(height) + 0.5) * geometry.picture[1] / height
            indices = scale.indices(interpolate(step.shown.values, *geometry.to_grid(x, y)))
            words = np.ascontiguousarray(premultiplied_table(*self._tables)[indices])
            image = QImage(words.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
            self._overlays[key] = image.copy()
        return self._overlays[key]

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        position = int(event.position().x() // self._step_width())
        if 0 <= position < len(self._steps):
            self.chosen.emit(self._steps[position].node.key)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        position = int(event.position().x() // self._step_width())
        if 0 <= position < len(self._steps):
            step = self._steps[position]
            self.setToolTip(f"{step.node.name} · {step.node.key}\n{step.node.gloss}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        chosen = next((i for i, step in enumerate(self._steps) if step.chosen), 0)
        moves = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if event.key() in moves and self._steps:
            position = min(max(chosen + moves[Qt.Key(event.key())], 0), len(self._steps) - 1)
            self.chosen.emit(self._steps[position].node.key)
        else:
            super().keyPressEvent(event)


class LadderPanel(DockPanel):
    """The strip with its heading."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._hub = hub
        heading = QLabel("Hierarchy")
        heading.setObjectName("heading")
        self._suggestion = ElidedLabel()
        self._suggestion.setObjectName("muted")
        self._own = QCheckBox("own scales")
        self._own.setToolTip("Each step on its own scale instead of the whole picture's")
        self._own.toggled.connect(lambda _: self.show_scene(self._hub.scene))
        self._plotted = QCheckBox("plot")
        self._plotted.setToolTip("p and area against the steps")
        self.plot = StripPlot()
        self.plot.hide()
        self._plotted.toggled.connect(self.plot.setVisible)
        self.row = _StepRow()
        self.row.chosen.connect(lambda key: hub.workspace.set_target(Expression.of(key)))
        scroll = QScrollArea()
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it has
        scroll.setWidget(self.row)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFixedHeight(self.row.sizeHint().height() + 14)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(heading)
        head.addWidget(self._suggestion, 1)
        head.addWidget(self._plotted)
        head.addWidget(self._own)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 5, 8, 2)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(scroll)
        layout.addWidget(self.plot)

    @property
    def in_tab_order(self) -> tuple[QWidget, ...]:
        """What the Tab key goes to, from first to last."""
        return (self._plotted, self._own, self.row)

    def show_scene(self, scene: Scene) -> None:
        """Show a scene's steps."""
        suggested = next((step.node.name for step in scene.strip if step.suggested), "")
        words = f"suggested superset: {suggested} (paper's table)" if suggested else "from the class up to everything"
        self._suggestion.setText(words)
        self.row.show_steps(scene, self._own.isChecked())
        self.plot.show_steps(scene.strip)


LADDER = DOCKS.register(
    Dock(
        key="ladder",
        title="Ladder",
        tip="The map at every step from everything down to the class",
        area="right",
        size=272,
        least=180,
        make=lambda hub, _: LadderPanel(hub),
        opened=True,
    )
)
