"""Start-up and memory, each in processes of their own."""

import compileall
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import Row, process_seconds

__all__ = ["start_rows"]

_BARE_WINDOW = """
import os
os.environ["QT_QPA_PLATFORM"] = "offscreen"
import numpy, PIL.Image
from PySide6.QtWidgets import QApplication, QMainWindow
a = QApplication([]); w = QMainWindow(); w.resize(1440, 900); w.show(); a.processEvents()
os._exit(0)
"""

_OUR_WINDOW = """
import os
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.theme import LIGHT, apply_theme
a = make_application(); apply_theme(LIGHT)
w = build_window("demo", "cpu"); w.show(); a.processEvents()
assert w.panel("classes").tree.nodes.rowCount()
os._exit(0)
"""

_OUR_PICTURE = """
import os, sys, time
started = float(sys.argv[1])
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from calm_gui.api import sample_pictures
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.theme import LIGHT, apply_theme
a = make_application(); apply_theme(LIGHT)
w = build_window("demo", "cpu"); w.show(); a.processEvents()
frame = time.perf_counter() - started
canvas = w.panes.panes[0].canvas
place = canvas.mapTo(w, canvas.rect().center())
def colour():
    return w.screen().grabWindow(w.winId(), place.x() - 30, place.y() - 60, 1, 1).toImage().pixel(0, 0)
ground = colour()
w.workspace.open_pictures(sample_pictures())
while colour() == ground:
    a.processEvents()
print((time.perf_counter() - started) / frame, flush=True)
os._exit(0)
"""

_BARE_FORWARD = """
import os, torch, timm, safetensors.torch
from calm_gui.api import bundled_checkpoints
t = safetensors.torch.load_file(str(bundled_checkpoints()["demo"]))
m = timm.create_model("tf_efficientnet_lite0", num_classes=0, global_pool="", output_stride=STRIDE).eval()
m.load_state_dict({k.removeprefix("backbone.trunk."): v.float() for k, v in t.items() if "trunk" in k}, strict=False)
with torch.inference_mode():
    m.forward_features(torch.zeros(1, 3, 224, 224).contiguous(memory_format=torch.channels_last))
"""

_OUR_FORWARD = """
import os
import calm_gui
calm_gui.load_checkpoint("demo", device="cpu").explain(calm_gui.sample_pictures()[0]).top(1)
os._exit(0)
"""

_MEMORY = """
print(int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024)
os._exit(0)
"""

_OUR_WINDOW_EXPLAINED = """
import os, time
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from calm_gui.api import sample_pictures
from calm_gui.qt.app import build_window, make_application
from calm_gui.qt.theme import LIGHT, apply_theme
a = make_application(); apply_theme(LIGHT)
w = build_window("demo", "cpu"); w.show()
w.workspace.open_pictures(sample_pictures()[:1])
while w.workspace.busy:
    a.processEvents(); time.sleep(0.01)
a.processEvents()
"""


def _ratio(ours: str, theirs: str, repeat: int) -> float:
    ratios = sorted(process_seconds(ours) / process_seconds(theirs) for _ in range(repeat))
    return ratios[len(ratios) // 2]


def _picture_over_frame(repeat: int) -> float:
    def once() -> float:
        command = [sys.executable, "-c", _OUR_PICTURE, str(time.perf_counter())]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return statistics.median(once() for _ in range(repeat))


def _resident(code: str) -> float:
    ran = subprocess.run([sys.executable, "-c", code + _MEMORY], check=True, capture_output=True, text=True)
    return float(ran.stdout.split()[-1]) / 1024


def start_rows(repeat: int = 9) -> list[Row]:
    """First frame, first picture, first explanation, resident memory.

    Our bytecode is written first, as pip writes it for the libraries that ours is measured against.
    """
    import calm_gui
    import calm_resources
    from calm_gui.api import bundled_checkpoints
    from calm_gui.model.info import read_info

    for package in (calm_gui, calm_resources):
        compileall.compile_dir(Path(str(package.__file__)).parent, quiet=1)
    stride = str(read_info(bundled_checkpoints()["demo"]).output_stride)
    bare = _BARE_FORWARD.replace("STRIDE", stride)
    with_qt = "import os, PySide6.QtWidgets\n" + bare
    first = _ratio(_OUR_FORWARD, bare + "os._exit(0)", repeat)
    ours, theirs = _resident(_OUR_WINDOW_EXPLAINED), _resident(with_qt)
    return [
        Row("first frame against a bare window", _ratio(_OUR_WINDOW, _BARE_WINDOW, repeat), "times", 2.0),
        Row("picture seen against the first frame", _picture_over_frame(repeat), "times", 1.1),
        Row("first explanation against the bare steps", first, "times", 1.10),
        Row("memory against the bare steps", ours / theirs, "times", 1.15, True, f"{ours:.0f} / {theirs:.0f} MiB"),
    ]
