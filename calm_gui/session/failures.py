"""What failed, in a sentence, whatever was raised."""

import logging

from calm_gui.errors import CalmError

__all__ = ["error_sentence", "told_failure"]

_log = logging.getLogger(__name__)


def error_sentence(error: Exception) -> str:
    """What went wrong, in one sentence, whatever was raised."""
    if isinstance(error, CalmError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there isn't enough memory; close other programs or use a smaller picture"
    words = " ".join(str(error).split())[:300]  # a library's message may have many lines
    return f"something unexpected failed ({type(error).__name__}: {words}); the log file has the details"


def told_failure(error: Exception) -> str:
    """`error_sentence`, with the details of what nobody foresaw in the log."""
    if not isinstance(error, CalmError):
        _log.error("unexpected failure", exc_info=error)
    return error_sentence(error)
