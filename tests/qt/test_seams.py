"""Whatever is raised wherever in the window ends its own thing, is told, and leaves the rest."""

from collections.abc import Callable
from typing import NoReturn

import pytest
from pytestqt.qtbot import QtBot

from calm_gui.api import sample_pictures
from calm_gui.errors import CalmError, ReadingError
from calm_gui.model.loaded import LoadedModel
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow

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
