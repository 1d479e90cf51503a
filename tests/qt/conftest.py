"""A real window with the bundled checkpoint, and waiting for its worker."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from calm_gui.api import sample_pictures
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import LIGHT, apply_theme
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.truth import GroundTruth

Settle = Callable[[], None]


@pytest.fixture(scope="session")
def qapp() -> Iterator[object]:
    application = make_application()
    apply_theme(LIGHT)
    yield application


@pytest.fixture(scope="module")
def shared_window(qapp: object) -> Iterator[MainWindow]:
    window = build_window("demo", "cpu", Settings(None))
    window.resize(1280, 820)
    window.show()
    yield window
    window.close()


@pytest.fixture
def own_window(qapp: object, qtbot: QtBot) -> MainWindow:
    """A window that no other test sees, without pictures."""
    window = build_window("demo", "cpu", Settings(None))
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    return window


@pytest.fixture
def settle(shared_window: MainWindow, qtbot: QtBot) -> Settle:
    """Wait until everything that is shown is computed and drawn."""

    def wait() -> None:
        qtbot.waitUntil(lambda: not shared_window.workspace.busy, timeout=120_000)
        qtbot.wait(1)

    return wait


@pytest.fixture
def window(shared_window: MainWindow, settle: Settle) -> MainWindow:
    """The window as it is after the first start, with the first sample picture."""
    while popup := QApplication.activePopupWidget():  # another test's menu or completer would take the keys
        popup.close()
    workspace = shared_window.workspace
    workspace.store.__init__(type(workspace.state)(type(workspace.state.selection)(_demo())))  # type: ignore[misc]
    workspace.store.observe(workspace._on_state)
    workspace.truth = GroundTruth()
    workspace.changed()
    shared_window.messages.hide()
    shared_window.panel("classes").search.clear()
    shared_window.panel("classes").apply_search()
    workspace.open_pictures([sample_pictures()[0]])
    shared_window.activateWindow()  # another test's window may have the keyboard
    settle()
    return shared_window


def _demo() -> str:
    from calm_gui.api import bundled_checkpoints

    return str(Path(bundled_checkpoints()["demo"]).absolute())
