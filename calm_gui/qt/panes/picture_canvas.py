"""A picture that is zoomed and panned: where its points lie on the screen, and which are in sight."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from calm_gui.late import np
from calm_gui.render.argb import even_shape
from calm_gui.session.scene import PaneContent
from calm_gui.session.state import RegionShape, View

__all__ = ["PictureCanvas", "Tool"]

Tool = Literal["pan", "box", "polygon", "brush"]
MAX_ZOOM = 64.0


class PictureCanvas(QWidget):
    """Knows where the picture of a pane's content lies, and zooms it by the wheel.

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

    Attributes
    ----------
    tool : {"pan", "box", "polygon", "brush"}
        What dragging does.
    """

    hovered = Signal(object)
    clicked = Signal(float, float)
    moved = Signal(float, object)
    drawn = Signal(str, object, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # nothing below needs painting
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(24, 24)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.tool: Tool = "pan"
        self._content: PaneContent | None = None
        self._view = View()
        self._regions: tuple[RegionShape, ...] = ()
        self._early = QImage()

    def sizeHint(self) -> QSize:
        return QSize(360, 280)

    # Where the picture lies

    @property
    def regions(self) -> tuple[RegionShape, ...]:
        """The regions that are drawn."""
        return self._regions

    @property
    def zoomed_in(self) -> bool:
        """Whether a drag pans."""
        return self.zoom > 1

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Width and height of the picture in its pixels."""
        pixels = self._content.pixels if self._content else None
        if pixels is not None:
            return pixels.shape[1], pixels.shape[0]
        return None if self._early.isNull() else (self._early.width(), self._early.height())

    def _fit(self, size: tuple[int, int]) -> float:
        return min(self.width() / size[0], self.height() / size[1])

    @property
    def zoom(self) -> float:
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
        zoom = self.zoom
        scale = self._fit(size) * zoom
        width, height = size[0] * scale, size[1] * scale
        cx, cy = self._view.centre if zoom > 1 else (0.5, 0.5)
        left, top = self.width() / 2 - cx * width, self.height() / 2 - cy * height
        if zoom < 1:  # the picture's pixels may be the screen's, and then shall not lie between them
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

    def many_from_picture(self, points: np.ndarray) -> np.ndarray:
        """The same for many points (n,2) at once."""
        rect, size = self.picture_rect(), self.picture_size or (1, 1)
        return points * (rect.width() / size[0], rect.height() / size[1]) + (rect.x(), rect.y())

    def visible(self) -> QRect:
        """The part of the picture in sight, in whole device pixels of this widget."""
        ratio = self.devicePixelRatioF()
        rect = self.picture_rect().intersected(QRectF(self.rect()))
        left, top = round(rect.left() * ratio), round(rect.top() * ratio)
        return QRect(left, top, round(rect.right() * ratio) - left, round(rect.bottom() * ratio) - top)

    def samples(self, visible: QRect) -> tuple[np.ndarray, np.ndarray]:
        """Picture coordinates of the centres of the visible device pixels, by column (an even number) and row."""
        ratio, rect, size = self.devicePixelRatioF(), self.picture_rect(), self.picture_size or (1, 1)
        x = (visible.left() + np.arange(even_shape(visible.width(), 0)[1]) + 0.5) / ratio
        y = (np.arange(visible.top(), visible.bottom() + 1) + 0.5) / ratio
        return (x - rect.x()) / rect.width() * size[0], (y - rect.y()) / rect.height() * size[1]

    # Zoom

    def wheelEvent(self, event: QWheelEvent) -> None:
        size = self.picture_size
        if size is None or not event.angleDelta().y():
            return
        factor = 1.25 ** (event.angleDelta().y() / 120)
        if self.zoom >= 1:
            factor = max(factor, 1 / self.zoom)  # the wheel goes no further out than to the whole picture
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
        zoom = min(MAX_ZOOM, max(self._least_zoom, self.zoom * factor))
        if abs(zoom - 1) < 1e-9:
            zoom = 1.0
        grown = zoom / self.zoom
        width, height = rect.width() * grown, rect.height() * grown
        centre = (px + (self.width() / 2 - at.x()) / width, py + (self.height() / 2 - at.y()) / height)
        self.moved.emit(zoom, self.kept_inside(centre, zoom))

    @staticmethod
    def kept_inside(centre: tuple[float, float], zoom: float) -> tuple[float, float]:
        margin = min(0.5, 0.5 / zoom)
        x, y = (min(1 - margin, max(margin, c)) for c in centre)
        return x, y
