"""The scale column: limits are dragged, typed, kept and taken back, and say what they hide."""

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.maps import Map
from calm_gui.core.readings.cam import UNITS
from calm_gui.qt.panes.scale_bar import ScaleBar
from calm_gui.qt.panes.scale_column import fill_scale_menu
from calm_gui.qt.window.cursor_line import cursor_text
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.pane import Pane

Settle = Callable[[], None]


@pytest.fixture
def bars(window: MainWindow) -> list[ScaleBar]:
    """The bars of four panes: p per cell, and A − B."""
    QApplication.processEvents()
    return window.scales.bars


def handle(bar: ScaleBar, end: int) -> QPoint:
    """Where the upper (1) or lower (-1) handle is."""
    area, scale = bar._bar(), bar._axis_scale()
    assert bar.shown is not None
    value = bar.shown.scale.high if end > 0 else bar.shown.scale.low
    return QPoint(int(area.center().x()), round(area.bottom() - scale.position(value) * area.height()))


def drag(bar: ScaleBar, end: int, share: float) -> None:
    """Drag a handle by a share of the bar's height, downwards."""
    start = handle(bar, end)
    goal = start + QPoint(0, round(share * bar._bar().height()))
    QTest.mousePress(bar, Qt.MouseButton.LeftButton, pos=start)
    for at in (start + QPoint(0, 3), goal):
        QTest.mouseMove(bar, at)
    QTest.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=goal)


def scale_of(window: MainWindow, pane: int = 0) -> object:
    return window.hub.scene.panes[pane].scale


def test_one_bar_for_each_quantity_the_first_panes_on_top(window: MainWindow, bars: list[ScaleBar]) -> None:
    shown = [bar.shown.title for bar in bars if bar.isVisible()]
    assert shown == ["p per cell", "A − B"]
    window.workspace.set_panes([Pane.of("counterfactual"), Pane.of("conditional"), Pane.of("attribution")])
    assert [bar.shown.title for bar in bars if bar.isVisible()] == ["A − B", "Conditional", "p per cell"]
    window.workspace.set_panes([Pane.of("winner")])
    assert window.scales.isHidden()


def test_dragging_a_handle_recolours_all_panes_of_the_quantity(window: MainWindow, bars: list[ScaleBar]) -> None:
    before = scale_of(window)
    drag(bars[0], 1, 0.5)
    after = scale_of(window)
    assert after.high == pytest.approx(before.high / 2, rel=0.03) and after.low == before.low
    assert scale_of(window, 1) == scale_of(window, 2) == after != scale_of(window, 3)
    assert bars[0].beyond == (False, True) and "above" in bars[0].toolTip()  # nothing is clipped silently
    window.actions_by_name["undo"].trigger()
    assert scale_of(window) == before


def test_a_drag_back_out_finds_what_lies_beyond(window: MainWindow, bars: list[ScaleBar]) -> None:
    before = scale_of(window)
    drag(bars[0], 1, 0.5)
    QTest.mousePress(bars[0], Qt.MouseButton.LeftButton, pos=handle(bars[0], 1))
    QTest.mouseMove(bars[0], QPoint(20, 0))
    QTest.mouseRelease(bars[0], Qt.MouseButton.LeftButton, pos=QPoint(20, 0))
    assert scale_of(window).high == pytest.approx(before.high, rel=1e-6)


def test_differences_stay_symmetric(window: MainWindow, bars: list[ScaleBar]) -> None:
    before = scale_of(window, 3)
    drag(bars[1], -1, -0.25)
    scale = scale_of(window, 3)
    assert scale.low == -scale.high and scale.high == pytest.approx(before.high / 2, rel=0.05)
    assert bars[1].beyond == (True, True) or bars[1].beyond[1] != bars[1].beyond[0]


def test_limits_are_typed_with_the_factor_and_nonsense_changes_nothing(
    window: MainWindow, bars: list[ScaleBar]
) -> None:
    bar = bars[0]
    before = scale_of(window)
    assert bar.notation.factor == "×10⁻³" and bar.high.text() == bar.notation.text(before.high)
    for text, high in (("10", 0.01), ("2e-2", 0.02), ("12,5", 0.0125)):
        bar.high.setFocus()
        bar.high.selectAll()
        QTest.keyClicks(bar.high, text)
        QTest.keyClick(bar.high, Qt.Key.Key_Return)
        assert scale_of(window).high == pytest.approx(high)
    for text in ("ten", "-3", "0"):
        bar.high.selectAll()
        QTest.keyClicks(bar.high, text)
        QTest.keyClick(bar.high, Qt.Key.Key_Return)
        assert scale_of(window).high == pytest.approx(0.0125) and bar.high.text() == "12.5"
    QTest.keyClick(bar.high, Qt.Key.Key_Down)
    assert 0.012 < scale_of(window).high < 0.0125
    bar.reset.click()
    assert scale_of(window) == before and bar.reset.isHidden()


