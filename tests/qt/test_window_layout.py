"""The window's layout: how much of it the pictures get, docks that are remembered, nothing cut or beyond the screen.

Long: every rule of the layout is measured on one window, which takes a while to build.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QHeaderView,
    QLabel,
    QListWidget,
    QStackedWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot

from calm_gui.api import sample_pictures
from calm_gui.qt.app import build_window
from calm_gui.qt.docks import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Progress
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import DARK, LIGHT, PAIRS, Theme
from calm_gui.qt.widgets.screen import fit_to_screen
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.pane import Pane, default_panes
from calm_gui.session.scene import Scene

TITLE_BAR = 25
TWO = (Pane.of("attribution"), Pane.of("counterfactual"))


@pytest.fixture(scope="module")
def square(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A square picture."""
    from PIL import Image

    path = tmp_path_factory.mktemp("square") / "square.png"
    Image.open(sample_pictures()[0]).convert("RGB").resize((300, 300)).save(path)
    return path


@pytest.fixture(scope="module")
def tried(qapp: object, square: Path) -> Iterator[MainWindow]:
    """A window of its own with a square picture and a second one, so that there is a film."""
    window = build_window("demo", "cpu", Settings(None))
    window.show()
    window.workspace.open_pictures([square, *sample_pictures()[1:3]])
    while window.workspace.busy:
        QTest.qWait(20)
    yield window
    window.close()


def settle(window: MainWindow) -> None:
    for _ in range(4):
        QTest.qWait(10)


def share_of_pictures(window: MainWindow) -> float:
    """Pixels of drawn pictures over those of the window with its title bar."""
    drawn = 0.0
    for pane in window.panes.panes:
        if pane.isVisible():
            rect = pane.canvas.picture_rect().intersected(pane.canvas.rect().toRectF())
            drawn += rect.width() * rect.height()
    return drawn / (window.width() * (window.height() + TITLE_BAR))


@pytest.mark.parametrize(
    ("size", "panes", "docks", "least"),
    [
        ((1440, 900), default_panes(), ("classes", "ladder", "pictures"), 0.28),
        ((1440, 900), default_panes(), ("classes", "ladder"), 0.37),
        ((1440, 900), TWO, (), 0.62),
        ((1024, 768), default_panes(), ("ladder",), 0.40),
        ((1024, 768), default_panes(), ("classes",), 0.40),
        ((760, 520), default_panes(), ("ladder",), 0.25),
        ((760, 520), default_panes(), ("classes",), 0.25),
    ],
)
def test_pictures_get_their_share_of_the_window(
    tried: MainWindow, size: tuple[int, int], panes: tuple[Pane, ...], docks: tuple[str, ...], least: float
) -> None:
    tried.docks.forget()
    tried.docks.wanted = list(docks)
    tried.workspace.set_panes(panes)
    tried.resize(size[0], size[1] - TITLE_BAR)
    tried.docks.apply()
    settle(tried)
    assert (tried.width(), tried.height() + TITLE_BAR) == size
    assert {key for key in DOCKS if tried.docks.is_open(key)} == set(docks)
    assert share_of_pictures(tried) >= least


def test_a_dock_from_outside_is_one_file(qapp: object, qtbot: QtBot) -> None:
    class Notes(DockPanel):
        def __init__(self) -> None:
            super().__init__()
            self.words = QLabel(parent=self)

        def show_scene(self, scene: Scene) -> None:
            self.words.setText(scene.state.picture or "nothing")

    DOCKS.register(Dock("notes", "Notes", "What one thinks of it", "right", 200, lambda _hub, _settings: Notes()))
    try:
        window = build_window("demo", "cpu", Settings(None))
        qtbot.addWidget(window)
        window.show()
        button = next(button for button in window.stripes[1].buttons if button.key == "notes")
        assert not window.docks.frames["notes"].is_made
        button.click()
        window.workspace.open_pictures([sample_pictures()[2]])
        assert window.panel("notes").words.text() == str(sample_pictures()[2])
        assert button.isChecked() and window.actions_by_name["dock_notes"].isChecked()
        window.close()
    finally:
        DOCKS.forget("notes")
    with pytest.raises(TypeError, match="lacks an area"):
        DOCKS.register(Dock("x", "X", "x", "top", 200, lambda _hub, _settings: Notes()))  # type: ignore[arg-type]


