"""Texts and panels with little room: whole or left out, never cut to something else."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.docks.region_panel import RegionPanel
from calm_gui.qt.panes.colour_bar import ColourBar
from calm_gui.qt.panes.pane_header import HeaderTexts, PaneHeader
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.render.naming import number_text
from calm_gui.render.scale import Scale
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane, shows_from_text
from calm_gui.session.state import Threshold

HEADERS = [
    HeaderTexts("Winner", "", "at depth 9", "23 groups"),
    HeaderTexts("A − B", "", "Afghan hound − Saluki", "−0.200", False, True),
    HeaderTexts("Conditional", "A", "dog · 118 classes", "0.357"),
    HeaderTexts("Attribution", "A", "beagle", "0.357", True, True),
    HeaderTexts("Gradient", "", "", ""),
]


@pytest.mark.parametrize("texts", HEADERS)
def test_a_number_is_whole_or_absent_and_what_tells_a_pane_apart_stays(
    qapp: object, qtbot: QtBot, texts: HeaderTexts
) -> None:
    header = PaneHeader()
    qtbot.addWidget(header)
    header.show_texts(texts, "")
    font = QFont(header.font())
    font.setBold(True)
    plain, bold = QFontMetrics(header.font()), QFontMetrics(font)
    for width in range(30, 500):
        label, name, number = header.fitting(width)
        assert number in (texts.number, "")
        drawn = bold.horizontalAdvance(label) + plain.horizontalAdvance(name) + plain.horizontalAdvance(number)
        assert drawn <= max(width, 30)
        if width > 60:
            telling = name if texts.alike else label
            assert telling.rstrip("…")[:2] == (texts.name if texts.alike else texts.label)[:2]
    assert header.fitting(900) == (texts.label, texts.name, texts.number)


def test_a_header_without_room_for_its_number_draws_the_label_alone(qapp: object, qtbot: QtBot) -> None:
    pictures = []
    for number in (HEADERS[0].number, ""):
        header = PaneHeader()
        qtbot.addWidget(header)
        header.resize(70, 22)
        header.show_texts(HEADERS[0]._replace(number=number), "")
        pictures.append(header.grab().toImage())
    assert pictures[0] == pictures[1]


def test_panes_of_other_methods_name_the_method(window: MainWindow, settle: Callable[[], None]) -> None:
    window.workspace.set_panes(
        [Pane.of("attribution"), Pane.of("method:gradient"), Pane.of("method:integrated_gradients")]
    )
    settle()
    seen = [pane.header.fitting(150)[0] for pane in window.panes.panes]
    assert [name[:8] for name in seen] == ["Attribut", "Gradient", "Integrat"]


def test_the_checkpoint_gives_way_where_the_method_would_have_no_place(qapp: object, qtbot: QtBot) -> None:
    header = PaneHeader()
    qtbot.addWidget(header)
    header.show_texts(HeaderTexts("Gradient", "A", "class 2", "", True, None, "folder/plain.weights"), "")
    label, name, _, source = header.fitting_beside_source(215)
    assert (label, name) == ("Gradient", "class 2") and source.startswith("f") and "…" in source
    assert header.fitting_beside_source(500) == ("Gradient", "class 2", "", "folder/plain.weights")


def test_the_view_panel_is_seen_whole_in_the_smallest_window(own_window: MainWindow, qtbot: QtBot) -> None:
    own_window.resize(760, 520)
    own_window.docks.open("view")
    page = own_window.panel("view").scroller
    qtbot.waitUntil(lambda: page.verticalScrollBar().isVisible(), timeout=5_000)
    qtbot.waitUntil(lambda: page.widget().width() <= page.viewport().width(), timeout=5_000)


def test_the_preview_of_a_figure_has_the_pixels_of_the_screen(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExportDialog, "devicePixelRatioF", lambda self: 2.0)
    dialog = ExportDialog(window.hub, Settings(None), window)
    qtbot.addWidget(dialog)
    given: list[QPixmap] = []  # a label on a screen of one pixel to one gives back a smaller one
    monkeypatch.setattr(dialog.preview, "setPixmap", given.append)
    dialog.show_preview()
    seen = given[-1]
    assert seen.devicePixelRatio() == 2 and seen.deviceIndependentSize().width() <= dialog.preview.width()
    assert max(seen.width() / dialog.preview.width(), seen.height() / dialog.preview.height()) == pytest.approx(2, 0.01)


def test_headings_of_lists_are_shortened_instead_of_reaching_below_the_arrow(window: MainWindow) -> None:
    headers = [window.panel("classes").tree.header()]
    headers += [window.panel(key).table.horizontalHeader() for key in ("regions", "results")]
    for header in headers:
        assert header.textElideMode() == Qt.TextElideMode.ElideRight


def test_the_ladder_without_a_picture_asks_for_one(own_window: MainWindow) -> None:
    assert own_window.panel("ladder").row._empty == "Open a picture to see its ladder."


def test_titles_of_six_panes_in_a_small_window_tell_them_apart(own_window: MainWindow, qtbot: QtBot) -> None:
    own_window.resize(900, 600)
    own_window.workspace.open_pictures([sample_pictures()[0]])
    own_window.workspace.set_contrast(Expression.of("@runner-up"))
    own_window.workspace.set_panes(LAYOUTS["Figure 3: all readings"](own_window.workspace))
    qtbot.waitUntil(lambda: not own_window.workspace.busy, timeout=60_000)
    QApplication.processEvents()
    titles = [pane.header.fitting(pane.header.width() - 9)[:2] for pane in own_window.panes.panes]
    assert len(set(titles)) == 6 and all(len("".join(title).rstrip("…")) >= 3 for title in titles)


def test_the_view_panel_fits_its_tab_however_the_threshold_is_told(window: MainWindow) -> None:
    window.docks.open("view")
    for reading in ("attribution", "counterfactual", "winner", "saliency"):
        window.workspace.change_pane(0, shows=shows_from_text(reading))
        for kind in ("none", "mass", "min-max", "value"):
            for relative in (False, True):
                window.workspace.update_view(threshold=Threshold(kind, 0.004), relative=relative)  # type: ignore[arg-type]
                QApplication.processEvents()
                page = window.panel("view").scroller
                assert page.widget().width() == page.viewport().width() >= page.widget().minimumSizeHint().width()


def test_a_threshold_by_value_is_told_and_taken_in_the_unit_of_the_colour_bar(window: MainWindow) -> None:
    window.docks.open("view")
    level, workspace = window.panel("view").level, window.workspace
    workspace.update_view(threshold=Threshold("value", 0.00788), relative=False)
    assert level.value() == pytest.approx(0.00788) and level.suffix() == " per cell"
    workspace.update_view(relative=True)
    scale = workspace.scene.active.scale
    assert scale is not None and scale.factor > 1
    assert level.value() == pytest.approx(0.00788 * scale.factor, rel=0.01) and level.suffix() == " × uniform"
    assert level.maximum() >= scale.high * scale.factor
    assert workspace.state.view.threshold == Threshold("value", 0.00788)
    level.setValue(2.0)
    assert workspace.state.view.threshold.value == pytest.approx(2 / scale.factor)


def test_no_reading_is_checked_while_a_pane_shows_another_method(
    window: MainWindow, settle: Callable[[], None]
) -> None:
    question = window.question
    window.workspace.change_pane(0, shows=shows_from_text("method:gradient"))
    settle()
    assert not any(button.isChecked() for button in question.buttons.values())
    window.workspace.change_pane(0, shows=shows_from_text("saliency"))
    assert [key for key, button in question.buttons.items() if button.isChecked()] == ["saliency"]


def test_under_cam_the_window_speaks_of_scores(window: MainWindow, settle: Callable[[], None], qtbot: QtBot) -> None:
    window.workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    qtbot.waitUntil(lambda: "demo-cam" in window.workspace.state.selection.checkpoint, timeout=60_000)
    settle()
    window.workspace.change_pane(0, shows=shows_from_text("saliency"))
    buttons = window.question.buttons
    assert [key for key, button in buttons.items() if button.isChecked()] == ["cam"]
    assert "score" in buttons["cam"].toolTip() and "no probability" in buttons["cam"].toolTip()
    greyed = buttons["saliency"]
    assert not greyed.isEnabled() and "no p(y,z|x)" in greyed.toolTip()
    assert "don't add up" in window.panel("ladder").row._empty
    window.workspace.add_region("box", [(10, 10), (150, 150)])
    panel = window.panel("regions")
    assert "CAM" in panel.numbers.text() and panel.table.rows.rowCount() == 0
    assert sum(RegionPanel(window.hub).table.columnWidth(column) for column in (1, 2, 3)) < 160


def test_the_legend_shows_each_mass_and_elides_names(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("winner")])
    window.workspace.update_view(depth=9)
    window.docks.open("view")
    groups = window.panel("view").legend.groups
    QApplication.processEvents()
    first = groups.item(0)
    before = groups.grab().toImage()
    assert groups.horizontalScrollBar().maximum() == 0
    name, mass = first.text(), first.data(Qt.ItemDataRole.AccessibleTextRole).rsplit(" · ", 1)[1]
    assert mass == number_text(window.hub.scene.active.shown.legend()[0][2]) and mass in first.toolTip()
    first.setText(f"a much longer name than the list has room for, {name}")
    QApplication.processEvents()
    after, rect = groups.grab().toImage(), groups.visualItemRect(first)
    at_right = rect.adjusted(rect.width() - groups.fontMetrics().horizontalAdvance(mass) - 2, 0, 0, 0)
    assert rect.width() <= groups.viewport().width()
    assert before.copy(at_right) == after.copy(at_right) and before.copy(rect) != after.copy(rect)


@pytest.mark.parametrize("size", [(1440, 900), (900, 600), (760, 520)])
def test_the_region_table_shows_all_its_columns(window: MainWindow, size: tuple[int, int]) -> None:
    window.docks.open("regions")
    window.workspace.add_region("box", [(50, 50), (200, 200)])
    table = window.panel("regions").table
    window.resize(*size)
    QApplication.processEvents()
    assert table.horizontalScrollBar().maximum() == 0 and table.columnWidth(0) >= 30
    for column in (1, 2, 3):
        texts = (table.model().index(row, column).data() for row in range(table.model().rowCount()))
        needed = max(table.fontMetrics().horizontalAdvance(text) for text in texts)
        assert table.columnWidth(column) >= needed + 6
    window.resize(1280, 820)
    window.docks.open("view")


def test_a_colour_bar_leaves_out_numbers_that_do_not_fit(qapp: object, qtbot: QtBot) -> None:
    pictures = []
    for high in (0.0155, 0.0266):
        bar = ColourBar()
        qtbot.addWidget(bar)
        bar.show_scale(Scale(-high, high), "RdBu")
        bar.resize(40, 60)
        pictures.append(bar.grab().toImage())
    assert pictures[0] == pictures[1]  # the numbers, all that differs, are not in them


def test_ctrl_c_copies_the_table_that_has_the_keyboard(window: MainWindow, qtbot: QtBot) -> None:
    window.docks.open("regions")
    window.workspace.add_region("box", [(50, 50), (200, 200)])
    window.activateWindow()
    table = window.panel("regions").table
    table.setFocus()
    QGuiApplication.clipboard().setText("before")
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    text = QGuiApplication.clipboard().text()
    assert text.startswith("class\t") and len(text.splitlines()) == 1 + len(window.hub.scene.classes)
    window.docks.open("view")


def test_a_renamed_region_stays_chosen_and_names_stay_apart(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.docks.open("regions")
    panel = window.panel("regions")
    for corner in (10, 40, 70):
        window.workspace.add_region("box", [(corner, corner), (corner + 90, corner + 90)])
    rename, forget = panel._buttons
    panel.regions.setCurrentRow(0)
    answers = iter(["head", "head"])
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: (next(answers), True))
    rename.click()
    assert panel.regions.currentRow() == 0
    panel.regions.setCurrentRow(1)
    rename.click()
    names = [shape.name for shape, _ in window.hub.scene.regions]
    assert names == ["head", "head 2", "region 3"] and "head 2" in window.messages.text.text()
    assert panel.regions.currentRow() == 1
    forget.click()
    assert [shape.name for shape, _ in window.hub.scene.regions] == ["head", "region 3"]
    assert panel.regions.currentRow() == 1
