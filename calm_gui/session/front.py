"""Who computes for somebody: what it must know and be told."""

from typing import Protocol

from calm_gui.model.answers import AnswersNeeded
from calm_gui.session.scene import Scene
from calm_gui.session.state import State

__all__ = ["Front"]


class Front(Protocol):
    """Who computes for somebody: has the state, and hears what comes of it."""

    @property
    def state(self) -> State:
        """The state."""

    @property
    def scene(self) -> Scene:
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
