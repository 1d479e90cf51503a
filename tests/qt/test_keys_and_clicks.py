"""Keys and clicks do one thing each: moving chooses nothing, nor does a right click; copying takes what is selected."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.geometry import Box
from calm_gui.core.readings import READINGS
from calm_gui.qt.classes.hierarchy_model import KEY_ROLE
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane
from calm_gui.session.suggestions import found_sets, suggested_sets
from calm_gui.session.truth import GroundTruth

Settle = Callable[[], None]
CTRL = Qt.KeyboardModifier.ControlModifier


def test_moving_in_a_search_and_in_lists_chooses_nothing(window: MainWindow) -> None:
    panel = window.panel("classes")
    before = window.workspace.state.selection
    QTest.keyClicks(panel.search, "saluki")
    QTest.keyClick(panel.search, Qt.Key.Key_Down)
    for view in (panel.tree, panel.predicted, window.panel("ladder").row):
        for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up):
            QTest.keyClick(view, key)
    assert window.workspace.state.selection == before


def test_return_makes_the_best_find_a_and_ctrl_return_b(window: MainWindow) -> None:
    panel = window.panel("classes")
    QTest.keyClicks(panel.search, "saluki")
    QTest.keyClick(panel.search, Qt.Key.Key_Return, CTRL)
    assert window.hub.scene.name(window.workspace.state.selection.contrast) == "Saluki"
    panel.search.clear()
    QTest.keyClicks(panel.search, "dog")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert window.workspace.state.selection.target == Expression.of("n02084071")
    panel.search.clear()
    QTest.keyClicks(panel.search, "no such thing")
    QTest.keyClick(panel.search, Qt.Key.Key_Return)
    assert window.workspace.state.selection.target == Expression.of("n02084071")


def test_the_ladder_and_the_list_take_return_and_ctrl_return(window: MainWindow) -> None:
    row = window.panel("ladder").row
    steps = row.steps
    QTest.keyClick(row, Qt.Key.Key_Up)
    QTest.keyClick(row, Qt.Key.Key_Return)
    assert window.hub.scene.target == steps[-2].node.classes
    QTest.keyClick(row, Qt.Key.Key_Up)
    QTest.keyClick(row, Qt.Key.Key_Return, CTRL)
    assert window.hub.scene.contrast == steps[-3].node.classes
    view = window.panel("classes").predicted
    window.panel("classes").show_page(view)
    view.setCurrentIndex(view.model().index(2, 0))
    QTest.keyClick(view, Qt.Key.Key_Return, CTRL)
    assert window.workspace.state.selection.contrast == Expression.of(view.model().index(2, 0).data(KEY_ROLE))
    window.panel("classes").show_page(window.panel("classes").tree)


def test_the_ladder_runs_from_everything_down_to_the_class(window: MainWindow) -> None:
    row = window.panel("ladder").row
    sizes = [len(step.node.classes) for step in row.steps]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == 1000 and sizes[-1] == 1
    position = next(i for i, step in enumerate(row.steps) if step.suggested)
    QTest.mouseMove(row, row.area(position).center())
    QTest.mouseClick(row, Qt.MouseButton.LeftButton, pos=row._letters(position)["B"].center())
    assert window.hub.scene.contrast == row.steps[position].node.classes
    QTest.mouseClick(row, Qt.MouseButton.LeftButton, pos=row.area(position).center())
    assert window.hub.scene.target == row.steps[position].node.classes


def test_a_right_click_chooses_nothing(window: MainWindow, settle: Settle) -> None:
    window.workspace.open_pictures(sample_pictures()[:3])
    settle()
    window.docks.open("pictures")
    QApplication.processEvents()
    before, right = window.workspace.state, Qt.MouseButton.RightButton
    row = window.panel("ladder").row
    QTest.mouseClick(row, right, pos=row.area(0).center())
    films = window.panel("pictures").list
    QTest.mouseClick(films.viewport(), right, pos=films.visualItemRect(films.item(2)).center())
    assert films.currentRow() == before.current
    tree = window.panel("classes").tree
    QTest.mouseClick(tree.viewport(), right, pos=QPoint(120, 30))
    canvas = window.panes.panes[1].canvas
    QTest.mouseClick(canvas, right, pos=canvas.rect().center())
    assert window.workspace.state.selection == before.selection
    assert window.workspace.state.current == before.current and films.currentRow() == before.current


def test_ctrl_c_takes_what_is_selected(window: MainWindow, qtbot: QtBot) -> None:
    clipboard = QGuiApplication.clipboard()
    window.docks.open("values")
    table = window.panel("values").table
    window.activateWindow()
    table.setFocus()
    table.selectRow(2)
    QTest.keyClick(table, Qt.Key.Key_C, CTRL)
    assert len(clipboard.text().splitlines()) == 2  # the heading, and that row
    table.clearSelection()
    QTest.keyClick(table, Qt.Key.Key_C, CTRL)
    assert len(clipboard.text().splitlines()) == 1 + window.hub.scene.active.shown.values.shape[0]
    search = window.panel("classes").search
    search.setText("beagle and more")
    search.setFocus()
    search.setSelection(0, 6)
    QTest.keyClick(search, Qt.Key.Key_C, CTRL)
    assert clipboard.text() == "beagle"
    label = QLabel("some words to take", window)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.show()
    label.setFocus()
    label.setSelection(5, 5)
    window.pane_actions.copy()
    assert clipboard.text() == "words"
    label.deleteLater()
    window.panes.focus_active()
    window.pane_actions.copy()
    assert not clipboard.pixmap().isNull() and "Copied" in window.status.words.text()
    window.docks.fold("values")


@pytest.mark.parametrize("text", ["dog", "afghan hound", "crane", "151"])
def test_a_search_finds_each_class_and_group_once(window: MainWindow, text: str) -> None:
    found = found_sets(window.hub.scene, text)
    keys = [suggestion.expression for suggestion in found]
    assert found and len(keys) == len(set(keys))
    tree = window.panel("classes").tree
    tree.search(text)
    places = [key for key in window.hub.scene.hierarchy if tree.nodes.is_hit(key)]
    for key in places:
        within = any(tree.nodes.is_hit(above) for above in window.hub.scene.hierarchy.ancestors(key))
        assert within or len(tree.nodes.places(key)) == 1
    tree.search("")


def test_suggestions_are_sets_of_their_own_and_none_is_empty(window: MainWindow) -> None:
    scene = window.hub.scene
    for role in ("target", "contrast"):
        rows = suggested_sets(scene, role)
        sets = [scene.classes_of(row.expression) for row in rows]
        assert len(rows) >= 2 and all(sets) and len(set(sets)) == len(sets)
        for row, classes in zip(rows, sets, strict=True):
            assert row.p == pytest.approx(scene.probability(classes))
    notes = [row.note.split(" · ")[0] for row in suggested_sets(scene, "contrast")]
    assert notes == ["runner-up", "siblings of A", "suggested group without A", "all classes except A"]
    assert not any(scene.classes_of(row.expression) & scene.target for row in suggested_sets(scene, "contrast"))


def test_a_field_opens_a_search_and_its_cross_empties_the_set(window: MainWindow) -> None:
    field = window.question.contrast
    window.workspace.set_contrast(Expression.of("n02084071"))
    p = window.hub.scene.explanation.class_probabilities[list(window.hub.scene.contrast)].sum()
    assert field.name == "dog" and field.number == f"{p:.3f}"
    QTest.mouseClick(field, Qt.MouseButton.LeftButton, pos=field._cross().center())
    assert not window.workspace.state.selection.contrast and field._cross().isEmpty()
    QTest.keyClick(field, Qt.Key.Key_Return)
    popup = field.popup
    assert popup.isVisible() and window.screen().availableGeometry().contains(popup.geometry().adjusted(2, 2, -2, -2))
    QTest.keyClicks(popup.search, "tabby")
    QTest.keyClick(popup.search, Qt.Key.Key_Down)
    QTest.keyClick(popup.search, Qt.Key.Key_Up)
    assert not window.workspace.state.selection.contrast
    QTest.keyClick(popup.search, Qt.Key.Key_Return)
    assert (
        window.hub.scene.name(window.workspace.state.selection.contrast).startswith("tabby") and not popup.isVisible()
    )
    before = field.size()
    window.workspace.set_contrast(Expression.of("n02084071").including("n02123045").including("n03126707"))
    QApplication.processEvents()
    assert field.size() == before  # nothing moves under the mouse


def test_tab_enters_a_group_of_choices_at_the_chosen_one(window: MainWindow) -> None:
    question = window.question
    window.workspace.change_pane(0, shows=Pane.of("conditional").shows)
    stops = [key for key, button in question.buttons.items() if button.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == ["conditional"]
    window.resize(1440, 820)
    QApplication.processEvents()
    assert question.segments.isVisible()
    window.activateWindow()
    question.buttons["conditional"].setFocus()
    QTest.keyClick(question.buttons["conditional"], Qt.Key.Key_Left)
    assert window.workspace.state.panes[0].shows.key == "saliency"
    window.resize(1280, 820)


def test_flicker_shows_the_next_pane_in_the_same_place(window: MainWindow) -> None:
    pane = window.panes.panes[0]
    own = pane.canvas.grab().toImage()
    window.actions_by_name["flicker"].setChecked(True)
    window.panes.flicker_once()
    assert pane.content.name == window.hub.scene.panes[1].name and pane.canvas.grab().toImage() != own
    window.panes.flicker_once()
    assert pane.canvas.grab().toImage() == own
    window.panes.flicker_once()
    window.pane_actions.escape()
    assert pane.canvas.grab().toImage() == own and not window.actions_by_name["flicker"].isChecked()


def test_the_slider_shows_one_map_left_and_the_other_right_of_a_line(window: MainWindow) -> None:
    window.actions_by_name["slider"].setChecked(True)
    QApplication.processEvents()
    slider = window.panes.panes[0].slider
    assert slider.canvas._content.shown is window.hub.scene.panes[1].shown
    window.workspace.set_panes([Pane.of("attribution"), Pane.of("counterfactual")])
    QApplication.processEvents()
    slider = window.panes.panes[0].slider
    one, other = window.panes.panes[0].canvas, slider.canvas
    assert other._content.shown is window.hub.scene.panes[1].shown
    for split in (0.25, 0.75):
        slider.split = split
        QApplication.processEvents()
        seen = one.grab().toImage()
        x, y = round(one.picture_rect().center().x()), round(one.picture_rect().center().y())
        right = other.grab().toImage().pixelColor(x, y)
        assert (seen.pixelColor(x, y) == right) == (split == 0.25)
    QTest.keyClick(slider._grip, Qt.Key.Key_Left)
    assert slider.split == pytest.approx(0.73)
    slider.split = 0.5
    said = window.hub.scene.panes[1]
    assert slider.label.isVisible() and slider.label.text() == f"{said.label} · {said.name}"
    assert slider.label.geometry().right() < slider.width() and slider.label.height() >= 12
    truth = (Box(20.0, 20.0, 120.0, 120.0),)
    window.workspace.truth = GroundTruth(boxes={Path(window.workspace.state.picture).name: truth})
    window.workspace.changed()
    assert one._truth == other._truth == truth
    window.pane_actions.escape()
    assert slider.isHidden()


def test_a_double_click_shows_a_pane_alone_and_all_again(window: MainWindow) -> None:
    canvas = window.panes.panes[2].canvas
    before = canvas.picture_rect().width()
    QTest.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.rect().center())
    QTest.qWait(30)
    assert [pane.isVisible() for pane in window.panes.panes] == [False, False, True, False]
    assert canvas.picture_rect().width() > 1.5 * before and window.workspace.state.active == 2
    size = window.hub.scene.explanation.geometry.picture[0]
    assert window.status.zoom.text() == f"{100 * canvas.picture_rect().width() / size:.0f} %"
    QTest.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.rect().center())
    QTest.qWait(30)
    assert all(pane.isVisible() for pane in window.panes.panes) and canvas.picture_rect().width() == before


def test_the_winner_map_divides_the_picture_at_first(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("winner")])
    scene = window.hub.scene
    depth = scene.active.shown.depth
    assert len(scene.active.shown.legend()) > 1
    assert all(len(scene.explanation.winner(d).legend()) == 1 for d in range(depth))
    window.workspace.update_view(depth=0)
    assert window.hub.scene.active.shown.depth == 0


def test_what_a_checkpoint_lacks_is_greyed_with_the_reason(window: MainWindow, settle: Settle, qtbot: QtBot) -> None:
    buttons = window.question.buttons
    assert buttons["cam"].isHidden() and all(buttons[key].isEnabled() for key in buttons if key != "cam")
    window.workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    qtbot.waitUntil(lambda: "demo-cam" in window.workspace.state.selection.checkpoint, timeout=60_000)
    settle()
    assert buttons["cam"].isEnabled() and not buttons["cam"].isHidden()
    greyed = [key for key, button in buttons.items() if not button.isEnabled()]
    assert greyed and all("no p(y,z|x)" in buttons[key].toolTip() for key in greyed)
    window.actions_by_name["undo"].trigger()
    settle()


def test_without_a_picture_the_window_says_what_to_do(own_window: MainWindow, qtbot: QtBot) -> None:
    page = own_window.empty
    assert page.isVisible() and own_window.middle.isHidden() and own_window.ledger.isHidden()
    assert "demo" in page.checkpoint.text() and "1,000" in page.checkpoint.text()
    page.buttons[2].click()
    assert page.isHidden() and own_window.panes.isVisible()
    assert len(own_window.workspace.state.pictures) == len(sample_pictures())


def test_no_picture_moves_when_its_map_comes(own_window: MainWindow, qtbot: QtBot) -> None:
    own_window.workspace.open_pictures(sample_pictures()[:1])
    QTest.qWait(30)
    assert own_window.workspace.busy and own_window.ledger.sentence.startswith("Explaining afghan_hound.jpg")
    before = [pane.geometry() for pane in own_window.panes.panes]
    assert own_window.scales.isVisible() and not any(bar.isVisible() for bar in own_window.scales.bars)
    qtbot.waitUntil(lambda: not own_window.workspace.busy, timeout=60_000)
    QTest.qWait(30)
    assert [pane.geometry() for pane in own_window.panes.panes] == before
    assert own_window.ledger.sentence.startswith("The map splits")


def test_the_films_filter_knows_the_groups_of_what_was_predicted(window: MainWindow, settle: Settle) -> None:
    window.workspace.open_pictures(sample_pictures()[:3])
    settle()
    window.docks.open("pictures")
    film = window.panel("pictures")
    film.filter.setText("carnivore")
    names = [film.list.item(row).text() for row in range(3) if not film.list.isRowHidden(row)]
    assert names == ["afghan_hound"]
    film.filter.clear()
    window.hub.pictures_wanted.emit([str(sample_pictures()[1])])
    assert [film.list.isRowHidden(row) for row in range(3)] == [True, False, True]
    assert len(window.workspace.state.pictures) == 3  # what is open stays open
    film.everything.click()
    assert not any(film.list.isRowHidden(row) for row in range(3))


def test_a_cam_checkpoint_begins_with_four_maps_that_differ(window: MainWindow, settle: Settle) -> None:
    workspace, calm = window.workspace, window.workspace.state.panes
    workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    settle()
    panes = window.hub.scene.panes
    assert [(pane.shows.key, pane.letter) for pane in panes] == [
        *(("cam", "A"), ("cam", "B")),
        *(("gradient", "A"), ("gradient", "B")),
    ]
    assert all(pane.shown is not None for pane in panes)
    workspace.open_checkpoint(bundled_checkpoints()["demo"])
    settle()
    assert workspace.state.panes == calm
    workspace.change_pane(0, shows=READINGS["winner"])
    chosen = workspace.state.panes
    workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    settle()
    assert workspace.state.panes == chosen, "panes that a person arranged stay"
    workspace.open_checkpoint(bundled_checkpoints()["demo"])
    settle()
