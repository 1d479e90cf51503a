"""A tour through the window: each feature through its widgets, held against the library's numbers.

Long: one tour, whose stations share the window and the numbers that it is held against.
"""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QTableWidgetItem
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, load_checkpoint, sample_pictures
from calm_gui.cli import main as command_line
from calm_gui.core.classes import ClassSet
from calm_gui.core.maps import WinnerMap
from calm_gui.core.threshold import component_boxes, credible_cells
from calm_gui.methods import attribute
from calm_gui.model.info import read_info
from calm_gui.qt.dialogs.annotation_dialog import AnnotationDialog
from calm_gui.qt.dialogs.batch_dialog import BatchDialog
from calm_gui.qt.dialogs.checkpoint_dialog import CheckpointDialog
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.keys_dialog import KeysDialog
from calm_gui.qt.dialogs.matching_dialog import MatchingDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.file_actions import FileActions
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression, class_key
from calm_gui.session.pane import Pane
from calm_gui.session.scene_figure import scene_figure, view_spec
from calm_gui.session.state import Threshold

CANINE, DOG = "n02083346", "n02084071"


@pytest.fixture(autouse=True)
def own_hierarchy_is_put_back(window: MainWindow, settle: object) -> object:
    info = window.workspace.compute.infos[window.workspace.state.selection.checkpoint]
    yield
    if window.workspace.compute.infos[window.workspace.state.selection.checkpoint] is not info:
        window.workspace.set_hierarchy(info.hierarchy, info.supersets)
        settle()


# Hierarchy, annotation, sets


def test_annotating_supersets_changes_the_superset_reading(window: MainWindow, settle: object, tmp_path: Path) -> None:
    dialog = AnnotationDialog(window.hub, Settings(None), from_table=False, parent=window)
    for key in "eee":
        QTest.keyClick(dialog, key)
    decided = dialog.annotation.progress.settled
    QTest.keyClick(dialog, "o")
    assert dialog.annotation.progress.settled > decided
    assert "classes decided" in dialog.bar.format()
    QTest.keyClick(dialog, Qt.Key.Key_Backspace)
    assert dialog.annotation.progress.settled == decided
    dialog.save(str(tmp_path / "marks.json"))
    dialog.load(str(tmp_path / "marks.json"))
    dialog.annotation.mark(DOG, "hom")
    dialog.use()
    settle()
    lead = window.hub.scene.lead_class
    assert window.hub.scene.explanation.supersets[lead] == window.hub.scene.hierarchy[DOG].classes
    superset = next(c for c in window.hub.scene.panes if c.pane.about == "superset")
    assert superset.shown.target == window.hub.scene.hierarchy[DOG].classes


def test_annotation_starts_from_the_papers_table(window: MainWindow) -> None:
    dialog = AnnotationDialog(window.hub, Settings(None), parent=window)
    assert dialog.annotation.progress.supersets == 118


def test_an_own_hierarchy_replaces_the_tree(window: MainWindow, settle: object, tmp_path: Path) -> None:
    rows = [("child", "parent")] + [(c.wnid, "low" if c.index < 500 else "high") for c in window.hub.scene.classes]
    rows += [("low", "all"), ("high", "all")]
    (tmp_path / "own.csv").write_text("\n".join(",".join(row) for row in rows), "utf-8")
    window.files.use_hierarchy(str(tmp_path / "own.csv"))
    settle()
    model = window.panel("classes").tree.nodes
    assert {model.index(r, 0).data() for r in range(model.rowCount())} == {"all"}
    window.workspace.set_target(Expression.of("low"))
    p = window.hub.scene.class_probabilities
    assert window.hub.scene.active.shown.sum == pytest.approx(p[:500].sum(), rel=1e-4)


