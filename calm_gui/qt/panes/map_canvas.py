"""The picture with its map, what is drawn over it, and drawing regions with the mouse."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFocusEvent, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map
from calm_gui.qt.panes.early_picture import early_picture
from calm_gui.qt.panes.fade import Fade
from calm_gui.qt.panes.map_layers import MapLayers
from calm_gui.qt.panes.marks import draw_boxes, draw_cross, draw_label, draw_note, draw_outline
from calm_gui.qt.panes.picture_canvas import PictureCanvas
from calm_gui.qt.panes.region_editor import RegionEditor
from calm_gui.qt.panes.threshold_mark import ThresholdMark
from calm_gui.qt.theme import current_theme
from calm_gui.render.mark_colours import TRUTH
from calm_gui.session.failures import error_sentence, told_failure
from calm_gui.session.scene import PaneContent
from calm_gui.session.state import RegionShape, View

__all__ = ["MapCanvas"]

_BRUSH = 12.0
"""Radius of the brush on the screen."""

_FEWEST = {"box": 2, "polygon": 3, "brush": 1}
"""How many points each tool needs."""


class MapCanvas(PictureCanvas):
    """Draws one pane's content.

    Signals
    -------
    focused
        The keyboard came here.
    double_clicked
    menu_wanted : QPoint
        The context menu, at a global position.

    Attributes
    ----------
    layers : MapLayers
    editor : RegionEditor or None
    fades : bool
        Whether a map that was waited for fades in.
    """

    focused = Signal()
    double_clicked = Signal()
    menu_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("picture with map")
        self.layers = MapLayers(self)
        self.editor: RegionEditor | None = None
        self.fades = False
        self._threshold = ThresholdMark(self)
        self._fade: Fade | None = None
        self._not_drawn: PaneContent | None = None  # what the log has heard of
        self._truth: tuple[Box, ...] = ()
        self._told: object = None
        self._cross: tuple[float, float] | None = None
        self._pressed: QPointF | None = None
        self._still = True
        self._stroke: list[tuple[float, float]] = []
        self._start_centre = (0.5, 0.5)

    def show_content(
        self,
        content: PaneContent,
        view: View,
        regions: tuple[RegionShape, ...] = (),
        truth: tuple[Box, ...] = (),
        path: str | None = None,
    ) -> None:
        """Show a pane's content; until its picture is decoded, the one at a path as Qt reads it."""
        before = self._content
        self._content, self._view, self._regions, self._truth = content, view, regions, truth
        look = (id(content.pixels), content.shown, content.scale, content.explanation, content.message)
        told = (look, view, regions, truth, path)
        if told == self._told:
            return
        self._told = told
        undecoded = path if content.pixels is None and not content.message else None
        self._early = early_picture(undecoded) if undecoded is not None else QImage()
        awaited = before is not None and before.pixels is not None and before.explanation is None
        if self.fades and awaited and content.drawn is not None:
            self._fade = self._fade or Fade(self, self.update)
            self._fade.begin()
        self.update()

    def set_cross(self, point: tuple[float, float] | None) -> None:
        """Draw the cross-hair at a point of the picture."""
        if point != self._cross:
            self._cross = point
            self.update()  # the lines alone would take longer: Qt is slow to draw an image into what is no rectangle

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        content = self._content
        if content is None or content.pixels is None:
            painter.fillRect(self.rect(), QColor(current_theme().canvas))
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.picture_rect(), self._early)
            message = content.message if content else ""
            draw_note(painter, self, message or "explaining …", bottom=not self._early.isNull())
            return
        try:
            self._draw(painter, content)
        except Exception as error:  # whatever can't be drawn is told in this pane; the others go on
            words = error_sentence(error) if content is self._not_drawn else told_failure(error)
            self._not_drawn = content
            painter.end()  # with whatever it was set to
            painter.begin(self)
            draw_note(painter, self, words)
        finally:
            painter.end()  # what an error or the log holds would keep it

    def _draw(self, painter: QPainter, content: PaneContent) -> None:
        visible = self.visible()
        self.layers.draw_ground(painter, visible, QColor(current_theme().canvas))
        if visible.isEmpty():
            return
        opacity = self._view.opacity * (self._fade.share if self._fade else 1.0)
        self.layers.draw(painter, visible, content, self._view, opacity)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(content.shown, Map) and self._view.overlay:
            self._threshold.draw(painter, content.shown, self._view)
        if self._view.ground_truth:
            draw_boxes(painter, self, self._truth, QColor(TRUTH), dashed=False)
        self._draw_regions(painter)
        if self._cross is not None:
            draw_cross(painter, self, self._cross)
        if content.shown is None and content.message:
            draw_note(painter, self, content.message)
        elif content.explanation is None:
            draw_note(painter, self, "explaining …", bottom=True)
        elif content.message:
            draw_note(painter, self, content.message, bottom=True)

    def _draw_regions(self, painter: QPainter) -> None:
        accent = QColor(current_theme().accent)
        labels: list[QRect] = []
        for shape in self.editor.shown(self._regions) if self.editor else self._regions:
            points = [self.from_picture(x, y) for x, y in shape.points]
            draw_outline(painter, shape.kind, points, accent, self._on_screen(shape.radius))
            corner = QPointF(min(p.x() for p in points), min(p.y() for p in points))
            draw_label(painter, self, corner, shape.name, accent, labels)
        if self.editor:
            self.editor.draw(painter)
        if self._stroke:
            points = [self.from_picture(x, y) for x, y in self._stroke]
            draw_outline(painter, self.tool, points, accent, _BRUSH)

    def _on_screen(self, length: float) -> float:
        size = self.picture_size
        return length * self.picture_rect().width() / size[0] if size else 0.0

    def _brush_radius(self) -> float:
        """In pixels of the picture: the same on the screen at every zoom."""
        size = self.picture_size
        return _BRUSH * size[0] / self.picture_rect().width() if size else 0.0

    def mousePressEvent(self, event: QMouseEvent) -> None:
        drags = (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton)
        if event.button() not in drags:
            super().mousePressEvent(event)
            return
        self._pressed, self._still = event.position(), True
        self._start_centre = self._view.centre
        point = self.nearest(event.position())
        if self.tool != "pan" and event.button() == Qt.MouseButton.LeftButton and point:
            self._stroke = [point]
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.hovered.emit(self.to_picture(event.position()))
        if self._pressed is None:
            return
        self._still = self._still and (event.position() - self._pressed).manhattanLength() < 4
        if self._stroke:
            self._draw_on(event.position())
        elif self.zoom > 1:
            rect, delta = self.picture_rect(), event.position() - self._pressed
            x, y = self._start_centre
            centre = (x - delta.x() / rect.width(), y - delta.y() / rect.height())
            self.moved.emit(self.zoom, self.kept_inside(centre, self.zoom))

    def _draw_on(self, position: QPointF) -> None:
        """Take what is being drawn on to a place; what lies outside the picture counts as its edge."""
        point = self.nearest(position)
        if point and point != self._stroke[-1]:
            self._stroke = [self._stroke[0], point] if self.tool == "box" else [*self._stroke, point]
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        still = self._still and (event.position() - self._pressed).manhattanLength() < 4
        if self._stroke and not still:
            self._draw_on(event.position())
        stroke, self._stroke, self._pressed = self._stroke, [], None
        here = self.to_picture(event.position())
        if stroke and (self.tool == "brush" and here if still else len(stroke) >= _FEWEST[self.tool]):
            self.drawn.emit(self.tool, tuple(stroke), self._brush_radius())
        elif still and here:
            self.clicked.emit(*here)
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A second click in a row; while drawing it is a click like any other."""
        if self.tool == "pan" and event.button() == Qt.MouseButton.LeftButton:
            self.double_clicked.emit()
        else:
            self.mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape gives up what is being drawn."""
        if event.key() == Qt.Key.Key_Escape and self._stroke:
            self._stroke, self._pressed = [], None
            self.update()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.focused.emit()
        super().focusInEvent(event)

    def leaveEvent(self, event: object) -> None:
        self.hovered.emit(None)
