"""Nine jobs by mouse and by keys alone, with the number of actions: a click, a drag, a key chord, a typed text."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QMenu,
    QWidget,
)

from calm_gui.api import sample_pictures
from calm_gui.qt.classes.hierarchy_model import NAME
from calm_gui.qt.classes.row_painter import letter_areas
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.results_table import SHOWN_COLUMNS

Settle = Callable[[], None]
LEFT = Qt.MouseButton.LeftButton
CTRL, ALT, SHIFT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ShiftModifier,
)
SALUKI, CANINE = "n02091831", "n02083346"


class Hand:
    """Does what a person does, and counts. A chosen menu entry is two clicks, or the keys that it shows."""

    def __init__(self, window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
        self.window, self.count = window, 0
        self._patch = monkeypatch

    def click(self, widget: QWidget, at: QPoint | None = None) -> None:
        self.count += 1
        QTest.mouseMove(widget, at or widget.rect().center())
        QTest.mouseClick(widget, LEFT, pos=at or widget.rect().center())
        QApplication.processEvents()

    def menu(self, title: str, name: str) -> None:
        """Open a menu of the window with a click, and click an entry."""
        action: QAction = self.window.actions_by_name[name]
        menus = self.window.menu_row.menus.findChildren(QMenu)
        assert action in next(menu for menu in menus if menu.title().replace("&", "") == title).actions()
        self.count += 2
        action.trigger()
        QApplication.processEvents()

    def drag(self, widget: QWidget, start: QPoint, goal: QPoint) -> None:
        self.count += 1
        QTest.mousePress(widget, LEFT, pos=start)
        QTest.mouseMove(widget, (start + goal) / 2)
        QTest.mouseMove(widget, goal)
        QTest.mouseRelease(widget, LEFT, pos=goal)
        QApplication.processEvents()

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press keys where the keyboard is."""
        self.count += 1
        focus = QApplication.activePopupWidget() or QApplication.activeModalWidget() or self.window
        QTest.keyClick(focus.focusWidget() or focus, key, modifiers)
        QApplication.processEvents()

    def type(self, text: str) -> None:
        self.count += 1
        focus = (QApplication.activePopupWidget() or self.window).focusWidget()
        QTest.keyClicks(focus, text)
        QApplication.processEvents()

    def answers(self, ask: str, given: tuple[str, str] | tuple[list[str], str], by_double_click: bool = False) -> None:
        """What the system's file dialog gives: a name that is typed and Return, or to open a double click."""

        def dialog(*_: object, **__: object) -> object:
            self.count += 1 if by_double_click else 2
            return given

        self._patch.setattr(QFileDialog, ask, dialog)

    def in_dialog(self, act: Callable[[QDialog], None]) -> None:
        """Do something in the next dialog, once it is shown."""

        def now() -> None:
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, QDialog):
                act(dialog)
            else:
                QTimer.singleShot(20, now)

        QTimer.singleShot(20, now)


@pytest.fixture
def hand(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hand]:
    window.resize(1440, 875)
    window.docks.forget()
    QApplication.processEvents()
    window.panes.focus_active()
    yield Hand(window, monkeypatch)
    for name in ("box", "ranks"):
        window.actions_by_name[name].setChecked(False)
    window.docks.forget()


BY = pytest.mark.parametrize("by", ["mouse", "keys"])


@BY
def test_an_own_picture_takes_three(hand: Hand, settle: Settle, by: str) -> None:
    own = sample_pictures()[3]
    hand.answers("getOpenFileNames", ([str(own)], ""), by_double_click=by == "mouse")
    if by == "mouse":
        hand.menu("File", "open")
    else:
        hand.press(Qt.Key.Key_O, CTRL)
    settle()
    assert hand.window.workspace.state.picture == str(Path(own).absolute())
    assert hand.count <= 3


@BY
def test_the_superset_takes_one(hand: Hand, by: str) -> None:
    if by == "mouse":
        row = hand.window.panel("ladder").row
        place = next(i for i, step in enumerate(row.steps) if step.suggested)
        hand.click(row, row.area(place).center() - QPoint(60, 0))
    else:
        hand.press(Qt.Key.Key_Up, ALT | SHIFT)
    scene = hand.window.hub.scene
    assert scene.target == scene.explanation.supersets[scene.explanation.top(1)[0][0]]
    assert hand.count <= 1


@BY
def test_a_contrast_takes_two(hand: Hand, by: str) -> None:
    before, popup = hand.window.hub.scene.contrast, hand.window.question.contrast.popup
    if by == "mouse":
        hand.click(hand.window.question.contrast, QPoint(40, 12))
        hand.click(popup.list.viewport(), popup.list.visualRect(popup.list.model().index(1, 0)).center())
    else:
        hand.press(Qt.Key.Key_B, CTRL | SHIFT)
        hand.press(Qt.Key.Key_Return)
    after = hand.window.hub.scene.contrast
    assert after and after != before
    assert hand.count <= 2


