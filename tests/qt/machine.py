"""How fast this machine is just now, for budgets of time."""

import time

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage, QPainter

__all__ = ["slowness"]

_NOMINAL, _MOST = 0.014, 3.0
"""Seconds of processor time for `_painting` on a core that budgets are meant for, and the most that is allowed for."""


def slowness() -> float:
    """How many times as long as there painting takes here: 1 at least, and more where cores are slow or shared.

    The least of five turns, so that a moment's hold-up widens no budget.
    """
    return min(_MOST, max(1.0, min(_painting() for _ in range(5)) / _NOMINAL))


def _painting() -> float:
    """Seconds of this thread for a thousand boxes with words: nothing of the program's."""
    start = time.thread_time()
    image = QImage(400, 400, QImage.Format.Format_ARGB32_Premultiplied)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for number in range(1000):
        area = QRect(number % 300, number * 7 % 370, 90, 24)
        painter.setBrush(QColor(number % 256, 90, 90))
        painter.drawRoundedRect(area, 4, 4)
        painter.drawText(area, f"box {number}")
    painter.end()
    return time.thread_time() - start