def test_the_dock_that_contributing_shows_is_one(qapp: object, qtbot: QtBot) -> None:
    text = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    (source,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "DockPanel" in block)
    try:
        exec(compile(source, "CONTRIBUTING.md", "exec"), {"__name__": "extremes_panel"})
        window = build_window("demo", "cpu", Settings(None))
        qtbot.addWidget(window)
        window.show()
        window.docks.open("extremes")
        window.workspace.open_pictures([sample_pictures()[2]])
        qtbot.waitUntil(lambda: " to " in window.panel("extremes").words.text(), timeout=60_000)
        window.close()
    finally:
        DOCKS.forget("extremes")


def test_a_folded_dock_costs_nothing_until_it_is_seen(own_window: MainWindow) -> None:
    made = {key for key, frame in own_window.docks.frames.items() if frame.is_made}
    assert made == {"classes", "ladder", "pictures"}


def test_a_toggle_folds_the_others_of_its_area_unless_ctrl_keeps_them(own_window: MainWindow) -> None:
    docks = own_window.docks
    docks.toggle("view")
    assert [key for key in DOCKS if docks.is_open(key)] == ["classes", "view", "pictures"]
    docks.toggle("regions", keep=True)
    assert docks.is_open("view") and docks.is_open("regions")
    docks.toggle("view")
    assert not docks.is_open("view") and docks.is_open("regions")


def test_f7_f8_and_f9_fold_an_area_and_bring_it_back(own_window: MainWindow) -> None:
    docks = own_window.docks
    assert [own_window.actions_by_name[f"fold_{a}"].shortcut().toString() for a in ("left", "bottom", "right")] == [
        "F7",
        "F8",
        "F9",
    ]
    docks.open("view", keep=True)
    own_window.actions_by_name["fold_right"].trigger()
    assert not docks.is_open("view") and not docks.is_open("ladder") and docks.is_open("classes")
    own_window.actions_by_name["fold_right"].trigger()
    assert docks.is_open("view") and docks.is_open("ladder")


