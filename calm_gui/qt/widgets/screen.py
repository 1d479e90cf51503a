"""Windows and dialogs that are never larger than the screen."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

__all__ = ["fit_to_screen"]

_FRAME = (8, 33)
"""Width and height that a window's frame takes at most."""


def fit_to_screen(window: QWidget) -> None:
    """Make a window no larger than the available screen, its frame included, and move it inside."""
    if not window.testAttribute(Qt.WidgetAttribute.WA_Resized):
        window.adjustSize()
    room = window.screen().availableGeometry()
    width = min(window.width(), room.width() - _FRAME[0])
    height = min(window.height(), room.height() - _FRAME[1])
    if (width, height) != (window.width(), window.height()):
        window.setMinimumSize(min(window.minimumWidth(), width), min(window.minimumHeight(), height))
        window.resize(width, height)
    x = max(room.left(), min(window.x(), room.right() - width - _FRAME[0] + 1))
    y = max(room.top(), min(window.y(), room.bottom() - height - _FRAME[1] + 1))
    if window.isWindow() and (x, y) != (window.x(), window.y()):
        window.move(x, y)
