"""Speed that must not be lost unnoticed: a click against matrix products of fixed size in the same run."""

import random
import statistics
import time
from collections.abc import Callable

import numpy as np
from PySide6.QtWidgets import QApplication

from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane

REFERENCE = 1.7
"""Click over matrix products, CPU time of this thread: median on two cores when this was written."""


def cpu_ms(action: Callable[[], object]) -> float:
    start = time.thread_time()
    action()
    return (time.thread_time() - start) * 1000


def test_a_click_costs_at_most_twice_its_reference(window: MainWindow) -> None:
    workspace = window.workspace
    window.resize(1680, 1120)
    window.docks.fold("ladder")
    workspace.set_panes([Pane.of("attribution")])
    QApplication.processEvents()
    matrices = np.random.default_rng(0).normal(size=(1000, 40, 40))  # too small for BLAS to use several threads
    nodes = random.Random(0).sample(sorted(workspace.scene.hierarchy or ()), 120)

    def click(key: str) -> None:
        workspace.set_target(Expression.of(key))
        QApplication.sendPostedEvents()
        QApplication.processEvents()

    for key in nodes[:20]:
        click(key)
    ratios = []
    for start in range(20, 120, 10):
        product = statistics.median(cpu_ms(lambda: matrices @ matrices) for _ in range(9))
        clicks = statistics.median(cpu_ms(lambda key=key: click(key)) for key in nodes[start : start + 10])
        ratios.append(clicks / product)
    window.docks.open("ladder", keep=True)
    window.resize(1280, 820)
    assert statistics.median(ratios) < 2 * REFERENCE, ratios
