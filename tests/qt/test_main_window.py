"""The window with a real picture: panes, ledger, undo, failures that leave things as they were.

Long: the tests share one window and the state that each gives back to the next.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.readings import Reading
from calm_gui.errors import ExportError
from calm_gui.qt.app import build_window
from calm_gui.qt.dialogs.about import about_html
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.keys_dialog import KeysDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.cursor_line import cursor_text
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.render.notation import Notation
from calm_gui.render.overlay import overlay_picture
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane
from calm_gui.session.scene_figure import scene_figure, view_spec
from calm_gui.session.state import Threshold

ROLES = {"A": "target", "B": "contrast"}


def pixels(image: QImage) -> np.ndarray:
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def canvas_pixels(window: MainWindow, pane: int = 0) -> np.ndarray:
    """The picture's part of a pane."""
    canvas = window.panes.panes[pane].canvas
    rect = canvas.visible()
    return pixels(canvas.grab().toImage())[rect.top() : rect.bottom() + 1, rect.left() : rect.right() + 1]


def test_first_start_explains_the_first_sample(window: MainWindow) -> None:
    scene = window.hub.scene
    assert Path(scene.state.picture or "").name == "afghan_hound.jpg"
    assert [c.pane.shows.key for c in scene.panes] == ["attribution", "attribution", "saliency", "counterfactual"]
    assert all(c.shown.check.passed for c in scene.panes)
    assert scene.classes[next(iter(scene.target))].name == "Afghan hound"
    assert "Afghan hound" in window.ledger.sentence
    assert window.windowTitle().startswith("afghan_hound.jpg")


@pytest.mark.parametrize("reading", ["attribution", "saliency", "conditional", "cue_posterior", "counterfactual"])
def test_a_pane_shows_the_overlay_of_the_library(window: MainWindow, reading: str) -> None:
    window.workspace.set_panes([Pane.of(reading)])
    QApplication.processEvents()
    content = window.hub.scene.active
    assert isinstance(content.shown, Map) and content.scale is not None
    seen = canvas_pixels(window)
    base_image = window.panes.panes[0].canvas.layers.base
    base = pixels(base_image)
    view = window.workspace.state.view
    table = view.diverging if content.shown.signed else view.sequential
    expected = overlay_picture(base, content.shown, content.scale, table, view.opacity)
    difference = np.abs(seen.astype(int) - expected)
    # The pane samples at its own device pixels, which lie up to half a pixel beside the library's: one colour step.
    assert difference.mean() < 0.6 and difference.max() <= 8


