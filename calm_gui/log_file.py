"""The log of window and commands: versions, device, failures; no picture contents."""

import logging
from contextlib import suppress
from pathlib import Path

import platformdirs

__all__ = ["log_handler", "log_path"]

_MOST_BYTES = 1_000_000
"""A log larger than this is put aside at the next start; the one that was put aside before is lost."""


def log_path() -> Path:
    """Where the log is kept."""
    return Path(platformdirs.user_log_dir("calm-gui", appauthor=False)) / "calm-gui.log"


def log_handler() -> logging.Handler:
    """What writes log records to `log_path`.

    Raises
    ------
    OSError
        If nothing can be written there.
    """
    log_path().parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # then it goes on growing
        if log_path().stat().st_size > _MOST_BYTES:
            log_path().replace(log_path().with_suffix(".log.1"))
    handler = logging.FileHandler(log_path(), encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler
