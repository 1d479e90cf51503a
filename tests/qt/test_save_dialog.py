"""Where to save: the ending comes before the question."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from calm_gui.qt.dialogs.save_dialog import ask_where_to_save

FIGURES = "PNG (*.png);;PDF (*.pdf);;TIFF (*.tiff *.tif)"
SESSIONS = "Sessions (*.calm.json);;All files (*)"


@pytest.mark.parametrize(
    ("typed", "chosen", "filters", "written"),
    [
        ("dog", "PNG (*.png)", FIGURES, "dog.png"),
        ("dog", "PDF (*.pdf)", FIGURES, "dog.pdf"),
        ("dog.pdf", "PNG (*.png)", FIGURES, "dog.pdf"),
        ("dog.TIF", "PNG (*.png)", FIGURES, "dog.TIF"),
        ("dog.v2", "PNG (*.png)", FIGURES, "dog.v2.png"),
        ("dog", "", FIGURES, "dog.png"),
        ("work", "Sessions (*.calm.json)", SESSIONS, "work.calm.json"),
        ("work.json", "Sessions (*.calm.json)", SESSIONS, "work.json"),
        ("work.v2", "All files (*)", SESSIONS, "work.v2"),
    ],
)
@pytest.mark.parametrize("answer", ["free", "yes", "no"])
def test_the_ending_comes_before_the_question(
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    chosen: str,
    filters: str,
    written: str,
    answer: str,
) -> None:
    asked: list[str] = []

    def dialog(*_: object, options: QFileDialog.Option) -> tuple[str, str]:
        assert options & QFileDialog.Option.DontConfirmOverwrite  # the question is ours, about the whole name
        return str(tmp_path / typed), chosen

    def question(_: QWidget, __: str, text: str, *___: object) -> QMessageBox.StandardButton:
        asked.append(text)
        return QMessageBox.StandardButton.Yes if answer == "yes" else QMessageBox.StandardButton.No

    monkeypatch.setattr(QFileDialog, "getSaveFileName", dialog)
    monkeypatch.setattr(QMessageBox, "question", question)
    if answer != "free":
        (tmp_path / written).write_text("mine")
    parent = QWidget()
    qtbot.addWidget(parent)
    found = ask_where_to_save(parent, "Save", "start", filters)
    assert found == ("" if answer == "no" else str(tmp_path / written))
    assert [written in text for text in asked] == ([] if answer == "free" else [True])


def test_nothing_chosen_is_nothing_written(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: ("", ""))
    parent = QWidget()
    qtbot.addWidget(parent)
    assert ask_where_to_save(parent, "Save", "start", FIGURES) == ""
