"""The log: versions, device, failures; no picture contents."""

import logging
import platform
from contextlib import suppress
from pathlib import Path

import platformdirs
from PySide6.QtCore import qVersion

from calm_gui import __version__

__all__ = ["log_path", "log_versions", "start_log"]

_MOST_BYTES = 1_000_000
"""A log larger than this is put aside at the next start; the one that was put aside before is lost."""


def log_path() -> Path:
    """Where the log is kept."""
    return Path(platformdirs.user_log_dir("calm-gui", appauthor=False)) / "calm-gui.log"


def start_log() -> None:
    """Write what the program does to `log_path` from now on; where that can't be, nowhere."""
    handler: logging.Handler
    try:
        log_path().parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # then it goes on growing
            if log_path().stat().st_size > _MOST_BYTES:
                log_path().replace(log_path().with_suffix(".log.1"))
        handler = logging.FileHandler(log_path(), encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()  # a program that can't log can still explain
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("calm_gui")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def log_versions() -> None:
    """Write down what the program runs on; finding that out takes longer than the start can spare."""
    logging.getLogger("calm_gui").info(
        "calm-gui %s, Python %s, Qt %s, %s", __version__, platform.python_version(), qVersion(), platform.platform()
    )
