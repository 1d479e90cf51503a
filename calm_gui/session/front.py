"""Who computes for somebody: what it must know and be told."""

import logging
from typing import TYPE_CHECKING, Protocol

from calm_gui.errors import CalmError
from calm_gui.model.answers import AnswersNeeded
from calm_gui.session.state import State

if TYPE_CHECKING:
    from calm_gui.session.scene import Scene

__all__ = ["Front", "error_sentence", "told_failure"]

_log = logging.getLogger(__name__)


class Front(Protocol):
    """Who computes for somebody: has the state, and hears what comes of it."""

    @property
    def state(self) -> State:
        """The state."""

    @property
    def scene(self) -> "Scene":
        """What the state shows."""

    def changed(self) -> None:
        """Something that is shown has been computed, or has failed."""

    def say(self, status: str) -> None:
        """What is being done now."""

    def complain(self, sentence: str) -> None:
        """What went wrong."""

    def ask(self, checkpoint: str, question: AnswersNeeded) -> bool:
        """A checkpoint doesn't say what it is; whether anybody can answer."""

    def show_picture(self, position: int) -> None:
        """Go to an open picture."""


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
