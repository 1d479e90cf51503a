"""Whatever is raised wherever in the window ends its own thing, is told, and leaves the rest."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from pytestqt.qtbot import QtBot

from calm_gui.api import sample_pictures
from calm_gui.core.readings import SALIENCY, WINNER
from calm_gui.core.readings.reading import Reading
from calm_gui.errors import CalmError, ReadingError
from calm_gui.model.loaded import LoadedModel
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.report_dialog import ReportDialog
from calm_gui.qt.last_net import LastNet
from calm_gui.qt.panes.map_layers import MapLayers
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane, shows_from_text

FAILURES = (RuntimeError, MemoryError, OSError, ValueError, KeyError, RecursionError, ZeroDivisionError, ReadingError)


def _raising(kind: type[Exception]) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise kind("odd thing" if issubclass(kind, CalmError) else "odd\nthing")

    return fail


@pytest.mark.parametrize("kind", FAILURES)
def test_a_picture_that_fails_at_decoding_or_in_the_network_leaves_the_others(
    window: MainWindow,
    settle: Callable[[], None],
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Exception],
) -> None:
    pictures = sample_pictures()[:3]
    window.workspace.open_pictures(pictures)
    settle()
    for place, name in ((window.workspace.compute, "_load_picture"), (LoadedModel, "raw")):
        window.workspace.cache.forget(picture=str(pictures[1]))
        window.workspace.compute.forget_failures()
        with monkeypatch.context() as broken:
            broken.setattr(place, name, _raising(kind))
            window.workspace.show_picture(1)
            settle()
            assert window.messages.text.text() and "\n" not in window.messages.text.text()
        window.workspace.compute.forget_failures()
        window.workspace.show_picture(2)
        settle()
        assert all(content.shown is not None for content in window.hub.scene.panes)
        window.workspace.show_picture(0)
        settle()


@pytest.mark.parametrize("kind", FAILURES)
def test_a_figure_that_cannot_be_drawn_is_told_in_its_dialog(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: object, kind: type[Exception]
) -> None:
    dialog = ExportDialog(window.hub, Settings(None), window)
    with monkeypatch.context() as broken:
        broken.setattr("calm_gui.render.figure.map_figure", _raising(kind))
        assert not dialog.save(f"{tmp_path}/figure.png")
    assert dialog.message.text()
    assert dialog.save(f"{tmp_path}/figure.png")
    dialog.deleteLater()


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("reading", [SALIENCY, WINNER])
def test_a_map_that_fails_is_told_in_its_pane_and_the_others_go_on(
    window: MainWindow,
    settle: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    reading: Reading,
    kind: type[Exception],
) -> None:
    workspace = window.workspace
    with monkeypatch.context() as broken:
        broken.setattr(type(reading), "map", _failing_for(reading, kind))
        workspace.set_panes([Pane(shows_from_text(key)) for key in ("attribution", reading.key, "counterfactual")])
        workspace.cache.forget()
        workspace.compute.run()
        settle()
        first, second, third = window.hub.scene.panes
        assert first.shown is not None and third.shown is not None
        assert second.shown is None and second.message and "\n" not in second.message
        workspace.set_target(Expression.of("n02123045"))
        settle()
        assert window.hub.scene.panes[0].shown is not None
    workspace.cache.forget()  # a reading's own refusal is remembered
    workspace.compute.run()
    settle()
    assert all(content.shown is not None for content in window.hub.scene.panes)


def _failing_for(reading: Reading, kind: type[Exception]) -> Callable[..., object]:
    original = type(reading).map

    def map_of(self: Reading, *arguments: object) -> object:
        return _raising(kind)() if self is reading else original(self, *arguments)  # type: ignore[arg-type]

    return map_of


@pytest.mark.parametrize("kind", FAILURES)
def test_a_pane_that_cannot_be_painted_says_so_and_the_window_goes_on(
    window: MainWindow, settle: Callable[[], None], monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    canvas = window.panes.panes[0].canvas
    before = canvas.grab().toImage()
    with monkeypatch.context() as broken:
        broken.setattr(MapLayers, "draw", _raising(kind))
        odd = canvas.grab().toImage()
        canvas.grab()
    assert odd != before
    assert canvas.grab().toImage() == before


@pytest.mark.parametrize("kind", FAILURES)
def test_the_last_net_tells_whatever_is_raised(window: MainWindow, qtbot: QtBot, kind: type[Exception]) -> None:
    net = LastNet(window)
    for _ in range(2):
        window.messages.hide()
        try:
            _raising(kind)()
        except kind as error:
            net(kind, error, error.__traceback__)
        qtbot.waitUntil(window.messages.isVisible, timeout=5000)
        assert window.messages.text.text() and "\n" not in window.messages.text.text()


_RAISE = """
import os, sys
from PySide6.QtCore import QTimer
from calm_gui.__main__ import script
from calm_gui.qt import app
from calm_gui.qt.panes.pane_header import PaneHeader

where = sys.argv.pop()
painted = PaneHeader.paintEvent

def fail(*_):
    PaneHeader.paintEvent = painted
    raise ZeroDivisionError("odd")

def begin(window):
    if window.workspace.busy:
        QTimer.singleShot(20, lambda: begin(window))
        return
    if where == "slot":
        QTimer.singleShot(0, fail)
    else:
        PaneHeader.paintEvent = fail
        window.panes.panes[0].header.update()
    QTimer.singleShot(500, lambda: end(window))

def end(window):
    print(window.messages.text.text())
    window.close()

built = app.build_window
def build(*arguments, **options):
    window = built(*arguments, **options)
    QTimer.singleShot(0, lambda: begin(window))
    return window
app.build_window = build
script()
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["slot", "painting"])
def test_the_program_tells_what_nobody_foresaw_and_goes_on(tmp_path: Path, where: str) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", _RAISE, where]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0 and "Traceback" not in ran.stderr, ran.stderr
    assert "omething unexpected failed (ZeroDivisionError: " in ran.stdout


@pytest.mark.parametrize("kind", FAILURES)
def test_a_file_that_cannot_be_written_is_told_and_the_old_one_stays(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: type[Exception]
) -> None:
    def ask(*_: object) -> str:
        return str(path)

    monkeypatch.setattr("calm_gui.qt.window.file_actions.ask_where_to_save", ask)
    export = ExportDialog(window.hub, Settings(None), window)
    report = ReportDialog(window.hub, Settings(None), window)
    results = window.panel("results")
    files = window.files
    writers: dict[str, tuple[Callable[[], object], Callable[[], str]]] = {
        "figure.png": (lambda: export.save(str(path)), export.message.text),
        "report.txt": (lambda: report.save(str(path)), report.message.text),
        "table.csv": (lambda: results.save_table(str(path)), results.message.text),
        "session.calm.json": (files.save_session, window.messages.text.text),
        "map.npz": (files.export_numbers, window.messages.text.text),
        "tree.json": (files.save_hierarchy, window.messages.text.text),
    }
    for name, (write, said) in writers.items():
        path = tmp_path / name
        path.write_bytes(b"old")
        window.messages.say("")
        with monkeypatch.context() as broken:
            broken.setattr("calm_gui.model.files._place", _raising(kind))
            write()
        assert path.read_bytes() == b"old", name
        assert said() and "\n" not in said(), name
        assert [one.name for one in tmp_path.iterdir()] == [name]
        path.unlink()
    export.deleteLater()
    report.deleteLater()
