"""Displays of any scale: pictures stay sharp and whole, and what is read out lies under the cursor."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

_LOOK = """
import sys, time
import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QMouseEvent
from calm_gui.model.picture import load_picture
from calm_gui.qt.app import build_window, make_application
from calm_gui.session.pane import Pane

def seen(canvas):
    image = canvas.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()

def show(path):
    window.workspace.open_pictures([path])
    window.workspace.update_view(overlay=False)
    while window.workspace.busy:
        application.processEvents()
        time.sleep(0.01)
    application.processEvents()

application = make_application()
window = build_window("demo", "cpu")
window.resize(1101, 701)
window.show()
window.workspace.set_panes([Pane.of("saliency")])
canvas = window.panes.panes[0].canvas
ratio = canvas.devicePixelRatioF()
assert ratio == float(sys.argv[1]), ratio

# 100 %: device pixels are the file's
show(sys.argv[2])
pixels = load_picture(sys.argv[2]).pixels
for side in range(1101, 1107):  # each lays the file's pixels elsewhere between the screen's
    window.resize(side, side - 400)
    application.processEvents()
    window.workspace.reset_view()
    window.pane_actions.zoom_to_pixels()
    x, y = (int(c) for c in canvas.to_picture(QPointF(0.5 / ratio, 0.5 / ratio)))
    shown = seen(canvas)
    wrong = (shown != pixels[y : y + shown.shape[0], x : x + shown.shape[1]]).any(axis=2)
    wrong = wrong[1:-1, 1:-1]  # a widget's edge may lie within a device pixel
    assert not wrong.any(), f"{wrong.mean():.1%} of the pixels differ in a window {side} wide"

# Zoomed out: all of it is in sight, and red and green tell the column and the row under the cursor
window.workspace.reset_view()
show(sys.argv[3])
width, height = 256, 192
read = []
window.hub.hovered.connect(read.append)
rect = canvas.picture_rect()
assert canvas.rect().toRectF().adjusted(-0.5, -0.5, 0.5, 0.5).contains(rect), rect
shown = seen(canvas)
left, top, right, bottom = (round(edge) for edge in (rect.left(), rect.top(), rect.right() - 1, rect.bottom() - 1))
for at in (QPoint(x, y) for x in (left + 1, right - 1, (left + right) // 2) for y in (top + 1, bottom - 1)):
    none = Qt.MouseButton.NoButton
    place = QPointF(at)
    moved = QMouseEvent(QEvent.Type.MouseMove, place, place, none, none, Qt.KeyboardModifier.NoModifier)
    application.sendEvent(canvas, moved)
    # From the cursor's upper left corner to the middle of a device pixel, and of the file's pixel.
    x, y = (int((c + 0.01) * ratio) for c in (at.x(), at.y()))
    right_of, below = (((d + 0.5) / ratio - c) * width / rect.width() - 0.5 for d, c in ((x, at.x()), (y, at.y())))
    column, row = read[-1]
    colour = shown[y, x]
    assert abs(colour[0] - column - right_of) < 1 and abs(colour[1] - row - below) < 1, (at, colour, column, row)
ends = ((left + 1, top + 1), (right - 1, bottom - 1))
corners = [shown[int((y + 0.5) * ratio), int((x + 0.5) * ratio)] for x, y in ends]
assert np.abs(np.subtract(corners, [(0, 0, 9), (255, 191, 9)])).max() < 4, corners
window.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1", "1.25", "1.5", "1.8", "2"])
def test_a_scaled_display_shows_sharp_pixels_and_reads_out_the_right_ones(tmp_path: Path, scale: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1800, 2400, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png", compress_level=1)
    rows, columns = np.mgrid[:192, :256].astype(np.uint8)
    Image.fromarray(np.stack([columns, rows, np.full_like(rows, 9)], axis=2)).save(tmp_path / "places.png")
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": scale, "HOME": str(tmp_path)}
    command = [sys.executable, "-c", _LOOK, scale, str(tmp_path / "noise.png"), str(tmp_path / "places.png")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
