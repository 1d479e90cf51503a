"""Context menus on pictures, thumbnails, chips, fields and rows, by mouse and by the menu key."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from calm_gui.api import sample_pictures
from calm_gui.core.readings import READINGS
from calm_gui.qt.classes.hierarchy_model import KEY_ROLE
from calm_gui.qt.dialogs.batch_dialog import start_run
from calm_gui.qt.docks import region_panel
from calm_gui.qt.widgets.set_menu import set_menu
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.batch import BatchPlan
from calm_gui.session.expression import Expression
from calm_gui.session.request import Request

MOUSE, KEYBOARD = QContextMenuEvent.Reason.Mouse, QContextMenuEvent.Reason.Keyboard


def texts(menu: QMenu) -> list[str]:
    return [action.text().replace("&", "") for action in menu.actions() if action.text()]


def click(menu: QMenu, text: str) -> None:
    next(action for action in menu.actions() if action.text().replace("&", "") == text).trigger()
    menu.deleteLater()


def ask(widget: QWidget, at: QPoint, reason: QContextMenuEvent.Reason = MOUSE) -> list[str]:
    """The texts of the menu that opens, which is closed again."""
    before = QApplication.activePopupWidget()
    QApplication.sendEvent(widget, QContextMenuEvent(reason, at, widget.mapToGlobal(at)))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu) and menu is not before
    found = texts(menu)
    menu.close()
    return found


def test_a_pictures_menu_acts_on_its_pane(window: MainWindow) -> None:
    shown = []
    for reason in (MOUSE, KEYBOARD):
        window.workspace.activate(0)
        shown.append(ask(window.panes.panes[1].canvas, QPoint(40, 40), reason))
        assert window.workspace.state.active == 1
    assert shown[0] == shown[1]
    assert {"Shows", "Copy pane as picture", "Export figure…", "Rectangle region", "Enlarge the pane"} <= {*shown[0]}
    menu = window.pane_actions.menu(2)
    submenu = next(one for one in menu.findChildren(QMenu) if one.title() == "Shows")
    assert isinstance(submenu, QMenu)
    click(submenu, READINGS["conditional"].label)
    assert window.workspace.state.panes[2].shows is READINGS["conditional"]


def test_a_region_that_is_taken_can_be_forgotten_in_the_menu(window: MainWindow) -> None:
    window.workspace.add_region("box", ((10, 10), (90, 90)))
    editor = window.panes.panes[0].canvas.editor
    assert editor is not None
    editor.chosen = window.workspace.state.regions[0]
    click(window.pane_actions.menu(0), "Remove region 1")
    assert window.workspace.state.regions == ()


def test_a_thumbnails_menu_shows_keeps_copies_and_closes(window: MainWindow, settle: object) -> None:
    workspace, film = window.workspace, window.panel("pictures").list
    workspace.open_pictures(sample_pictures()[:3])
    settle()  # type: ignore[operator]
    pictures, panes = workspace.state.pictures, workspace.state.panes
    assert "Close the picture" in ask(film.viewport(), film.visualItemRect(film.item(2)).center())
    assert "Close the picture" in ask(film.viewport(), QPoint(0, 0), KEYBOARD)
    assert workspace.state.current == 0, "a right click chooses nothing"
    click(film.menu(1), "Copy the file's path")
    assert QGuiApplication.clipboard().text() == pictures[1]
    click(film.menu(1), "Keep in a pane of its own")
    assert workspace.state.panes == (*panes, panes[0]._replace(picture=pictures[1]))
    click(film.menu(2), "Show")
    assert workspace.state.current == 2
    click(film.menu(0), "Close the picture")
    assert workspace.state.pictures == pictures[1:] and workspace.state.picture == pictures[2]
    click(film.menu(1), "Close the picture")
    assert workspace.state.picture == pictures[1]
    click(film.menu(0), "Close the picture")
    assert workspace.state.picture is None and window.empty.isVisible()
    assert all(Path(picture).exists() for picture in pictures)


def test_rows_of_classes_and_steps_of_the_ladder_have_the_same_menu(window: MainWindow) -> None:
    classes, ladder = window.panel("classes"), window.panel("ladder").row
    in_tree = ask(classes.tree.viewport(), QPoint(40, 10))
    assert in_tree == ask(ladder, ladder.area(1).center()) == ask(ladder, QPoint(0, 0), KEYBOARD)
    click(set_menu(window, window.workspace, "n02084071"), "B is this")
    click(set_menu(window, window.workspace, "n02087122"), "Remove from B")
    assert window.workspace.state.selection.contrast == Expression.of("n02084071").excluding("n02087122")


def test_chips_and_fields_have_menus(window: MainWindow) -> None:
    workspace, field = window.workspace, window.question.target
    workspace.set_target(Expression.of("n02084071").excluding("n02087122"))
    of_field = ["Choose another…", "Swap A and B", "Copy the name", "Keep under a name…", "Empty"]
    assert ask(field, QPoint(20, 10)) == of_field
    field.open()
    terms = field.popup.terms
    assert ask(terms.chips[0], QPoint(5, 5)) == ["Remove", "Keep only this"]
    field.popup.hide()
    assert texts(terms.menu(1)) == ["Remove"], "nothing is left of what is only taken away"
    click(terms.menu(0), "Keep only this")
    assert workspace.state.selection.target == Expression.of("n02084071")
    click(field.menu(), "Empty")
    assert workspace.state.selection.target == Expression()


def below(view: QAbstractItemView) -> QPoint:
    """A place below the last row."""
    last = view.visualRect(view.model().index(view.model().rowCount() - 1, 0))
    place = QPoint(last.center().x(), last.bottom() + 5)
    assert view.viewport().rect().contains(place) and not view.indexAt(place).isValid()
    return place


def opens(widget: QWidget, at: QPoint, reason: QContextMenuEvent.Reason = MOUSE) -> bool:
    """Whether a menu opens there; it is closed again."""
    QApplication.sendEvent(widget, QContextMenuEvent(reason, at, widget.mapToGlobal(at)))
    menu = QApplication.activePopupWidget()
    if menu is not None:
        menu.close()
    return menu is not None


def test_a_regions_menu_is_for_the_row_under_the_mouse(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = window.workspace
    for side in (40, 60, 80):
        workspace.add_region("box", ((10, 10), (side, side)))
    window.docks.open("regions")
    QApplication.processEvents()
    regions = window.panel("regions").regions
    regions.setMaximumHeight(300)
    QApplication.processEvents()
    regions.setCurrentRow(2)
    assert ask(regions.viewport(), regions.visualItemRect(regions.item(0)).center()) == ["Rename…", "Remove"]
    assert ask(regions, QPoint(0, 0), KEYBOARD) == ["Rename…", "Remove"]
    assert not opens(regions.viewport(), below(regions))
    shown: list[QMenu] = []
    monkeypatch.setattr(region_panel, "show_menu", lambda menu, _: shown.append(menu))
    for at, left in ((0, ["region 2", "region 3"]), (None, ["region 2"])):  # by mouse the first, by key the last
        target = regions if at is None else regions.viewport()
        place = QPoint(0, 0) if at is None else regions.visualItemRect(regions.item(at)).center()
        regions.setCurrentRow(regions.count() - 1)
        opens(target, place, KEYBOARD if at is None else MOUSE)
        click(shown.pop(), "Remove")
        assert [region.name for region in workspace.state.regions] == left


def test_the_menu_of_the_classes_in_a_region_is_for_the_row_under_the_mouse(window: MainWindow) -> None:
    window.workspace.add_region("box", ((10, 10), (90, 90)))
    window.docks.open("regions")
    QApplication.processEvents()
    table = window.panel("regions").table
    place = table.visualRect(table.model().index(1, 0)).center()
    expected = texts(set_menu(window, window.workspace, "n02084071"))
    assert ask(table.viewport(), place) == expected
    table.selectRow(3)
    assert ask(table, QPoint(0, 0), KEYBOARD) == expected


def test_the_menu_of_results_is_for_the_row_under_the_mouse(
    window: MainWindow, settle: Callable[[], None], qtbot: QtBot
) -> None:
    window.workspace.open_pictures(sample_pictures()[:3])
    settle()
    run = start_run(window.hub, BatchPlan(Request(targets=("@predicted",))), None)
    qtbot.waitUntil(lambda: not run.running, timeout=60_000)
    window.docks.open("results")
    QApplication.processEvents()
    panel = window.panel("results")
    table, of_rows = (
        panel.table,
        ["Show the picture with this target", "Copy the chosen rows", "Open the picture's folder"],
    )
    of_all = ["Show all these rows as pictures", "Export the table…"]
    table.verticalHeader().setDefaultSectionSize(20)
    table.selectRow(2)
    row = table.visualRect(table.model().index(1, 0)).center()
    QTest.keyPress(table, Qt.Key.Key_Control, Qt.KeyboardModifier.ControlModifier)
    assert ask(table.viewport(), row) == of_rows + of_all
    assert {index.row() for index in table.selectedIndexes()} == {1}, "alone, whatever keys are held"
    QTest.keyRelease(table, Qt.Key.Key_Control)
    assert ask(table, QPoint(0, 0), KEYBOARD) == of_rows + of_all
    assert ask(table.viewport(), below(table)) == of_all
    click(panel.menu(1), "Show the picture with this target")
    assert window.workspace.state.current == 1
    panel.filter.setText("nothing is called so")
    assert not opens(table.viewport(), QPoint(20, 30))
    panel.filter.clear()


def test_the_menu_key_is_for_the_current_class(window: MainWindow) -> None:
    asked: list[str] = []
    classes = window.panel("classes")
    for tab, view in enumerate((classes.predicted, classes.tree)):
        classes.tabs.setCurrentIndex(tab)
        said = view.menu_wanted.connect(lambda key, _: asked.append(key))
        index = view.model().index(0, 0)
        view.setCurrentIndex(index)
        assert opens(view, QPoint(50, 200), KEYBOARD) and asked == [index.data(KEY_ROLE)]
        view.menu_wanted.disconnect(said)
        asked.clear()
