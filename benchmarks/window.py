"""Clicks in the real window, from the action to painted pixels."""

import os
import random
import time
from collections.abc import Callable

from benchmarks.timing import Row, Times

__all__ = ["WindowBench", "window_rows"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


class WindowBench:
    """A window with the demo checkpoint and one explained picture, whose panes cover 1024 x 768 pixels."""

    def __init__(self) -> None:
        from calm_gui.api import sample_pictures
        from calm_gui.qt.app import build_window, make_application
        from calm_gui.qt.settings import Settings
        from calm_gui.qt.theme import LIGHT, apply_theme

        self.application = make_application()
        apply_theme(LIGHT)
        self.window = build_window("demo", "cpu", Settings(None))
        self.window.resize(1680, 1120)
        self.window.show()
        self.window.workspace.open_pictures(sample_pictures()[:2])
        end = time.monotonic() + 180
        while (self.window.workspace.busy or time.monotonic() < end - 175) and time.monotonic() < end:
            self.application.processEvents()
            time.sleep(0.01)

    def paint(self) -> None:
        """Let all that is pending be painted."""
        self.application.sendPostedEvents()
        self.application.processEvents()

    def measure(self, action: Callable[[object], object], values: list) -> Times:
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

    from calm_gui.session.expression import Expression
    from calm_gui.session.state import Pane, Threshold, default_panes

    bench = WindowBench()
    workspace = bench.window.workspace
    hierarchy = workspace.scene.hierarchy
    assert hierarchy is not None
    nodes = random.Random(0).sample(sorted(hierarchy), 205)
    rows = []

    def click(key: object) -> None:
        workspace.set_target(Expression.of(str(key)))

    bench.window.strip.hide()
    workspace.set_panes([Pane("attribution")])
    bench.paint()
    one = bench.measure(click, nodes)
    rows.append(Row("click to pixels, one pane, median", one.median, "ms", 6))
    rows.append(Row("click to pixels, one pane, 95th percentile", one.p95, "ms", 10))
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
    bench.window.strip.show()
    workspace.set_panes(default_panes())
    bench.paint()
    rows.append(Row("click to pixels, four panes and strip, median", bench.measure(click, nodes).median, "ms", 16))
    canvas = bench.window.panes.panes[0].canvas
    canvas.zoom_by(1.0, QPointF(1, 1))

    def next_picture(position: object) -> None:
        workspace.show_picture(int(str(position)))

    rows.append(Row("next picture, computed ahead", bench.measure(next_picture, [0, 1] * 12).median, "ms", 50))
    bench.close()
    return rows


def scaled_click() -> float:
    """Median of a click with one pane at 200 %; for a process of its own with QT_SCALE_FACTOR=2."""
    from calm_gui.session.expression import Expression
    from calm_gui.session.state import Pane

    bench = WindowBench()
    workspace = bench.window.workspace
    assert workspace.scene.hierarchy is not None
    bench.window.strip.hide()
    workspace.set_panes([Pane("attribution")])
    nodes = random.Random(0).sample(sorted(workspace.scene.hierarchy), 105)
    median = bench.measure(lambda key: workspace.set_target(Expression.of(str(key))), nodes).median
    bench.close()
    return median
