"""What is drawn over a picture: boxes, outlines and names of regions, the cross-hair, notes."""

from math import floor

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QPolygonF

from calm_gui.core.geometry import Box
from calm_gui.qt.panes.map_layers import blit
from calm_gui.qt.panes.picture_canvas import PictureCanvas
from calm_gui.qt.theme import current_theme

__all__ = ["draw_boxes", "draw_cross", "draw_label", "draw_note", "draw_outline"]

_ABOVE = 5
"""Pixels between a region and its name, which handles need."""


def draw_boxes(
    painter: QPainter, canvas: PictureCanvas, boxes: tuple[Box, ...], colour: QColor, *, dashed: bool
) -> None:
    """Draw boxes of the picture."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for box in boxes:
        rect = QRectF(canvas.from_picture(box.x0, box.y0), canvas.from_picture(box.x1, box.y1))
        painter.setPen(QPen(QColor(0, 0, 0, 160), 3))
        painter.drawRect(rect)
        painter.setPen(QPen(colour, 1.5, Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine))
        painter.drawRect(rect)


def draw_outline(painter: QPainter, kind: str, points: list[QPointF], colour: QColor, radius: float) -> None:
    """Draw a region by the points that it was drawn with, on the canvas; `radius` is the brush's there."""
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


def draw_label(
    painter: QPainter, canvas: PictureCanvas, corner: QPointF, text: str, colour: QColor, others: list[QRect]
) -> None:
    """Write a region's name above its corner; inside the widget, and below the names that are there already."""
    box = painter.fontMetrics().boundingRect(text).adjusted(-4, -1, 4, 1)
    box.moveBottomLeft(corner.toPoint() - QPoint(0, _ABOVE))
    box.moveTop(max(0, box.top()))
    box.moveLeft(max(0, min(box.left(), canvas.width() - box.width())))
    while other := next((there for there in others if there.intersects(box)), None):
        box.moveTop(other.bottom() + 1)
    others.append(box)
    painter.fillRect(box, colour)
    painter.setPen(QColor(current_theme().accent_text))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)


def draw_cross(painter: QPainter, canvas: PictureCanvas, point: tuple[float, float]) -> None:
    """Draw the cross-hair at a point of the picture."""
    at, visible, ratio = canvas.from_picture(*point), canvas.visible(), canvas.devicePixelRatioF()
    x, y, width = floor(at.x() * ratio), floor(at.y() * ratio), max(1, round(ratio))
    for colour, offset in ((QColor(0, 0, 0, 120), width), (QColor(255, 255, 255, 200), 0)):
        for line in (  # in device pixels
            QRect(x + offset, visible.top(), width, visible.height()),
            QRect(visible.left(), y + offset, visible.width(), width),
        ):
            image = QImage(line.size(), QImage.Format.Format_ARGB32_Premultiplied)
            image.fill(colour)
            blit(painter, canvas, image, line)  # thirty times faster than a line or a filled rectangle


def draw_note(painter: QPainter, canvas: PictureCanvas, text: str, *, bottom: bool = False) -> None:
    """Write a sentence over the picture: in the middle, or at its foot."""
    theme = current_theme()
    area = canvas.rect().adjusted(16, 10, -16, -10)
    align = Qt.AlignmentFlag.AlignHCenter | (Qt.AlignmentFlag.AlignBottom if bottom else Qt.AlignmentFlag.AlignVCenter)
    flags = int(align) | int(Qt.TextFlag.TextWordWrap)
    box = painter.boundingRect(area, flags, text).adjusted(-10, -5, 10, 5)
    panel = QColor(theme.panel)
    panel.setAlpha(230)
    painter.setPen(QColor(theme.border))
    painter.setBrush(panel)
    painter.drawRoundedRect(box, 5, 5)
    painter.setPen(QColor(theme.text))
    painter.drawText(area, flags, text)