def test_a_faulty_hierarchy_is_told_by_line(window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("tench,fish\nfish,animal\nanimal,fish\n", "utf-8")
    before = window.hub.scene.hierarchy
    window.files.use_hierarchy(str(tmp_path / "own.csv"))
    assert "lines 2, 3" in window.messages.text.text()
    assert window.hub.scene.hierarchy is before


def test_matching_classes_to_wordnet_can_be_corrected(window: MainWindow, settle: object, qtbot: QtBot) -> None:
    dialog = MatchingDialog(window.hub, window)
    qtbot.waitUntil(lambda: bool(dialog.matches), timeout=60_000)
    assert dialog.matches[0] == "n01440764"
    dialog.table.setItem(0, 1, QTableWidgetItem("n01533339"))
    assert dialog.matches[0] == "n01533339"
    dialog.table.setItem(1, 1, QTableWidgetItem("qwxyz"))
    assert dialog.matches[1] is None and "qwxyz" in dialog.message.text()
    dialog.use()
    settle()
    hierarchy = window.hub.scene.hierarchy
    assert 0 in hierarchy["n01503061"].classes
    assert hierarchy["unmatched"].classes == ClassSet([1])


def test_kept_sets_come_back(window: MainWindow) -> None:
    window.workspace.set_target(Expression.of(CANINE).excluding(DOG))
    window.workspace.keep_set("wild canines", window.workspace.state.selection.target)
    wild = window.hub.scene.target
    window.workspace.set_target(Expression.of("@predicted"))
    window.question.target.open()
    popup = window.question.target.popup
    row = next(i for i, suggestion in enumerate(popup.rows.rows) if suggestion.title == "wild canines")
    popup.list.clicked.emit(popup.rows.index(row))
    assert window.hub.scene.target == wild and not popup.isVisible()
    assert window.question.target.name == "wild canines"
    assert "wild canines" in window.panes.panes[0].header.texts.name


@pytest.mark.parametrize("way", ["key", "mouse"])
def test_a_kept_set_can_be_forgotten_where_it_is_listed_and_brought_back(window: MainWindow, way: str) -> None:
    workspace, field = window.workspace, window.question.target
    for name in ("canines", "dogs"):
        workspace.keep_set(name, Expression.of(CANINE if name == "canines" else DOG))
    field.open()
    popup = field.popup

    def kept() -> list[str]:
        return [suggestion.kept for suggestion in popup.rows.rows if suggestion.kept]

    assert kept() == ["canines", "dogs"]
    row = next(i for i, suggestion in enumerate(popup.rows.rows) if suggestion.kept == "canines")
    if way == "key":
        QTest.keyClick(popup.search, Qt.Key.Key_Delete)  # on a suggestion it does nothing
        popup.search.setText("canine")
        QTest.keyClick(popup.search, Qt.Key.Key_Delete)  # there are letters to delete
        assert len(workspace.state.named_sets) == 2
        popup.search.clear()
        while popup.list.currentIndex().row() != row:
            QTest.keyClick(popup.search, Qt.Key.Key_Down)
        QTest.keyClick(popup.search, Qt.Key.Key_Delete)
    else:
        place = popup.list.visualRect(popup.rows.index(row)).center()
        at = popup.list.viewport().mapToGlobal(place)
        QApplication.sendEvent(popup.list.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, at))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        next(action for action in menu.actions() if action.text() == "Forget canines").trigger()
        menu.close()
        first = popup.list.visualRect(popup.rows.index(0)).center()
        at = popup.list.viewport().mapToGlobal(first)
        QApplication.sendEvent(popup.list.viewport(), QContextMenuEvent(QContextMenuEvent.Reason.Mouse, first, at))
        assert QApplication.activePopupWidget() is popup, "a suggestion can't be forgotten"
    assert kept() == ["dogs"] and [one.name for one in workspace.state.named_sets] == ["dogs"]
    popup.hide()
    window.actions_by_name["undo"].trigger()
    assert [one.name for one in workspace.state.named_sets] == ["canines", "dogs"]
    window.actions_by_name["undo"].trigger()
    assert [one.name for one in workspace.state.named_sets] == ["canines"]
    window.actions_by_name["redo"].trigger()
    assert [one.name for one in workspace.state.named_sets] == ["canines", "dogs"]


