"""Composition root: builds the application from its parts and runs it."""

import argparse
import gc
import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, QTimer, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from calm_gui.api import resolve_checkpoint, sample_pictures
from calm_gui.errors import CalmError
from calm_gui.model.answers import Answers
from calm_gui.qt.autosave import Autosave, autosave_folder
from calm_gui.qt.hub import Hub
from calm_gui.qt.last_net import LastNet
from calm_gui.qt.log_file import log_versions, start_log
from calm_gui.qt.runner import QtRunner
from calm_gui.qt.settings import Settings, settings_path
from calm_gui.qt.theme import DARK, LIGHT, PAIRS, apply_theme, current_pair, system_prefers_dark
from calm_gui.qt.widgets.numbers import write_decimals
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.render.naming import DECIMALS
from calm_gui.session.expression import SPECIAL, Expression, shortest_expression
from calm_gui.session.workspace import Workspace
from calm_gui.version import __version__

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["build_window", "make_application", "run"]

_SCREENSHOT_TIMEOUT = 180.0
_BREATH = 1000
"""Milliseconds before imports that slow down drawing."""

_log = logging.getLogger(__name__)


def make_application(arguments: list[str] | None = None) -> QApplication:
    """The QApplication, with the style that both themes are made for."""
    application = QApplication.instance()
    if isinstance(application, QApplication):
        return application
    QLocale.setDefault(QLocale.c())  # one notation of numbers, in fields as in read-outs, figures and files
    application = QApplication([*(arguments or ["calm-gui"]), "-style", "Fusion"])
    application.setApplicationName("calm-gui")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName("calm-gui")  # by which Wayland finds the icon of `calm_gui.desktop_entry`
    font = application.font()
    if font.pointSizeF() > 0:
        font.setPointSizeF(max(9.0, min(font.pointSizeF(), 10.5)))
        application.setFont(font)
    return application


def _load(path: str, device: str, progress: Callable[[str], None], answers: Answers) -> "LoadedModel":
    """Load a checkpoint; the first call imports torch, which is why it runs on the worker."""
    progress("starting torch")
    import torch

    from calm_gui.model.device import describe_device
    from calm_gui.model.loaded import load_remembering
    from calm_gui.render import PRESENTER

    model = load_remembering(path, device, PRESENTER, progress, answers)
    if not gc.get_freeze_count():
        gc.freeze()  # torch's half a million objects live on; looking through them at a click takes a tenth of a second
    _log.info("loaded %s with torch %s on %s", Path(path).name, torch.__version__, describe_device(model.device))
    return model


def build_window(checkpoint: str = "demo", device: str = "auto", settings: Settings | None = None) -> MainWindow:
    """A window with nothing open yet."""
    make_application()
    workspace = Workspace(str(resolve_checkpoint(checkpoint).absolute()), QtRunner(), _load, device)
    hub = Hub(workspace)
    window = MainWindow(hub, settings or Settings(None))
    hub.setParent(window)
    return window


def _choose(window: MainWindow, options: argparse.Namespace) -> None:
    from calm_gui.core.lookup import resolve

    scene, workspace = window.hub.scene, window.workspace
    for text, setter in ((options.target, workspace.set_target), (options.contrast, workspace.set_contrast)):
        if text in SPECIAL:
            setter(Expression.of(text))
        elif text:
            try:
                classes = resolve(text, scene.classes, scene.hierarchy)
            except CalmError as error:
                workspace.complain(str(error))
                continue
            if scene.hierarchy is not None and text in scene.hierarchy:
                setter(Expression.of(text))
            else:
                setter(shortest_expression(classes, scene.classes, scene.hierarchy))


