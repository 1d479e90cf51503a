"""Icons: bundled SVG outlines, drawn in the theme's text colour."""

import math
from functools import cache

from PySide6.QtCore import QBuffer, QSize
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QImage, QImageReader, QPainter, QPixmap

import calm_resources
from calm_gui.qt.theme import current_theme

__all__ = ["application_icon", "icon"]

_SIZE = 20


def icon(name: str) -> QIcon:
    """A bundled toolbar icon in the theme's colour, sharp at the screen's scale.

    Parameters
    ----------
    name : str
        File name without ``.svg``.
    """
    theme = current_theme()
    source = calm_resources.path(f"icons/{name}.svg").read_bytes()
    result = QIcon()
    for ratio in sorted({1, math.ceil(QGuiApplication.primaryScreen().devicePixelRatio())}):
        drawing = _drawn(source, _SIZE * ratio)
        for mode, colour in ((QIcon.Mode.Normal, theme.text), (QIcon.Mode.Disabled, theme.border)):
            image = drawing.copy()
            painter = QPainter(image)
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
            painter.fillRect(image.rect(), QColor(colour))
            painter.end()
            image.setDevicePixelRatio(ratio)
            result.addPixmap(QPixmap.fromImage(image), mode)
    return result


@cache
def _drawn(svg: bytes, side: int) -> QImage:
    """An outline as a picture, square, of a side in pixels; drawing it takes longer than colouring it."""
    buffer = QBuffer()
    buffer.setData(svg)
    reader = QImageReader(buffer, b"svg")
    reader.setScaledSize(QSize(side, side))
    return reader.read()


def application_icon() -> QIcon:
    """The program's icon."""
    return QIcon(str(calm_resources.path("icons/calm-gui.png")))
