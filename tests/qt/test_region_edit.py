"""Regions that are drawn can be resized, moved and removed on the picture, and undone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest

from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.region_edit import grip_at, handles, moved
from calm_gui.session.state import RegionShape

SIZE = (100, 80)
BOX = RegionShape("region 1", "p", "box", ((10.0, 20.0), (50.0, 60.0)))
TRIANGLE = RegionShape("region 2", "p", "polygon", ((10.0, 10.0), (60.0, 10.0), (10.0, 60.0)))
BRUSH = RegionShape("region 3", "p", "brush", ((10.0, 10.0), (40.0, 10.0)), 5.0)
inside = st.tuples(st.floats(0, SIZE[0]), st.floats(0, SIZE[1]))


@pytest.mark.parametrize(
    ("shape", "point", "grip"),
    [
        (BOX, (11, 21), 0),
        (BOX, (30, 20), 1),
        (BOX, (50, 60), 4),
        (BOX, (30, 40), "inside"),
        (BOX, (70, 70), None),
        (TRIANGLE, (59, 11), 1),
        (TRIANGLE, (20, 20), "inside"),
        (TRIANGLE, (50, 50), None),
        (BRUSH, (25, 14), "inside"),
        (BRUSH, (44, 10), "inside"),
        (BRUSH, (25, 16), None),
    ],
)
def test_what_lies_under_a_point(shape: RegionShape, point: tuple[float, float], grip: object) -> None:
    assert grip_at(shape, point, 3.0) == grip


@given(st.sampled_from([BOX, TRIANGLE, BRUSH]), inside, inside)
def test_a_region_that_is_moved_keeps_its_form_and_stays_on_the_picture(shape, start, to):
    there = moved(shape, "inside", start, to, SIZE)
    shifts = {(round(a[0] - b[0], 6), round(a[1] - b[1], 6)) for a, b in zip(there.points, shape.points, strict=True)}
    assert len(shifts) == 1
    assert all(-1e-9 <= x <= SIZE[0] + 1e-9 and -1e-9 <= y <= SIZE[1] + 1e-9 for x, y in there.points)


@given(st.integers(0, 7), inside)
def test_a_handle_of_a_box_moves_its_own_sides_only(grip, to):
    start = handles(BOX)[grip]
    there = moved(BOX, grip, start, to, SIZE)
    (x0, y0), (x1, y1) = there.points
    expected = [10.0, 20.0, 50.0, 60.0]
    for place, grips, value in (
        (0, (0, 6, 7), to[0]),
        (2, (2, 3, 4), to[0]),
        (1, (0, 1, 2), to[1]),
        (3, (4, 5, 6), to[1]),
    ):
        if grip in grips:
            expected[place] = value
    assert [x0, y0, x1, y1] == pytest.approx(expected)


def drag(canvas: object, start: tuple[float, float], to: tuple[float, float]) -> None:
    a, b = (canvas.from_picture(*point).toPoint() for point in (start, to))  # type: ignore[attr-defined]
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=a)  # type: ignore[call-overload]
    QTest.mouseMove(canvas, (a + b) / 2)  # type: ignore[call-overload]
    QTest.mouseMove(canvas, b)  # type: ignore[call-overload]
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=b)  # type: ignore[call-overload]


def test_a_region_is_moved_resized_undone_and_removed_by_mouse_and_keys(window: MainWindow, settle: object) -> None:
    workspace, canvas = window.workspace, window.panes.panes[0].canvas
    width, height = window.hub.scene.explanation.picture.shape[1], window.hub.scene.explanation.picture.shape[0]
    workspace.add_region("box", ((0.2 * width, 0.2 * height), (0.5 * width, 0.5 * height)))
    before = workspace.state.regions
    drag(canvas, (0.3 * width, 0.3 * height), (0.4 * width, 0.35 * height))
    (moved_once,) = workspace.state.regions
    tolerance = width / canvas.picture_rect().width() * 1.5
    assert moved_once.points[0] == pytest.approx((0.3 * width, 0.25 * height), abs=tolerance)
    assert moved_once.points[1] == pytest.approx((0.6 * width, 0.55 * height), abs=tolerance)
    drag(canvas, moved_once.points[1], (0.8 * width, 0.7 * height))
    (resized,) = workspace.state.regions
    assert resized.points[0] == pytest.approx(moved_once.points[0])
    assert resized.points[1] == pytest.approx((0.8 * width, 0.7 * height), abs=tolerance)
    workspace.store.undo()
    assert workspace.state.regions == (moved_once,)
    workspace.store.undo()
    assert workspace.state.regions == before
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.from_picture(0.3 * width, 0.3 * height).toPoint())
    QTest.keyClick(canvas, Qt.Key.Key_Delete)
    assert workspace.state.regions == ()
    workspace.store.undo()
    assert workspace.state.regions == before


def test_escape_gives_a_drag_up(window: MainWindow) -> None:
    workspace, canvas = window.workspace, window.panes.panes[0].canvas
    width, height = window.hub.scene.explanation.picture.shape[1], window.hub.scene.explanation.picture.shape[0]
    workspace.add_region("box", ((0.2 * width, 0.2 * height), (0.5 * width, 0.5 * height)))
    before = workspace.state.regions
    at = canvas.from_picture(0.3 * width, 0.3 * height).toPoint()
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseMove(canvas, at + QPoint(30, 30))
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=at + QPoint(30, 30))
    assert workspace.state.regions == before


def test_shares_inside_and_outside_are_told(window: MainWindow) -> None:
    width, height = window.hub.scene.explanation.picture.shape[1], window.hub.scene.explanation.picture.shape[0]
    window.workspace.add_region("box", ((0.0, 0.0), (0.5 * width, 1.0 * height)))
    panel = window.panel("regions")
    scene = window.hub.scene
    region = scene.regions[0][1]
    share = scene.explanation.probability(scene.target, region) / scene.explanation.probability(scene.target)
    assert f"inside {round(100 * share)} %, outside {100 - round(100 * share)} %" in panel.numbers.text()


def test_a_rectangle_is_drawn_moved_and_resized_by_keys(window: MainWindow) -> None:
    workspace, canvas = window.workspace, window.panes.panes[0].canvas
    width, height = window.hub.scene.explanation.picture.shape[1], window.hub.scene.explanation.picture.shape[0]
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert workspace.state.regions == (), "without a tool Return draws nothing"
    window.actions_by_name["box"].trigger()
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    (drawn,) = workspace.state.regions
    assert drawn.points == ((width / 4, height / 4), (3 * width / 4, 3 * height / 4))
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    (moved_once,) = workspace.state.regions
    assert moved_once.points[0] == pytest.approx((0.26 * width, 0.24 * height))
    assert moved_once.points[1] == pytest.approx((0.76 * width, 0.74 * height))
    QTest.keyClick(canvas, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    (resized,) = workspace.state.regions
    assert resized.points[0] == moved_once.points[0]
    assert resized.points[1] == pytest.approx((0.75 * width, 0.74 * height))
    workspace.store.undo()
    assert workspace.state.regions == (moved_once,)
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    window.actions_by_name["box"].setChecked(False)
    workspace.add_region("box", ((0, 0), (50, 50)))
    for name in ("region 1", "region 2", "region 1"):
        QTest.keyClick(canvas, Qt.Key.Key_Return)
        assert canvas.editor is not None and canvas.editor.chosen is not None and canvas.editor.chosen.name == name
    QTest.keyClick(canvas, Qt.Key.Key_Delete)
    assert [shape.name for shape in workspace.state.regions] == ["region 2"]


def test_keys_that_move_a_region_are_the_windows_again_without_one(window: MainWindow) -> None:
    canvas = window.panes.panes[0].canvas
    assert canvas.editor is not None and canvas.editor.chosen is None
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Delete, Qt.Key.Key_Escape):
        event = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier)
        assert not canvas.editor.eventFilter(canvas, event)
