"""Drives the program through its widgets, as a person does, and prints what it saw as JSON.

Usage: python drive_window.py PICTURE OUT_PNG [--screenshot FILE]
"""

import json
import sys
import time

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import calm_gui
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.classes.hierarchy_model import KEY_ROLE, NAME
from calm_gui.qt.classes.row_painter import letter_areas, name_area
from calm_gui.qt.dialogs.export_dialog import ExportDialog
from calm_gui.qt.settings import Settings
from calm_gui.qt.theme import LIGHT, apply_theme


def wait_until(condition, seconds: float = 120.0) -> None:
    """Let the window live until a condition holds; QTest's own waiting keeps the worker from running."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("timed out")
        QApplication.processEvents()
        time.sleep(0.01)


def pause(seconds: float) -> None:
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end)


def find(view, key: str) -> QModelIndex:
    for place in view.nodes.places(key):
        return place
    raise SystemExit(f"{key} isn't in the tree")


def click_node(window, text: str, key: str, offer_b: bool = False) -> None:
    field, tree = window.panel("classes").search, window.panel("classes").tree
    field.clear()
    QTest.keyClicks(field, text)
    pause(0.2)
    index = find(tree, key)
    tree.scrollTo(index)
    pause(0.05)
    rect = tree.visualRect(index.siblingAtColumn(NAME))
    assert index.data(KEY_ROLE) == key
    QTest.mouseClick(
        tree.viewport(),
        Qt.MouseButton.LeftButton,
        pos=name_area(rect).center()
        if not offer_b
        else letter_areas(tree.header().sectionSize(NAME), rect)["B"].center(),
    )
    pause(0.05)


def main(picture: str, out: str) -> None:
    application = make_application()
    apply_theme(LIGHT)
    window = build_window("demo", "cpu", Settings(None))
    window.resize(1280, 820)
    window.show()
    QTest.qWaitForWindowExposed(window)
    window.workspace.open_pictures([picture])
    wait_until(lambda: not window.workspace.busy)
    click_node(window, "canine", "n02083346")
    click_node(window, "tabby", "n02123045", offer_b=True)
    scene = window.hub.scene
    counterfactual = next(c for c in scene.panes if c.pane.shows.key == "counterfactual")
    dialog = ExportDialog(window.hub, Settings(None), window)
    dialog.what.setCurrentIndex(dialog.what.findData("single"))
    dialog.boxes["titles"].setChecked(False)
    dialog.boxes["colour_bar"].setChecked(False)
    dialog.dpi.setValue(100)
    saved = dialog.save(out)
    print(
        json.dumps(
            {
                "package": calm_gui.__file__,
                "platform": application.platformName(),
                "target": list(scene.target),
                "contrast": list(scene.contrast),
                "sum": scene.active.shown.sum,
                "counterfactual_sum": counterfactual.shown.sum,
                "checks": [c.shown.check.passed for c in scene.panes],
                "ledger": window.ledger.sentence,
                "saved": saved,
                "message": dialog.message.text(),
            }
        )
    )
    window.close()
    application.processEvents()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
