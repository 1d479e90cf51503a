"""Contrast of text as it is drawn: measured on pictures of the window, in both themes."""

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QLineEdit, QTabBar, QWidget

from calm_gui.qt.docks import DOCKS
from calm_gui.qt.panes.pane_header import PaneHeader
from calm_gui.qt.theme import current_theme
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.qt.window.set_field import SetField

TEXTS = (QLabel, QAbstractButton, QLineEdit, QTabBar, QComboBox, PaneHeader, SetField)


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest, window: MainWindow) -> Iterator[str]:
    window.set_dark(request.param == "dark")
    yield request.param
    window.set_dark(False)


def luminance(colours: np.ndarray) -> np.ndarray:
    parts = colours / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(pixels: np.ndarray) -> float:
    """Of the colour that most pixels have, and the one farthest from it: the middle of the letters' strokes."""
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    light = luminance(colours)
    ground = light[counts.argmax()]
    return float(np.maximum((light + 0.05) / (ground + 0.05), (ground + 0.05) / (light + 0.05)).max())


def said(widget: QWidget) -> str:
    """What is written on a widget that can be used."""
    if not widget.isEnabled() or not widget.isVisible() or widget.visibleRegion().isEmpty():
        return ""
    if isinstance(widget, QLabel | QAbstractButton | QLineEdit):
        return widget.text() or (widget.placeholderText() if isinstance(widget, QLineEdit) else "")
    return widget.currentText() if isinstance(widget, QComboBox) else type(widget).__name__


@pytest.mark.parametrize("dock", DOCKS)
def test_every_text_is_drawn_with_a_contrast_of_four_and_a_half(window: MainWindow, theme: str, dock: str) -> None:
    window.docks.open(dock)
    for _ in range(10):
        QApplication.processEvents()
    image = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    pixels = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)
    measured = {}
    for widget in window.findChildren(QWidget):
        if isinstance(widget, TEXTS) and (text := said(widget)):
            area = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()) & window.rect()
            part = pixels[area.top() : area.bottom() + 1, area.left() : area.right() + 1]
            if part.size:
                measured[f"{type(widget).__name__} {text}"] = round(contrast(part), 2)
    assert len(measured) > 20
    assert {what: ratio for what, ratio in measured.items() if ratio < 4.5} == {}


def test_a_panes_head_has_one_ground_from_edge_to_edge(window: MainWindow, theme: str) -> None:
    QApplication.processEvents()
    header = window.findChildren(PaneHeader)[0]
    head = header.parentWidget()
    assert head is not None
    image = head.grab().toImage()
    width = round(image.width() / image.devicePixelRatio())
    assert {image.pixelColor(x, 0).name() for x in range(1, width - 1)} == {current_theme().panel}
