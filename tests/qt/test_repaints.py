"""A click paints what it changes, and nothing else."""

import random

import pytest
from painted import Painted
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.pane import default_panes


def on_screen(widget: QWidget) -> QImage:
    """The pixels of a widget as they were painted last."""
    window = widget.window()
    ratio = window.devicePixelRatioF()
    place = QRect(widget.mapTo(window, widget.rect().topLeft()), widget.size())
    shown = window.screen().grabWindow(window.winId(), *place.getRect()).toImage()
    shown.setDevicePixelRatio(ratio)
    return shown.convertToFormat(QImage.Format.Format_RGB32)


def painted_anew(widget: QWidget) -> QImage:
    """The pixels of a widget when all of it is painted."""
    return widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def click(window: MainWindow, key: str) -> None:
    window.workspace.set_target(Expression.of(key))
    QApplication.sendPostedEvents()
    QApplication.processEvents()


@pytest.fixture
def quiet(window: MainWindow) -> MainWindow:
    """Four panes and the ladder, with nothing left to paint."""
    window.workspace.set_panes(default_panes())
    window.docks.open("ladder", keep=True)
    QTest.qWait(100)
    return window


def test_a_click_leaves_steps_and_panes_that_stay_as_they_are(quiet: MainWindow) -> None:
    rows, panes = quiet.panel("ladder").row, quiet.panes.panes
    click(quiet, "n02088094")  # Afghan hound
    QTest.qWait(50)
    chosen = next(position for position, step in enumerate(rows.steps) if step.chosen)
    shown = [pane.content and pane.content.shown for pane in panes]
    ladder, canvases = Painted(rows), [Painted(pane.canvas) for pane in panes]
    click(quiet, "n02087551")  # hound, one step above on the same ladder
    assert rows.steps[chosen - 1].chosen
    in_sight = [at for at in range(len(rows.steps)) if rows.visibleRegion().contains(rows.area(at).center())]
    painted = [at for at in in_sight if ladder.region.contains(rows.area(at).center())]
    assert painted == [chosen - 1, chosen]
    changed = [(pane.content and pane.content.shown) is not before for pane, before in zip(panes, shown, strict=True)]
    assert changed == [not canvas.region.isEmpty() for canvas in canvases] and 0 < sum(changed) < len(panes)


def test_what_is_painted_in_parts_is_the_whole(quiet: MainWindow) -> None:
    hierarchy, rows = quiet.workspace.scene.hierarchy, quiet.panel("ladder").row
    assert hierarchy is not None
    quiet.resize(1280, 1500)  # so that the ladder leaves room below
    for key in ["n02088094", "n02087122", *random.Random(3).sample(sorted(hierarchy), 12), "", "n02088094"]:
        quiet.workspace.set_target(Expression.of(key) if key else Expression())
        QTest.qWait(20)
        for widget in (rows.parentWidget(), *(pane.canvas for pane in quiet.panes.panes)):
            assert on_screen(widget) == painted_anew(widget), key
    quiet.resize(1280, 820)
