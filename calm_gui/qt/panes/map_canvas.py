"""The picture with its map: zoom, pan, cross-hair, contour, boxes, regions."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.threshold import component_boxes, threshold_level
from calm_gui.late import np
from calm_gui.qt.panes.fade import Fade
from calm_gui.qt.theme import current_theme
from calm_gui.render.argb import dim, even_shape, map_argb, winner_argb
from calm_gui.render.contour import cell_outline, contour_lines
from calm_gui.render.mark_colours import FOUND, TRUTH
from calm_gui.render.overlay import UNSEEN_DIM
from calm_gui.session.scene import PaneContent, chosen_cells
from calm_gui.session.state import RegionShape, View

if TYPE_CHECKING:
    from calm_gui.qt.panes.region_editor import RegionEditor

__all__ = ["MapCanvas", "Tool"]

Tool = Literal["pan", "box", "polygon", "brush"]
MAX_ZOOM = 64.0
_BRUSH = 12.0
"""Radius of the brush on the screen."""

_FEWEST = {"box": 2, "polygon": 3, "brush": 1}
"""How many points each tool needs."""


def _buffer(old: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
    """Argb of a shape: the old ones again if they have it, since fresh memory takes longer than what fills it."""
    return old if old is not None and old.shape == shape else np.empty(shape, np.uint32)


class MapCanvas(QWidget):
    """Draws one pane's content.

    Signals
    -------
    hovered : object
        Picture coordinates (x, y), or None.
    clicked : float, float
        Picture coordinates of a click without movement.
    moved : float, (float, float)
        A new zoom and centre.
    drawn : str, object, float
        A region was drawn: its kind, its points, and the brush's radius in pixels of the picture.
    focused
        The keyboard came here.
    double_clicked
    menu_wanted : QPoint
        The context menu, at a global position.

    Attributes
    ----------
    fades : bool
        Whether a map that was waited for fades in.
    """

    hovered = Signal(object)
    clicked = Signal(float, float)
    moved = Signal(float, object)
    drawn = Signal(str, object, float)
    focused = Signal()
    double_clicked = Signal()
    menu_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # nothing below needs painting
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(24, 24)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("picture with map")
        self.tool: Tool = "pan"
        self.editor: RegionEditor | None = None
        self.fades = False
        self._fade: Fade | None = None
        self._content: PaneContent | None = None
        self._view = View()
        self._regions: tuple[RegionShape, ...] = ()
        self._truth: tuple[Box, ...] = ()
        self._cross: tuple[float, float] | None = None
        self._pressed: QPointF | None = None
        self._still = True
        self._stroke: list[tuple[float, float]] = []
        self._start_centre = (0.5, 0.5)
        self._base_key: object = None
        self._base = QImage()
        self._source_of: object = None
        self._source = QImage()
        self._reached_key: object = None
        self._contour = QPainterPath()
        self._boxes: tuple[Box, ...] = ()
        self._overlay_key: object = None
        self._overlay = QImage()
        self._words: np.ndarray | None = None
        self._dimmed_key: object = None
        self._dimmed_words: np.ndarray | None = None

    def sizeHint(self) -> QSize:
        return QSize(360, 280)

    def show_content(
        self,
        content: PaneContent,
        view: View,
        regions: tuple[RegionShape, ...] = (),
        truth: tuple[Box, ...] = (),
    ) -> None:
        """Show a pane's content."""
        before = self._content
        self._content, self._view, self._regions, self._truth = content, view, regions, truth
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

    # Where the picture lies

    @property
    def regions(self) -> tuple[RegionShape, ...]:
        """The regions that are drawn."""
        return self._regions

    @property
    def zoomed_in(self) -> bool:
        """Whether a drag pans."""
        return self._zoom > 1

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Width and height of the picture in its pixels."""
        pixels = self._content.pixels if self._content else None
        return None if pixels is None else (pixels.shape[1], pixels.shape[0])

    def _fit(self, size: tuple[int, int]) -> float:
        return min(self.width() / size[0], self.height() / size[1])

    @property
    def _zoom(self) -> float:
        """The view's zoom, no less than `_least_zoom`: it may come from a smaller picture."""
        return max(self._view.zoom, self._least_zoom)

    @property
    def _least_zoom(self) -> float:
        """1, or where one pixel of the picture is one of the screen, if the picture is smaller than the pane."""
        size = self.picture_size
        return min(1.0, 1 / (self._fit(size) * self.devicePixelRatioF())) if size else 1.0

    def picture_rect(self) -> QRectF:
        """Where the whole picture lies, in this widget's coordinates."""
        size = self.picture_size
        if size is None:
            return QRectF()
        scale = self._fit(size) * self._zoom
        width, height = size[0] * scale, size[1] * scale
        cx, cy = self._view.centre if self._zoom > 1 else (0.5, 0.5)
        left, top = self.width() / 2 - cx * width, self.height() / 2 - cy * height
        if self._zoom < 1:  # the picture's pixels may be the screen's, and then shall not lie between them
            ratio = self.devicePixelRatioF()
            left, top = round(left * ratio) / ratio, round(top * ratio) / ratio
        return QRectF(left, top, width, height)

    def to_picture(self, point: QPointF) -> tuple[float, float] | None:
        """Picture coordinates of a point of this widget; None outside."""
        rect, size = self.picture_rect(), self.picture_size
        if size is None or not rect.contains(point):
            return None
        return (
            (point.x() - rect.x()) / rect.width() * size[0],
            (point.y() - rect.y()) / rect.height() * size[1],
        )

    def nearest(self, point: QPointF) -> tuple[float, float] | None:
        """Picture coordinates of the point of the picture that is nearest to a point of this widget."""
        rect, size = self.picture_rect(), self.picture_size
        if size is None or rect.isEmpty():
            return None
        across, down = (point.x() - rect.x()) / rect.width(), (point.y() - rect.y()) / rect.height()
        return min(max(across, 0.0), 1.0) * size[0], min(max(down, 0.0), 1.0) * size[1]

    def seen_part(self) -> tuple[float, float, float, float]:
        """The part of the picture in sight: left, top, right, bottom in its pixels."""
        rect, size = self.picture_rect(), self.picture_size or (1, 1)
        part = rect.intersected(QRectF(self.rect()))
        across, down = size[0] / rect.width(), size[1] / rect.height()
        left, top = (part.left() - rect.left()) * across, (part.top() - rect.top()) * down
        return left, top, left + part.width() * across, top + part.height() * down

    def from_picture(self, x: float, y: float) -> QPointF:
        """A point of this widget from picture coordinates."""
        rect, size = self.picture_rect(), self.picture_size or (1, 1)
        return QPointF(rect.x() + x / size[0] * rect.width(), rect.y() + y / size[1] * rect.height())

    def _on_canvas(self, points: np.ndarray) -> np.ndarray:
        """The same for many points (n,2) at once."""
        rect, size = self.picture_rect(), self.picture_size or (1, 1)
        return points * (rect.width() / size[0], rect.height() / size[1]) + (rect.x(), rect.y())

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        content = self._content
        if content is None or content.pixels is None:
            painter.fillRect(self.rect(), QColor(theme.canvas))
            self._say(painter, content.message if content and content.message else "explaining …")
            return
        visible = self._visible()
        self._draw_ground(painter, visible, QColor(theme.canvas))
        if visible.isEmpty():
            return
        self._draw_picture(painter, visible, content)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(content.shown, Map) and self._view.overlay:
            self._draw_threshold(painter, content.shown)
        if self._view.ground_truth:
            self._draw_boxes(painter, self._truth, QColor(TRUTH), dashed=False)
        self._draw_regions(painter)
        if self._cross is not None:
            self._draw_cross(painter)
        if content.shown is None and content.message:
            self._say(painter, content.message)
        elif content.explanation is None:
            self._say(painter, "explaining …", bottom=True)
        elif content.message:
            self._say(painter, content.message, bottom=True)

    def _visible(self) -> QRect:
        """The part of the picture in sight, in whole device pixels of this widget."""
        ratio = self.devicePixelRatioF()
        rect = self.picture_rect().intersected(QRectF(self.rect()))
        left, top = round(rect.left() * ratio), round(rect.top() * ratio)
        return QRect(left, top, round(rect.right() * ratio) - left, round(rect.bottom() * ratio) - top)

    def _samples(self, visible: QRect) -> tuple[np.ndarray, np.ndarray]:
        """Picture coordinates of the centres of the visible device pixels, by column (an even number) and row."""
        ratio, rect, size = self.devicePixelRatioF(), self.picture_rect(), self.picture_size or (1, 1)
        x = (visible.left() + np.arange(even_shape(visible.width(), 0)[1]) + 0.5) / ratio
        y = (np.arange(visible.top(), visible.bottom() + 1) + 0.5) / ratio
        return (x - rect.x()) / rect.width() * size[0], (y - rect.y()) / rect.height() * size[1]

    def _draw_ground(self, painter: QPainter, visible: QRect, colour: QColor) -> None:
        """Fill what the picture leaves free."""
        ratio = self.devicePixelRatioF()
        left, top = visible.left() / ratio, visible.top() / ratio
        right, bottom = (visible.right() + 1) / ratio, (visible.bottom() + 1) / ratio
        painter.fillRect(QRectF(0, 0, self.width(), top), colour)
        painter.fillRect(QRectF(0, bottom, self.width(), self.height() - bottom), colour)
        painter.fillRect(QRectF(0, top, left, bottom - top), colour)
        painter.fillRect(QRectF(right, top, self.width() - right, bottom - top), colour)

    def _draw_picture(self, painter: QPainter, visible: QRect, content: PaneContent) -> None:
        """Draw the picture and what lies over it, as one image where all of the map has one opacity."""
        key = (
            id(content.pixels),
            visible,
            self.devicePixelRatioF(),
            self._zoom,
            self._view.centre,
            self.size(),
        )
        if key != self._base_key:
            self._base_key = key
            self._base = self._scaled_picture(visible)
        shown = content.drawn
        if shown is None or not self._view.overlay:
            self._blit(painter, self._base, visible)
            return
        even = isinstance(shown, Map) and shown.geometry.sees_all and not self._view.mask
        if not even:
            self._blit(painter, self._base, visible)
        self._draw_overlay(painter, visible, content, even)

    @property
    def _opacity(self) -> float:
        """The map's, which is less than the view's while it fades in."""
        return self._view.opacity * (self._fade.share if self._fade else 1.0)

    def _dimmed(self) -> np.ndarray:
        """The picture in sight, by the part that the map's opacity leaves of it, as 32-bit ARGB pixels."""
        key = (self._base_key, self._opacity)
        if key != self._dimmed_key:
            self._dimmed_key = key
            width, height = self._base.width(), self._base.height()
            picture = np.frombuffer(self._base.constBits(), np.uint32).reshape(height, width)
            self._dimmed_words = _buffer(self._dimmed_words, even_shape(width, height))
            dim(picture, self._opacity, self._dimmed_words)
        assert self._dimmed_words is not None
        return self._dimmed_words

    def _scaled_picture(self, visible: QRect) -> QImage:
        assert self._content is not None and self._content.pixels is not None
        pixels = self._content.pixels
        if self._source_of is not pixels:
            height, width = pixels.shape[:2]
            self._source_of = pixels
            self._source = QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888).convertToFormat(
                QImage.Format.Format_RGB32
            )
        x, y = self._samples(visible)
        step_x = x[1] - x[0] if len(x) > 1 else 1.0
        step_y = y[1] - y[0] if len(y) > 1 else 1.0
        size = (step_x * visible.width(), step_y * visible.height())
        source = QRectF(x[0] - step_x / 2, y[0] - step_y / 2, *size)
        if step_x > 1.5:  # reducing: an average of all pixels, which a painter doesn't make
            crop = self._source.copy(source.toAlignedRect().intersected(self._source.rect()))
            return crop.scaled(
                visible.size(), Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        result = QImage(visible.size(), QImage.Format.Format_RGB32)
        result.fill(Qt.GlobalColor.black)
        scaler = QPainter(result)
        target = QRectF(0, 0, visible.width(), visible.height())
        scaler.drawImage(target, self._source, source)  # hard edges below, since smooth ones are transparent
        if 0.25 < step_x != 1.0:  # from four-fold on the pixels themselves are of interest
            scaler.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            scaler.drawImage(target, self._source, source)
        scaler.end()
        return result

    def _blit(self, painter: QPainter, image: QImage, visible: QRect) -> None:
        """Draw an image whose pixels are device pixels."""
        ratio = self.devicePixelRatioF()
        image.setDevicePixelRatio(ratio)
        painter.drawImage(QPointF(visible.left() / ratio, visible.top() / ratio), image)

    def _draw_overlay(self, painter: QPainter, visible: QRect, content: PaneContent, even: bool) -> None:
        view = self._view
        cut = view.threshold if view.mask else None
        look = (view.sequential, view.diverging, self._opacity, view.native, cut, even)
        key = (content.drawn, content.scale, look, self._base_key, self.picture_rect().getRect())
        if key != self._overlay_key:
            self._overlay_key = key
            self._words = words = _buffer(self._words, even_shape(visible.width(), visible.height()))
            self._fill_words(words, content, visible, even)
            self._overlay = QImage(  # only borrows the words
                words.data,
                visible.width(),
                visible.height(),
                words.strides[0],
                QImage.Format.Format_RGB32 if even else QImage.Format.Format_ARGB32_Premultiplied,
            )
        self._blit(painter, self._overlay, visible)

    def _fill_words(self, words: np.ndarray, content: PaneContent, visible: QRect, even: bool) -> None:
        """Fill the words, one for each visible device pixel, with the overlay, or with the picture and it."""
        view, shown = self._view, content.drawn
        assert shown is not None
        x, y = self._samples(visible)
        columns, rows = shown.geometry.to_grid(x, y)
        if isinstance(shown, WinnerMap):
            winner_argb(shown, self._opacity, columns, rows, words)
        else:
            assert content.scale is not None
            map_argb(
                shown,
                content.scale,
                view.diverging if shown.signed else view.sequential,
                self._opacity,
                columns,
                rows,
                words,
                nearest=view.native,
                least=self._drawn_level(content) if view.mask else None,
                under=self._dimmed() if even else None,
            )
        if not shown.geometry.sees_all:
            seen = shown.geometry.seen
            unseen = np.uint32(round((1 - UNSEEN_DIM) * 255) << 24)
            words[(y < seen.y0) | (y >= seen.y1), :] = unseen
            words[:, (x < seen.x0) | (x >= seen.x1)] = unseen

    def _drawn_level(self, content: PaneContent) -> float | None:
        """The same among the values that are drawn, which may be ranks."""
        shown = content.shown
        level = self._level(shown) if isinstance(shown, Map) else None
        if level is None or content.drawn is shown or not isinstance(shown, Map):
            return level
        values = np.abs(shown.values) if shown.signed else shown.values
        return 100.0 * float((values < level).mean())

    def _level(self, shown: Map) -> float | None:
        """The value at which the view's threshold cuts a map; None for no threshold."""
        return threshold_level(shown.values, self._view.threshold.kind, self._view.threshold.value)

    def _draw_threshold(self, painter: QPainter, shown: Map) -> None:
        if self._view.threshold.kind == "none":
            return
        contour, boxes = self._reached(shown)
        if self._view.contour:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for colour, width in (("#000000", 3.0), ("#ffffff", 1.4)):
                painter.setPen(QPen(QColor(colour), width))
                painter.drawPath(contour)
        if self._view.boxes:
            self._draw_boxes(painter, boxes, QColor(FOUND), dashed=True)

    def _reached(self, shown: Map) -> tuple[QPainterPath, tuple[Box, ...]]:
        """The line around the cells that reach the threshold, on this widget, and boxes around their parts."""
        view = self._view
        key = (shown, view.threshold, view.native, view.boxes, self.picture_rect().getRect())
        if key != self._reached_key:
            self._reached_key = key
            level, cells, path = self._level(shown), chosen_cells(shown, view.threshold), QPainterPath()
            boxes: tuple[Box, ...] = ()
            if level is not None and cells is not None:
                values = np.abs(shown.values) if shown.signed else shown.values
                outline = cell_outline(cells, shown.geometry) if view.native else None
                for line in contour_lines(values, level, shown.geometry) if outline is None else outline:
                    path.addPolygon(QPolygonF([QPointF(*point) for point in self._on_canvas(line).tolist()]))
                boxes = tuple(component_boxes(cells, shown.geometry)) if view.boxes else ()
            self._contour, self._boxes = path, boxes
        return self._contour, self._boxes

    def _draw_boxes(self, painter: QPainter, boxes: tuple[Box, ...], colour: QColor, dashed: bool) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for box in boxes:
            rect = QRectF(self.from_picture(box.x0, box.y0), self.from_picture(box.x1, box.y1))
            painter.setPen(QPen(QColor(0, 0, 0, 160), 3))
            painter.drawRect(rect)
            painter.setPen(QPen(colour, 1.5, Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine))
            painter.drawRect(rect)

    def _draw_regions(self, painter: QPainter) -> None:
        accent = QColor(current_theme().accent)
        labels: list[QRect] = []
        for shape in self.editor.shown(self._regions) if self.editor else self._regions:
            points = [self.from_picture(x, y) for x, y in shape.points]
            self._outline(painter, shape.kind, points, accent, self._on_screen(shape.radius))
            corner = QPointF(min(p.x() for p in points), min(p.y() for p in points))
            self._label(painter, corner, shape.name, accent, labels)
        if self.editor:
            self.editor.draw(painter)
        if self._stroke:
            points = [self.from_picture(x, y) for x, y in self._stroke]
            self._outline(painter, self.tool, points, accent, _BRUSH)

    def _on_screen(self, length: float) -> float:
        size = self.picture_size
        return length * self.picture_rect().width() / size[0] if size else 0.0

    @staticmethod
    def _outline(painter: QPainter, kind: str, points: list[QPointF], colour: QColor, radius: float) -> None:
        if kind == "brush":
            soft = QColor(colour.red(), colour.green(), colour.blue(), 110)
            pen = QPen(soft, 2 * radius)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
            painter.setPen(pen)
            painter.drawPolyline(QPolygonF([points[0], *points]))  # twice the first: one point alone isn't drawn
            return
        painter.setBrush(QColor(colour.red(), colour.green(), colour.blue(), 30))
        for pen in (QPen(QColor(0, 0, 0, 150), 3), QPen(colour, 1.6)):
            painter.setPen(pen)
            if kind == "box" and len(points) >= 2:
                painter.drawRect(QRectF(points[0], points[-1]).normalized())
            else:
                painter.drawPolygon(QPolygonF(points))
            painter.setBrush(Qt.BrushStyle.NoBrush)

    def _label(self, painter: QPainter, corner: QPointF, text: str, colour: QColor, others: list[QRect]) -> None:
        """Write a region's name above its corner; inside the widget, and below the names that are there already."""
        box = painter.fontMetrics().boundingRect(text).adjusted(-4, -1, 4, 1)
        box.moveBottomLeft(corner.toPoint())
        box.moveTop(max(0, box.top()))
        box.moveLeft(max(0, min(box.left(), self.width() - box.width())))
        while other := next((there for there in others if there.intersects(box)), None):
            box.moveTop(other.bottom() + 1)
        others.append(box)
        painter.fillRect(box, colour)
        painter.setPen(QColor(current_theme().accent_text))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def _draw_cross(self, painter: QPainter) -> None:
        assert self._cross is not None
        at, visible, ratio = self.from_picture(*self._cross), self._visible(), self.devicePixelRatioF()
        x, y, width = floor(at.x() * ratio), floor(at.y() * ratio), max(1, round(ratio))
        for colour, offset in ((QColor(0, 0, 0, 120), width), (QColor(255, 255, 255, 200), 0)):
            for line in (  # in device pixels
                QRect(x + offset, visible.top(), width, visible.height()),
                QRect(visible.left(), y + offset, visible.width(), width),
            ):
                image = QImage(line.size(), QImage.Format.Format_ARGB32_Premultiplied)
                image.fill(colour)
                self._blit(painter, image, line)  # thirty times faster than a line or a filled rectangle

    def _say(self, painter: QPainter, text: str, bottom: bool = False) -> None:
        theme = current_theme()
        area = self.rect().adjusted(16, 10, -16, -10)
        align = Qt.AlignmentFlag.AlignHCenter | (
            Qt.AlignmentFlag.AlignBottom if bottom else Qt.AlignmentFlag.AlignVCenter
        )
        flags = int(align) | int(Qt.TextFlag.TextWordWrap)
        box = painter.boundingRect(area, flags, text).adjusted(-10, -5, 10, 5)
        panel = QColor(theme.panel)
        panel.setAlpha(230)
        painter.setPen(QColor(theme.border))
        painter.setBrush(panel)
        painter.drawRoundedRect(box, 5, 5)
        painter.setPen(QColor(theme.text))
        painter.drawText(area, flags, text)

    def _brush_radius(self) -> float:
        """In pixels of the picture: the same on the screen at every zoom."""
        size = self.picture_size
        return _BRUSH * size[0] / self.picture_rect().width() if size else 0.0

    # Mouse

    def wheelEvent(self, event: QWheelEvent) -> None:
        size = self.picture_size
        if size is None or not event.angleDelta().y():
            return
        factor = 1.25 ** (event.angleDelta().y() / 120)
        if self._zoom >= 1:
            factor = max(factor, 1 / self._zoom)  # the wheel goes no further out than to the whole picture
        self.zoom_by(factor, event.position())
        event.accept()

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom, keeping the point under `at` (or the middle) in its place.

        A picture smaller than the pane can be made as small as its own pixels.
        """
        size = self.picture_size
        if size is None:
            return
        at = at or QPointF(self.rect().center())
        rect = self.picture_rect()
        px, py = (at.x() - rect.x()) / rect.width(), (at.y() - rect.y()) / rect.height()
        zoom = min(MAX_ZOOM, max(self._least_zoom, self._zoom * factor))
        if abs(zoom - 1) < 1e-9:
            zoom = 1.0
        grown = zoom / self._zoom
        width, height = rect.width() * grown, rect.height() * grown
        centre = (px + (self.width() / 2 - at.x()) / width, py + (self.height() / 2 - at.y()) / height)
        self.moved.emit(zoom, self._kept_inside(centre, zoom))

    @staticmethod
    def _kept_inside(centre: tuple[float, float], zoom: float) -> tuple[float, float]:
        margin = min(0.5, 0.5 / zoom)
        return tuple(min(1 - margin, max(margin, c)) for c in centre)  # type: ignore[return-value]

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
        elif self._zoom > 1:
            rect, delta = self.picture_rect(), event.position() - self._pressed
            x, y = self._start_centre
            centre = (x - delta.x() / rect.width(), y - delta.y() / rect.height())
            self.moved.emit(self._zoom, self._kept_inside(centre, self._zoom))

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
