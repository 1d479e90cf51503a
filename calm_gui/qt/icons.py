"""Icons: bundled SVG outlines, drawn in the theme's text colour."""

import math

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QIcon, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

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
    source = calm_resources.path(f"icons/{name}.svg").read_text("utf-8")
    result = QIcon()
    for mode, colour in ((QIcon.Mode.Normal, theme.text), (QIcon.Mode.Disabled, theme.border)):
        svg = source.replace("currentColor", colour).replace("#000", colour)
        drawing = QSvgRenderer(svg.encode())
        for ratio in sorted({1, math.ceil(QGuiApplication.primaryScreen().devicePixelRatio())}):
            image = QImage(_SIZE * ratio, _SIZE * ratio, QImage.Format.Format_ARGB32_Premultiplied)
            image.fill(Qt.GlobalColor.transparent)
            painter = QPainter(image)
            drawing.render(painter)
            painter.end()
            image.setDevicePixelRatio(ratio)
            result.addPixmap(QPixmap.fromImage(image), mode)
    return result


def application_icon() -> QIcon:
    """The program's icon."""
    return QIcon(str(calm_resources.path("icons/calm-gui.png")))