def test_hottest_cell_is_where_the_library_says(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution")])
    window.workspace.update_view(opacity=1.0, native=True)
    QApplication.processEvents()
    shown = window.hub.scene.active.shown
    assert isinstance(shown, Map)
    row, column = np.unravel_index(shown.values.argmax(), shown.values.shape)
    box = shown.geometry.cell_box(int(row), int(column))
    canvas = window.panes.panes[0].canvas
    centre = canvas.from_picture((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    colour = canvas.grab().toImage().pixelColor(centre.toPoint())
    assert (colour.red(), colour.green(), colour.blue()) == (252, 255, 164)  # inferno's last colour


def test_unit_of_the_counterfactual_is_symmetric(window: MainWindow) -> None:
    content = next(c for c in window.hub.scene.panes if c.pane.shows.key == "counterfactual")
    assert content.scale is not None and content.scale.low == -content.scale.high


def test_panes_of_one_quantity_share_a_scale_by_default(window: MainWindow) -> None:
    scales = [c.scale for c in window.hub.scene.panes if c.pane.shows.key in ("attribution", "saliency")]
    assert len(scales) == 3 and len(set(scales)) == 1
    window.workspace.update_view(scale_mode="fit")
    assert len({c.scale for c in window.hub.scene.panes}) > 2


def test_locked_scales_stay_with_the_next_picture(window: MainWindow, settle: object) -> None:
    window.workspace.open_pictures(sample_pictures()[:2])
    settle()
    window.workspace.lock_scales()
    before = [c.scale for c in window.hub.scene.panes]
    window.workspace.step_picture(1)
    settle()
    assert [c.scale for c in window.hub.scene.panes] == before


def test_cursor_line_names_pixel_cell_value_and_classes(window: MainWindow) -> None:
    scene = window.hub.scene
    text = cursor_text(scene, (150.0, 140.0))
    row, column = scene.explanation.geometry.cell_at(150.0, 140.0)
    assert f"cell ({row}, {column})" in text
    assert "x 150, y 140" in text
    here = scene.active.shown.values[row, column]
    assert f"Attribution {Notation.of(scene.active.scale).whole(here)} per cell" in text
    assert scene.classes[int(scene.explanation.joint[:, row, column].argmax())].name in text


def test_hovering_moves_all_cross_hairs(window: MainWindow) -> None:
    canvas = window.panes.panes[0].canvas
    QTest.mouseMove(canvas, canvas.rect().center())
    QApplication.processEvents()
    crosses = {pane.canvas._cross for pane in window.panes.panes}
    assert len(crosses) == 1 and None not in crosses


def test_zoom_and_pan_are_linked_and_kept_inside(window: MainWindow) -> None:
    canvas = window.panes.panes[0].canvas
    canvas.zoom_by(3.0, QPointF(5, 5))
    assert window.workspace.state.view.zoom == pytest.approx(3.0)
    rects = {pane.canvas.picture_rect().width() for pane in window.panes.panes if pane.canvas.size() == canvas.size()}
    assert len(rects) == 1
    assert canvas.picture_rect().contains(canvas.rect().center())
    window.actions_by_name["fit"].trigger()
    assert window.workspace.state.view.zoom == 1.0


def test_drawing_a_rectangle_adds_a_region_with_its_probability(window: MainWindow) -> None:
    window.actions_by_name["box"].setChecked(True)
    canvas = window.panes.panes[0].canvas
    start, end = canvas.from_picture(100, 100).toPoint(), canvas.from_picture(200, 200).toPoint()
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(canvas, start + QPoint(10, 10))
    QTest.mouseMove(canvas, end)
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=end)
    window.actions_by_name["box"].setChecked(False)
    scene = window.hub.scene
    shape = scene.regions[0][0]
    (x0, y0), (x1, y1) = shape.points
    inside = scene.explanation.probability(scene.target, scene.explanation.region_from_box(x0, y0, x1, y1))
    assert f"{inside:.3f}" in window.ledger.sentence and "region 1" in window.ledger.sentence
    window.actions_by_name["undo"].trigger()
    assert not window.hub.scene.regions


def test_undo_and_redo_restore_selection_panes_and_view(window: MainWindow) -> None:
    start = window.workspace.state
    window.workspace.set_target(Expression.of("n02084071"))
    window.workspace.set_panes([Pane.of("saliency")])
    window.workspace.update_view(spacing="log")
    end = window.workspace.state
    for _ in range(3):
        window.actions_by_name["undo"].trigger()
    assert window.workspace.state == start
    for _ in range(3):
        window.actions_by_name["redo"].trigger()
    assert window.workspace.state == end
    assert not window.actions_by_name["redo"].isEnabled()


def test_alt_up_and_down_climb_the_hierarchy(window: MainWindow) -> None:
    sizes = [len(step.node.classes) for step in window.hub.scene.strip]
    assert sizes == sorted(set(sizes)) and sizes[-1] == 1000
    window.actions_by_name["parent"].trigger()
    assert len(window.hub.scene.target) == sizes[1]
    window.actions_by_name["child"].trigger()
    assert len(window.hub.scene.target) == sizes[0]


def test_swap_exchanges_the_sets_as_they_are(window: MainWindow) -> None:
    target, contrast = window.hub.scene.target, window.hub.scene.contrast
    window.actions_by_name["swap"].trigger()
    assert (window.hub.scene.target, window.hub.scene.contrast) == (contrast, target)


def test_winner_map_has_a_legend_and_no_scale(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("winner")])
    content = window.hub.scene.active
    assert isinstance(content.shown, WinnerMap) and content.scale is None
    assert content.shown.legend()[0][0].name in window.ledger.sentence


def test_threshold_masks_the_overlay(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution")])
    window.workspace.update_view(threshold=Threshold("mass", 0.5), mask=True, contour=False)
    QApplication.processEvents()
    plain = pixels(window.panes.panes[0].canvas.layers.base).astype(int)
    untouched = (np.abs(canvas_pixels(window).astype(int) - plain).max(axis=2) == 0).mean()
    assert 0.5 < untouched < 0.99


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_show_only_maps_that_add_up(window: MainWindow, settle: object, layout: str) -> None:
    window.workspace.set_panes(LAYOUTS[layout](window.workspace))
    settle()
    assert len(window.panes.panes) == len(LAYOUTS[layout](window.workspace))
    for content in window.hub.scene.panes:
        if isinstance(content.shows, Reading) and content.shows.sum_text:
            assert content.shown.check.passed
        else:
            assert content.shown is None or content.shown.check is None


def _read_maps_anew(window: MainWindow) -> None:
    for entry in window.workspace.cache._entries.values():
        entry.maps.clear()


def test_corrupted_joint_turns_the_tick_red(window: MainWindow) -> None:
    explanation = window.hub.scene.explanation
    index = next(iter(window.hub.scene.target))
    saved = explanation.joint[index].copy()
    explanation.joint[index] *= 1.01
    try:
        _read_maps_anew(window)
        window.workspace.changed()
        assert not window.hub.scene.active.shown.check.passed
        assert window.ledger.check.startswith("✗")
    finally:
        explanation.joint[index] = saved
        _read_maps_anew(window)
        window.workspace.changed()
    assert window.ledger.check.startswith("✓")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("notes.jpg", b"these are notes, not a picture", "text file"), ("empty.png", b"", "empty")],
)
def test_a_bad_picture_is_one_sentence_and_the_last_good_one_stays(
    window: MainWindow, settle: object, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    good = str(sample_pictures()[0])
    window.workspace.open_pictures([good, tmp_path / name, sample_pictures()[1]])
    settle()
    window.workspace.step_picture(1)
    settle()
    assert words in window.messages.text.text() and name in window.messages.text.text()
    assert window.workspace.state.picture == good
    assert window.hub.scene.active.shown is not None
    window.workspace.step_picture(1)
    settle()
    assert window.workspace.state.picture == str(sample_pictures()[1])


def test_a_missing_picture_leaves_the_open_one(window: MainWindow, tmp_path: Path) -> None:
    before = window.workspace.state
    window.workspace.open_pictures([tmp_path / "gone.jpg"])
    assert window.workspace.state == before
    assert "there is no file" in window.messages.text.text().lower()


def test_a_random_file_as_checkpoint_leaves_the_good_one(
    window: MainWindow, settle: object, qtbot: QtBot, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(np.random.default_rng(0).bytes(4096))
    before = window.workspace.state
    window.workspace.open_checkpoint(bad)
    qtbot.waitUntil(window.messages.isVisible, timeout=20_000)
    assert "bad.safetensors" in window.messages.text.text()
    assert window.workspace.state == before
    window.workspace.set_target(Expression.of("n02084071"))
    assert window.hub.scene.active.shown.check.passed


def test_a_cam_checkpoint_shows_cam_and_says_what_it_is_not(window: MainWindow, settle: object, qtbot: QtBot) -> None:
    window.workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    qtbot.waitUntil(lambda: "demo-cam" in window.workspace.state.selection.checkpoint, timeout=60_000)
    settle()
    content = window.hub.scene.active
    assert content.shown.reading == "cam" and content.shown.check is None and not content.shown.signed
    kinds = [content.title.split(" — ")[0] for content in window.hub.scene.panes]
    assert kinds == ["CAM", "CAM", "Gradient", "Gradient"]
    assert "no probabilities" in window.ledger.sentence
    assert any("no p(y,z|x)" in c.message or "cam" in str(c.shown.reading) for c in window.hub.scene.panes)
    window.actions_by_name["undo"].trigger()
    settle()
    assert window.hub.scene.active.shown.reading == "attribution"


def test_dropped_files_open(window: MainWindow, settle: object) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in sample_pictures()[1:3]])
    window.dropEvent(
        QDropEvent(
            QPointF(10, 10), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        )
    )
    settle()
    assert window.workspace.state.picture == str(sample_pictures()[1])
    assert window.panel("pictures").list.count() == 2


