"""What actions stand on: the state, what it shows, and the store that swaps it."""

from calm_gui.session.scene import Scene
from calm_gui.session.state import State
from calm_gui.session.store import Store

__all__ = ["Intents"]


class Intents:
    """Base of the groups of actions; the workspace is all of them together.

    Attributes
    ----------
    store : Store
    """

    store: Store

    @property
    def state(self) -> State:
        """The state."""
        return self.store.state

    @property
    def scene(self) -> Scene:
        """What the state shows."""
        raise NotImplementedError

    def say(self, status: str) -> None:
        """Tell what is going on."""
        raise NotImplementedError

    def complain(self, sentence: str) -> None:
        """Tell that something went wrong."""
        raise NotImplementedError

    def changed(self) -> None:
        """Tell listeners that what is shown has changed."""
        raise NotImplementedError
