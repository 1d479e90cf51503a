"""Two thousand random actions of a user, and what must hold after each.

`CALM_ACTIONS` is how many, and `CALM_SEED` a number to choose others.
"""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.maps import Map
from calm_gui.qt.classes.hierarchy_model import KEY_ROLE
from calm_gui.qt.dialogs.batch_dialog import start_run
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.docks import AREAS, DOCKS, Area
from calm_gui.qt.settings import Settings
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.batch import BatchPlan
from calm_gui.session.expression import SPECIAL, Expression, Term, class_key
from calm_gui.session.pane import shows_from_text
from calm_gui.session.state import Threshold

READINGS = ("attribution", "saliency", "conditional", "cue_posterior", "counterfactual", "winner", "picture")
METHODS = ("method:gradient", "method:grad_cam")
"""One pass each. Hundreds of passes after each action would take hours and show nothing else."""


def machine(window: MainWindow, settle: object, folder: Path) -> type[RuleBasedStateMachine]:
    workspace = window.workspace
    hierarchy = workspace.scene.hierarchy
    assert hierarchy is not None
    keys = st.sampled_from(sorted(hierarchy))
    bad = folder / "bad.safetensors"
    bad.write_bytes(random.Random(0).randbytes(2000))
    checkpoints = {**bundled_checkpoints(), **_small_checkpoints(folder)}
    junk = _junk(folder)

    class User(RuleBasedStateMachine):
        @rule(key=keys)
        def click(self, key: str) -> None:
            workspace.set_target(
                Expression.of(key)
            )  # of the first checkpoint, as a question that was asked lately may be

        @rule(key=keys)
        def contrast(self, key: str) -> None:
            workspace.set_contrast(Expression.of(key))

        @rule(key=keys)
        def toggle(self, key: str) -> None:
            if key in (window.hub.scene.hierarchy or {}):  # the tree shows no others
                workspace.toggle(key)

        @rule(keys=st.lists(st.tuples(keys, st.sampled_from("+-")), max_size=4))
        def combine(self, keys: list[tuple[str, str]]) -> None:
            workspace.set_target(Expression(tuple(Term(key, sign) for key, sign in keys)))

        @rule(key=st.sampled_from(sorted(SPECIAL)), to_target=st.booleans())
        def special(self, key: str, to_target: bool) -> None:
            (workspace.set_target if to_target else workspace.set_contrast)(Expression.of(key))

        @rule()
        def swap(self) -> None:
            window.actions_by_name["swap"].trigger()

        @rule(up=st.booleans())
        def climb(self, up: bool) -> None:
            workspace.climb(up)

        @rule(reading=st.sampled_from(READINGS + METHODS), about=st.sampled_from(("target", "contrast", "superset")))
        def read(self, reading: str, about: str) -> None:
            workspace.change_pane(workspace.state.active, shows=shows_from_text(reading), about=about)

        @rule(layout=st.sampled_from(sorted(set(LAYOUTS) - {"Methods side by side"})))
        def arrange(self, layout: str) -> None:
            workspace.set_panes(LAYOUTS[layout](workspace))

        @rule()
        def add_pane(self) -> None:
            workspace.add_pane()

        @rule(index=st.integers(0, 5))
        def close_pane(self, index: int) -> None:
            workspace.close_pane(index)

        @rule()
        def next_pane(self) -> None:
            window.pane_actions.next_pane()

        @rule(by=st.sampled_from((-1, 1)))
        def step(self, by: int) -> None:
            workspace.step_picture(by)

        @rule(
            mode=st.sampled_from(("fit", "shared", "locked")),
            spacing=st.sampled_from(("linear", "log")),
            relative=st.booleans(),
            opacity=st.floats(0, 1),
            native=st.booleans(),
            depth=st.integers(0, 20),
        )
        def look(self, mode: str, **changes: object) -> None:
            workspace.update_view(**changes)
            if mode == "locked":
                workspace.lock_scales()
            else:
                workspace.update_view(scale_mode=mode)

        @rule(kind=st.sampled_from(("none", "mass", "min-max", "value")), value=st.floats(0.01, 1), mask=st.booleans())
        def cut(self, kind: str, value: float, mask: bool) -> None:
            workspace.update_view(threshold=Threshold(kind, value), mask=mask, boxes=True)

        @rule(corners=st.tuples(*[st.floats(-20, 320)] * 4), kind=st.sampled_from(("box", "brush")))
        def mark(self, corners: tuple[float, ...], kind: str) -> None:
            workspace.add_region(kind, ((corners[0], corners[1]), (corners[2], corners[3])), 8.0)

        @rule()
        def forget(self) -> None:
            window.pane_actions.clear_regions()

        @rule(width=st.integers(900, 1500), height=st.integers(600, 1000))
        def resize(self, width: int, height: int) -> None:
            window.resize(width, height)

        @rule(key=st.sampled_from(tuple(DOCKS)), keep=st.booleans())
        def toggle_dock(self, key: str, keep: bool) -> None:
            window.docks.toggle(key, keep)

        @rule(area=st.sampled_from(AREAS))
        def fold_docks(self, area: Area) -> None:
            window.docks.fold_area(area)

        @rule(end=st.sampled_from((1, -1)), to=st.floats(-0.2, 1.2), lock=st.booleans())
        def drag_a_limit(self, end: int, to: float, lock: bool) -> None:
            bars = [bar for bar in window.scales.bars if bar.isVisible() and not bar.limits_only]
            if not bars:
                return
            bar = bars[-1]
            area, scale = bar._bar(), bar._axis_scale()
            value = bar.shown.scale.high if end > 0 else bar.shown.scale.low
            start = QPoint(int(area.center().x()), round(area.bottom() - scale.position(value) * area.height()))
            QTest.mousePress(bar, Qt.MouseButton.LeftButton, pos=start)
            QTest.mouseMove(bar, QPoint(start.x(), round(area.bottom() - to * area.height())))
            QTest.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=start)
            if lock and bar.lock.isVisible():
                bar.lock.click()

        @rule(name=st.sampled_from(("flicker", "slider", "enlarge", "pictures_alone")), on=st.booleans())
        def compare(self, name: str, on: bool) -> None:
            window.actions_by_name[name].setChecked(on and window.actions_by_name[name].isEnabled())

        @rule(factor=st.floats(0.3, 4))
        def zoom(self, factor: float) -> None:
            window.pane_actions.zoom(factor)

        @rule(text=st.sampled_from(("", "dog", "crane", "zzz", "7", "n020")))
        def search(self, text: str) -> None:
            window.panel("classes").search.setText(text)
            window.panel("classes").apply_search()

        @rule()
        def undo(self) -> None:
            workspace.store.undo()

        @rule()
        def redo(self) -> None:
            workspace.store.redo()

        @rule(name=st.sampled_from(sorted(checkpoints)))
        def change_checkpoint(self, name: str) -> None:
            workspace.open_checkpoint(checkpoints[name])
            settle()

        @rule(name=st.sampled_from(sorted(checkpoints)))
        def show_beside(self, name: str) -> None:
            workspace.change_pane(workspace.state.active, checkpoint=str(checkpoints[name].absolute()))

        @rule(name=st.sampled_from(sorted(checkpoints)))
        def close_checkpoint(self, name: str) -> None:
            workspace.close_checkpoint(str(checkpoints[name].absolute()))

        @rule(index=st.integers(0, 2), to_target=st.booleans())
        def choose_by_index(self, index: int, to_target: bool) -> None:
            key = class_key(index, window.hub.scene.classes)
            (workspace.set_target if to_target else workspace.set_contrast)(Expression.of(key))

        @rule(name=st.sampled_from(("mine", "yours")))
        def keep_and_choose(self, name: str) -> None:
            workspace.keep_set(name, workspace.state.selection.target)
            workspace.set_target(workspace.state.named_sets[0])

        @rule(path=st.sampled_from(junk))
        def drop_junk(self, path: Path) -> None:
            before = workspace.state
            data = QMimeData()
            data.setUrls([QUrl.fromLocalFile(str(path))])
            plain, button = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
            window.dropEvent(QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, data, button, plain))
            settle()
            assert workspace.state == before

        @rule()
        def session_and_back(self) -> None:
            before = workspace.state
            workspace.save_session(folder / "s.calm.json")
            assert workspace.open_session(folder / "s.calm.json") is not None
            settle()
            assert workspace.state == before

        @rule()
        def results(self) -> None:
            if all(not run.running for run in window.hub.batches):
                start_run(window.hub, BatchPlan(), None)

        @rule()
        def open_bad_checkpoint(self) -> None:
            before = workspace.state
            workspace.open_checkpoint(bad)
            QApplication.processEvents()
            assert workspace.state == before

        @rule()
        def open_missing_picture(self) -> None:
            before = workspace.state
            workspace.open_pictures([folder / "gone.jpg"])
            assert workspace.state == before

        @rule(what=st.sampled_from(("panes", "single", "pair", "strip")))
        def export(self, what: str) -> None:
            dialog = ExportDialog(window.hub, Settings(None), window)
            dialog.what.setCurrentIndex(dialog.what.findData(what))
            dialog.dpi.setValue(40)
            saved = dialog.save(str(folder / "figure.png"))
            assert saved or dialog.message.text()
            dialog.deleteLater()

        @invariant()
        def everything_adds_up(self) -> None:
            settle()
            scene = window.hub.scene
            for content in scene.panes:
                shown = content.shown
                if isinstance(shown, Map):
                    assert np.isfinite(shown.values).all()
                    assert content.scale is not None
                    assert shown.check is None or shown.check.passed
                elif content.shown is None:
                    why = workspace.compute.failures, content.explanation, workspace.busy, workspace.state
                    assert content.message or content.pane.shows.key == "picture", why

        @invariant()
        def marks_are_the_set(self) -> None:
            scene, model = window.hub.scene, window.panel("classes").tree.nodes
            if scene.hierarchy is None:
                return
            for row in range(model.rowCount()):
                index = model.index(row, 0)
                node = scene.hierarchy[index.data(KEY_ROLE)]
                held = index.data(Qt.ItemDataRole.CheckStateRole)
                common = len(node.classes & scene.target)
                assert (held == Qt.CheckState.Checked) == (common == len(node.classes))
                assert (held == Qt.CheckState.Unchecked) == (common == 0)

        @invariant()
        def undo_and_redo_are_inverse(self) -> None:
            if workspace.store.can_undo:
                before = workspace.state
                workspace.store.undo()
                workspace.store.redo()
                assert workspace.state == before

    return User