def test_search_field_filters_both_views(window: MainWindow) -> None:
    QTest.keyClicks(window.panel("classes").search, "crane")
    window.panel("classes").apply_search()
    names = [
        window.panel("classes").predicted.classes.index(r, 0).data()
        for r in range(window.panel("classes").predicted.classes.rowCount())
    ]
    assert names.count("crane") == 2
    assert window.panel("classes").tree.nodes.rowCount() == 1


@pytest.mark.parametrize("what", ["panes", "single", "pair", "figure 1", "winner", "strip", "regions"])
def test_export_writes_figure_and_manifest(window: MainWindow, tmp_path: Path, what: str) -> None:
    window.workspace.add_region("box", ((40, 40), (200, 160)))
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.what.setCurrentIndex(dialog.what.findData(what))
    dialog.dpi.setValue(100)
    dialog.show_preview()
    assert not dialog.preview.pixmap().isNull()
    assert dialog.save(str(tmp_path / f"{what}.png"))
    assert {p.name for p in tmp_path.iterdir()} == {f"{what}.png", f"{what}.json"}


def test_export_to_a_folder_that_is_not_there_is_a_sentence(window: MainWindow, tmp_path: Path) -> None:
    dialog = ExportDialog(window.hub, Settings(None), window)
    assert not dialog.save(str(tmp_path / "nowhere" / "figure.png"))
    assert "nowhere" in dialog.message.text()
    assert list(tmp_path.iterdir()) == []


