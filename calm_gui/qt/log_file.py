"""The window's log, from its start to its end."""

import logging
import platform

from PySide6.QtCore import qVersion

from calm_gui.log_file import log_handler
from calm_gui.version import __version__

__all__ = ["log_versions", "start_log"]


def start_log() -> None:
    """Write what the program does to the log from now on; where that can't be, nowhere."""
    try:
        handler = log_handler()
    except OSError:
        handler = logging.NullHandler()  # a program that can't log can still explain
    logger = logging.getLogger("calm_gui")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def log_versions() -> None:
    """Write down what the program runs on; finding that out takes longer than the start can spare."""
    logging.getLogger("calm_gui").info(
        "calm-gui %s, Python %s, Qt %s, %s", __version__, platform.python_version(), qVersion(), platform.platform()
    )
