"""A reading that another package registers, in the window: menu, pane, scale, ledger, export, batch."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from calm_gui.core.readings import READINGS, Reading
from calm_gui.methods import METHODS
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.pane import Pane

sys.path.append(str(Path(__file__).parents[1] / "unit"))
import made_up_reading


@pytest.fixture
def log_odds() -> Iterator[Reading]:
    yield made_up_reading.register()
    READINGS.forget("log_odds")


def test_a_reading_from_outside_is_offered_shown_and_batched(
    window: MainWindow, settle: Callable[[], None], log_odds: Reading, tmp_path: Path
) -> None:
    pane = window.panes.panes[0]
    pane.menu.menu().aboutToShow.emit()
    offered = {action.text(): action for action in pane.menu.menu().actions()}
    assert "Log-odds" in offered and not offered["CAM"].isEnabled() and "CALM" in offered["CAM"].toolTip()
    offered["Log-odds"].trigger()
    settle()
    content = window.hub.scene.panes[0]
    assert content.shows is log_odds and content.shown is not None and content.scale is not None
    assert content.scale.unit == "nat" and content.scale.low == -content.scale.high
    window.workspace.activate(0)
    assert "log-odds of" in window.ledger.sentence

    from calm_gui.session.batch import BatchPlan, run_batch
    from calm_gui.session.pane import shows_text
    from calm_gui.session.request import Request

    model = window.workspace.compute.models[window.workspace.state.selection.checkpoint]
    plan = BatchPlan(Request((shows_text(log_odds),), ("@predicted",)), ("npz",))
    (result,) = run_batch(model, window.workspace.state.pictures, plan, tmp_path)
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