def test_chips_are_removed_one_by_one(window: MainWindow) -> None:
    window.workspace.set_target(Expression.of(DOG, "n02123045"))
    window.question.target.open()
    terms = window.question.target.popup.terms
    chips = [chip for chip in terms.chips if chip.isVisible()]
    assert len(chips) == 2 and "dog" in chips[0].text
    QTest.keyClick(chips[0], Qt.Key.Key_Delete)
    assert window.hub.scene.target == ClassSet([281]) and terms.isHidden()
    window.question.target.popup.hide()


@pytest.mark.parametrize("key", ["@rest", "@runner-up", "@siblings"])
def test_contrasts_that_follow_the_target(window: MainWindow, key: str) -> None:
    window.workspace.set_contrast(Expression.of(key))
    scene = window.hub.scene
    assert not scene.target & scene.contrast
    p = scene.class_probabilities
    if key == "@rest":
        assert len(scene.contrast) == 1000 - len(scene.target)
    if key == "@runner-up":
        assert p[next(iter(scene.contrast))] == np.sort(p)[-2]
    if key == "@siblings":
        (afghan,) = scene.target
        assert all(scene.hierarchy["n02087551"].classes >= scene.contrast for _ in [afghan])


def test_jumping_to_target_prediction_and_truth(window: MainWindow, settle: object, tmp_path: Path) -> None:
    folder = tmp_path / "n02123045"
    folder.mkdir()
    shutil.copy(sample_pictures()[0], folder / "cat.jpg")
    window.workspace.open_pictures([folder])
    settle()
    for name, key in (("show_predicted", "n02088094"), ("show_truth", "n02123045"), ("show_target", "n02088094")):
        window.actions_by_name[name].trigger()
        assert window.panel("classes").tree.currentIndex().data(Qt.ItemDataRole.UserRole) == key


# Numbers


def test_values_of_the_map_as_a_table(window: MainWindow) -> None:
    shown = window.hub.scene.active.shown
    panel = window.panel("values")
    text = panel.table.rows.text().splitlines()
    values = np.array([[float(v) for v in line.split("\t")] for line in text[1:]], dtype=np.float32)
    np.testing.assert_array_equal(values, shown.values)


def test_boxes_of_the_threshold_are_copied_as_text(window: MainWindow) -> None:
    window.workspace.update_view(threshold=Threshold("mass", 0.9))
    window.actions_by_name["copy_boxes"].trigger()
    shown = window.hub.scene.active.shown
    boxes = component_boxes(credible_cells(shown.values, 0.9), shown.geometry)
    expected = "\n".join(f"{b.x0:.2f} {b.y0:.2f} {b.x1:.2f} {b.y1:.2f}" for b in boxes)
    assert QGuiApplication.clipboard().text() == expected


def test_classes_that_live_in_a_region(window: MainWindow) -> None:
    window.workspace.add_region("polygon", ((60, 90), (200, 90), (200, 210), (60, 210)))
    window.workspace.add_region("brush", ((100, 100), (140, 140)), 12.0)
    window.docks.open("regions")
    scene, panel = window.hub.scene, window.panel("regions")
    assert [panel.regions.item(i).text() for i in range(2)] == ["region 1", "region 2"]
    panel.regions.setCurrentRow(0)
    region = scene.regions[0][1]
    first = panel.table.rows
    name, inside = first.index(0, 0).data(), first.index(0, 1).data(Qt.ItemDataRole.UserRole)
    best = int(scene.explanation.region_probabilities(region).argmax())
    assert name == scene.classes[best].name
    assert inside == pytest.approx(scene.explanation.probability(best, region), rel=1e-6)
    window.workspace.rename_region(scene.regions[0][0], "head")
    assert panel.regions.item(0).text() == "head"


