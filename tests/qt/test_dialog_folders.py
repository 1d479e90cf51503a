"""Dialogs that open and dialogs that save begin in the same folder."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QDialog, QFileDialog, QMessageBox, QPushButton

from calm_gui.api import sample_pictures
from calm_gui.qt.dialogs.adapt_dialog import AdaptDialog
from calm_gui.qt.dialogs.annotation_dialog import AnnotationDialog
from calm_gui.qt.dialogs.batch_dialog import BatchDialog
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.folders import remember_folder, start_folder
from calm_gui.qt.dialogs.report_dialog import ReportDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.file_actions import FileActions
from calm_gui.qt.window.main_window import MainWindow

Ask = Callable[[MainWindow, Settings], object]


def in_dialog(kind: type[QDialog], ask: Callable[[Any], object], *more: str) -> Ask:
    """What a dialog of the window asks for."""

    def asked(window: MainWindow, settings: Settings) -> None:
        dialog = kind(window.hub, settings, *(getattr(window, name) for name in more), parent=window)  # type: ignore[call-arg]
        ask(dialog)
        dialog.deleteLater()

    return asked


def press_choose(dialog: AdaptDialog) -> None:
    dialog.folder.clear()
    next(button for button in dialog.findChildren(QPushButton) if button.text() == "Choose…").click()


ASKS: dict[str, Ask] = {
    "pictures": lambda window, settings: files(window, settings).open_pictures(),
    "folder": lambda window, settings: files(window, settings).open_folder(),
    "checkpoint": lambda window, settings: files(window, settings).open_checkpoint(),
    "session": lambda window, settings: files(window, settings).open_session(),
    "save session": lambda window, settings: files(window, settings).save_session(),
    "pack session": lambda window, settings: files(window, settings).pack_session(),
    "truth": lambda window, settings: files(window, settings).load_truth(),
    "hierarchy": lambda window, settings: files(window, settings).load_hierarchy(),
    "save hierarchy": lambda window, settings: files(window, settings).save_hierarchy(),
    "numbers": lambda window, settings: files(window, settings).export_numbers(),
    "figure": in_dialog(ExportDialog, lambda dialog: dialog.ask_and_save()),
    "report": in_dialog(ReportDialog, lambda dialog: dialog._ask_place()),
    "batch": in_dialog(BatchDialog, lambda dialog: dialog._browse()),
    "adapt": in_dialog(AdaptDialog, press_choose, "adaptation"),
    "annotation": in_dialog(AnnotationDialog, lambda dialog: dialog._ask_load()),
    "save annotation": in_dialog(AnnotationDialog, lambda dialog: dialog._ask_save()),
}
SAVES = {
    "save session": ("session.calm.json", ("save session", "pack session", "session")),
    "pack session": ("session.zip", ("save session", "pack session", "session")),
    "save hierarchy": ("h.json", ("save hierarchy", "hierarchy")),
    "numbers": ("map.npz", ("numbers", "figure", "results")),
    "figure": ("map.png", ("numbers", "figure", "results")),
    "report": ("report.txt", ("report",)),
    "save annotation": ("supersets.json", ("annotation", "save annotation")),
}
"""What was saved, and which dialogs begin there afterwards."""


def files(window: MainWindow, settings: Settings) -> FileActions:
    return FileActions(window, window.hub, settings)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Folders and names that dialogs began with; each is cancelled, unless a test answers."""
    starts: list[str] = []
    for name in ("getOpenFileName", "getOpenFileNames", "getSaveFileName", "getExistingDirectory"):
        nothing: Any = {"getExistingDirectory": "", "getOpenFileNames": ([], "")}.get(name, ("", ""))

        def ask(_parent: object, _title: str, start: str, *_: object, _nothing: Any = nothing, **__: object) -> Any:
            starts.append(start)
            return _nothing

        monkeypatch.setattr(QFileDialog, name, ask)
    return starts


def folder_of(start: str) -> Path:
    return Path(start) if Path(start).is_dir() else Path(start).parent


