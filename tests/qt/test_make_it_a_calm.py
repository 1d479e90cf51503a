"""*Make it a CALM…*: a real child process learns, is cancelled, goes on; what it makes opens beside the classifier."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from machine import slowness
from PIL import Image
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from calm_gui.core.explanation import Explanation
from calm_gui.core.readings import ATTRIBUTION, CAM
from calm_gui.model.backbones import build_classifier
from calm_gui.model.info import read_info
from calm_gui.qt import adaptation as child_module
from calm_gui.qt.app import build_window
from calm_gui.qt.dialogs.adapt_dialog import AdaptDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session import adaptation as adaptation_module
from calm_gui.session.adaptation import AdaptationPlan, Told, reached_words, said

WAIT = 240_000


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    network = build_classifier("timm:test_resnet", 4)
    with torch.no_grad():
        network.fc.weight.normal_(0, 0.3)
    path = tmp_path_factory.mktemp("classifier") / "own net.pth"
    torch.save({"arch": "test_resnet", "state_dict": network.state_dict()}, path)
    return path


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(0)
    for number in range(40):
        Image.fromarray(generator.integers(0, 255, (48, 48, 3), np.uint8)).save(folder / f"é {number:02}.png")
    (folder / "é 40.png").write_text("no picture")
    return sorted(folder.iterdir())


@pytest.fixture
def window(
    qapp: object, qtbot: QtBot, classifier: Path, pictures: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    monkeypatch.setattr(adaptation_module.platformdirs, "user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(child_module, "_NICER", 0)  # other tests beside this one would starve it
    window = build_window(str(classifier), "cpu", Settings(None))
    qtbot.addWidget(window)
    window.resize(1200, 800)
    window.show()
    window.workspace.open_pictures(pictures)
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=WAIT)
    yield window
    window.close()


def wish(window: MainWindow, out: Path) -> AdaptationPlan:
    state = window.workspace.state
    return AdaptationPlan(state.selection.checkpoint, state.pictures, out, device="cpu")


def test_by_keyboard_alone_a_classifier_becomes_a_calm_beside_it(
    window: MainWindow, qtbot: QtBot, classifier: Path
) -> None:
    asked: list[AdaptDialog] = []

    def answer() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, AdaptDialog)
        asked.append(dialog)
        assert "40" not in dialog.message.text() and "rough" in dialog.message.text()
        QTest.keyClick(dialog, Qt.Key.Key_Return)

    QTimer.singleShot(300, answer)
    assert window.actions_by_name["make_calm"].isEnabled()
    QTest.keyClick(window, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    assert asked and window.adaptation.running
    told: list[str] = []
    window.hub.progressed.connect(lambda progress: told.append(progress.words if progress else ""))
    with qtbot.waitSignal(window.adaptation.reached, timeout=WAIT) as reached:
        pass
    path, words = reached.args
    assert "looking at pictures" in " ".join(told) and "training" in " ".join(told)
    assert "it names the class of own net.pth for" in words and "1 pictures were left out" in words
    assert Path(path).name in window.messages.text.text() and window.messages.folder.isVisible()
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=WAIT)
    old, new = window.hub.scene.panes
    assert old.shows is CAM and new.shows is ATTRIBUTION
    assert window.workspace.state.selection.checkpoint == str(classifier)
    assert isinstance(new.explanation, Explanation)
    assert new.shown is not None and new.shown.check.passed
    assert read_info(path).training["start"]["sha256"] == window.workspace.compute.models[str(classifier)].sha256
    window.workspace.store.undo()
    assert len(window.workspace.state.panes) != 2  # as it was, but for the undo


def test_cancelled_it_goes_on_when_it_is_started_again(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    adaptation, out = window.adaptation, tmp_path / "run"
    seen: list[tuple[str, int, int]] = []
    window.hub.progressed.connect(lambda p: seen.append((p.words, p.done, p.total)) if p else None)
    adaptation.start(wish(window, out))
    qtbot.waitUntil(lambda: any("training" in words and done >= 50 for words, done, _ in seen), timeout=WAIT)
    window.status.cancel.click()  # the button beside the bar
    qtbot.waitUntil(lambda: not adaptation.running, timeout=WAIT)
    assert not window.status.cancel.isVisible() and "continue where it stopped" in window.status._message
    assert not adaptation._patience.isActive(), "the next child would be ended"
    assert sorted(p.name for p in out.iterdir()) == [
        "adapt.json",
        "features.npy",
        "pictures.json",
        "state.pt",
        "targets.pt",
    ]
    seen.clear()
    adaptation.start(wish(window, out))
    with qtbot.waitSignal(adaptation.reached, timeout=WAIT):
        pass
    steps = [done for words, done, _ in seen if "training" in words]
    assert min(steps) >= 50, "training began anew"
    seen.clear()
    adaptation.start(wish(window, out))  # it is there already
    with qtbot.waitSignal(adaptation.reached, timeout=WAIT):
        pass
    assert not [words for words, _, _ in seen if "training" in words]


def test_the_event_loop_is_never_blocked(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """Own time of the window's thread between two ticks, as other programs take the processor too."""
    ticks: list[float] = []
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append(time.thread_time()))
    timer.start(1)
    qtbot.wait(50)
    window.adaptation.start(wish(window, tmp_path / "run"))
    with qtbot.waitSignal(window.adaptation.reached, timeout=WAIT):
        pass
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=WAIT)
    timer.stop()
    assert len(ticks) > 100
    assert max(np.diff(ticks)) < 0.05 * slowness()


