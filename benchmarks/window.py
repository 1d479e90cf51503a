"""Clicks in the real window, from the action to painted pixels."""

import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.timing import Row, Times

__all__ = ["WindowBench", "large_rows", "window_rows"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


class WindowBench:
    """A window with a checkpoint and one explained picture, whose panes cover 1024 x 768 pixels."""

    def __init__(self, checkpoint: str = "demo") -> None:
        from calm_gui.api import sample_pictures
        from calm_gui.qt.app import build_window, make_application
        from calm_gui.qt.runner import QtRunner
        from calm_gui.qt.settings import Settings
        from calm_gui.qt.theme import LIGHT, apply_theme

        self.application = make_application()
        apply_theme(LIGHT)
        self.window = build_window(checkpoint, "cpu", Settings(None))
        self.window.resize(1680, 1120)
        self.window.show()
        self.window.workspace.open_pictures(sample_pictures()[:2])
        runner, end = self.window.workspace.compute.runner, time.monotonic() + 180
        assert isinstance(runner, QtRunner)
        # Until both pictures are explained and what may be wanted next is imported; then torch's threads come to rest.
        while not runner.idle and time.monotonic() < end:
            self.application.processEvents()
            time.sleep(0.01)
        time.sleep(1)

    def paint(self) -> None:
        """Let all that is pending be painted."""
        self.application.sendPostedEvents()
        self.application.processEvents()

    def click(self, key: object) -> None:
        """Make a node or class the target."""
        from calm_gui.session.expression import Expression

        self.window.workspace.set_target(Expression.of(str(key)))

    def measure(self, action: Callable[[object], object], values: Sequence[object]) -> Times:
        """Milliseconds of an action with each of the values, until it is painted."""
        for value in values[:5]:
            action(value)
            self.paint()
        found = []
        for value in values[5:]:
            start = time.perf_counter()
            action(value)
            self.paint()
            found.append((time.perf_counter() - start) * 1000)
        return Times(tuple(found))

    def close(self) -> None:
        """End the worker."""
        self.window.close()


def window_rows() -> list[Row]:
    """Clicks with one and four panes, and the small actions."""
    from PySide6.QtCore import QPointF

    from calm_gui.session.limits import Limits
    from calm_gui.session.pane import Pane, default_panes
    from calm_gui.session.state import Threshold

    bench = WindowBench()
    workspace = bench.window.workspace
    hierarchy = workspace.scene.hierarchy
    assert hierarchy is not None
    nodes = random.Random(0).sample(sorted(hierarchy), 205)
    rows = []

    bench.window.docks.fold("ladder")
    workspace.set_panes([Pane.of("attribution")])
    bench.paint()
    one = bench.measure(bench.click, nodes)
    rows.append(Row("click to pixels, one pane, median", one.median, "ms", 8))
    rows.append(Row("click to pixels, one pane, 95th percentile", one.p95, "ms", 12))
    for name, action, values in (
        ("opacity", lambda v: workspace.update_view(undoable=False, opacity=v), [i / 60 for i in range(60)]),
        (
            "threshold",
            lambda v: workspace.update_view(undoable=False, threshold=Threshold("mass", v)),
            [0.3 + i / 100 for i in range(60)],
        ),
        (
            "colour map",
            lambda v: workspace.update_view(undoable=False, sequential=("inferno", "viridis")[v % 2]),
            list(range(60)),
        ),
        ("hover", lambda v: bench.window.hub.hovered.emit((v, v)), [float(i * 4) for i in range(60)]),
    ):
        rows.append(Row(f"{name}, 95th percentile", bench.measure(action, values).p95, "ms", 8))
    workspace.update_view(undoable=False, threshold=Threshold())
    bench.window.docks.open("ladder", keep=True)
    workspace.set_panes(default_panes())
    bench.paint()
    four = bench.measure(bench.click, nodes)
    rows.append(Row("click to pixels, four panes and ladder, median", four.median, "ms", 8))
    rows.append(Row("click to pixels, four panes and ladder, 95th percentile", four.p95, "ms", 12))
    picture = workspace.state.picture

    def drag(high: object) -> None:
        limits = Limits("joint", 0.0, float(str(high)), 0.0, picture)
        workspace.set_limits("joint", limits, undoable=False)

    dragged = bench.measure(drag, [0.005 + i / 6000 for i in range(60)])
    rows.append(Row("limit dragged, four panes, 95th percentile", dragged.p95, "ms", 1000 / 60))
    workspace.set_limits("joint", None, undoable=False)
    canvas = bench.window.panes.panes[0].canvas
    canvas.zoom_by(1.0, QPointF(1, 1))

    def next_picture(position: object) -> None:
        workspace.show_picture(int(str(position)))

    rows.append(Row("next picture, computed ahead", bench.measure(next_picture, [0, 1] * 12).median, "ms", 50))
    bench.close()
    return rows


def large_rows() -> list[Row]:
    """Clicks with an input of 448 x 448 (56 x 56 cells) over the same clicks with the demo checkpoint's 224 x 224."""
    from calm_gui.api import load_checkpoint
    from calm_gui.model.checkpoint import save_checkpoint
    from calm_gui.session.pane import Pane, default_panes

    demo = load_checkpoint("demo", device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.safetensors"
        # Another stride has the same weights, so the file is sound; what it predicts doesn't matter here.
        save_checkpoint(
            path, demo.network, replace(demo.info, output_stride=8, input=replace(demo.info.input, size=448))
        )
        benches = [WindowBench(str(path)), WindowBench()]
    explanation = benches[0].window.hub.scene.explanation
    assert explanation is not None and explanation.f.shape[1:] == (56, 56)
    nodes = random.Random(0).sample(sorted(explanation.hierarchy or ()), 105)
    rows = []
    for name, panes in (("one pane", (Pane.of("attribution"),)), ("four panes and strip", default_panes())):
        times = []
        for bench in benches:
            bench.window.docks.show("ladder", len(panes) > 1)
            bench.window.workspace.set_panes(panes)
            bench.paint()
            times.append(bench.measure(bench.click, nodes))
        note = f"{times[0].median:.1f} / {times[1].median:.1f} ms"
        rows.append(Row(f"click, {name}: 448 over 224", times[0].median / times[1].median, "times", 2, True, note))
    for bench in benches:
        bench.close()
    return rows


def scaled_click() -> float:
    """Median of a click with one pane at 200 %; for a process of its own with QT_SCALE_FACTOR=2."""
    from calm_gui.session.pane import Pane

    bench = WindowBench()
    workspace = bench.window.workspace
    assert workspace.scene.hierarchy is not None
    bench.window.docks.fold("ladder")
    workspace.set_panes([Pane.of("attribution")])
    nodes = random.Random(0).sample(sorted(workspace.scene.hierarchy), 105)
    median = bench.measure(bench.click, nodes).median
    bench.close()
    return median