def run(options: argparse.Namespace) -> int:
    """Open the window that the command line asks for and run until it's closed.

    Parameters
    ----------
    options : argparse.Namespace
        Of `calm_gui.__main__.parse`.

    Returns
    -------
    int
        Exit status.
    """
    start_log()
    qInstallMessageHandler(lambda kind, context, text: _log.info("Qt: %s", text))
    application = make_application(sys.argv[:1])
    QTimer.singleShot(0, log_versions)
    settings = Settings(None if options.screenshot else settings_path())
    theme = options.theme or settings.text("theme") or ("dark" if system_prefers_dark() else "light")
    apply_theme(DARK if theme == "dark" else LIGHT, settings.text("colours"))
    write_decimals(int(settings.number("decimals", DECIMALS)))
    if letters := settings.number("letters", 0):
        font = application.font()
        font.setPointSizeF(max(7.0, min(letters, 24.0)))
        application.setFont(font)
    window = build_window(options.checkpoint, options.device, settings)
    sys.excepthook = LastNet(window)
    ended_by: list[int] = []

    def end(number: int, _: object) -> None:
        ended_by.append(number)
        window.close()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    keep_python_awake = QTimer()  # so that Ctrl-C is noticed while Qt waits
    keep_python_awake.start(300)
    keep_python_awake.timeout.connect(lambda: None)
    status = (
        _screenshot(application, window, options)
        if options.screenshot
        else _live(application, window, options, settings)
    )
    keep_python_awake.stop()
    sys.excepthook = sys.__excepthook__
    for number, handler in before.items():
        signal.signal(number, handler)
    return 128 + ended_by[0] if ended_by else status


def _keep_explanations(window: MainWindow, settings: Settings) -> None:
    """Find explanations of earlier days on disk, and keep new ones, as the settings say."""
    from calm_gui.session.explanation_files import MOST_MEGABYTES, ExplanationFiles, explanation_folder

    most = settings.number("cache megabytes", MOST_MEGABYTES)
    window.workspace.compute.later = lambda call: QTimer.singleShot(_BREATH, window, call)
    window.workspace.compute.disk.files = ExplanationFiles(explanation_folder(), int(1e6 * most))


def _live(application: QApplication, window: MainWindow, options: argparse.Namespace, settings: Settings) -> int:
    """Show the window until the user closes it."""
    window.restore()
    window.workspace.update_view(undoable=False, diverging=PAIRS[current_pair()].diverging)
    window.hub.fades = True
    window.show()
    _keep_explanations(window, settings)
    if settings.note:
        window.workspace.complain(settings.note)
    autosave = Autosave(window.workspace, autosave_folder(), window)
    QTimer.singleShot(0, lambda: _begin(window, options, autosave))
    status = application.exec()
    window.workspace.close()
    autosave.finish()
    return status


def _begin(window: MainWindow, options: argparse.Namespace, autosave: Autosave) -> None:
    """Open what the command line asks for; else offer the sessions of programs that didn't end well."""
    from calm_gui.session.named_sets import keep_named_sets, named_sets_path

    keep_named_sets(window.workspace, named_sets_path())
    if not options.pictures and (left := autosave.left_over()):
        from calm_gui.qt.dialogs.left_over_dialog import ask_about_left_over

        if ask_about_left_over(window, autosave, left):
            autosave.start()
            return
    told = window.messages.text.text() if not window.messages.isHidden() else ""
    _first_pictures(window, options)
    if told:  # opening takes back what the last opening said
        window.messages.say(told)
    autosave.start()


def _first_pictures(window: MainWindow, options: argparse.Namespace) -> None:
    if options.pictures:
        window.files.open([str(path) for path in options.pictures])
    else:
        window.workspace.open_pictures(sample_pictures())
    _choose(window, options)


def _screenshot(application: QApplication, window: MainWindow, options: argparse.Namespace) -> int:
    """Show, explain, save a picture of the window; 1 if the picture couldn't be explained or saved."""
    complaints: list[str] = []
    window.workspace.on_complaint(lambda sentence: complaints.append(sentence) if sentence else None)
    window.workspace.on_question(lambda _, question: complaints.append(str(question)))
    try:
        width, height = (int(side) for side in options.size.lower().split("x"))
    except ValueError:
        print(f"calm-gui: --size must look like 1440x900, not {options.size}", file=sys.stderr)
        return 2
    window.resize(width, height)
    window.show()
    _first_pictures(window, options)
    end = time.monotonic() + _SCREENSHOT_TIMEOUT
    while window.workspace.busy and time.monotonic() < end:
        application.processEvents()
        time.sleep(0.01)
    for _ in range(50):  # layouts settle, thumbnails appear
        application.processEvents()
        time.sleep(0.005)
    saved = window.grab().save(options.screenshot)
    window.close()
    for sentence in complaints:
        print(f"calm-gui: {sentence}", file=sys.stderr)
    if not saved:
        print(
            f"calm-gui: {options.screenshot} can't be written; is the folder there and the ending .png?",
            file=sys.stderr,
        )
    return 0 if saved and not complaints else 1