@pytest.fixture
def results_ask(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> Ask:
    window.docks.open("results")
    panel = window.panel("results")

    def ask(_: MainWindow, settings: Settings) -> None:
        monkeypatch.setattr(panel, "_settings", settings)
        panel._ask_export()

    return ask


@pytest.fixture
def mine(window: MainWindow, settle: Callable[[], None], tmp_path: Path) -> Path:
    """A folder of one's own, whose only picture is open."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(sample_pictures()[0], folder / "hound.jpg")
    window.workspace.open_pictures([str(folder / "hound.jpg")])
    settle()
    return folder


def test_every_dialog_begins_by_one_rule(
    window: MainWindow, begun: list[str], tmp_path: Path, mine: Path, results_ask: Ask
) -> None:
    asks = {**ASKS, "results": results_ask}
    last = tmp_path / "last"
    last.mkdir()
    for expected, settings in ((mine, Settings(None)), (last, Settings(None))):
        if expected == last:
            remember_folder(settings, "pictures", last / "other.jpg")
        for name, ask in asks.items():
            begun.clear()
            ask(window, settings)
            assert len(begun) == 1, name
            assert folder_of(begun[0]) == expected, name


@pytest.mark.parametrize("saved", SAVES)
def test_after_a_save_its_kind_begins_there(
    window: MainWindow,
    settle: Callable[[], None],
    begun: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    results_ask: Ask,
    saved: str,
) -> None:
    settings, (name, follow) = Settings(None), SAVES[saved]
    with monkeypatch.context() as patch:
        patch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(tmp_path / name), ""))
        ASKS[saved](window, settings)
        settle()
    assert (tmp_path / name).exists()
    for other in follow:
        {**ASKS, "results": results_ask}[other](window, settings)
    assert [folder_of(start) for start in begun] == [tmp_path] * len(follow)


@pytest.mark.parametrize("saved", SAVES)
def test_nothing_is_saved_over_what_is_open(
    window: MainWindow, settle: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: str
) -> None:
    """Not even where the question about the existing file is answered with yes; ends of names don't matter."""
    path = tmp_path / SAVES[saved][0]
    shutil.copy(sample_pictures()[0], path)
    window.workspace.open_pictures([str(path)])
    settle()
    before = path.read_bytes()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    monkeypatch.setattr(QMessageBox, "question", lambda *_, **__: QMessageBox.StandardButton.Yes)
    ASKS[saved](window, Settings(None))
    settle()
    assert str(path) in window.workspace.state.files
    assert path.read_bytes() == before


NAMES = {
    "save session": ("mine.calm.json", "session.calm.json"),
    "pack session": ("mine.zip", "session.zip"),
    "save hierarchy": ("demo.hierarchy.json", "demo.hierarchy.json"),
    "numbers": ("hound.attribution.npz", "map.attribution.npz"),
    "figure": ("hound.png", "figure.png"),
    "report": ("calm-gui-report.txt", "calm-gui-report.txt"),
    "save annotation": ("supersets.json", "supersets.json"),
    "results": ("results.csv", "results.csv"),
}
"""What a save suggests with a picture, and without."""


@pytest.mark.usefixtures("mine")
def test_suggested_names_say_what_is_in_the_file(
    window: MainWindow, settle: Callable[[], None], begun: list[str], results_ask: Ask
) -> None:
    for with_picture in (True, False):
        for name, (named, unnamed) in NAMES.items():
            begun.clear()
            {**ASKS, "results": results_ask}[name](window, Settings(None))
            assert Path(begun[0]).name == (named if with_picture else unnamed), name
        for key in window.workspace.state.pictures:
            window.workspace.close_picture(key)
        settle()


def test_the_programs_own_folders_and_those_that_are_gone_do_not_count(tmp_path: Path) -> None:
    settings, sample = Settings(None), str(sample_pictures()[0])
    assert start_folder(settings, "export", None) == start_folder(settings, "export", sample) == str(Path.home())
    remember_folder(settings, "pictures", sample)
    assert start_folder(settings, "pictures", None) == str(Path.home())
    gone = tmp_path / "gone"
    gone.mkdir()
    remember_folder(settings, "export", gone)
    assert start_folder(settings, "export", None) == str(gone)
    gone.rmdir()
    assert start_folder(settings, "export", str(tmp_path / "picture.png")) == str(tmp_path)