def test_legend_of_the_winner_map_chooses_groups(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("winner")])
    window.workspace.update_view(depth=9)
    window.docks.open("view")
    QApplication.processEvents()
    shown, legend = window.hub.scene.active.shown, window.panel("view").legend
    assert isinstance(shown, WinnerMap) and legend.isVisible()
    assert legend.groups.count() == len(shown.legend())
    legend.groups.itemClicked.emit(legend.groups.item(0))
    assert window.hub.scene.target == shown.legend()[0][0].classes


def test_a_click_on_a_winners_colour_chooses_it(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("winner")])
    window.workspace.update_view(depth=9)
    QApplication.processEvents()
    shown, canvas = window.hub.scene.active.shown, window.panes.panes[0].canvas
    row, column = (int(i[0]) for i in np.nonzero(shown.winner >= 0))
    box = shown.geometry.cell_box(row, column)
    middle = canvas.from_picture((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2).toPoint()
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle)
    assert window.hub.scene.target == shown.nodes[shown.winner[row, column]].classes


@pytest.mark.parametrize("what", ["single", "panes"])
def test_window_command_line_and_library_draw_the_same_pixels(window: MainWindow, tmp_path: Path, what: str) -> None:
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.what.setCurrentIndex(dialog.what.findData(what))
    dialog.dpi.setValue(90)
    assert dialog.save(str(tmp_path / "figure.png"))
    assert command_line(["--from", str(tmp_path / "figure.json"), "--out", str(tmp_path / "again"), "--quiet"]) == 0
    scene = window.hub.scene
    spec = view_spec(scene, what, dpi=90)
    scene_figure(scene, spec, what).savefig(tmp_path / "library.png")
    first = (tmp_path / "figure.png").read_bytes()
    assert (tmp_path / "again" / "figure.png").read_bytes() == first
    assert (tmp_path / "library.png").read_bytes() == first


@pytest.mark.parametrize("reading", ["attribution", "saliency", "conditional", "cue_posterior", "counterfactual"])
def test_window_command_line_and_library_have_the_same_arrays(
    window: MainWindow, settle: object, tmp_path: Path, reading: str
) -> None:
    assert window.hub.scene.info.context == "mean"
    picture = window.workspace.state.picture
    window.workspace.set_target(Expression.of(CANINE))
    window.workspace.set_contrast(Expression.of("n02123045"))
    window.workspace.set_panes([Pane.of(reading)])
    settle()
    sets = ["--target", CANINE, "--contrast", "n02123045", "--reading", reading]
    assert command_line([picture, *sets, "--format", "npz", "--out", str(tmp_path), "--device", "cpu", "--quiet"]) == 0
    (path,) = tmp_path.glob("*.npz")
    explanation = load_checkpoint("demo", "cpu").explain(picture)
    expected = explanation.reading(reading, CANINE, "n02123045" if reading == "counterfactual" else None).values
    with np.load(path) as stored:
        for values in (stored["values"], window.hub.scene.active.shown.values):
            np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-9)


def test_strip_plot_and_own_scales(window: MainWindow) -> None:
    window.docks.open("ladder")
    window.panel("ladder").plotted.setChecked(True)
    window.panel("ladder").own.setChecked(True)
    assert window.panel("ladder").plot.isVisible()
    assert len({scale.high for scale in window.panel("ladder").row._scales}) > 1
    window.panel("ladder").own.setChecked(False)
    assert len({scale.high for scale in window.panel("ladder").row._scales}) == 1
    window.panel("ladder").plotted.setChecked(False)


# View


def test_the_question_changes_the_active_pane_and_the_view_dock_all(window: MainWindow) -> None:
    window.docks.open("view")
    window.workspace.set_panes([Pane.of("attribution"), Pane.of("saliency")])
    window.actions_by_name["next_pane"].trigger()
    window.question.buttons["conditional"].click()
    assert window.workspace.state.panes == (Pane.of("attribution"), Pane.of("conditional"))
    window.panel("view").threshold.setCurrentIndex(window.panel("view").threshold.findData("min-max"))
    window.panel("view").threshold.activated.emit(0)
    assert window.workspace.state.view.threshold == Threshold("min-max", 0.5)
    window.panel("view").level.setValue(25.0)
    assert window.workspace.state.view.threshold.value == 0.25
    window.ledger.opacity.setValue(10)
    assert window.workspace.state.view.opacity == 0.1
    window.ledger.outline.click()
    assert window.workspace.state.view.threshold == Threshold()


