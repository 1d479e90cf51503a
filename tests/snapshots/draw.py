"""Draws parts of the real window: ``python tests/snapshots/draw.py FOLDER``; QT_SCALE_FACTOR sets the scale."""

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication, QWidget

from calm_gui.api import sample_pictures
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import DARK, LIGHT, apply_theme
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane
from calm_gui.session.state import Threshold


def settle(window: MainWindow) -> None:
    """Let the window finish what it's doing."""
    while window.workspace.busy:
        QApplication.processEvents()
        time.sleep(0.01)
    for _ in range(20):
        QApplication.processEvents()


def parts(window: MainWindow) -> dict[str, QWidget]:
    """Widgets of the window as it stands, by the names of their snapshots."""
    return {
        "tree": window.panel("classes").tree,
        "question": window.question,
        "ladder": window.panel("ladder"),
        "ledger": window.ledger,
        "scales": window.scales,
        "attribution": window.panes.panes[0],
        "counterfactual": window.panes.panes[1],
    }


def draw(folder: Path) -> None:
    """Save eleven parts as PNG."""
    make_application()
    apply_theme(LIGHT)
    window = build_window("demo", "cpu", Settings(None))
    window.resize(1280, 800)
    window.show()
    window.workspace.open_pictures(sample_pictures()[:1])
    settle(window)
    workspace = window.workspace
    workspace.set_target(Expression.of("n02083346"))
    workspace.set_contrast(Expression.of("n02123045"))
    workspace.set_panes([Pane.of("attribution"), Pane.of("counterfactual")])
    workspace.update_view(threshold=Threshold("mass", 0.9))
    settle(window)
    for name, widget in parts(window).items():
        widget.grab().save(str(folder / f"{name}.png"))
    window.docks.open("view")
    settle(window)
    window.panel("view").grab().save(str(folder / "view.png"))
    workspace.set_panes([Pane.of("winner"), Pane.of("saliency")])
    workspace.update_view(depth=9, spacing="log", threshold=Threshold())
    settle(window)
    window.panes.panes[0].grab().save(str(folder / "winner.png"))
    window.panes.panes[1].grab().save(str(folder / "logarithmic.png"))
    apply_theme(DARK)
    window.hub.scene_changed.emit(window.hub.scene)
    settle(window)
    window.panel("view").grab().save(str(folder / "view-dark.png"))
    window.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
