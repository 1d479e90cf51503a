"""Methods of others tell their passes, can be cancelled, and are computed when they are chosen again."""

import re

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from calm_gui.methods import METHODS
from calm_gui.qt.window.main_window import MainWindow


def test_passes_are_told_with_their_number_and_a_way_out(window: MainWindow, qtbot: QtBot) -> None:
    workspace, status = window.workspace, window.status
    told: list[str] = []
    window.hub.progressed.connect(lambda _: told.append(f"{status.doing.text()} {status.count.text()}"))
    workspace.change_pane(0, shows=METHODS["occlusion"])
    qtbot.waitUntil(lambda: not status.cancel.isHidden(), timeout=60_000)
    qtbot.mouseClick(status.cancel, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
    assert re.fullmatch(r"Occlusion, pass \d+ of 44", told[0])
    assert status.cancel.isHidden()
    assert (
        window.hub.scene.panes[0].message == "Occlusion was cancelled; choose it again in the pane's menu to compute it"
    )

    workspace.change_pane(0, shows=METHODS["occlusion"])
    assert workspace.busy
    qtbot.waitUntil(lambda: not status.cancel.isHidden(), timeout=60_000)
    workspace.change_pane(0, shows=METHODS["grad_cam"])  # what is no longer shown isn't computed on
    qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
    assert window.hub.scene.panes[0].shown is not None and status.cancel.isHidden()
