"""Draws the pictures of README and guide with the program itself: ``make figures``."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PIL import Image
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from calm_gui.api import sample_pictures
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.dialogs.annotation_dialog import AnnotationDialog
from calm_gui.qt.dialogs.batch_dialog import start_run
from calm_gui.qt.dialogs.checkpoint_dialog import CheckpointDialog
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.dialogs.keys_dialog import KeysDialog
from calm_gui.qt.dialogs.settings_dialog import SettingsDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import DARK, LIGHT, Theme, apply_theme
from calm_gui.qt.window.layouts import LAYOUTS
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.batch import BatchPlan
from calm_gui.session.expression import Expression
from calm_gui.session.pane import Pane
from calm_gui.session.request import Request
from calm_gui.session.state import Threshold

OUT = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZE = (1360, 860)
LAPTOP = (1024, 743)
"""1024 x 768 without the title bar."""

SCALED = "window-200"
"""Drawn at 200 %, in a process of its own."""

CANINE, CAT, DOG, SALUKI = "n02083346", "n02121808", "n02084071", "n02091831"


def settle(window: MainWindow) -> None:
    """Let the window finish what it's doing."""
    end = time.monotonic() + 180
    while window.workspace.busy and time.monotonic() < end:
        QApplication.processEvents()
        time.sleep(0.01)
    for _ in range(40):
        QApplication.processEvents()
        time.sleep(0.005)


def save(widget: QWidget, name: str, to: Path = OUT) -> None:
    """Save a widget in full colour; a palette would turn the maps' even colours into steps."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    width, height = image.width(), image.height()
    rows = Image.frombuffer("RGB", (width, height), bytes(image.constBits()), "raw", "RGB", image.bytesPerLine(), 1)
    to.mkdir(parents=True, exist_ok=True)
    rows.save(to / f"{name}.webp", quality=85, use_sharp_yuv=True, method=6)
    (to / f"{name}.png").unlink(missing_ok=True)  # of earlier versions
    print(name)


def fresh(theme: Theme = LIGHT, size: tuple[int, int] = SIZE) -> MainWindow:
    """A window with the sample pictures, the first one explained."""
    apply_theme(theme)
    window = build_window("demo", "cpu", Settings(None))
    window.resize(*size)
    window.show()
    window.workspace.open_pictures(sample_pictures())
    settle(window)
    return window


def main_view(window: MainWindow) -> None:
    window.workspace.set_contrast(Expression.of(SALUKI))


def search(window: MainWindow) -> None:
    window.panel("classes").search.setText("crane")
    window.panel("classes").apply_search()
    window.docks.open("view")


def sets(window: MainWindow) -> None:
    window.workspace.set_target(Expression.of(CANINE).excluding("n02087122"))
    window.workspace.set_contrast(Expression.of("@siblings"))


def figure_1(window: MainWindow) -> None:
    window.workspace.set_panes(LAYOUTS["Figure 1: A, B, A − B"](window.workspace))


def figure_3(window: MainWindow) -> None:
    window.workspace.set_target(Expression.of("@predicted"))
    window.workspace.set_panes(LAYOUTS["Figure 3: all readings"](window.workspace))


def winner(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("winner"), Pane.of("saliency")])
    window.workspace.update_view(depth=9)


def threshold(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution", "superset"), Pane.of("attribution")])
    window.workspace.update_view(threshold=Threshold("mass", 0.9), boxes=True, mask=True)


def region(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution")])
    window.workspace.add_region("box", ((60, 90), (150, 210)))
    window.docks.open("regions")


def logarithmic(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution"), Pane.of("attribution", "contrast")])
    window.workspace.update_view(spacing="log", relative=True)


def pictures(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution")])
    window.workspace.set_panes(LAYOUTS["Pictures side by side"](window.workspace))


def checkpoints(window: MainWindow) -> None:
    window.workspace.set_panes(LAYOUTS["Checkpoints side by side"](window.workspace))


def methods(window: MainWindow) -> None:
    window.workspace.set_target(Expression.of(DOG))
    window.workspace.set_panes([Pane.of("attribution"), Pane.of("method:grad_cam"), Pane.of("method:gradient")])


def plot(window: MainWindow) -> None:
    window.workspace.set_panes([Pane.of("attribution"), Pane.of("saliency")])
    window.docks.open("ladder")
    window.panel("ladder").plotted.setChecked(True)
    window.panel("ladder").own.setChecked(True)


def results(window: MainWindow) -> None:
    start_run(window.hub, BatchPlan(Request(targets=("@predicted",))), None)
    while window.hub.batches[-1].running:
        QApplication.processEvents()
        time.sleep(0.01)
    window.panel("results").show_row(2)


SCENES: dict[str, Callable[[MainWindow], None]] = {
    "window": main_view,
    "search": search,
    "sets": sets,
    "figure-1": figure_1,
    "figure-3": figure_3,
    "winner": winner,
    "threshold": threshold,
    "region": region,
    "scale": logarithmic,
    "pictures": pictures,
    "checkpoints": checkpoints,
    "methods": methods,
    "strip": plot,
    "results": results,
    "window-1024": main_view,
    SCALED: main_view,
}

DIALOGS: dict[str, Callable[[MainWindow], QWidget]] = {
    "annotate": lambda window: AnnotationDialog(window.hub, Settings(None), from_table=False, parent=window),
    "checkpoint": lambda window: CheckpointDialog(window.hub, window),
    "keys": lambda window: KeysDialog(window.actions_by_name, Settings(None), window),
    "export": lambda window: ExportDialog(window.hub, Settings(None), window),
    "settings": lambda window: SettingsDialog(window.hub, Settings(None), window),
}


def main(names: list[str]) -> int:
    """Draw the named pictures, or all."""
    make_application()
    wanted = names or [*SCENES, "window-dark", *DIALOGS]
    unknown = [name for name in wanted if name not in (*SCENES, "window-dark", *DIALOGS)]
    if unknown:
        print(f"unknown pictures: {', '.join(unknown)}", file=sys.stderr)
        return 2
    for name in wanted:
        if name == SCALED and "QT_SCALE_FACTOR" not in os.environ:
            environment = {**os.environ, "QT_SCALE_FACTOR": "2"}
            subprocess.run([sys.executable, __file__, name], env=environment, check=True)
            continue
        size = LAPTOP if name in (SCALED, "window-1024") else SIZE
        window = fresh(DARK if name.endswith("dark") else LIGHT, size)
        if name in DIALOGS:
            dialog = DIALOGS[name](window)
            dialog.show()
            if isinstance(dialog, ExportDialog):
                dialog.show_preview()
            settle(window)
            save(dialog, name)
        else:
            SCENES[name.removesuffix("-dark")](window)
            settle(window)
            save(window, name)
        window.close()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pictures to draw; all by default")
    sys.exit(main(parser.parse_args().names))
