"""Texts and panels with little room: whole or left out, never cut to something else."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QLabel
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.qt.panes.colour_bar import ColourBar
from calm_gui.qt.panes.pane_grid import titles_of_panes
from calm_gui.qt.panes.pane_header import PaneHeader
from calm_gui.qt.region_panel import RegionPanel
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.render.naming import number_text
from calm_gui.render.scale import Scale
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane, shows_from_text
from calm_gui.session.state import Threshold

HEADERS = [
    (("Winner at depth 9",), ("some overlap · 23 groups", "23 groups", "23 groups")),
    (
        ("Counterfactual — Afghan hound − Saluki", "Afghan hound − Saluki", "Counterfactual"),
        ("p(A,z|x) − p(B,z|x) · sum -0.200 = p(A|x) − p(B|x)", "sum -0.200 = p(A|x) − p(B|x)", "sum -0.200"),
    ),
    (
        ("Conditional — dog", "Conditional"),
        ("p(A|x,z) · weighted by p(z|x) 0.357 = p(A|x)", "weighted by p(z|x) 0.357"),
    ),
    (("Attribution — beagle", "beagle"), ("p(A,z|x) · sum 0.357", "sum 0.357")),
    (("Gradient — dog",), ("between its extremes · no probability", "no probability")),
]


@pytest.mark.parametrize(("titles", "subtitles"), HEADERS)
def test_a_number_is_whole_or_absent_and_the_title_stays(
    qapp: object, qtbot: QtBot, titles: tuple[str, ...], subtitles: tuple[str, ...]
) -> None:
    header = PaneHeader()
    qtbot.addWidget(header)
    header.show_texts(titles, subtitles, True, "")
    font = QFont(header.font())
    font.setBold(True)
    plain, bold = QFontMetrics(header.font()), QFontMetrics(font)
    for width in range(30, 500):
        title, number = header.fitting(width)
        assert number in (*subtitles, "")
        left = width - plain.horizontalAdvance(number)
        assert bold.horizontalAdvance(title) <= left
        assert title in titles or not number or left >= min(bold.horizontalAdvance(titles[-1]), 0.4 * width, 36)
        if width > 45:
            assert title.rstrip("…")[:3] in {t[:3] for t in titles}
    assert header.fitting(900) == (titles[0], subtitles[0])


def test_a_header_without_room_for_its_number_draws_the_title_alone(qapp: object, qtbot: QtBot) -> None:
    titles, subtitles = HEADERS[0]
    pictures = []
    for texts in (subtitles, ("",)):
        header = PaneHeader()
        qtbot.addWidget(header)
        header.resize(80, 22)
        header.show_texts(titles, texts, True, "")
        pictures.append(header.grab().toImage())
    assert pictures[0] == pictures[1]


def test_a_shorter_title_tells_a_pane_from_the_others() -> None:
    def shorter(*titles: str) -> list[tuple[str, ...]]:
        return [choice[1:] for choice in titles_of_panes(titles)]

    assert shorter("Attribution — dog", "Gradient — dog") == [("Attribution",), ("Gradient",)]
    assert shorter("Attribution — dog", "Attribution — cat") == [("dog",), ("cat",)]
    assert shorter("Attribution — dog", "Conditional — cat", "Saliency") == [
        ("dog", "Attribution"),
        ("cat", "Conditional"),
        (),
    ]
    assert shorter("Attribution — dog", "Attribution — cat", "Conditional — dog") == [(), ("cat",), ("Conditional",)]
    assert shorter("Saliency", "Saliency") == [(), ()]


def test_panes_of_other_methods_name_the_method(window: MainWindow, settle: Callable[[], None]) -> None:
    window.workspace.set_panes(
        [Pane.of("attribution"), Pane.of("method:gradient"), Pane.of("method:integrated_gradients")]
    )
    settle()
    seen = [pane.header.fitting(150)[0] for pane in window.panes.panes]
    assert [name[:8] for name in seen] == ["Attribut", "Gradient", "Integrat"]


def test_titles_of_six_panes_in_a_small_window_tell_them_apart(own_window: MainWindow, qtbot: QtBot) -> None:
    own_window.resize(900, 600)
    own_window.workspace.open_pictures([sample_pictures()[0]])
    own_window.workspace.set_contrast(Expression.of("@runner-up"))
    own_window.workspace.set_panes(LAYOUTS["Figure 3: all readings"](own_window.workspace))
    qtbot.waitUntil(lambda: not own_window.workspace.busy, timeout=60_000)
    QApplication.processEvents()
    mark = 17
    titles = [pane.header.fitting(pane.header.width() - mark)[0] for pane in own_window.panes.panes]
    assert len(set(titles)) == 6 and all(len(title.rstrip("…")) >= 3 for title in titles)


def test_the_view_panel_fits_its_tab_however_the_threshold_is_told(window: MainWindow) -> None:
    window.docks.open("view")
    for reading in ("attribution", "counterfactual", "winner", "saliency"):
        window.workspace.change_pane(0, shows=shows_from_text(reading))
        for kind in ("none", "mass", "min-max", "value"):
            for relative in (False, True):
                window.workspace.update_view(threshold=Threshold(kind, 0.004), relative=relative)  # type: ignore[arg-type]
                QApplication.processEvents()
                assert window.panel("view").widget().minimumSizeHint().width() <= 150
                assert window.panel("view").widget().width() == window.panel("view").viewport().width()


def test_a_threshold_by_value_is_told_and_taken_in_the_unit_of_the_colour_bar(window: MainWindow) -> None:
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
    view = window.panel("view")
    window.workspace.change_pane(0, shows=shows_from_text("method:gradient"))
    settle()
    assert view.readings.checkedButton() is None
    assert "no probability" in view.meaning.text() and not view.unit.isVisible()
    window.workspace.change_pane(0, shows=shows_from_text("saliency"))
    assert view.readings.checkedButton() is view.reading_buttons["saliency"] and view.unit.isVisible()


def test_under_cam_the_panels_speak_of_scores(window: MainWindow, settle: Callable[[], None], qtbot: QtBot) -> None:
    window.workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    qtbot.waitUntil(lambda: "demo-cam" in window.workspace.state.selection.checkpoint, timeout=60_000)
    settle()
    window.workspace.change_pane(0, shows=shows_from_text("saliency"))
    assert "score" in window.panel("view").meaning.text() and "no probability" in window.panel("view").meaning.text()
    assert window.panel("view").readings.checkedButton() is window.panel("view").reading_buttons["cam"]
    greyed = window.panel("view").reading_buttons["saliency"]
    assert not greyed.isEnabled() and "no p(y,z|x)" in greyed.toolTip()
    assert not window.panel("view").unit.isVisible()
    window.workspace.add_region("box", [(10, 10), (150, 150)])
    assert "CAM" in window.panel("regions").numbers.text() and window.panel("regions").table.rows.rowCount() == 0
    assert sum(RegionPanel(window.hub).table.columnWidth(column) for column in (1, 2, 3)) < 160


def test_the_legend_shows_each_mass_and_elides_names(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("winner")])
    window.workspace.update_view(depth=9)
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


@pytest.mark.parametrize("size", [(1440, 900), (900, 600), (740, 560)])
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


def test_panels_share_the_width_anew_until_the_user_moves_them(own_window: MainWindow) -> None:
    own_window.resize(900, 600)
    assert own_window.splitter.sizes()[0] <= 320
    own_window.resize(1440, 900)
    assert own_window.splitter.sizes()[0] >= 400
    own_window.splitter.moveSplitter(280, 1)
    own_window.resize(1300, 900)
    assert abs(own_window.splitter.sizes()[0] - 280) < 12


def test_the_smallest_window_cuts_neither_sets_nor_their_probabilities(own_window: MainWindow, qtbot: QtBot) -> None:
    own_window.workspace.open_pictures([sample_pictures()[0]])
    qtbot.waitUntil(lambda: not own_window.workspace.busy, timeout=60_000)
    own_window.workspace.set_contrast(Expression.of("@rest"))
    own_window.resize(300, 300)
    QApplication.processEvents()
    assert own_window.width() >= 720
    row = own_window.panel("classes").contrast
    caption, p = row.findChild(QLabel), row._probability
    chip = row.chips[0]
    assert caption.width() >= caption.sizeHint().width() and p.width() >= p.sizeHint().width()
    left = chip.mapTo(row, chip.rect().topLeft()).x()
    assert caption.geometry().right() < left and left + chip.width() <= p.x()


def test_chips_say_their_role_and_follow_the_search_field(window: MainWindow) -> None:
    window.workspace.set_target(Expression.of("n02084071"))
    window.workspace.set_contrast(Expression.of("n02123045"))
    seen, widget = [], window.panel("classes").search
    while len(seen) < 2:
        widget = widget.nextInFocusChain()
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            seen.append(widget.accessibleName())
    assert seen[0].startswith("target: dog") and seen[1].startswith("contrast: tabby")
    assert all(name.endswith("Delete removes it") for name in seen)