def test_log_scale_relative_to_uniform(window: MainWindow) -> None:
    window.workspace.update_view(spacing="log", relative=True)
    content = window.hub.scene.active
    cells = content.shown.values.size
    assert content.scale.spacing == "log" and content.scale.factor == cells
    assert content.scale.text(content.scale.high) == content.scale.text(content.scale.high)
    assert float(content.scale.text(content.scale.high)) == pytest.approx(content.scale.high * cells, rel=0.01)


def test_space_hides_the_overlay_while_it_is_held(window: MainWindow) -> None:
    canvas = window.panes.panes[1].canvas
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton)
    assert canvas.hasFocus() and window.workspace.state.active == 1
    target = window.workspace.state.selection.target
    for kind, overlay in ((QEvent.Type.KeyPress, False), (QEvent.Type.KeyRelease, True)):
        QApplication.sendEvent(
            QApplication.focusWidget(), QKeyEvent(kind, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ")
        )
        assert window.workspace.state.view.overlay is overlay
    assert window.workspace.state.selection.target == target
    window.panel("classes").tree.setFocus()


def test_tab_reaches_every_pane(window: MainWindow) -> None:
    panes = window.workspace.state.panes
    window.workspace.set_panes(panes[:1])
    window.workspace.set_panes(panes)  # the others are made anew, behind all panels
    window.panes.panes[0].canvas.setFocus()
    reached = []
    for _ in range(12):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        reached += [i for i, pane in enumerate(window.panes.panes) if pane.canvas.hasFocus()]
        if reached:
            assert window.workspace.state.active == reached[-1]
    assert reached[:3] == [1, 2, 3]
    window.panel("classes").tree.setFocus()


def test_checkpoints_side_by_side_hold_calm_and_cam(window: MainWindow, settle: object) -> None:
    window.workspace.set_panes(LAYOUTS["Checkpoints side by side"](window.workspace))
    settle()
    readings = {c.shown.reading for c in window.hub.scene.panes}
    assert {"attribution", "cam"} <= readings


def test_a_method_is_computed_on_the_worker_and_follows_the_target(window: MainWindow, settle: object) -> None:
    window.workspace.set_panes([Pane.of("attribution"), Pane.of("method:grad_cam")])
    settle()
    content = window.hub.scene.panes[1]
    model = window.workspace.compute.models[window.workspace.state.selection.checkpoint]
    expected = attribute("grad_cam", model, sample_pictures()[0], window.hub.scene.target)
    np.testing.assert_allclose(content.shown.values, expected.values, atol=1e-5)
    assert "no probability" in content.subtitle and content.scale.high == 1.0
    window.workspace.set_target(Expression.of("n02123045"))
    assert "computing Grad-CAM" in window.hub.scene.panes[1].message
    settle()
    assert window.hub.scene.panes[1].shown.target == ClassSet([281])
    window.workspace.activate(1)
    assert "no probabilities" in window.ledger.sentence


def test_pictures_side_by_side_show_one_reading(window: MainWindow, settle: object) -> None:
    window.workspace.open_pictures(sample_pictures()[:3])
    settle()
    window.workspace.set_panes(LAYOUTS["Pictures side by side"](window.workspace))
    settle()
    contents = window.hub.scene.panes
    assert len(contents) == 3
    assert len({id(c.explanation) for c in contents}) == 3


# Folders


def test_film_strip_marks_right_and_wrong_and_filters(window: MainWindow, settle: object, tmp_path: Path) -> None:
    table = tmp_path / "truth.csv"
    names = [path.name for path in sample_pictures()[:3]]
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "wnid", "boxes"])
        writer.writerow([names[0], "n02088094", "60 80 210 220"])
        writer.writerow([names[1], "n02088094", ""])
    window.workspace.open_pictures(sample_pictures()[:3])
    window.workspace.load_truth(table)
    assert window.workspace.status.startswith("the table has ground truth for")
    window.actions_by_name["predict_all"].trigger()
    settle_all = window.workspace
    while len([p for p in settle_all.compute.predictions if p[0] in settle_all.state.pictures]) < 3:
        QTest.qWait(20)
        QApplication.processEvents()
    QApplication.processEvents()
    assert [window.panel("pictures")._verdict(row, window.hub.scene) for row in range(3)] == [True, False, None]
    assert window.panes.panes[0].canvas._truth[0].x0 == 60
    window.docks.open("pictures")
    window.panel("pictures").filter.setText("Afghan")
    assert [window.panel("pictures").list.isRowHidden(row) for row in range(3)] == [False, True, True]
    window.panel("pictures").filter.setText("")


