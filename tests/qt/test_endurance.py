"""Hours of use in a minute: memory, threads, blocked event loop, closing at any moment."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from machine import slowness
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import sample_pictures
from calm_gui.qt.classes.hierarchy_model import PROBABILITY
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.open_models import MOST_BYTES
from calm_gui.session.pane import shows_from_text
from calm_gui.session.state import Threshold

MOST_GROWTH = 30 * 2**20
MOST_BLOCKED = 0.050
"""Seconds, on a core as `slowness` has it."""


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_flat_over_500_pictures_and_2000_classes(window: MainWindow, settle: Callable[[], None]) -> None:
    workspace = window.workspace
    workspace.open_pictures(sample_pictures())
    settle()
    nodes = sorted(workspace.scene.hierarchy or ())
    chance = random.Random(0)

    def use(pictures: int, classes: int) -> None:
        for step in range(pictures):
            workspace.show_picture(step % len(workspace.state.pictures))
            settle()
            for _ in range(classes // pictures):
                workspace.set_target(Expression.of(chance.choice(nodes)))
                QApplication.processEvents()

    use(100, 400)
    before, threads = resident(), threading.active_count()
    use(500, 2000)
    assert resident() - before < MOST_GROWTH
    assert threading.active_count() == threads


@pytest.mark.slow
@pytest.mark.timeout(900)  # a minute and a half on idle cores
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_flat_over_large_checkpoints_opened_in_turn(
    window: MainWindow, settle: Callable[[], None], qtbot: QtBot, tmp_path: Path
) -> None:
    workspace = window.workspace
    paths = [tmp_path / f"run {seed}" / "best.safetensors" for seed in range(8)]
    for seed, path in enumerate(paths):
        path.parent.mkdir()
        write_tiny_checkpoint(path, backbone="resnet50", size=224, seed=seed)

    def open_all() -> int:
        for path in paths:
            workspace.open_checkpoint(path)
            settle()
            assert all(content.shown is not None for content in window.hub.scene.panes)
        qtbot.waitUntil(lambda: workspace.compute.runner.idle, timeout=60_000)  # type: ignore[attr-defined]
        return resident()

    start = resident()
    after = [open_all() for _ in range(5)]
    kept = sum(workspace.compute.models[key].weight_bytes for key in map(str, paths) if key in workspace.compute.models)
    assert 0 < kept <= MOST_BYTES
    assert max(after) - start < MOST_BYTES, after  # nothing of what was unloaded
    assert after[-1] - after[0] < MOST_GROWTH, after


def cpu_seconds(action: Callable[[], object]) -> float:
    """Seconds for which an action and its painting keep this thread: what the event loop is blocked for."""
    start = time.thread_time()
    action()
    QApplication.sendPostedEvents()
    QApplication.processEvents()
    return time.thread_time() - start


def actions(window: MainWindow) -> dict[str, Callable[[], object]]:
    workspace, tree = window.workspace, window.panel("classes").tree

    def search(text: str) -> Callable[[], object]:
        def act() -> None:
            window.panel("classes").search.setText(text)
            window.panel("classes").apply_search()

        return act

    return {
        "type c": search("c"),
        "type ca": search("ca"),
        "type cani": search("cani"),
        "clear search": search(""),
        "expand all": tree.expandAll,
        "collapse all": tree.collapseAll,
        "sort by probability": lambda: tree.sortByColumn(PROBABILITY, Qt.SortOrder.DescendingOrder),
        "click a class": lambda: workspace.set_target(Expression.of("n02123045")),
        "click a large group": lambda: workspace.set_target(Expression.of("n00001740")),
        "everything else": lambda: workspace.set_contrast(Expression.of("@rest")),
        "all readings": lambda: workspace.set_panes(LAYOUTS["Figure 3: all readings"](workspace)),
        "threshold": lambda: workspace.update_view(threshold=Threshold("mass", 0.8), mask=True, boxes=True),
        "logarithmic": lambda: workspace.update_view(spacing="log"),
        "zoom": lambda: window.pane_actions.zoom(2.0),
        "region": lambda: workspace.add_region("box", ((10, 10), (200, 200))),
        "undo": workspace.store.undo,
        "redo": workspace.store.redo,
        "winner": lambda: workspace.change_pane(0, shows=shows_from_text("winner")),
    }


def test_no_action_blocks_the_event_loop(window: MainWindow) -> None:
    rounds = []
    for _ in range(4):
        rounds.append({name: cpu_seconds(action) for name, action in actions(window).items()})
        window.workspace.store.undo()
    window.panel("classes").tree.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    # The first time fills caches of colours, fonts and texts. Of the others the least: what runs beside us only adds.
    most = MOST_BLOCKED * slowness()
    assert max(rounds[0].values()) < 2 * most, (most, rounds[0])
    blocked = {name: min(one[name] for one in rounds[1:]) for name in rounds[0]}
    assert max(blocked.values()) < most, (most, blocked)


def test_changing_the_theme_blocks_twice_but_briefly(window: MainWindow) -> None:
    """The change and the painting of everything are two turns of the event loop."""
    for other in QApplication.topLevelWidgets():  # windows that other tests closed would be styled, too
        if isinstance(other, MainWindow) and other is not window and not other.isVisible():
            other.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    changed, painted = [], []
    for _ in range(4):
        start = time.thread_time()
        window.actions_by_name["theme"].toggle()
        middle = time.thread_time()
        QApplication.processEvents()
        changed.append(middle - start)
        painted.append(time.thread_time() - middle)
    most = MOST_BLOCKED * slowness()
    assert min(changed) < most and min(painted) < most, (most, changed, painted)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.4, 1.1, 2.3, 4.0])
def test_closing_at_any_moment_ends_well(tmp_path: Path, seconds: float) -> None:
    code = (
        "from PySide6.QtCore import QTimer\n"
        "from calm_gui.__main__ import script\n"
        "from calm_gui.qt import app\n"
        "built = app.build_window\n"
        "def build(*a, **k):\n"
        "    window = built(*a, **k)\n"
        f"    QTimer.singleShot({int(seconds * 1000)}, window.close)\n"
        "    return window\n"
        "app.build_window = build\n"
        "script()\n"
    )
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")


_CLOSE_WHILE = """
import os, signal, sys, threading, time
from pathlib import Path
from PySide6.QtCore import QTimer
from calm_gui.__main__ import script
from calm_gui.qt import app
from calm_gui.qt.dialogs.batch_dialog import BatchDialog
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.session.pane import shows_from_text

