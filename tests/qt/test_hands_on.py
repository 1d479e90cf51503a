"""What the hands do: drawing beyond the edge, paging, searching, filtering, zooming out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import current_thread

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.classes import ClassInfo, ClassTable, fold_text
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.model import wordnet
from calm_gui.qt.classes.hierarchy_model import HierarchyModel
from calm_gui.qt.classes.predicted_view import PredictedModel
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.matching_dialog import MatchingDialog
from calm_gui.qt.panes.map_canvas import MapCanvas
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression, class_key
from calm_gui.session.pane import Pane
from calm_gui.session.state import RegionShape


@pytest.fixture
def draw(window: MainWindow) -> Iterator[Callable[..., RegionShape | None]]:
    """Drag with a tool over points of the only pane, which is wider than its picture; the region that comes of it."""
    window.resize(1280, 640)
    window.workspace.set_panes([Pane.of("attribution")])
    QApplication.processEvents()

    def drag(tool: str, *points: QPoint) -> RegionShape | None:
        canvas = window.panes.panes[0].canvas
        window.actions_by_name[tool].setChecked(True)
        QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=points[0])
        for point in points[1:]:
            QTest.mouseMove(canvas, point)
        QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=points[-1])
        window.actions_by_name[tool].setChecked(False)
        regions = window.workspace.state.regions
        return regions[-1] if regions else None

    yield drag
    window.resize(1280, 820)


def edges(canvas: MapCanvas) -> tuple[QPoint, QPoint]:
    """Places in the canvas left above, and right below, of the picture as far as there is a margin."""
    rect = canvas.picture_rect().toRect()
    assert rect.left() > 8 or rect.top() > 8
    beyond = QPoint(8 if rect.left() > 8 else 0, 8 if rect.top() > 8 else 0)
    return rect.topLeft() - beyond, rect.bottomRight() + beyond


def test_a_rectangle_drawn_past_the_edges_ends_at_them(window: MainWindow, draw: Callable[..., RegionShape]) -> None:
    first, last = edges(window.panes.panes[0].canvas)
    width, height = window.hub.scene.explanation.geometry.picture
    shape = draw("box", first, first + QPoint(30, 30), last)
    assert np.allclose(shape.points, [(0, 0), (width, height)], atol=2 * width / 200)
    side = 0 if window.panes.panes[0].canvas.picture_rect().left() > 8 else 1  # the one with a margin
    assert [point[side] for point in shape.points] == [0.0, (width, height)[side]]


def test_a_lasso_drawn_past_the_edge_follows_it(window: MainWindow, draw: Callable[..., RegionShape]) -> None:
    canvas = window.panes.panes[0].canvas
    middle = canvas.picture_rect().center().toPoint()
    first, last = edges(canvas)
    shape = draw("lasso", middle, first, QPoint(last.x(), first.y()), last, middle)
    x, y = np.array(shape.points).T
    width, height = window.hub.scene.explanation.geometry.picture
    assert x.min() < 0.02 * width and x.max() > 0.98 * width and y.max() > 0.98 * height
    assert x.min() >= 0 and y.min() >= 0 and x.max() <= width and y.max() <= height
    # It ended where it began, which is no click.
    assert window.workspace.state.regions == (shape,)


def test_a_click_with_the_brush_makes_a_dab(window: MainWindow, draw: Callable[..., RegionShape]) -> None:
    canvas = window.panes.panes[0].canvas
    middle = canvas.picture_rect().center().toPoint()
    before = canvas.grab().toImage().pixelColor(middle)
    shape = draw("brush", middle)
    assert shape.kind == "brush" and len(shape.points) == 1
    assert window.hub.scene.regions[0][1].cells > 0
    assert canvas.grab().toImage().pixelColor(middle + QPoint(4, 4)) != before
    shape = draw("brush", middle, middle + QPoint(40, 0))
    assert len(shape.points) == 2 and len(window.workspace.state.regions) == 2


def test_clicks_with_other_tools_and_beside_the_picture_draw_nothing(
    window: MainWindow, draw: Callable[..., RegionShape | None]
) -> None:
    canvas = window.panes.panes[0].canvas
    for tool in ("box", "lasso"):
        assert draw(tool, canvas.rect().center()) is None
    assert draw("brush", edges(canvas)[0]) is None


def test_escape_gives_up_what_is_being_drawn(window: MainWindow) -> None:
    canvas = window.panes.panes[0].canvas
    middle = canvas.picture_rect().center().toPoint()
    window.actions_by_name["box"].setChecked(True)
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseMove(canvas, middle + QPoint(40, 40))
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    QTest.mouseMove(canvas, middle + QPoint(60, 60))
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=middle + QPoint(60, 60))
    window.actions_by_name["box"].setChecked(False)
    assert window.workspace.state.regions == ()


def test_page_keys_page_where_the_keyboard_is(window: MainWindow, settle: Callable[[], None]) -> None:
    window.workspace.open_pictures(sample_pictures()[:3])
    settle()
    window.activateWindow()
    tree = window.panel("classes").tree
    tree.expandAll()
    tree.setCurrentIndex(tree.model().index(0, 0))
    tree.setFocus()
    QTest.keyClick(tree, Qt.Key.Key_PageDown)
    assert window.workspace.state.current == 0
    window.docks.open("pictures")
    assert tree.visualRect(tree.currentIndex()).bottom() > tree.viewport().height() / 2
    films = window.panel("pictures").list
    films.setFocus()
    QTest.keyClick(films, Qt.Key.Key_PageDown)
    assert window.workspace.state.current == 1
    window.panel("pictures").list.setRowHidden(0, True)
    QTest.keyClick(films, Qt.Key.Key_PageUp)
    assert window.workspace.state.current == 1
    window.panel("pictures").list.setRowHidden(0, False)
    QTest.keyClick(films, Qt.Key.Key_PageUp)
    assert window.workspace.state.current == 0


@pytest.mark.parametrize("text", ["151", "dog", "used for", "2085620", "1440764", "n0208562", "  great   Dane ", "n"])
def test_tree_and_list_find_the_same_classes(window: MainWindow, text: str) -> None:
    scene = window.hub.scene
    model = HierarchyModel()
    model.set_hierarchy(scene.hierarchy)
    found = model.search(text)
    nodes = [node for key, node in scene.hierarchy.items() if model.is_hit(key)]
    assert found == len(nodes) > 0
    classes = {info.index for info in scene.classes.find(text)}
    assert {node.class_index for node in nodes if node.class_index is not None} == classes
    if text == "151":
        assert classes == {151}


def test_digits_are_an_index_a_word_of_a_name_or_four_of_a_wnid() -> None:
    table = ClassTable(
        [ClassInfo(0, "737-300", "n02000737"), ClassInfo(1, "class 1", "n01440764"), ClassInfo(2, "A7371")]
    )
    found = {text: [info.index for info in table.find(text)] for text in ("737", "0073", "1", "1440", "144", "7371")}
    assert found == {"737": [0], "0073": [0], "1": [1], "1440": [1], "144": [], "7371": []}


def test_a_search_for_blanks_shows_everything(window: MainWindow) -> None:
    view = PredictedModel()
    scene = window.hub.scene
    view.show(scene.classes, scene.class_probabilities, scene.target, scene.contrast, "   ")
    assert view.rowCount() == len(scene.classes)
    assert fold_text(" a  B\t_c ") == "a b c" and not scene.classes.find("   ")


def test_the_window_goes_on_while_wordnet_is_read(window: MainWindow, qtbot: QtBot) -> None:
    readers: list[str] = []
    describe = wordnet.describe

    def noted(wnid: str) -> tuple[str, tuple[str, ...], str]:
        readers.append(current_thread().name)
        return describe(wnid)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordnet, "describe", noted)
        dialog = MatchingDialog(window.hub, window)
        ok = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
        assert "reading WordNet" in dialog.message.text() and not ok.isEnabled() and not dialog.matches
        qtbot.waitUntil(lambda: bool(dialog.matches), timeout=60_000)
    assert set(readers) == {"calm-worker"}
    assert ok.isEnabled() and "1000 classes matched" in dialog.message.text()
    assert dialog.table.item(151, 1).text() == "Chihuahua (n02085620)"
    dialog.below.setText("qwxyz")
    dialog.match()
    qtbot.waitUntil(ok.isEnabled, timeout=60_000)
    assert "no noun 'qwxyz'" in dialog.message.text() and dialog.matches[151] == "n02085620"
    dialog.match()
    dialog.reject()
    dialog.deleteLater()
    qtbot.wait(50)


def turn_wheel(canvas: MapCanvas, steps: int) -> None:
    at, none, plain = QPointF(canvas.rect().center()), Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    turned = QWheelEvent(at, at, QPoint(), QPoint(0, 120 * steps), none, plain, Qt.ScrollPhase.NoScrollPhase, False)
    QApplication.sendEvent(canvas, turned)


@pytest.mark.parametrize("size", [(60, 41), (61, 40)])
def test_a_small_picture_is_shown_one_to_one(
    window: MainWindow, settle: Callable[[], None], tmp_path: Path, size: tuple[int, int]
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "small.png")
    window.workspace.set_panes([Pane.of("attribution")])
    window.workspace.update_view(overlay=False)
    window.workspace.open_pictures([tmp_path / "small.png", sample_pictures()[0]])
    settle()
    canvas = window.panes.panes[0].canvas
    canvas.zoom_by(1.25)
    turn_wheel(canvas, -1)
    turn_wheel(canvas, -3)
    assert window.workspace.state.view.zoom == 1.0
    window.actions_by_name["actual"].trigger()
    rect = canvas.picture_rect()
    assert (rect.width(), rect.height()) == pytest.approx(size)
    assert abs(rect.center().x() - canvas.width() / 2) <= 0.5 and abs(rect.center().y() - canvas.height() / 2) <= 0.5
    shown = canvas.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(shown.constBits(), np.uint8).reshape(shown.height(), shown.bytesPerLine())
    place = canvas.visible()
    seen = rows[:, : 3 * shown.width()].reshape(shown.height(), shown.width(), 3)
    assert (seen[place.top() : place.bottom() + 1, place.left() : place.right() + 1] == pixels).all()
    turn_wheel(canvas, 1)
    assert canvas.picture_rect().width() == pytest.approx(1.25 * size[0])
    turn_wheel(canvas, -4)
    assert canvas.picture_rect().width() == pytest.approx(size[0])
    assert canvas._view.centre == (0.5, 0.5)
    window.workspace.step_picture(1)  # a larger one gets no smaller than its own pixels
    settle()
    assert canvas.picture_rect().width() == pytest.approx(window.hub.scene.explanation.geometry.picture[0])


def test_the_preview_of_what_cannot_be_exported_is_empty(window: MainWindow) -> None:
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.show_preview()
    assert not dialog.preview.pixmap().isNull() and not dialog.message.text()
    dialog.what.setCurrentIndex(dialog.what.findData("regions"))
    dialog.show_preview()
    assert dialog.preview.pixmap().isNull() and "region" in dialog.message.text()
    dialog.what.setCurrentIndex(dialog.what.findData("single"))
    dialog.show_preview()
    assert not dialog.preview.pixmap().isNull() and not dialog.message.text()
    dialog.deleteLater()


def test_next_and_previous_go_over_the_pictures_that_the_filter_shows(
    window: MainWindow, settle: Callable[[], None], tmp_path: Path
) -> None:
    for name in ("0 cat", "1 dog", "2 cat", "3 cat", "4 dog"):
        Image.new("RGB", (20, 20), "red").save(tmp_path / f"{name}.png")
    (tmp_path / "2 cat.png").write_bytes(b"no picture")
    window.workspace.open_pictures([tmp_path])
    settle()
    window.docks.open("pictures")
    film, workspace = window.panel("pictures"), window.workspace
    film.filter.setText("cat")
    assert film.found.text() == "3 of 5 pictures" and film.found.isVisible()
    window.actions_by_name["next"].trigger()
    settle()
    assert "2 cat.png" in window.messages.text.text() and workspace.state.current < 2
    window.actions_by_name["next"].trigger()
    settle()
    assert workspace.state.current == 3
    window.actions_by_name["next"].trigger()
    assert workspace.state.current == 3
    window.actions_by_name["previous"].trigger()
    assert workspace.state.current == 0
    film.filter.setText("no such thing")
    assert film.found.text() == "no picture matches"
    film.filter.clear()
    assert not film.found.isVisible()
    window.actions_by_name["next"].trigger()
    assert workspace.state.current == 1


def other_hierarchy(classes: ClassTable) -> Hierarchy:
    """All classes in two halves below one root."""
    halves = {"left": {"parents": ["top"]}, "right": {"parents": ["top"]}}
    leaves = {class_key(i, classes): {"parents": [("left", "right")[i % 2]], "class": i} for i in range(len(classes))}
    return Hierarchy({"top": {}, **halves, **leaves}, len(classes))


def test_an_own_hierarchy_stays_with_its_checkpoint_until_that_is_read_anew(
    own_window: MainWindow, qtbot: QtBot
) -> None:
    workspace = own_window.workspace
    workspace.open_pictures([sample_pictures()[0]])
    qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
    bundled, own = workspace.scene.hierarchy, other_hierarchy(workspace.scene.classes)
    workspace.set_hierarchy(own)
    for name, expected in (("demo-cam", bundled), ("demo", own), ("demo", bundled)):
        workspace.open_checkpoint(bundled_checkpoints()[name])
        qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
        scene = workspace.scene
        assert set(scene.hierarchy or ()) == set(expected or ())
        assert scene.explanation is not None and scene.explanation.hierarchy is scene.hierarchy
        assert all(step.node.key in scene.hierarchy for step in scene.strip)


def test_a_hierarchy_given_while_a_picture_is_explained_is_that_pictures_too(
    own_window: MainWindow, qtbot: QtBot
) -> None:
    workspace = own_window.workspace
    workspace.open_pictures([sample_pictures()[0]])
    own = other_hierarchy(workspace.scene.classes)
    workspace.set_hierarchy(own)
    qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
    assert workspace.scene.explanation is not None and workspace.scene.explanation.hierarchy is own
    assert [step.node.key for step in workspace.scene.strip][-1] == "top"


def test_undo_past_a_hierarchy_falls_back_where_it_named_a_group(own_window: MainWindow, qtbot: QtBot) -> None:
    workspace = own_window.workspace
    workspace.open_pictures([sample_pictures()[0]])
    qtbot.waitUntil(lambda: not workspace.busy, timeout=60_000)
    workspace.set_target(Expression.of("n02084071"))
    workspace.set_contrast(Expression.of("n02123045"))
    workspace.set_hierarchy(None)
    own_window.actions_by_name["undo"].trigger()
    assert workspace.state.selection.target == Expression.of("@predicted")
    assert workspace.state.selection.contrast == Expression.of("n02123045")  # a class, which needs no hierarchy


def test_tab_goes_from_the_hierarchy_strip_to_the_film_strip_and_on(own_window: MainWindow, qtbot: QtBot) -> None:
    own_window.workspace.open_pictures(sample_pictures()[:2])
    order, widget = [], own_window.panel("ladder").row
    for _ in range(60):
        order.append(widget)
        widget = widget.nextInFocusChain()
        while not (widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisibleTo(own_window)):
            widget = widget.nextInFocusChain()
    film = own_window.panel("pictures")
    assert order.index(film.filter) < order.index(film.list)
