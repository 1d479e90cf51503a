"""Small things that wear on a person: what moves under the mouse, what is left over, what looks odd."""

import errno
import os
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QDialogButtonBox, QTabBar

from calm_gui.errors import ExportError
from calm_gui.model.files import write_text
from calm_gui.qt.dialogs.batch_dialog import BatchDialog
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.keys_dialog import KeysDialog
from calm_gui.qt.dialogs.settings_dialog import SettingsDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression


def test_nothing_moves_when_a_set_gets_many_terms(window: MainWindow) -> None:
    tree, parts = window.panel("classes").tree, (window.question.target, window.question.contrast, window.question.swap)
    before = [part.geometry() for part in parts]
    row = tree.indexAt(tree.viewport().rect().center())
    places = [tree.visualRect(row), tree.mapTo(window, tree.rect().topLeft())]
    target = Expression.of("n02084071")
    for key in ("n02121808", "n01503061", "n02512053", "n02958343", "n03800933"):
        target = target.including(key)
    window.workspace.set_target(target)
    QApplication.processEvents()
    assert [part.geometry() for part in parts] == before
    assert [tree.visualRect(row), tree.mapTo(window, tree.rect().topLeft())] == places


def test_suggestions_stay_where_they_are_while_chips_above_them_are_removed(window: MainWindow) -> None:
    target = Expression.of("n02084071")
    for key in ("n02121808", "n01503061", "n02512053", "n02958343", "n03800933", "n00007846"):
        target = target.including(key)
    window.workspace.set_target(target)
    field = window.question.target
    field.open()
    popup = field.popup
    QApplication.processEvents()
    lines = {chip.y() for chip in popup.terms.chips if chip.isVisible()}
    assert len(lines) > 1, "they wrap"
    before, outside = popup.list.mapToGlobal(QPoint(0, 0)), popup.geometry()
    for left in range(len(target.terms) - 1, 0, -1):
        popup.terms.chips[0].removed.emit()
        QApplication.processEvents()
        assert len(window.workspace.state.selection.target.terms) == left
        assert popup.list.mapToGlobal(QPoint(0, 0)) == before and popup.geometry() == outside
    popup.hide()
    field.open()
    QApplication.processEvents()
    assert popup.height() < outside.height(), "the room of chips that are gone is given back"
    popup.hide()


def test_the_ladders_buttons_stay_where_they_are_when_one_is_pressed(window: MainWindow) -> None:
    ladder = window.panel("ladder")
    window.docks.open("ladder")
    QApplication.processEvents()

    def places() -> list[QRect]:
        tools = (ladder.plotted, ladder.own)
        return [QRect(button.mapTo(window, QPoint(0, 0)), button.size()) for button in tools]

    before = places()
    for on in (True, False):  # the same place is clicked twice
        at = ladder.plotted.mapFrom(window, before[0].center())
        QTest.mouseClick(ladder.plotted, Qt.MouseButton.LeftButton, pos=at)
        QApplication.processEvents()
        assert ladder.plotted.isChecked() == (not ladder.plot.isHidden()) == on
        assert places() == before


def test_what_was_added_and_taken_away_leaves_nothing() -> None:
    dog = Expression.of("n02084071")
    assert dog.including("n00003553").excluding("n00003553") == dog
    assert dog.excluding("n02087122").including("n02087122").excluding("n02087122") == dog


def test_a_full_disk_names_the_file_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "tmp1234.part"))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExportError) as raised:
        write_text(tmp_path / "session.calm.json", "words")
    assert str(raised.value) == f"{tmp_path / 'session.calm.json'} can't be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_buttons_of_dialogs_are_flat_and_tabs_have_no_line_above(window: MainWindow) -> None:
    dialogs: list[QDialog] = [
        ExportDialog(window.hub, Settings(None), window),
        BatchDialog(window.hub, Settings(None), window),
        SettingsDialog(window.hub, Settings(None), window),
        KeysDialog(window.actions_by_name, Settings(None), window),
    ]
    tabs = window.findChildren(QTabBar)
    assert window.panel("classes").tabs in tabs
    for dialog in dialogs:
        dialog.show()
        QApplication.processEvents()
        tabs = [*tabs, *dialog.findChildren(QTabBar)]
        assert not any(bar.drawBase() for bar in tabs), type(dialog).__name__
        for box in dialog.findChildren(QDialogButtonBox):
            assert all(button.icon().isNull() for button in box.buttons()), type(dialog).__name__
        dialog.close()
        dialog.deleteLater()
    assert len(tabs) > 1