def test_faulty_truth_is_one_sentence(window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("file,class\na.jpg,unicorn\n", "utf-8")
    window.workspace.load_truth(tmp_path / "t.csv")
    assert "line 2" in window.messages.text.text()


# Habits


def test_shortcuts_can_be_changed_and_clashes_are_told(window: MainWindow, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.json")
    dialog = KeysDialog(window.actions_by_name, settings, window)
    dialog.editors["swap"].setKeySequence(QKeySequence("Ctrl+Alt+X"))
    dialog.editors["swap"].editingFinished.emit()
    assert window.actions_by_name["swap"].shortcut() == QKeySequence("Ctrl+Alt+X")
    assert Settings(tmp_path / "settings.json").text("shortcut swap") == "Ctrl+Alt+X"
    dialog.editors["undo"].setKeySequence(QKeySequence("Ctrl+Alt+X"))
    dialog.editors["undo"].editingFinished.emit()
    assert "belongs to" in dialog.message.text()
    dialog.restore_defaults()
    assert window.actions_by_name["swap"].shortcut() == QKeySequence("Ctrl+E")


def test_no_two_commands_share_a_shortcut(window: MainWindow) -> None:
    keys = [s.toString() for action in window.actions_by_name.values() for s in action.shortcuts()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\x80\x04K\x01.", b'{"theme": 3, "recent pictures": "x"}'])
def test_broken_settings_are_the_same_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(content)
    settings = Settings(tmp_path / "settings.json")
    assert settings.text("theme", "light") == "light"
    assert settings.recent("pictures") == []
    settings.add_recent("pictures", "a.jpg")
    assert Settings(tmp_path / "settings.json").recent("pictures") == ["a.jpg"]


def test_opened_files_are_remembered(window: MainWindow, settle: object, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.json")
    FileActions(window, window.hub, settings).open([str(sample_pictures()[2])])
    settle()
    assert settings.recent("pictures") == [str(sample_pictures()[2])]


def test_checkpoint_dialog_tells_file_hash_and_device(window: MainWindow) -> None:
    dialog = CheckpointDialog(window.hub, window)
    from PySide6.QtWidgets import QLabel

    words = " ".join(label.text() for label in dialog.findChildren(QLabel))
    model = window.workspace.compute.models[window.workspace.state.selection.checkpoint]
    assert model.sha256 in words and "1000" in words and "cpu" in words
    assert "labelled pictures" in words and f"temperature {model.info.temperature:g}" in words
    assert dialog.device.currentText() == "cpu"


# Sessions and batches


def test_a_session_comes_back(window: MainWindow, settle: object, tmp_path: Path) -> None:
    window.workspace.set_target(Expression.of(CANINE))
    window.workspace.set_panes([Pane.of("conditional"), Pane.of("counterfactual")])
    before = window.workspace.state
    window.workspace.save_session(tmp_path / "s.calm.json")
    window.workspace.set_target(Expression.of("@predicted"))
    window.workspace.open_pictures([sample_pictures()[3]])
    settle()
    window.files.open([str(tmp_path / "s.calm.json")])
    settle()
    assert window.workspace.state == before
    assert not window.workspace.store.can_undo


def test_a_session_without_its_checkpoint_tells_what_it_was(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "s.calm.json"
    window.workspace.save_session(path)
    data = json.loads(path.read_text("utf-8"))
    data["checkpoint"] = "gone.safetensors"
    path.write_text(json.dumps(data), "utf-8")
    before = window.workspace.state
    window.workspace.open_session(path)
    assert window.workspace.state == before
    told = window.messages.text.text()
    assert "gone.safetensors" in told and f"sum {window.hub.scene.active.shown.sum:.3f}" in told


def test_a_threshold_by_value_fits_maps_of_any_size(window: MainWindow) -> None:
    """A value chosen for one map is shown beside another whose largest value is a million times smaller, or larger."""
    window.docks.open("view")
    workspace, scene = window.workspace, window.hub.scene
    p = scene.class_probabilities
    assert p is not None and p.min() < 1e-5
    rarest, likeliest = (class_key(int(index), scene.classes) for index in (p.argmin(), p.argmax()))
    workspace.set_panes([Pane.of("attribution")])
    workspace.update_view(scale_mode="fit", threshold=Threshold("value", 0.9))
    workspace.set_target(Expression.of(rarest))
    assert window.panel("view").level_slider.value() == window.panel("view").level_slider.maximum()
    window.panel("view").level_slider.setValue(500)
    high = window.hub.scene.active.scale.high
    assert workspace.state.view.threshold.value == pytest.approx(high / 2)
    assert window.panel("view").level.value() == pytest.approx(high / 2, rel=0.01)
    workspace.set_target(Expression.of(likeliest))
    assert window.panel("view").level_slider.value() == 0


def test_a_batch_writes_files_and_answers_questions(
    window: MainWindow, settle: object, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "notes.jpg").write_text("no picture")
    window.workspace.open_pictures([*sample_pictures()[:2], tmp_path / "notes.jpg"])
    settle()
    out = tmp_path / "out"
    out.mkdir()
    dialog = BatchDialog(window.hub, Settings(None), window)
    dialog.out.setText(str(out))
    dialog.formats["npz"].setChecked(True)
    dialog.readings.setCurrentIndex(1)
    dialog.targets.setCurrentIndex(1)
    before = window.workspace.state.pictures
    dialog.run()
    run = window.hub.batches[-1]
    qtbot.waitUntil(lambda: not run.running, timeout=60_000)
    assert (out / "summary.csv").exists() and len(list(out.glob("*.npz"))) == 2
    panel = window.panel("results")
    assert "1 failed" in panel.message.text() and "notes.jpg" in panel.message.text()
    best = max((row.values for row in run.rows), key=lambda row: row["p"])
    panel.filter.setText(f"p >= {best['p']!r}")
    assert [row.picture for row in panel.filtered.shown] == [best["file"]]
    panel.show_as_pictures()
    assert window.workspace.state.pictures == before
    window.panel("pictures").show_only(None)
    panel.filter.clear()
    window.docks.fold("results")
    window.docks.open("pictures")


def test_demo_checkpoints_are_listed_in_the_menu(window: MainWindow) -> None:
    for name, path in bundled_checkpoints().items():
        words = window.actions_by_name[f"bundled_{name}"].text()
        assert f"{path.stat().st_size / 1e6:.1f} MB" in words
        shown = re.search(r"top-1 (\d+\.\d) %", words)
        measured = read_info(path).training["metrics"]["top-1"]  # itself rounded, to four decimals
        assert shown and float(shown[1]) == pytest.approx(100 * measured, abs=0.0501)
        assert re.search(r"\d+ ms a picture", words)


def test_the_ledger_says_whether_p_is_calibrated(window: MainWindow, settle: object) -> None:
    info = window.workspace.compute.infos[window.workspace.state.selection.checkpoint]
    assert info.calibrated_on and f"is calibrated on {info.calibrated_on}." in window.ledger.tip
    window.workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    settle()
    assert "is not calibrated." in window.ledger.tip