work, out = sys.argv[1], Path(sys.argv[2])
del sys.argv[1:]

def interrupt_once_written(pattern):
    while not list(out.glob(pattern)):
        time.sleep(0.001)
    print("interrupted", flush=True)
    os.kill(os.getpid(), signal.SIGINT)

def interrupt(pattern):
    threading.Thread(target=interrupt_once_written, args=(pattern,), daemon=True).start()

def batch(window):
    dialog = window.findChild(BatchDialog)
    dialog.out.setText(str(out))
    for box in dialog.formats.values():
        box.setChecked(True)
    interrupt("*.npz")
    dialog.run()

def export(window):
    interrupt(".calm-*")
    window.findChild(ExportDialog).save(str(out / "x.pdf"))

def method(window):
    def tell(progress):
        if progress and progress.done == 2:
            print("interrupted", flush=True)
            window.close()
    window.hub.progressed.connect(tell)
    window.workspace.change_pane(0, shows=shows_from_text("method:occlusion"))

def begin(window):
    if window.workspace.scene.explanation is None:
        QTimer.singleShot(20, lambda: begin(window))
    elif work == "method":
        method(window)
    else:
        QTimer.singleShot(100, lambda: globals()[work](window))
        getattr(window.files, work)()

built = app.build_window
def build(*arguments, **options):
    window = built(*arguments, **options)
    QTimer.singleShot(0, lambda: begin(window))
    return window
app.build_window = build
script()
"""


@pytest.mark.slow
@pytest.mark.parametrize("work", ["batch", "export", "method"])
def test_closing_while_something_is_made_leaves_whole_files_only(tmp_path: Path, work: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", _CLOSE_WHILE, work, str(out)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    status = 0 if work == "method" else 130  # the window was closed by Ctrl-C
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, "interrupted\n", "")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if path.name.startswith(".calm-")]
    assert bool(list(out.iterdir())) == (work != "method")
    assert (out / "summary.csv").exists() == (work == "batch")  # it tells of what was done
    for path in written:
        data = path.read_bytes()
        if path.suffix == ".json":
            json.loads(data)
        elif path.suffix in _ENDS:
            assert data.rstrip().endswith(_ENDS[path.suffix]), path
        elif path.suffix == ".npz":
            np.load(path).close()


_ENDS = {".pdf": b"%%EOF", ".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}
