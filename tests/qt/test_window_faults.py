"""Files and faults from outside, through the window: one sentence, and the last good state stays."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.model import answers as answers_module
from calm_gui.model.picture import load_picture
from calm_gui.qt.app import build_window
from calm_gui.qt.dialogs.answers_dialog import AnswersDialog
from calm_gui.qt.dialogs.checkpoint_dialog import CheckpointDialog
from calm_gui.qt.dialogs.report_dialog import ReportDialog, report_text
from calm_gui.qt.docks.pictures_panel import PicturesPanel
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.persistence import save_session
from calm_gui.session.state import Selection, State

MARKER = "CALM_BUGTEST_MARKER.txt"
MALICIOUS = [
    "ck_malicious_marker.pth.tar",
    "ck_malicious_marker_inside_namespace.pth.tar",
    "ck_malicious_marker_legacy_format.pth.tar",
    "ck_malicious_marker_plain_pickle.pth",
    "ck_malicious_marker_renamed.safetensors",
]
BAD_PICTURES = ["img_truncated.jpg", "img_zero_byte.png", "img_html_renamed.jpg", "img_bomb_30000x30000_1bit.png"]


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window.dropEvent(
        QDropEvent(
            QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        )
    )


def open_recent(window: MainWindow, path: Path) -> None:
    window.files.open([str(path)])


def open_in_session(window: MainWindow, path: Path) -> None:
    session = Path.cwd() / "x.calm.json"
    save_session(session, State(Selection(str(path)), (str(sample_pictures()[0]),), 0))
    window.workspace.open_session(session)


@pytest.mark.shared
@pytest.mark.parametrize("way", [drop, open_recent, open_in_session, lambda w, p: w.workspace.open_checkpoint(p)])
@pytest.mark.parametrize("name", MALICIOUS)
def test_no_way_into_the_window_runs_a_file(
    window: MainWindow,
    settle: Callable[[], None],
    shared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    way: Callable[[MainWindow, Path], None],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(shutil.copy(shared / "inputs" / name, tmp_path))
    way(window, path)
    settle()
    assert name in window.messages.text.text()
    assert not list(tmp_path.rglob(MARKER))


@pytest.mark.shared
@pytest.mark.parametrize("name", MALICIOUS)
def test_settings_and_sessions_are_never_unpickled(
    window: MainWindow, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(shutil.copy(shared / "inputs" / name, tmp_path / "x.calm.json"))
    settings = Path(shutil.copy(path, tmp_path / "settings.json"))  # which are put aside
    assert Settings(settings).values == {}
    before = window.workspace.state
    window.workspace.open_session(path)
    assert window.workspace.state is before and "isn't a session" in window.messages.text.text()
    assert not (tmp_path / MARKER).exists()


@pytest.mark.shared
@pytest.mark.qt_log_ignore("Corrupt JPEG data", extend=True)  # of Qt's thumbnail reader, which goes to the log
@pytest.mark.parametrize("name", BAD_PICTURES)
def test_after_a_bad_picture_the_good_one_stays_and_the_next_opens(
    window: MainWindow, settle: Callable[[], None], shared: Path, name: str
) -> None:
    good, next_good = sample_pictures()[:2]
    window.workspace.open_pictures([good, shared / "inputs" / name, next_good])
    settle()
    window.workspace.show_picture(1)
    settle()
    assert window.workspace.state.picture == str(good) and name in window.messages.text.text()
    window.workspace.step_picture(1)
    settle()
    assert window.workspace.state.picture == str(next_good) and window.hub.scene.explanation is not None


@pytest.mark.shared
def test_thumbnails_of_huge_pictures_are_not_made(window: MainWindow, shared: Path) -> None:
    names = ("img_bomb_30000x30000_1bit.png", "img_header_claims_60000x60000.png", "img_large_12000x9000_gray.png")
    film: PicturesPanel = window.panel("pictures")
    film._fill(tuple(str(shared / "inputs" / name) for name in (*names, "img_reference.png")))
    while film._todo:
        film._make_one()
    assert list(film._plain) == [3]


@pytest.mark.shared
@pytest.mark.parametrize("size", ["1x1", "1x200", "200x1", "2x3", "37x41", "99x50", "101x67", "1023x7"])
def test_odd_widths_reach_the_canvas_pixel_by_pixel(
    window: MainWindow, settle: Callable[[], None], shared: Path, size: str
) -> None:
    path = shared / "inputs" / f"img_size_{size}.png"
    window.workspace.open_pictures([path])
    settle()
    canvas = window.panes.panes[0].canvas
    canvas.grab()
    image = canvas.layers.source.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    shown = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)
    assert np.array_equal(shown, load_picture(path).pixels)


# Questions about checkpoints


@pytest.fixture
def own_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(answers_module, "answers_path", lambda: tmp_path / "answers" / "answers.json")
    return tmp_path / "answers" / "answers.json"


@pytest.mark.shared
def test_what_a_checkpoint_does_not_say_is_asked_once_with_guesses(
    window: MainWindow, settle: Callable[[], None], shared: Path, tmp_path: Path, own_answers: Path, qtbot: QtBot
) -> None:
    path = shared / "inputs" / "ck_good_full_shape_200.pth.tar"
    before = window.workspace.state.selection.checkpoint
    window.files.open([str(path)])
    settle()
    dialog = window.findChild(AnswersDialog)
    assert dialog is not None and window.workspace.state.selection.checkpoint == before
    chosen = {key: box.currentData() for key, box in dialog.choices.items()}
    assert chosen == {"method": "calm-em", "saliency_activation": "relu", "large_feature_map": True}
    (tmp_path / "few.txt").write_text("a\nb\n")
    dialog.read_names(str(tmp_path / "few.txt"))
    assert "2 names, the checkpoint 200 classes" in dialog._named.text()
    (tmp_path / "names.txt").write_text("".join(f"bird {i}\n" for i in range(200)))
    dialog.read_names(str(tmp_path / "names.txt"))
    dialog.choices["large_feature_map"].setCurrentIndex(1)
    dialog.show_preview()
    qtbot.waitUntil(lambda: "bird" in dialog.preview.text(), timeout=60_000)
    assert dialog.preview.text().count("\n") == 4 and not own_answers.exists()
    dialog.accept()
    settle()
    info = window.hub.scene.info
    assert info.output_stride == 16 and info.classes[3].name == "bird 3"
    assert window.hub.scene.explanation.joint.shape == (200, 14, 14)
    assert own_answers.exists()
    window.workspace.open_checkpoint(before)
    settle()
    window.workspace.compute.models.forget(str(path))
    window.files.open([str(path)])
    settle()
    assert window.workspace.state.selection.checkpoint == str(path)
    assert window.findChild(AnswersDialog) is None or not window.findChild(AnswersDialog).isVisible()


# Faults of the machine


def test_a_device_without_memory_hands_over_to_the_cpu(
    window: MainWindow, settle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = window.workspace
    model = workspace.compute.models[workspace.state.selection.checkpoint]
    forward, faults = model.folded_network.forward, [torch.OutOfMemoryError("CUDA out of memory")]

    def short_of_memory(pictures: torch.Tensor) -> object:
        if faults:
            raise faults.pop()
        return forward(pictures)

    monkeypatch.setattr(model.folded_network, "forward", short_of_memory)
    monkeypatch.setattr(workspace.compute, "device", "auto")
    workspace.open_pictures([sample_pictures()[4]])
    settle()
    assert not faults and window.hub.scene.explanation is not None
    assert "too little memory" in window.messages.text.text() and "the CPU computes" in window.messages.text.text()
    assert workspace.compute.device == "cpu"


def test_a_worker_that_raises_is_one_sentence_and_the_next_picture_works(
    window: MainWindow, settle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = window.workspace
    model = workspace.compute.models[workspace.state.selection.checkpoint]
    with monkeypatch.context() as patch:
        patch.setattr(model.folded_network, "forward", lambda _: 1 / 0)
        workspace.open_pictures([sample_pictures()[5]])
        settle()
        assert "unexpected" in window.messages.text.text() and "ZeroDivisionError" in window.messages.text.text()
    workspace.open_pictures([sample_pictures()[6]])
    settle()
    assert window.hub.scene.explanation is not None


def test_too_little_memory_is_said(
    window: MainWindow, settle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise MemoryError

    model = window.workspace.compute.models[window.workspace.state.selection.checkpoint]
    monkeypatch.setattr(model.folded_network, "forward", full)
    window.workspace.open_pictures([sample_pictures()[7]])
    settle()
    assert "isn't enough memory" in window.messages.text.text()
    assert all("isn't enough memory" in pane.message for pane in window.hub.scene.panes)  # not "explaining …" for ever


def test_a_window_whose_first_checkpoint_is_broken_says_so_and_opens_another(qapp: object, qtbot: QtBot) -> None:
    window = build_window(str(sample_pictures()[0]), "cpu", Settings(None))
    qtbot.addWidget(window)
    window.workspace.open_pictures([sample_pictures()[1]])
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=60_000)
    assert all("afghan_hound" in pane.message for pane in window.hub.scene.panes)
    window.workspace.open_checkpoint(bundled_checkpoints()["demo-cam"])
    qtbot.waitUntil(lambda: window.hub.scene.explanation is not None, timeout=60_000)
    assert not any("afghan_hound" in pane.message for pane in window.hub.scene.panes)
    window.close()


# Reports


def test_a_report_tells_versions_device_settings_and_no_picture(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "calm-gui.log"
    log.write_text(f"older\n{Path.home()}/secret: something failed\n")
    monkeypatch.setattr("calm_gui.qt.dialogs.report_dialog.log_path", lambda: log)
    settings = Settings(None)
    settings.set("theme", "dark")
    text = report_text(window.hub, settings)
    for part in ("calm-gui 0", "Python 3", "torch 2", "device: cpu", '"theme": "dark"', "something failed", "SHA-256"):
        assert part in text
    assert str(Path.home()) not in text and len(text) < 30_000
    dialog = ReportDialog(window.hub, settings, window)
    QGuiApplication.clipboard().setText(dialog.text.toPlainText())
    dialog.save(str(tmp_path / "report.txt"))
    assert (tmp_path / "report.txt").read_text("utf-8") == dialog.text.toPlainText()
    dialog.save(str(tmp_path / "gone" / "report.txt"))
    assert "can't be written" in dialog.message.text()
    assert "report" in window.actions_by_name


@pytest.mark.shared
def test_answers_are_shown_and_can_be_changed(
    window: MainWindow, settle: Callable[[], None], qtbot: QtBot, shared: Path, own_answers: Path
) -> None:
    path = shared / "trials/inputs/checkpoints/ck_order_a.pth.tar"
    workspace = window.workspace
    workspace.open_checkpoint(path, method="calm-em", saliency_activation="relu", large_feature_map=False)
    settle()
    before = window.hub.scene.explanation
    dialog = CheckpointDialog(window.hub, window)
    labels = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "method: calm-em" in labels and "saliency activation: relu" in labels
    dialog.change.click()
    qtbot.waitUntil(lambda: window.findChild(AnswersDialog) is not None, timeout=60_000)
    asked = window.findChild(AnswersDialog)
    assert asked is not None and asked.answers.saliency_activation == "relu"  # what was answered is the first choice
    box = asked.choices["saliency_activation"]
    box.setCurrentIndex(box.findData("softplus"))
    asked.accept()
    settle()
    after = window.hub.scene.explanation
    assert before is not None and after is not None
    assert before.source["checkpoint"]["answers"]["saliency_activation"] == "relu"
    assert after.source["checkpoint"]["answers"]["saliency_activation"] == "softplus"
    dialog.deleteLater()


def test_an_open_checkpoint_can_be_closed_in_its_dialog(window: MainWindow, settle: Callable[[], None]) -> None:
    demo, cam = (str(bundled_checkpoints()[name].absolute()) for name in ("demo", "demo-cam"))
    window.workspace.open_checkpoint(cam)
    settle()
    window.workspace.open_checkpoint(demo)
    settle()
    dialog = CheckpointDialog(window.hub, window)
    rows = {dialog.opened.item(row).text(): row for row in range(dialog.opened.count())}
    dialog.opened.setCurrentRow(rows["demo"])
    assert not dialog.close_one.isEnabled()
    dialog.opened.setCurrentRow(rows["demo-cam"])
    dialog.close_one.click()
    assert cam not in window.workspace.compute.models and cam not in window.hub.scene.checkpoint_names
    assert dialog.opened.count() == len(rows) - 1
    dialog.deleteLater()
