"""The dock of results: rows arrive, are filtered as typed, lead to their pictures, and nothing open is replaced."""

import csv
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.qt.dialogs.batch_dialog import BatchDialog, start_run
from calm_gui.qt.docks.results_panel import ResultsPanel
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.batch import BatchPlan
from calm_gui.session.expression import Expression
from calm_gui.session.request import Request
from calm_gui.session.results_table import SHOWN_COLUMNS, table_text
from calm_gui.session.summary_columns import COLUMNS


@pytest.fixture
def panel(window: MainWindow, settle: object, qtbot: QtBot, tmp_path: Path) -> ResultsPanel:
    """The results of three pictures, one of which is none."""
    window.docks.open("results")
    found = window.panel("results")
    assert isinstance(found, ResultsPanel)
    found.filter.clear()
    found.table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
    found.table.clearSelection()
    window.panel("pictures").show_only(None)
    window.docks.fold("results")
    window.hub.batches.clear()
    window.hub.batch_changed.emit()
    (tmp_path / "notes.jpg").write_text("no picture")
    window.workspace.open_pictures([*sample_pictures()[:3], tmp_path / "notes.jpg"])
    settle()  # type: ignore[operator]
    run = start_run(window.hub, BatchPlan(Request(targets=("@predicted",))), None)
    assert window.docks.is_open("results")
    qtbot.waitUntil(lambda: not run.running, timeout=60_000)
    return found


def test_a_run_needs_no_folder_and_its_rows_stay(window: MainWindow, panel: ResultsPanel) -> None:
    assert panel.filtered.rowCount() == 3 and panel.run is window.hub.batches[-1]
    assert "1 failed" in panel.message.text() and "notes.jpg" in panel.message.text()
    name = panel.filtered.index(0, 0)
    assert name.data() == Path(sample_pictures()[0]).stem
    assert not name.data(Qt.ItemDataRole.DecorationRole).isNull()
    window.docks.fold("results")
    window.docks.open("results")
    assert panel.filtered.rowCount() == 3


def test_the_filter_works_as_typed_and_an_empty_one_shows_all(panel: ResultsPanel) -> None:
    p = sorted(row.values["p"] for row in panel.rows.rows)
    panel.filter.setText(f"p >= {p[1]!r}")
    assert panel.filtered.rowCount() == 2 and panel.words.text() == "2 of 3 match"
    panel.filter.setText(f"p >= {p[1]!r} and p")  # half typed
    assert panel.filtered.rowCount() == 2 and "comparisons" in panel.message.text()
    panel.filter.setText("share_in_box < 0.5")
    assert panel.filtered.rowCount() == 0 and "share_in_box is empty in 3 of 3 rows" in panel.message.text()
    panel.filter.setText(panel.rows.rows[0].values["predicted_name"])
    assert panel.filtered.rowCount() >= 1
    panel.filter.setText("__import__('os') == 1")
    assert "comparisons" in panel.message.text()
    panel.filter.clear()
    assert panel.filtered.rowCount() == 3 and panel.words.text() == "3 rows"
    assert "1 failed" in panel.message.text()  # what the run said comes back


def test_sorting_is_by_value(panel: ResultsPanel) -> None:
    column = list(SHOWN_COLUMNS).index("p")
    panel.table.sortByColumn(column, Qt.SortOrder.DescendingOrder)
    shown = [row.values["p"] for row in panel.filtered.shown]
    assert shown == sorted(shown, reverse=True)


def test_arrows_and_double_click_show_the_picture_with_the_rows_target(
    window: MainWindow, panel: ResultsPanel, settle: object
) -> None:
    before = window.workspace.state.pictures
    window.workspace.set_target(window.workspace.state.selection.contrast)
    panel.table.setFocus()
    panel.table.setCurrentIndex(panel.filtered.index(0, 0))
    QTest.keyClick(panel.table, Qt.Key.Key_Down)
    assert window.workspace.state.picture == panel.filtered.row_at(1).picture
    assert window.workspace.state.selection.target.terms[0].key == "@predicted"
    panel.table.doubleClicked.emit(panel.filtered.index(2, 0))
    assert window.workspace.state.picture == panel.filtered.row_at(2).picture
    assert window.workspace.state.pictures == before
    window.workspace.open_pictures(sample_pictures()[5:7])
    settle()  # type: ignore[operator]
    panel.show_row(0)  # a picture that isn't open comes beside those that are
    assert len(window.workspace.state.pictures) == 3
    assert window.workspace.state.picture == panel.filtered.row_at(0).picture


def test_rows_of_another_checkpoint_leave_the_target_and_say_so(
    window: MainWindow, panel: ResultsPanel, settle: object
) -> None:
    workspace, own = window.workspace, window.workspace.state.selection.checkpoint
    complaints: list[str] = []
    workspace.on_complaint(complaints.append)
    workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    settle()  # type: ignore[operator]
    workspace.set_target(Expression.of("n02084071"))
    panel.show_row(1)
    assert workspace.state.picture == panel.filtered.row_at(1).picture
    assert workspace.state.selection.target == Expression.of("n02084071")
    assert "A stays as it is" in complaints[-1] and workspace.name_of(own) in complaints[-1]
    workspace.open_checkpoint(own)
    settle()  # type: ignore[operator]
    complaints.clear()
    panel.show_row(1)
    assert workspace.state.selection.target.terms[0].key == "@predicted"
    assert not any(complaints)


def test_show_as_pictures_filters_the_film_and_drops_nothing(window: MainWindow, panel: ResultsPanel) -> None:
    before = window.workspace.state.pictures
    panel.filter.setText(f"p >= {max(row.values['p'] for row in panel.rows.rows)!r}")
    panel.show_as_pictures()
    film = window.panel("pictures")
    shown = [before[row] for row in range(len(before)) if not film.list.isRowHidden(row)]
    assert shown == [panel.filtered.row_at(0).picture]
    assert window.workspace.state.pictures == before


def test_the_table_is_written_as_csv_tabs_and_latex(panel: ResultsPanel, tmp_path: Path) -> None:
    for suffix in (".csv", ".tsv", ".tex"):
        assert panel.save_table(str(tmp_path / f"t{suffix}"))
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    assert [float(row["p"]) for row in rows] == [row.values["p"] for row in panel.filtered.shown]
    assert len((tmp_path / "t.tsv").read_text("utf-8").splitlines()) == 4
    assert (tmp_path / "t.tex").read_text("utf-8").count(r"\\") == 4
    assert not panel.save_table(str(tmp_path / "t.xls")) and "can't be written as .xls" in panel.message.text()


def test_latex_escapes_what_it_would_take_for_commands() -> None:
    text = table_text([{"name": r"a_b & 50 % \x {y}", "p": 0.25}], {"name": "file", "p": "p"}, ".tex")
    assert r"a\_b \& 50 \% \textbackslash{}x \{y\} & 0.250 \\" in text


def test_files_need_a_folder_that_can_be_used(window: MainWindow, tmp_path: Path) -> None:
    before = len(window.hub.batches)
    dialog = BatchDialog(window.hub, Settings(None), window)
    dialog.formats["npz"].setChecked(True)
    dialog.run()
    assert "folder" in dialog.message.text()
    (tmp_path / "nowhere").write_text("a file, so no folder")
    dialog.out.setText(str(tmp_path / "nowhere"))
    dialog.run()
    assert "nowhere" in dialog.message.text() and len(window.hub.batches) == before
    dialog.deleteLater()