def _small_checkpoints(folder: Path) -> dict[str, Path]:
    """Two runs of one network that name their classes in another order; both are called best.safetensors."""
    found = {}
    for name, classes in (("run a", ("ant", "bee", "cat")), ("run b", ("bee", "cat", "ant"))):
        (folder / name).mkdir()
        found[name] = write_tiny_checkpoint(folder / name / "best.safetensors", names=classes)
    return found


def _junk(folder: Path) -> list[Path]:
    """Files that nothing can open."""
    content = {
        "x.txt": b"words",
        "x.png": b"\x89PNG\r\n\x1a\n",
        "x.calm.json": b"{",
        "x.pth": b"<html>",
        "x.csv": b"a;b",
    }
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in content]


_ACTIONS = int(os.environ.get("CALM_ACTIONS", "2000"))
_SEED = os.environ.get("CALM_SEED")
_AT_ONCE = 50


@pytest.mark.slow
@pytest.mark.timeout(max(1200, _ACTIONS))  # five minutes for 2,000 on idle cores; other tests run beside it
def test_two_thousand_random_actions(window: MainWindow, settle: object, qtbot: QtBot, tmp_path: Path) -> None:
    window.workspace.open_pictures(sample_pictures()[:4])
    settle()
    user = machine(window, settle, tmp_path)
    run_state_machine_as_test(
        user if _SEED is None else seed(int(_SEED))(user),
        settings=settings(
            max_examples=max(_ACTIONS // _AT_ONCE, 1),
            stateful_step_count=_AT_ONCE,
            deadline=None,
            derandomize=_SEED is None,
            database=None,
            phases=[Phase.generate],  # the window keeps its state, so that shrinking would only take time
            suppress_health_check=list(HealthCheck),
        ),
    )
