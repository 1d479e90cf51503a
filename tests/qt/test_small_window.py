"""A window with little room, and what the command line chooses in it."""

from argparse import Namespace

import pytest
from pytestqt.qtbot import QtBot

from calm_gui.api import sample_pictures
from calm_gui.qt.app import _first_pictures, build_window
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane


@pytest.mark.parametrize("count", [1, 4, 6])
def test_in_a_small_window_nothing_lies_over_a_map(qapp: object, qtbot: QtBot, count: int) -> None:
    window = build_window("demo", "cpu", Settings(None))
    qtbot.addWidget(window)
    window.workspace.set_panes([Pane.of("attribution")] * count)
    window.workspace.open_pictures([sample_pictures()[0]])
    window.resize(1000, 700)
    window.show()
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=60_000)
    qtbot.wait(50)
    assert window.scales.isVisible() and window.scales.bars[0].isVisible()
    assert window.panes.geometry().right() < window.scales.geometry().left()
    assert all(pane.bar.isHidden() for pane in window.panes.panes)
    window.workspace.update_view(scale_mode="fit")  # then each pane has a bar of its own
    qtbot.wait(50)
    assert window.scales.isHidden()
    for pane in window.panes.panes[:count]:
        assert pane.bar.isVisible() and pane.canvas.geometry().right() < pane.bar.geometry().left()
        assert pane.bar.geometry().right() < pane.width()
    window.close()


def test_what_the_command_line_chooses_is_chosen_and_what_it_mistypes_is_said(window: MainWindow) -> None:
    options = Namespace(pictures=[], target="zzz", contrast="@rest")
    _first_pictures(window, options)
    assert "class or group is called 'zzz'" in window.messages.text.text() and window.messages.isVisible()
    assert window.workspace.state.selection.contrast == Expression.of("@rest")
    _first_pictures(window, Namespace(pictures=[], target="dog", contrast=""))
    assert len(window.hub.scene.target) == 118
