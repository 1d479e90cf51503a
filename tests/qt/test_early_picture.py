"""A picture is seen at once, as Qt reads it, where its own pixels will be."""

import os
import threading
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from calm_gui.qt.panes.early_picture import early_picture
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.compute import Compute

QUARTERS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0))


def quartered(path: Path, orientation: int) -> Path:
    """A picture 120 wide and 80 high with a colour in each quarter, which EXIF turns or flips."""
    picture = Image.new("RGB", (120, 80))
    for position, colour in enumerate(QUARTERS):
        picture.paste(colour, (60 * (position % 2), 40 * (position // 2), 60 * (position % 2) + 60, 80))
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture.save(path, quality=95, subsampling=0, exif=exif)
    return path


def seen(image: QImage) -> list[str]:
    """In which quarter's colour each of many points is, by position."""
    found = []
    for y in range(6, image.height() - 6, 12):
        for x in range(6, image.width() - 6, 12):
            colour = QColor(image.pixel(x, y))
            near = [max(abs(a - b) for a, b in zip(colour.getRgb(), q, strict=False)) < 90 for q in QUARTERS]
            found.append(str(near.index(True)) if any(near) else ".")
    return found


@pytest.mark.parametrize("orientation", range(1, 9))
def test_it_lies_where_the_decoded_picture_will(
    own_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, orientation: int
) -> None:
    path = quartered(tmp_path / "turned.jpg", orientation)
    go_on, load = threading.Event(), Compute._load_picture
    monkeypatch.setattr(Compute, "_load_picture", lambda self, key: (go_on.wait(60), load(self, key))[1])
    own_window.workspace.update_view(undoable=False, overlay=False)
    canvas = own_window.panes.panes[0].canvas
    own_window.workspace.open_pictures([path])
    qtbot.wait(1)
    try:
        assert canvas._content is not None and canvas._content.pixels is None
        before = seen(canvas.grab().toImage())
    finally:
        go_on.set()
    qtbot.waitUntil(lambda: not own_window.workspace.busy, timeout=120_000)
    qtbot.wait(1)
    assert canvas._content.pixels is not None
    after = seen(canvas.grab().toImage())
    assert len(set(after)) == 5 and sum(a != "." for a in after) > 200
    # At the foot stands that the picture is being explained, and at its sides colours are mixed.
    assert sum(a != b for a, b in zip(before, after, strict=True)) < len(after) / 8


def test_what_qt_cannot_read_or_would_take_long_is_waited_for(tmp_path: Path) -> None:
    text = tmp_path / "text.jpg"
    text.write_text("no picture")
    large = tmp_path / "large.png"
    Image.new("1", (2000, 1001)).save(large)
    small = tmp_path / "small.png"
    Image.new("1", (2000, 1000)).save(small)
    for path, shown in ((text, False), (large, False), (small, True), (tmp_path / "none.png", False)):
        assert early_picture(str(path)).isNull() is not shown


def test_neither_pipes_nor_drawings_are_read_and_a_changed_file_is_read_again(tmp_path: Path) -> None:
    drawing = tmp_path / "drawing.jpg"
    drawing.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"/>')
    assert early_picture(str(drawing)).isNull()
    if hasattr(os, "mkfifo"):
        pipe = tmp_path / "pipe.jpg"
        os.mkfifo(pipe)
        assert early_picture(str(pipe)).isNull()  # without waiting for somebody to write into it
    picture = tmp_path / "picture.png"
    for side, time in ((20, 1), (30, 2)):
        Image.new("RGB", (side, side)).save(picture)
        os.utime(picture, (time, time))
        assert early_picture(str(picture)).width() == side