def test_dark_theme_and_back(window: MainWindow) -> None:
    action = window.actions_by_name["theme"]
    action.setChecked(True)
    dark = pixels(window.grab().toImage()).mean()
    action.setChecked(False)
    assert dark < 90 < pixels(window.grab().toImage()).mean()


def test_every_control_has_an_accessible_name(window: MainWindow) -> None:
    from PySide6.QtWidgets import QAbstractButton, QAbstractSlider, QComboBox, QLineEdit, QScrollBar, QTabBar

    keys = KeysDialog(window.actions_by_name, Settings(None), window)

    nameless = [
        widget
        for kind in (QAbstractButton, QAbstractSlider, QComboBox, QLineEdit, QTabBar)
        for widget in window.findChildren(kind)
        if not isinstance(widget, QScrollBar)
        and not isinstance(widget.parent(), (QTabBar, QLineEdit, QComboBox))
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
        and (isinstance(widget, QTabBar) or not widget.objectName().startswith(("qt_", "ScrollLeft", "ScrollRight")))
    ]
    keys.deleteLater()
    assert nameless == []


def test_about_credits_every_sample_picture() -> None:
    text = about_html()
    assert all(path.name in text for path in sample_pictures())
    assert "CC BY" in text and "WordNet" in text


def test_export_presets_are_kept(window: MainWindow, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.json")
    dialog = ExportDialog(window.hub, settings, window)
    dialog.width_value.setValue(63.5)
    dialog.dpi.setValue(250)
    dialog.keep_preset("my journal")
    dialog.use_preset("slide")
    assert dialog.unit.currentText() == "inch" and dialog.height_value.value() == pytest.approx(5.6, abs=0.1)
    again = ExportDialog(window.hub, Settings(tmp_path / "settings.json"), window)
    again.use_preset("my journal")
    assert (again.width_value.value(), again.dpi.value(), again.unit.currentText()) == (63.5, 250, "mm")


def test_exported_size_is_as_asked(window: MainWindow, tmp_path: Path) -> None:
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.unit.setCurrentText("px")
    dialog.width_value.setValue(640)
    dialog.height_value.setValue(480)
    dialog.dpi.setValue(100)
    assert dialog.save(str(tmp_path / "figure.png"))
    image = QImage(str(tmp_path / "figure.png"))
    assert (image.width(), image.height()) == (640, 480)


def test_an_impossible_figure_is_told_in_the_dialog(window: MainWindow, tmp_path: Path) -> None:
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.background.setText("no such colour")
    assert not dialog.save(str(tmp_path / "figure.png"))
    assert "no such colour" in dialog.message.text()
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_is_loaded_once_however_many_pictures_wait(
    qapp: object, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    window = build_window("demo", "cpu", Settings(None))
    qtbot.addWidget(window)
    window.show()
    window.workspace.open_pictures(list(sample_pictures()))
    while window.workspace.busy:  # slowly, so that the worker's next job begins before the window hears of the model
        QApplication.processEvents()
        time.sleep(0.05)
    assert [m.split(" with ")[0] for m in caplog.messages if m.startswith("loaded")] == ["loaded demo.safetensors"]
    assert "building" not in window.workspace.status
    window.close()


def test_figure_1_as_exported_names_b_where_it_shows_b(window: MainWindow) -> None:
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.what.setCurrentIndex(dialog.what.findData("figure 1"))
    words = [" ".join(text.get_text().split()) for text in dialog.figure(100).findobj(Text)]
    p = {letter: window.hub.scene.probability(getattr(window.hub.scene, of)) for letter, of in ROLES.items()}
    for letter in ROLES:
        own = [text for text in words if "−" not in text]  # a long line is two texts
        sums = [text for text in own if f"p({letter},z|x)" in text]
        assert len(sums) == 1 and f"{p[letter]:.3f}" in sums[0], words
        assert sum(text.endswith(f"p({letter}|x)") for text in own) == 1, words
    dialog.deleteLater()


def test_a_figure_never_draws_one_picture_for_another(window: MainWindow, settle: Callable[[], None]) -> None:
    workspace = window.workspace
    workspace.open_pictures(sample_pictures()[:2])
    settle()
    other = next(key for key in workspace.state.pictures if key != workspace.state.picture)
    workspace.set_panes([Pane.of("attribution"), Pane.of("picture", picture=other)])
    settle()
    scene = window.hub.scene
    with pytest.raises(ExportError, match="another picture only with a map"):
        scene_figure(scene, view_spec(scene, "panes"), "panes")
    workspace.set_panes([Pane.of("attribution"), Pane.of("picture", picture=workspace.state.picture)])
    settle()
    assert scene_figure(window.hub.scene, view_spec(window.hub.scene, "panes", dpi=60), "panes")
