"""Every reading and method in the window, and such that another package registers: menu, pane, scale, ledger, batch."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from calm_gui.api import bundled_checkpoints
from calm_gui.core.joint import ClassScores
from calm_gui.core.maps import WinnerMap
from calm_gui.core.readings import READINGS, Reading
from calm_gui.methods import METHODS, Method
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.batch import BatchPlan, run_batch
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane, shows_text
from calm_gui.session.picture_result import PictureResult
from calm_gui.session.request import Request

sys.path.append(str(Path(__file__).parents[1] / "unit"))
import made_up_method
import made_up_reading


@pytest.fixture
def log_odds() -> Iterator[Reading]:
    yield made_up_reading.register()
    READINGS.forget("log_odds")


@pytest.fixture
def brightness() -> Iterator[Method]:
    yield METHODS.register(made_up_method.BRIGHTNESS)
    METHODS.forget("brightness")


def choose(window: MainWindow, title: str) -> QAction:
    """The entry of the first pane's menu that begins with a title, of its submenus too."""
    menu = window.panes.panes[0].menu.menu()
    menu.aboutToShow.emit()
    entries = [
        *menu.actions(),
        *(entry for submenu in menu.findChildren(QMenu) for entry in submenu.actions()),
    ]
    return next(entry for entry in entries if entry.text().startswith(title))


@pytest.mark.parametrize("key", [*READINGS, "gradient", "grad_cam"])
def test_every_reading_and_method_in_the_window(window: MainWindow, settle: Callable[[], None], key: str) -> None:
    shows = READINGS[key] if key in READINGS else METHODS[key]
    if isinstance(shows, Reading) and shows.needs is ClassScores:
        assert not choose(window, shows.label).isEnabled() and "CALM" in choose(window, shows.label).toolTip()
        window.workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
        settle()
    window.workspace.set_contrast(Expression.of("n02123045"))
    entry = choose(window, shows.label if isinstance(shows, Reading) else shows.title)
    assert entry.isEnabled()
    entry.trigger()
    settle()
    content = window.hub.scene.panes[0]
    assert content.shows is shows and content.title.startswith(shows.title) and not content.message
    assert content.shown is not None and content.shown.kind is shows
    if isinstance(shows, Reading):
        assert choose(window, shows.label).toolTip() == shows.meaning
    window.workspace.activate(0)
    assert window.ledger.sentence.endswith(".") and len(window.ledger.sentence) > 20
    assert (content.scale is None) == isinstance(content.shown, WinnerMap)


def test_a_method_from_outside_is_offered_shown_and_batched(
    window: MainWindow, settle: Callable[[], None], brightness: Method, tmp_path: Path
) -> None:
    choose(window, "Brightness").trigger()
    settle()
    content = window.hub.scene.panes[0]
    assert content.shows is brightness and content.shown is not None and content.title.startswith("Brightness")
    assert content.scale is not None and content.scale.unit == content.shown.unit
    window.workspace.activate(0)
    assert "Brightness" in window.ledger.sentence
    (result,) = batch_of_first_pane(window, tmp_path)
    assert not result.error and result.maps[0]["method"] == "brightness"


def batch_of_first_pane(window: MainWindow, out: Path) -> list[PictureResult]:
    model = window.workspace.compute.models[window.workspace.state.selection.checkpoint]
    request = Request((shows_text(window.hub.scene.panes[0].shows),), ("@predicted",))
    return list(run_batch(model, window.workspace.state.pictures, BatchPlan(request, ("npz",)), out))


def test_a_reading_from_outside_is_offered_shown_and_batched(
    window: MainWindow, settle: Callable[[], None], log_odds: Reading, tmp_path: Path
) -> None:
    choose(window, "Log-odds").trigger()
    settle()
    content = window.hub.scene.panes[0]
    assert content.shows is log_odds and content.shown is not None and content.scale is not None
    assert content.scale.unit == "nat" and content.scale.low == -content.scale.high
    window.workspace.activate(0)
    assert "log-odds of" in window.ledger.sentence

    (result,) = batch_of_first_pane(window, tmp_path)
    assert not result.error and result.maps[0]["reading"] == "log_odds"
    (manifest,) = tmp_path.glob("*.json")
    assert json.loads(manifest.read_text())["maps"][0]["unit"] == "nat"


def test_a_batch_takes_the_methods_that_panes_show(
    window: MainWindow, settle: Callable[[], None], tmp_path: Path
) -> None:
    from calm_gui.qt.dialogs.batch_dialog import BatchDialog

    window.workspace.set_panes([Pane.of("attribution"), Pane(METHODS["grad_cam"]), Pane.of("picture")])
    settle()
    dialog = BatchDialog(window.hub, Settings(None))
    assert dialog._readings() == ("attribution", "method:grad_cam")
    dialog.close()