def test_unlocked_limits_go_with_the_picture_and_locked_ones_say_that_they_stay(
    window: MainWindow, settle: Settle, bars: list[ScaleBar]
) -> None:
    window.workspace.open_pictures(sample_pictures()[:2])
    settle()
    fitted = scale_of(window)
    drag(bars[0], 1, 0.4)
    window.workspace.step_picture(1)
    settle()
    assert scale_of(window) != fitted and bars[0].shown.limits is None
    bars[0].lock.click()
    assert bars[0].lock.isChecked() and "Kept for all" in bars[0].lock.toolTip()
    kept = scale_of(window)
    window.workspace.step_picture(-1)
    settle()
    assert scale_of(window) == kept and bars[0].lock.isChecked()
    high = max(float(c.shown.values.max()) for c in window.hub.scene.panes[:3])
    assert bars[0].beyond[1] == (high > kept.high)
    bars[0].lock.click()
    QTest.mouseDClick(bars[0], Qt.MouseButton.LeftButton, pos=QPoint(4, bars[0].height() // 2))
    assert scale_of(window) == fitted


def test_percentiles_and_the_rest_of_the_menu(window: MainWindow, bars: list[ScaleBar]) -> None:
    menu = QMenu()
    fill_scale_menu(menu, window.hub, bars[0].shown, bars[0])
    by_text = {action.text().partition("\t")[0]: action for action in menu.actions()}
    assert by_text["Fit to the maps"].isChecked() and by_text["p per cell"].isChecked()
    by_text["99 % of the cells"].trigger()
    cells = np.concatenate([c.shown.values.ravel() for c in window.hub.scene.panes[:3]])
    assert scale_of(window).high == pytest.approx(float(np.percentile(cells, 99)), rel=1e-5)
    assert bars[0].foot == "99 % of cells" and bars[0].beyond[1]
    by_text["rank of the cell"].trigger()
    assert {(c.scale.high, c.scale.unit) for c in window.hub.scene.panes} == {(100.0, "% of cells below")}
    by_text["times uniform"].trigger()
    assert scale_of(window).factor == 196.0
    by_text["Shared by all panes"].trigger()
    assert window.workspace.state.view.scale_mode == "fit" and window.scales.isHidden()


def test_ranks_are_what_is_drawn_and_numbers_stay(window: MainWindow, bars: list[ScaleBar]) -> None:
    window.workspace.update_view(ranks=True)
    content = window.hub.scene.active
    assert isinstance(content.drawn, Map) and content.drawn.values.max() == pytest.approx(100 * (1 - 0.5 / 196))
    assert content.shown.check.passed and content.number == f"{content.shown.sum:.3f}"
    assert bars[0].high.isReadOnly() and bars[0].lock.isHidden()


def test_calm_beside_cam_on_one_scale_takes_two_keys(window: MainWindow, settle: Settle) -> None:
    layout = next(action for action in window.actions_by_name.values() if action.text() == "Checkpoints side by side")
    layout.trigger()
    settle()
    assert len({c.scale for c in window.hub.scene.panes}) > 1
    window.actions_by_name["ranks"].trigger()
    assert {type(c.shown.explanation).__name__ for c in window.hub.scene.panes} == {"Explanation", "CamExplanation"}
    assert len({c.scale for c in window.hub.scene.panes}) == 1
    assert [bar.shown.title for bar in window.scales.bars if bar.isVisible()] == ["rank"]
    window.actions_by_name["undo"].trigger()
    assert not window.actions_by_name["ranks"].isChecked()


def test_the_mark_is_the_value_of_the_pane_under_the_cursor(window: MainWindow, bars: list[ScaleBar]) -> None:
    window.workspace.activate(0)
    for pane in (0, 1, 2):
        canvas = window.panes.panes[pane].canvas
        QTest.mouseMove(canvas, canvas.rect().center())
        QApplication.processEvents()
        x, y = canvas.to_picture(QPointF(canvas.rect().center()))
        shown = window.hub.scene.panes[pane].shown
        here = float(shown.values[shown.geometry.cell_at(x, y)])
        assert bars[0]._mark == here
        label = window.hub.scene.panes[pane].label
        assert f"{label} {bars[0].notation.whole(here)} per cell" in window.status.words.text()


def wheel_over(widget: QWidget) -> None:
    at, none = QPointF(widget.rect().center()), Qt.MouseButton.NoButton
    modifiers, phase = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    QApplication.sendEvent(
        widget,
        QWheelEvent(at, QPointF(widget.mapToGlobal(at)), QPoint(), QPoint(0, 120), none, modifiers, phase, False),
    )


def test_the_wheel_over_fields_without_the_keyboard_changes_nothing(window: MainWindow, bars: list[ScaleBar]) -> None:
    window.docks.open("view")
    view = window.panel("view")
    window.workspace.change_pane(0, shows=Pane.of("winner").shows)
    window.workspace.update_view(threshold=window.workspace.state.view.threshold._replace(kind="mass"))
    window.panes.focus_active()
    QApplication.processEvents()
    state = window.workspace.state
    combos = (view.limits, view.unit, view.sequential, view.diverging, view.threshold, window.question.combo)
    fields = (view.winner_depth, view.level, view.level_slider, window.ledger.opacity)
    for widget in (*combos, *fields, *(bar.high for bar in bars), *(bar.low for bar in bars)):
        wheel_over(widget)
        assert window.workspace.state == state, widget.accessibleName()


def test_a_low_bar_shows_its_limits_alone(window: MainWindow, bars: list[ScaleBar]) -> None:
    bar = bars[0]
    bar.setFixedHeight(120)
    QApplication.processEvents()
    assert bar.limits_only and bar.high.geometry().bottom() < bar.low.geometry().top()
    assert bar.rect().contains(bar.low.geometry())
    bar.setMinimumHeight(0)
    bar.setMaximumHeight(16_777_215)


def test_the_fields_never_cover_the_factor(window: MainWindow, bars: list[ScaleBar]) -> None:
    for shows in ("attribution", "conditional", "counterfactual"):  # with a factor, without, and with one again
        for relative in (True, False):
            window.workspace.set_panes([Pane.of(shows), Pane.of("saliency")])
            window.workspace.update_view(relative=relative)
            QApplication.processEvents()
            for bar in (one for one in bars if one.isVisible()):
                line = bar.fontMetrics().height()
                assert bool(bar.notation.factor) == (bar._factor_height() == line)
                assert bar.high.isHidden() or bar.high.y() >= line + 8 + bar._factor_height(), bar.notation.factor


def test_dock_menu_and_status_line_have_the_maps_units(window: MainWindow, settle: Callable[[], None]) -> None:
    workspace = window.workspace
    workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    settle()
    workspace.set_panes([Pane.of("cam"), Pane.of("method:gradient", checkpoint=str(bundled_checkpoints()["demo"]))])
    settle()
    window.docks.open("view")
    unit = window.panel("view").unit
    advance = unit.fontMetrics().horizontalAdvance

    def offered() -> list[str]:
        return [unit.itemText(row) for row in range(unit.count())]

    scene = window.hub.scene
    assert offered() == ["between the extremes", "rank of the cell"]
    assert scene.active.scale.unit == UNITS["min-max"] and cursor_text(scene, (60, 60)).count(UNITS["min-max"]) == 1
    menu = QMenu()
    fill_scale_menu(menu, window.hub, window.scales.bars[0].shown, window.scales.bars[0])
    assert [action.text() for action in menu.actions()][-2:] == offered()
    assert [action.isChecked() for action in menu.actions()][-2:] == [True, False]
    workspace.update_view(relative=True)  # of probabilities elsewhere; a score has no such unit
    assert unit.currentText() == "between the extremes"
    workspace.update_view(ranks=True)
    assert unit.currentText() == "rank of the cell"
    workspace.update_view(ranks=False)
    workspace.open_checkpoint(bundled_checkpoints()["demo"])
    workspace.set_panes([Pane.of("attribution"), Pane.of("conditional")])
    settle()
    assert offered() == ["p per cell", "times uniform", "rank of the cell"] and unit.currentText() == "times uniform"
    workspace.activate(1)
    assert offered() == ["p of A at the cell", "rank of the cell"]
    QApplication.processEvents()
    assert max(map(advance, offered())) + 30 < unit.width()
    unit.setCurrentIndex(1)
    unit.activated.emit(1)
    assert workspace.state.view.ranks
