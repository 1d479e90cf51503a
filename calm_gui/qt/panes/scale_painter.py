"""Paints a scale: its colours between two handles, round numbers, arrows beyond the ends, the cursor's mark."""

from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPolygonF

from calm_gui.qt.theme import current_theme
from calm_gui.render.colormap import colour_table, premultiplied_table
from calm_gui.render.notation import Notation
from calm_gui.render.scale import Scale

__all__ = ["Ruler", "paint_arrows", "paint_ruler"]

_HANDLE = (22, 6)


class Ruler(NamedTuple):
    """A bar and what its places mean.

    Attributes
    ----------
    bar : QRectF
    axis : Scale
        Values along the bar; wider than `scale` while a limit is dragged.
    scale : Scale
        The colours, which end at the handles.
    table : str
        Colour map.
    notation : Notation
    free : float
        Pixels at both ends that the fields' numbers take.
    right : float
        Where numbers end.
    """

    bar: QRectF
    axis: Scale
    scale: Scale
    table: str
    notation: Notation
    free: float
    right: float

    def y(self, value: float) -> float:
        """Where a value is."""
        return self.bar.bottom() - self.axis.position(value) * self.bar.height()


def paint_ruler(painter: QPainter, ruler: Ruler, beyond: tuple[bool, bool], mark: float | None) -> None:
    """Paint all of it; `beyond` tells whether values lie below and above, `mark` is the cursor's value."""
    theme, bar, scale = current_theme(), ruler.bar, ruler.scale
    ends = colour_table(ruler.table)
    top, bottom = ruler.y(scale.high), ruler.y(scale.low)
    painter.fillRect(bar, QColor(*ends[255].tolist()))
    painter.fillRect(QRectF(bar.left(), bottom, bar.width(), bar.bottom() - bottom), QColor(*ends[0].tolist()))
    if scale.high > scale.low:
        painter.drawImage(QRectF(bar.left(), top, bar.width(), bottom - top), _ramp(ruler.table))
    else:
        painter.fillRect(bar, QColor(*ends[scale.flat].tolist()))
    paint_arrows(painter, bar, ruler.table, beyond)
    _paint_numbers(painter, ruler)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for y in (top, bottom):
        painter.setPen(QColor(theme.text))
        painter.setBrush(QColor(theme.panel))
        handle = QRectF(bar.center().x() - _HANDLE[0] / 2, y - _HANDLE[1] / 2, *_HANDLE)
        painter.drawRoundedRect(handle, 2, 2)
    if mark is not None and scale.high > scale.low:
        y = ruler.y(mark)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.text))
        painter.drawPolygon(QPolygonF([QPointF(1, y - 5), QPointF(1, y + 5), QPointF(9, y)]))


def paint_arrows(painter: QPainter, bar: QRectF, table: str, beyond: tuple[bool, bool]) -> None:
    """Point beyond an end where values of the maps lie beyond it."""
    ends, middle = colour_table(table), bar.center().x()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(current_theme().text))
    below, above = beyond
    for on, y, by, colour in ((above, bar.top() - 4, -7, ends[255]), (below, bar.bottom() + 4, 7, ends[0])):
        if on:
            painter.setBrush(QColor(*colour.tolist()))
            corners = [QPointF(middle - 6, y), QPointF(middle + 6, y), QPointF(middle, y + by)]
            painter.drawPolygon(QPolygonF(corners))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


@lru_cache(maxsize=8)
def _ramp(table: str) -> QImage:
    """A colour map's colours from high to low, a pixel each."""
    words = premultiplied_table(table, 1.0)[::-1].copy()
    return QImage(words.data, 1, 256, 4, QImage.Format.Format_RGB32).copy()


def _paint_numbers(painter: QPainter, ruler: Ruler) -> None:
    """Write the round numbers between the fields, as many as there is room for."""
    theme, metrics, bar = current_theme(), painter.fontMetrics(), ruler.bar
    line = metrics.height()
    about = min(5, max(2, int(bar.height() / (2.6 * line))))
    room = ruler.free + line / 2
    right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    for value in ruler.axis.round_values(about):
        y = ruler.y(value)
        if y - bar.top() < room or bar.bottom() - y < room:
            continue
        painter.setPen(QColor(theme.muted))
        painter.drawLine(QPointF(bar.right() + 1, y), QPointF(bar.right() + 5, y))
        painter.setPen(QColor(theme.text))
        text = ruler.notation.text(value)
        area = QRectF(bar.right() + 6, y - line / 2, ruler.right - bar.right() - 6, line)
        if metrics.horizontalAdvance(text) <= area.width():  # cut it would be another number
            painter.drawText(area, right, text)
