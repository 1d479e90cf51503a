"""The installed PySide6 must not lose references to None (docs/decisions/0003)."""

import sys

import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

CALLS = 500


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal from Python 3.12 on")
@pytest.mark.usefixtures("qapp")
def test_painter_calls_keep_the_count_of_none() -> None:
    image = QImage(20, 20, QImage.Format.Format_ARGB32_Premultiplied)
    stamp = image.copy()
    painter = QPainter(image)
    before = sys.getrefcount(None)
    for _ in range(CALLS):
        painter.setPen(QColor("red"))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.fillRect(QRectF(0, 0, 3, 3), QColor("red"))
        painter.drawImage(QPointF(0, 0), stamp)
    after = sys.getrefcount(None)
    painter.end()
    assert abs(after - before) < CALLS / 10
