"""The picture and its map as images of the screen's own pixels, kept until something of them changes."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.threshold import threshold_level
from calm_gui.late import np
from calm_gui.qt.panes.picture_canvas import PictureCanvas
from calm_gui.render.argb import dim, even_shape, map_argb, winner_argb
from calm_gui.render.overlay import UNSEEN_DIM
from calm_gui.session.scene import PaneContent
from calm_gui.session.state import View

__all__ = ["MapLayers", "blit"]


def _buffer(old: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
    """Pixels of a shape: the old ones again if they have it, since fresh memory takes longer than what fills it."""
    return old if old is not None and old.shape == shape else np.empty(shape, np.uint32)


def blit(painter: QPainter, canvas: PictureCanvas, image: QImage, visible: QRect) -> None:
    """Draw an image whose pixels are device pixels."""
    ratio = canvas.devicePixelRatioF()
    image.setDevicePixelRatio(ratio)
    painter.drawImage(QPointF(visible.left() / ratio, visible.top() / ratio), image)


class MapLayers:
    """Draws a canvas's picture with its map.

    Parameters
    ----------
    canvas : PictureCanvas

    Attributes
    ----------
    base : QImage
        The part of the picture in sight.
    source : QImage
        The whole picture.
    """

    def __init__(self, canvas: PictureCanvas) -> None:
        self._canvas = canvas
        self._view, self._opacity = View(), 1.0
        self._base_key: object = None
        self.base = QImage()
        self._samples: tuple[np.ndarray, ...] = ()
        self._source_of: object = None
        self.source = QImage()
        self._overlay_key: object = None
        self._overlay = QImage()
        self._overlay_pixels: np.ndarray | None = None
        self._dimmed_key: object = None
        self._dimmed_pixels: np.ndarray | None = None

    def draw_ground(self, painter: QPainter, visible: QRect, colour: QColor) -> None:
        """Fill what the picture leaves free."""
        ratio = self._canvas.devicePixelRatioF()
        left, top = visible.left() / ratio, visible.top() / ratio
        right, bottom = (visible.right() + 1) / ratio, (visible.bottom() + 1) / ratio
        painter.fillRect(QRectF(0, 0, self._canvas.width(), top), colour)
        painter.fillRect(QRectF(0, bottom, self._canvas.width(), self._canvas.height() - bottom), colour)
        painter.fillRect(QRectF(0, top, left, bottom - top), colour)
        painter.fillRect(QRectF(right, top, self._canvas.width() - right, bottom - top), colour)

    def draw(self, painter: QPainter, visible: QRect, content: PaneContent, view: View, opacity: float) -> None:
        """Draw the picture and what lies over it, as one image where all of the map has one opacity.

        Parameters
        ----------
        painter : QPainter
        visible : QRect
            As `PictureCanvas.visible` gives it.
        content : PaneContent
        view : View
        opacity : float
            Of the map; less than the view's while it fades in.
        """
        self._view, self._opacity = view, opacity
        key = (
            id(content.pixels),
            visible,
            self._canvas.devicePixelRatioF(),
            self._canvas.zoom,
            self._view.centre,
            self._canvas.size(),
        )
        if key != self._base_key:
            self._base_key = key
            assert content.pixels is not None
            self._samples = self._canvas.samples(visible)
            self.base = self._scaled_picture(content.pixels, visible)
        shown = content.drawn
        if shown is None or not self._view.overlay:
            blit(painter, self._canvas, self.base, visible)
            return
        even = isinstance(shown, Map) and shown.geometry.sees_all and not self._view.mask
        if not even:
            blit(painter, self._canvas, self.base, visible)
        self._draw_overlay(painter, visible, content, even)

    def _dimmed(self) -> np.ndarray:
        """The picture in sight, by the part that the map's opacity leaves of it, as 32-bit ARGB pixels."""
        key = (self._base_key, self._opacity)
        if key != self._dimmed_key:
            self._dimmed_key = key
            width, height = self.base.width(), self.base.height()
            picture = np.frombuffer(self.base.constBits(), np.uint32).reshape(height, width)
            self._dimmed_pixels = _buffer(self._dimmed_pixels, even_shape(width, height))
            dim(picture, self._opacity, self._dimmed_pixels)
        assert self._dimmed_pixels is not None
        return self._dimmed_pixels

    def _scaled_picture(self, pixels: np.ndarray, visible: QRect) -> QImage:
        if self._source_of is not pixels:
            height, width = pixels.shape[:2]
            self._source_of = pixels
            self.source = QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888).convertToFormat(
                QImage.Format.Format_RGB32
            )
        x, y = self._samples
        step_x = x[1] - x[0] if len(x) > 1 else 1.0
        step_y = y[1] - y[0] if len(y) > 1 else 1.0
        size = (step_x * visible.width(), step_y * visible.height())
        source = QRectF(x[0] - step_x / 2, y[0] - step_y / 2, *size)
        if step_x > 1.5:  # reducing: an average of all pixels, which a painter doesn't make
            crop = self.source.copy(source.toAlignedRect().intersected(self.source.rect()))
            return crop.scaled(
                visible.size(), Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
        result = QImage(visible.size(), QImage.Format.Format_RGB32)
        result.fill(Qt.GlobalColor.black)
        scaler = QPainter(result)
        target = QRectF(0, 0, visible.width(), visible.height())
        scaler.drawImage(target, self.source, source)  # hard edges below, since smooth ones are transparent
        if 0.25 < step_x != 1.0:  # from four-fold on the pixels themselves are of interest
            scaler.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            scaler.drawImage(target, self.source, source)
        scaler.end()
        return result

    def _draw_overlay(self, painter: QPainter, visible: QRect, content: PaneContent, even: bool) -> None:
        view = self._view
        cut = view.threshold if view.mask else None
        look = (view.sequential, view.diverging, self._opacity, view.native, cut, even)
        key = (content.drawn, content.scale, look, self._base_key)
        if key != self._overlay_key:
            self._overlay_key = key
            self._overlay_pixels = pixels = _buffer(self._overlay_pixels, even_shape(visible.width(), visible.height()))
            self._fill_pixels(pixels, content, even)
            self._overlay = QImage(  # only borrows the pixels
                pixels.data,
                visible.width(),
                visible.height(),
                pixels.strides[0],
                QImage.Format.Format_RGB32 if even else QImage.Format.Format_ARGB32_Premultiplied,
            )
        blit(painter, self._canvas, self._overlay, visible)

    def _fill_pixels(self, pixels: np.ndarray, content: PaneContent, even: bool) -> None:
        """Fill the pixels, one for each visible device pixel, with the overlay, or with the picture and it."""
        view, shown = self._view, content.drawn
        assert shown is not None
        x, y = self._samples
        columns, rows = shown.geometry.to_grid(x, y)
        if isinstance(shown, WinnerMap):
            winner_argb(shown, self._opacity, columns, rows, pixels)
        else:
            assert content.scale is not None
            map_argb(
                shown,
                content.scale,
                view.diverging if shown.signed else view.sequential,
                self._opacity,
                columns,
                rows,
                pixels,
                nearest=view.native,
                least=self._drawn_level(content) if view.mask else None,
                under=self._dimmed() if even else None,
            )
        if not shown.geometry.sees_all:
            seen = shown.geometry.seen
            unseen = np.uint32(round((1 - UNSEEN_DIM) * 255) << 24)
            pixels[(y < seen.y0) | (y >= seen.y1), :] = unseen
            pixels[:, (x < seen.x0) | (x >= seen.x1)] = unseen

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
