"""A map that was waited for fades in, in the program and nowhere else."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from calm_gui.qt import app
from calm_gui.qt.panes.map_canvas import MapCanvas
from calm_gui.qt.panes.map_layers import MapLayers
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> dict[object, list[float]]:
    """By pane, which share of the view's opacity its map was painted with, from the first time to the last."""
    found: dict[object, list[float]] = {}
    before = MapLayers.draw

    def draw(layers: MapLayers, painter, visible, content, view, opacity) -> None:  # type: ignore[no-untyped-def]
        if content.drawn is not None:
            found.setdefault(layers, []).append(opacity / view.opacity)
        before(layers, painter, visible, content, view, opacity)

    monkeypatch.setattr(MapLayers, "draw", draw)
    return found


@pytest.mark.parametrize("fades", [True, False])
def test_a_map_that_was_waited_for_fades_in_once(
    window: MainWindow, qtbot: QtBot, shares: dict[object, list[float]], fades: bool
) -> None:
    content, other = window.hub.scene.panes[:2]
    waiting = replace(content, explanation=None, shown=None, early=content.pixels)
    view = window.workspace.state.view
    canvas = MapCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(300, 300)
    canvas.show()
    canvas.fades = fades
    canvas.show_content(waiting, view)
    QApplication.processEvents()
    assert canvas.layers not in shares
    canvas.show_content(content, view)
    qtbot.waitUntil(lambda: shares.get(canvas.layers, [0.0])[-1] == 1.0, timeout=5_000)
    painted = shares.pop(canvas.layers)
    assert painted == sorted(painted) and (min(painted) == 0.0) == fades
    canvas.show_content(other, view)  # this map isn't waited for
    QApplication.processEvents()
    assert set(shares[canvas.layers]) == {1.0}


def test_the_program_lets_maps_fade_and_pictures_of_it_do_not(
    own_window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(app, "_begin", lambda *_: None)
    monkeypatch.setattr(app, "_keep_explanations", lambda *_: None)
    monkeypatch.setattr(app, "autosave_folder", lambda: tmp_path)
    seen: list[bool] = []

    class Ended:
        """In the place of the application: ends at once."""

        processEvents: Callable[[], None] = staticmethod(lambda: None)  # noqa: N815 (Qt's name)

        def exec(self) -> int:
            seen.append(own_window.hub.fades)
            return 0

    options = Namespace(
        size="900x600", pictures=[], screenshot=str(tmp_path / "window.png"), target=None, contrast=None
    )
    monkeypatch.setattr(app, "_first_pictures", lambda window, _: seen.append(window.hub.fades))
    app._screenshot(Ended(), own_window, options)  # type: ignore[arg-type]
    own_window.show()
    app._live(Ended(), own_window, options, Settings(None))  # type: ignore[arg-type]
    assert seen == [False, True]