def test_what_fails_in_the_child_is_told_in_its_sentence(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "adapt.json").write_text('{"another": "run"}')
    complained: list[str] = []
    window.hub.complained.connect(complained.append)
    window.adaptation.start(wish(window, out))
    qtbot.waitUntil(lambda: bool(complained), timeout=WAIT)
    assert "own net.pth couldn't be made a CALM" in complained[-1]
    assert "holds a run of another classifier" in complained[-1]
    assert len(window.workspace.state.panes) != 2


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_child_that_is_killed_is_told_and_the_window_ends_its_child(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "_NICER", 5)
    complained: list[str] = []
    window.hub.complained.connect(complained.append)
    adaptation = window.adaptation
    adaptation.start(wish(window, tmp_path / "run"))
    qtbot.waitUntil(lambda: adaptation._process.processId() > 0, timeout=WAIT)
    os.kill(adaptation._process.processId(), signal.SIGKILL)
    qtbot.waitUntil(lambda: bool(complained), timeout=WAIT)
    assert "was stopped by the system" in complained[-1]
    adaptation.start(wish(window, tmp_path / "run"))
    qtbot.waitUntil(lambda: adaptation._process.processId() > 0, timeout=WAIT)
    child = adaptation._process.processId()
    own = os.getpriority(os.PRIO_PROCESS, 0)
    qtbot.waitUntil(lambda: os.getpriority(os.PRIO_PROCESS, child) > own, timeout=WAIT)
    window.close()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_the_dialog_says_what_it_cannot_do(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = AdaptDialog(window.hub, Settings(None), window.adaptation, window)
    first = dialog.out.text()
    assert str(tmp_path / "data") in first and "own net-" in first
    dialog.what.setCurrentIndex(2)
    assert dialog.out.text() != first and dialog.plan.what == "head"
    dialog.folder.setText(str(tmp_path / "nowhere"))
    dialog.start.click()
    assert "training needs at least two pictures" in dialog.message.text() and not window.adaptation.running
    (tmp_path / "file").write_text("x")
    dialog.folder.setText("")
    dialog.out.setText(str(tmp_path / "file"))
    dialog.start.click()
    assert "can't be used" in dialog.message.text() and not window.adaptation.running
    dialog.out.setText("")
    dialog.start.click()
    assert "needs a folder" in dialog.message.text()


def test_a_calm_is_not_made_one(qapp: object, qtbot: QtBot) -> None:
    window = build_window("demo", "cpu", Settings(None))
    qtbot.addWidget(window)
    assert not window.actions_by_name["make_calm"].isEnabled()
    window.close()


def test_lines_of_the_command_are_read_and_others_passed_over() -> None:
    assert said('{"stage": "features", "done": 3, "of": 9}') == Told("looking at pictures", 3, 9)
    done = said('{"stage": "done", "checkpoint": "/x.safetensors", "measures": {"top-1 agreement": 0.97}}')
    assert done is not None and done.checkpoint == "/x.safetensors"
    for line in ("", "a warning", "[]", "{}", '{"stage": "done"}', '{"stage": "features", "done": "x"}', "1"):
        assert said(line) is None
    assert reached_words("x", {}) == "x is a CALM."


def test_the_window_never_imports_the_training_package() -> None:
    code = "import sys, calm_gui.qt.adaptation, calm_gui.qt.dialogs.adapt_dialog\nprint('calm_training' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