def test_what_a_person_chose_is_remembered_and_what_a_small_window_did_is_not(
    qapp: object, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "settings.json"
    first = build_window("demo", "cpu", Settings(path))
    qtbot.addWidget(first)
    first.restore()
    first.show()
    first.docks.open("view")
    first.docks.fold("pictures")
    settle(first)
    first.docks.frames["view"].setFloating(False)
    first.docks._sizes["view"] = 301  # as a drag of the edge keeps it
    first.resize(800, 520)
    settle(first)
    assert [key for key in DOCKS if first.docks.is_open(key)] == ["view"]
    first.actions_by_name["pictures_alone"].setChecked(True)
    assert not any(first.docks.is_open(key) for key in DOCKS) and first.menu_row.isHidden() is False
    first.close()
    second = build_window("demo", "cpu", Settings(path))
    qtbot.addWidget(second)
    second.restore()
    second.show()
    second.resize(1440, 875)
    settle(second)
    assert [key for key in DOCKS if second.docks.is_open(key)] == ["classes", "view"]
    assert abs(second.docks.frames["view"].width() - 301) <= 2
    second.close()


@pytest.mark.parametrize(
    "kept", [{"docks": 3}, {"docks": {"open": "x", "sizes": {"view": "wide"}}}, {"widths": "AAAA"}]
)
def test_docks_that_make_no_sense_are_those_of_the_first_start(
    qapp: object, qtbot: QtBot, tmp_path: Path, kept: dict[str, object]
) -> None:
    settings = Settings(tmp_path / "settings.json")
    for key, value in kept.items():
        settings.set(key, value)
    window = build_window("demo", "cpu", settings)
    qtbot.addWidget(window)
    window.restore()
    assert window.docks.wanted == ["classes", "ladder", "pictures"]
    window.close()


def test_a_low_window_folds_the_film_until_a_person_opens_it(tried: MainWindow) -> None:
    tried.docks.forget()
    tried.resize(1024, 700)
    settle(tried)
    assert not tried.docks.is_open("pictures") and tried.docks.is_open("ladder")
    tried.docks.toggle("pictures")
    tried.docks.toggle("view")
    settle(tried)
    assert tried.docks.is_open("pictures") and tried.docks.is_open("view") and not tried.docks.is_open("ladder")
    tried.resize(1440, 900)
    settle(tried)
    tried.resize(1440, 700)
    settle(tried)
    assert not tried.docks.is_open("pictures")


def test_captions_of_the_film_are_whole_beside_its_scroll_bar_and_on_one_line(tried: MainWindow) -> None:
    tried.workspace.open_pictures(sample_pictures())
    tried.docks.forget()
    for width in (1440, 900):
        tried.resize(width, 900)
        settle(tried)
        film = tried.findChild(QListWidget, "film")
        assert film is not None and film.isVisible()
        assert film.horizontalScrollBar().isVisible() == (width == 900)
        first, room = film.visualItemRect(film.item(0)), film.viewport().rect()
        assert room.top() <= first.top() and first.bottom() <= room.bottom()
        icons = [
            film.item(row).icon().availableSizes()[0]
            for row in range(film.count())
            if not film.item(row).icon().isNull()
        ]
        assert all(size.width() == size.height() for size in icons)


@pytest.mark.parametrize("width", [760, 800, 850, 900, 950, 1024, 1440])
def test_all_menus_are_in_sight_at_every_width(tried: MainWindow, width: int) -> None:
    tried.resize(width, 700)
    settle(tried)
    menus = tried.menu_row.menus
    last = menus.actionGeometry(menus.actions()[-1])
    assert last.isValid() and menus.rect().contains(last)
    assert tried.menu_row.tools[-1].isVisible()
    assert tried.menu_row.name.isVisible() or width < 1024
    tried.resize(1440, 875)


def test_docks_have_their_sizes_back_after_each_resize(tried: MainWindow) -> None:
    tried.docks.forget()
    tried.resize(1440, 875)
    settle(tried)
    before = {key: tried.docks.frames[key].size() for key in ("classes", "ladder")}
    grid = tried.panes.width()
    tried.resize(1700, 1000)
    settle(tried)
    assert {key: tried.docks.frames[key].width() for key in before} == {k: s.width() for k, s in before.items()}
    assert tried.panes.width() - grid == 260
    tried.resize(1440, 875)
    settle(tried)
    assert {key: tried.docks.frames[key].size() for key in before} == before


def test_pictures_alone_leaves_panes_and_scale_and_escape_ends_it(tried: MainWindow) -> None:
    tried.docks.forget()
    tried.workspace.set_panes(default_panes())
    tried.actions_by_name["pictures_alone"].trigger()
    settle(tried)
    assert tried.ledger.isHidden() and tried.statusBar().isHidden() and not tried.question.isVisible()
    assert tried.scales.isVisible() and not any(tried.docks.is_open(key) for key in DOCKS)
    tried.actions_by_name["undo"].shortcut()
    tried.pane_actions.escape()
    settle(tried)
    assert tried.question.isVisible() and tried.docks.is_open("classes") and tried.ledger.isVisible()


def test_a_dock_that_is_opened_is_seen_though_the_pictures_were_alone(tried: MainWindow) -> None:
    alone = tried.actions_by_name["pictures_alone"]
    for opened in (lambda: tried.docks.open("results"), tried.actions_by_name["dock_values"].trigger):
        tried.docks.forget()
        alone.setChecked(True)
        settle(tried)
        opened()
        settle(tried)
        assert not alone.isChecked() and tried.question.isVisible() and len(tried.docks.wanted) > 0
        assert tried.docks.is_open(tried.docks.wanted[-1]) and tried.docks.is_open("classes")
    tried.docks.forget()


def test_windows_and_dialogs_are_never_larger_than_the_screen(qapp: object, qtbot: QtBot) -> None:
    room = QApplication.primaryScreen().availableGeometry()
    for size in ((5000, 300), (300, 5000), (5000, 5000)):
        dialog = QDialog()
        qtbot.addWidget(dialog)
        dialog.setMinimumSize(min(size[0], 2000), min(size[1], 2000))
        dialog.resize(*size)
        dialog.move(room.right(), room.bottom())
        fit_to_screen(dialog)
        framed = QRect(dialog.pos(), dialog.size()).adjusted(0, 0, 8, 33)
        assert room.contains(framed)


def test_every_dialog_is_made_to_fit_and_can_be_that_small(
    own_window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, QRect, tuple[int, int]]] = []

    def noted(dialog: QDialog) -> int:
        least = dialog.minimumSizeHint()
        framed = QRect(dialog.pos(), dialog.size()).adjusted(0, 0, 8, 33)
        seen.append((type(dialog).__name__, framed, (least.width(), least.height())))
        return 0

    monkeypatch.setattr(QDialog, "exec", noted)
    own_window.workspace.open_pictures([sample_pictures()[0]])
    settle(own_window)
    dialogs, files = own_window.dialogs, own_window.files
    shown = (dialogs.show_checkpoint, dialogs.annotate, dialogs.match_classes, dialogs.show_about, dialogs.show_keys)
    for show in (*shown, dialogs.report_problem, files.export, files.batch):
        show()
    room = own_window.screen().availableGeometry()
    assert len(seen) == 8
    for name, framed, least in seen:
        assert framed.width() <= max(room.width(), least[0] + 8) and framed.height() <= room.height(), name
        assert least[0] <= 1024 - 8 and least[1] <= 768 - 33, name


