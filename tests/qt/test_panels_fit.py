"""Texts and panels with little room: whole or left out, never cut to something else."""

from collections.abc import Callable

import pytest
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from calm_gui.qt.main_window import MainWindow
from calm_gui.qt.pane_grid import short_titles
from calm_gui.qt.pane_header import PaneHeader
from calm_gui.session.state import Pane, Threshold

HEADERS = [
    ("Winner at depth 9", "Winner at depth 9", ("some overlap · 23 groups", "23 groups", "23 groups")),
    (
        "Counterfactual — Afghan hound − Saluki",
        "Counterfactual",
        ("p(A,z|x) − p(B,z|x) · sum -0.200 = p(A|x) − p(B|x)", "sum -0.200 = p(A|x) − p(B|x)", "sum -0.200"),
    ),
    ("Conditional — dog", "Conditional", ("p(A|x,z) · weighted by p(z|x) 0.357 = p(A|x)", "weighted by p(z|x) 0.357")),
    ("Attribution — beagle", "beagle", ("p(A,z|x) · sum 0.357", "sum 0.357")),
    ("Gradient — dog", "Gradient — dog", ("between its extremes · no probability", "no probability")),
]


@pytest.mark.parametrize(("title", "short", "subtitles"), HEADERS)
def test_a_number_is_whole_or_absent_and_the_title_stays(
    qapp: object, qtbot: QtBot, title: str, short: str, subtitles: tuple[str, ...]
) -> None:
    header = PaneHeader()
    qtbot.addWidget(header)
    header.show_texts(title, short, subtitles, True, "")
    bold = QFont(header.font())
    bold.setBold(True)
    plain, bold = QFontMetrics(header.font()), QFontMetrics(bold)
    for width in range(30, 500):
        name, number = header.fitting(width)
        assert number in (*subtitles, "")
        left = width - plain.horizontalAdvance(number)
        assert bold.horizontalAdvance(name) <= left
        assert name == title or number == "" or left >= min(bold.horizontalAdvance(short), 0.4 * width, 36)
        if width > 45:
            assert name.rstrip("…")[:3] in (title[:3], short[:3])
    assert header.fitting(900) == (title, subtitles[0])


def test_a_header_without_room_for_its_number_draws_the_title_alone(qapp: object, qtbot: QtBot) -> None:
    title, short, subtitles = HEADERS[0]
    pictures = []
    for texts in (subtitles, ("",)):
        header = PaneHeader()
        qtbot.addWidget(header)
        header.resize(80, 22)
        header.show_texts(title, short, texts, True, "")
        pictures.append(header.grab().toImage())
    assert pictures[0] == pictures[1]


def test_a_short_title_is_what_tells_a_pane_from_the_others() -> None:
    assert short_titles(["Attribution — dog", "Gradient — dog"]) == ["Attribution", "Gradient"]
    assert short_titles(["Attribution — dog", "Attribution — cat"]) == ["dog", "cat"]
    assert short_titles(["Attribution — dog", "Attribution — cat", "Conditional — dog", "Saliency"]) == [
        "Attribution — dog",
        "cat",
        "Conditional",
        "Saliency",
    ]
    assert short_titles(["Saliency", "Saliency"]) == ["Saliency", "Saliency"]


def test_panes_of_other_methods_name_the_method(window: MainWindow, settle: Callable[[], None]) -> None:
    window.workspace.set_panes([Pane("attribution"), Pane("method:gradient"), Pane("method:integrated_gradients")])
    settle()
    seen = [pane.header.fitting(150)[0] for pane in window.panes.panes]
    assert [name[:8] for name in seen] == ["Attribut", "Gradient", "Integrat"]


def test_the_view_panel_fits_its_tab_however_the_threshold_is_told(window: MainWindow) -> None:
    window.side.setCurrentWidget(window.view)
    for reading in ("attribution", "counterfactual", "winner", "saliency"):
        window.workspace.change_pane(0, reading=reading)
        for kind in ("none", "mass", "min-max", "value"):
            for relative in (False, True):
                window.workspace.update_view(threshold=Threshold(kind, 0.004), relative=relative)  # type: ignore[arg-type]
                QApplication.processEvents()
                assert window.view.widget().minimumSizeHint().width() <= 150
                assert window.view.widget().width() == window.view.viewport().width()


def test_a_threshold_by_value_is_told_and_taken_in_the_unit_of_the_colour_bar(window: MainWindow) -> None:
    level, workspace = window.view.level, window.workspace
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