@BY
def test_png_and_pdf_take_five(hand: Hand, tmp_path: Path, by: str) -> None:
    hand.answers("getSaveFileName", (str(tmp_path / "fig"), "PNG (*.png)"))
    seen: list[str] = []

    def act(dialog: QDialog) -> None:
        pdf = next(box for box in dialog.findChildren(QCheckBox) if box.text().replace("&", "") == "PDF")
        save = dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Save)
        if by == "mouse":
            hand.click(pdf, QPoint(8, pdf.height() // 2))
            hand.click(save)
        else:
            hand.count += 1
            QTest.keyClick(dialog, Qt.Key.Key_D, ALT)
            assert save.isDefault()
            hand.count += 1
            QTest.keyClick(dialog, Qt.Key.Key_Return)
        seen.append(dialog.message.text())  # type: ignore[attr-defined]
        dialog.reject()

    hand.in_dialog(act)
    if by == "mouse":
        hand.click(next(t for t in hand.window.menu_row.tools if t.defaultAction().objectName() == "export"))
    else:
        hand.press(Qt.Key.Key_S, CTRL)
    assert "fig.png, fig.pdf and their manifest are written" in seen[0]
    assert (tmp_path / "fig.png").exists() and (tmp_path / "fig.pdf").exists()
    assert hand.count <= 5


@BY
def test_afghan_hound_rather_than_saluki_takes_four(hand: Hand, settle: Settle, by: str) -> None:
    """The keys from the first view, where A is the Afghan hound; the mouse from another A."""
    window, classes = hand.window, hand.window.panel("classes")
    if by == "mouse":
        window.workspace.set_target(Expression.of(CANINE))
        QApplication.processEvents()
        popup = window.question.target.popup
        hand.click(window.question.target, QPoint(40, 12))
        hand.click(popup.list.viewport(), popup.list.visualRect(popup.list.model().index(0, 0)).center())
        tree = classes.tree  # which shows A, with its siblings below
        place = next(p for p in tree.nodes.places(SALUKI))
        row = tree.visualRect(place)
        assert tree.viewport().rect().contains(row.center()), "the Saluki is in sight"
        hand.click(tree.viewport(), letter_areas(tree.header().sectionSize(NAME), row)["B"].center())
    else:
        hand.press(Qt.Key.Key_B, CTRL | SHIFT)
        hand.type("saluki")
        hand.press(Qt.Key.Key_Return)
    scene = window.hub.scene
    assert scene.name(scene.state.selection.target) == "Afghan hound"
    assert scene.contrast == scene.hierarchy[SALUKI].classes
    assert hand.count <= 4


@BY
@pytest.mark.parametrize("job", ["share outside a box", "classes in a region"])
def test_a_region_and_what_is_in_it_take_two(hand: Hand, by: str, job: str) -> None:
    canvas = hand.window.panes.active.canvas
    if by == "mouse":
        hand.click(next(t for t in hand.window.menu_row.tools if t.defaultAction().objectName() == "box"))
        middle = canvas.picture_rect().center().toPoint()
        hand.drag(canvas, middle - QPoint(60, 50), middle + QPoint(60, 50))
    else:
        hand.press(Qt.Key.Key_R, CTRL)
        hand.press(Qt.Key.Key_Return)
    panel, scene = hand.window.panel("regions"), hand.window.hub.scene
    assert panel.isVisible() and hand.count <= 2
    region = scene.regions[0][1]
    share = scene.explanation.probability(scene.target, region) / scene.explanation.probability(scene.target)
    if job == "share outside a box":
        assert f"outside {100 - round(100 * share)} %" in panel.numbers.text()
    else:
        best = int(scene.explanation.region_probabilities(region).argmax())
        assert panel.table.model().index(0, 0).data() == scene.classes[best].name


@BY
def test_calm_beside_cam_on_one_scale_takes_two(hand: Hand, settle: Settle, by: str) -> None:
    if by == "mouse":
        hand.menu("Panes", "calm_and_cam")
    else:
        hand.press(Qt.Key.Key_8, CTRL | ALT)
    settle()
    panes = hand.window.hub.scene.panes
    assert {"Explanation", "CamExplanation"} <= {type(pane.explanation).__name__ for pane in panes}
    assert len({pane.scale for pane in panes}) == 1 and hand.window.actions_by_name["ranks"].isChecked()
    assert hand.count <= 2
    hand.window.actions_by_name["undo"].trigger()
    assert not hand.window.workspace.state.view.ranks


@BY
def test_the_worst_pictures_of_a_folder_take_five(hand: Hand, settle: Settle, tmp_path: Path, by: str) -> None:
    """Of a folder that is open, with boxes."""
    window = hand.window
    window.workspace.open_pictures(sample_pictures()[:4])
    settle()
    table = tmp_path / "truth.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "boxes"])
        writer.writerows(
            [[Path(p).name, f"0 0 {40 * (i + 1)} {40 * (i + 1)}"] for i, p in enumerate(sample_pictures()[:4])]
        )
    window.workspace.load_truth(table)
    settle()
    window.hub.batches.clear()
    window.hub.batch_changed.emit()
    hand.in_dialog(lambda dialog: hand.click(dialog.start) if by == "mouse" else hand.press(Qt.Key.Key_Return))  # type: ignore[attr-defined]
    if by == "mouse":
        hand.menu("File", "batch")
    else:
        hand.press(Qt.Key.Key_B, CTRL | ALT)
    panel = window.panel("results")
    while window.hub.batches[-1].running:
        QTest.qWait(20)
    shares = [row.values["share_in_box"] for row in panel.rows.rows]
    assert None not in shares
    if by == "mouse":
        header, column = panel.table.horizontalHeader(), list(SHOWN_COLUMNS).index("share_in_box")
        hand.click(header.viewport(), QPoint(header.sectionViewportPosition(column) + 20, header.height() // 2))
        assert [row.values["share_in_box"] for row in panel.filtered.shown] == sorted(shares)
    else:
        limit = sorted(shares)[1]
        hand.press(Qt.Key.Key_Slash)
        hand.type(f"share_in_box <= {limit!r}")
        hand.press(Qt.Key.Key_Return)
        shown = [row.values["share_in_box"] for row in panel.filtered.shown]
        assert sorted(shown) == sorted(shares)[:2]
        assert window.workspace.state.picture == panel.filtered.row_at(0).picture
    assert hand.count <= 5
    panel.filter.clear()
    panel.table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