def test_a_key_that_a_person_chose_stays_and_the_default_that_collides_is_said(
    qapp: object, qtbot: QtBot, tmp_path: Path
) -> None:
    settings = Settings(tmp_path / "settings.json")
    settings.set("shortcut swap", "F11")
    window = build_window("demo", "cpu", settings)
    qtbot.addWidget(window)
    assert window.actions_by_name["swap"].shortcut() == QKeySequence("F11")
    assert window.actions_by_name["pictures_alone"].shortcuts() == []
    assert "F11 stays with Swap A and B" in window.messages.text.text()
    window.close()


def test_every_control_has_a_name_for_screen_readers(own_window: MainWindow) -> None:
    own_window.workspace.open_pictures(sample_pictures()[:2])
    nameless = []
    for key in DOCKS:
        own_window.docks.open(key)
        settle(own_window)
        for widget in own_window.findChildren(QWidget):
            reached = widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
            name = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
            if reached and not name and not widget.objectName().startswith("qt_"):
                nameless.append((key, type(widget).__name__, type(widget.parentWidget()).__name__))
    assert not nameless


def test_the_status_bar_shows_progress_with_a_way_out_and_keeps_its_buttons(own_window: MainWindow) -> None:
    ended: list[int] = []
    status = own_window.status
    own_window.hub.progressed.emit(Progress("Explaining 50 pictures", 49, 50, lambda: ended.append(1)))
    own_window.hub.said.emit("Copied the sentence")
    assert status.cancel.isVisible() and status.count.text() == "49 of 50" and status._bar.value() == 49
    assert all(button.isVisible() for button in status.buttons) and status.words.text() == "Copied the sentence"
    status.cancel.click()
    own_window.hub.progressed.emit(None)
    assert ended == [1] and status._bar.isHidden() and status.cancel.isHidden()


def test_a_floating_dock_can_be_resized_and_is_folded_by_its_own_button_alone(own_window: MainWindow) -> None:
    frame = own_window.docks.frames["ladder"]
    frame.setFloating(True)
    settle(own_window)
    assert frame.contentsMargins().left() == 4 and own_window.docks.is_open("ladder")
    own_window.docks.fold_area("right")
    own_window.docks.open("view")
    assert own_window.docks.is_open("ladder") and own_window.docks.is_open("view")
    frame.fold_wanted.emit("ladder")
    assert not own_window.docks.is_open("ladder")
    frame.setFloating(False)
    assert frame.contentsMargins().left() == 0


def test_columns_are_those_that_fit_unless_they_are_fixed(tried: MainWindow) -> None:
    tried.workspace.set_panes(default_panes())
    for name, columns in (("columns_1", 1), ("columns_3", 3), ("columns_fit", 2)):
        tried.docks.forget()
        tried.resize(1440, 875)
        tried.actions_by_name[name].trigger()
        settle(tried)
        assert len({pane.x() for pane in tried.panes.panes}) == columns


FAULTS = """
import sys, time
from PySide6.QtCore import QPoint
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QWidget
from calm_gui.api import sample_pictures
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.theme import LIGHT, apply_theme

application = make_application()
if sys.argv[1] != "0":
    font = application.font()
    font.setPointSizeF(font.pointSizeF() * float(sys.argv[1]))
    application.setFont(font)
apply_theme(LIGHT)
window = build_window("demo", "cpu")
window.show()
window.workspace.open_pictures(sample_pictures())
while window.workspace.busy:
    application.processEvents()
    time.sleep(0.01)

def faults():
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        name = widget.accessibleName() or widget.objectName() or type(widget).__name__
        parent = widget.parentWidget()
        scrolled = parent is not None and parent.objectName() == "qt_scrollarea_viewport"
        if parent is not None and not scrolled and not parent.rect().contains(widget.geometry()):
            if type(widget).__name__ not in ("BeforeAfter",):
                yield f"{name} {widget.geometry().getRect()} lies outside {type(parent).__name__} {parent.size()}"
        text = widget.text() if isinstance(widget, (QLabel, QAbstractButton)) else ""
        text = widget.currentText() if isinstance(widget, QComboBox) else text
        if text and "\\n" not in text and not (isinstance(widget, QLabel) and widget.wordWrap()):
            room = widget.width() - (22 if isinstance(widget, QComboBox) else 0)
            needed = QFontMetrics(widget.font()).horizontalAdvance(text.replace("&", ""))
            turned = widget.height() if type(widget).__name__ == "DockButton" else 0
            if needed > max(room, turned) and not widget.toolTip():
                yield f"{name}: {text!r} needs {needed} of {room}"

for size in ((760, 495), (1024, 743), (1440, 875)):
    for dock in ("ladder", "view", "regions", "classes", "results", "values", "pictures"):
        window.resize(*size)
        window.docks.open(dock)
        for _ in range(30):
            application.processEvents()
            time.sleep(0.002)
        for fault in faults():
            print(size, dock, fault)
window.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("display", "letters"), [("1", "0"), ("2", "0"), ("1", "1.5")])
def test_nothing_is_cut_or_lies_outside(tmp_path: Path, display: str, letters: str) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": display, "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", FAULTS, letters], env=environment, capture_output=True, text=True, timeout=200
    )
    assert ran.returncode == 0, ran.stderr
    assert not ran.stdout, ran.stdout


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", ["light", "dark"])
def test_white_letters_stand_out_from_every_pair_of_colours(name: str, pair: str) -> None:
    for colour in getattr(PAIRS[pair], name):
        assert contrast("#ffffff", colour) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(theme: Theme) -> None:
    grounds = (theme.window, theme.panel, theme.field, theme.hover, theme.chosen, theme.canvas)
    pairs = [(letters, ground) for letters in (theme.text, theme.muted, theme.accent, theme.bad) for ground in grounds]
    pairs += [("#ffffff", theme.target), ("#ffffff", theme.contrast), ("#ffffff", theme.fill), (theme.text, theme.bar)]
    assert {pair: round(contrast(*pair), 2) for pair in pairs if contrast(*pair) < 4.5} == {}


def pages_in_turn(panel: QWidget) -> Iterator[None]:
    """Each page of a panel that has several; hidden ones would be left out."""
    stacks = [stack for stack in panel.findChildren(QStackedWidget) if stack.count() > 1]
    for page in range(max((stack.count() for stack in stacks), default=1)):
        for stack in stacks:
            stack.setCurrentIndex(min(page, stack.count() - 1))
        yield


def test_every_heading_and_label_of_the_docks_says_what_it_is(own_window: MainWindow) -> None:
    own_window.workspace.open_pictures([sample_pictures()[0]])
    settle(own_window)
    own_window.workspace.add_region("box", ((20, 20), (120, 120)))
    own_window.workspace.set_panes([Pane.of("winner"), *default_panes()[:3]])
    silent, read = [], set()
    across, tool_tip = Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole
    for key in DOCKS:
        own_window.docks.open(key)
        settle(own_window)
        panel = own_window.panel(key)
        for _ in pages_in_turn(panel):
            labels = [label for label in panel.findChildren(QLabel) if label.objectName() in ("heading", "muted")]
            silent += [(key, one.text()) for one in labels if one.text() and one.isVisible() and not one.toolTip()]
            for header in panel.findChildren(QHeaderView):
                if header.orientation() == across and header.isVisible() and key != "values":
                    read.add(header.parent().accessibleName())
                    model = header.model()
                    columns = [i for i in range(header.count()) if not header.isSectionHidden(i)]
                    without = [i for i in columns if not model.headerData(i, across, tool_tip)]
                    silent += [(key, model.headerData(i, across)) for i in without]
    assert read == {"Classes by probability", "WordNet hierarchy", "Classes in the region", "Results"}
    assert all(frame._title.toolTip() for frame in own_window.docks.frames.values())
    assert all(bar.toolTip() for bar in own_window.scales.bars)
    assert not silent
