"""The store: one state, swapped once per user action, with undo."""

from collections.abc import Callable
from typing import Any, NamedTuple

from calm_gui.session.pane import Pane
from calm_gui.session.state import Selection, State, View

__all__ = ["Store"]

_HISTORY = 200


class _Snapshot(NamedTuple):
    """What undo restores together."""

    selection: Selection
    view: View
    panes: tuple[Pane, ...]
    active: int
    regions: tuple[Any, ...]
    named_sets: tuple[Any, ...]


class Store:
    """Holds the state and tells observers of each change as (old, new).

    Parameters
    ----------
    state : State

    Attributes
    ----------
    state : State
        Read it; change it by `update` alone.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._undo: list[_Snapshot] = []
        self._redo: list[_Snapshot] = []
        self._observers: list[Callable[[State, State], None]] = []

    def observe(self, observer: Callable[[State, State], None]) -> None:
        """Tell `observer` of every change from now on."""
        self._observers.append(observer)

    def update(self, undoable: bool = True, **changes: Any) -> None:
        """Swap the state for one with `changes`.

        Parameters
        ----------
        undoable : bool
            Whether undo should come back to the state before. Movements that come in streams (zoom, opacity while
            it's dragged) and loading aren't.
        **changes
            Attributes of `State`.
        """
        new = self.state._replace(**changes)
        if new == self.state:
            return
        if undoable and _snapshot(new) != _snapshot(self.state):
            self._undo = [*self._undo[-_HISTORY + 1 :], _snapshot(self.state)]
            self._redo.clear()
        self._swap(new)

    def reset(self, state: State) -> None:
        """Swap everything, and forget the history."""
        self._undo.clear()
        self._redo.clear()
        self._swap(state)

    @property
    def can_undo(self) -> bool:
        """Whether there is something to undo."""
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """Whether there is something to redo."""
        return bool(self._redo)

    def undo(self) -> None:
        """Go back one step, if there is one; to the picture whose region changes, if it is another one."""
        self._travel(self._undo, self._redo)

    def redo(self) -> None:
        """Go forward again, if there was an undo."""
        self._travel(self._redo, self._undo)

    def _travel(self, source: list[_Snapshot], target: list[_Snapshot]) -> None:
        if source:
            target.append(_snapshot(self.state))
            goal = self.state._replace(**source.pop()._asdict())
            self._swap(goal._replace(current=_where_it_shows(self.state, goal)))

    def _swap(self, new: State) -> None:
        old, self.state = self.state, new
        for observer in self._observers:
            observer(old, new)


def _where_it_shows(old: State, new: State) -> int:
    """Index of the picture to show: undo and redo go to the regions that they change, if no pane has them in sight."""
    changed = [shape.picture for shape in set(old.regions) ^ set(new.regions)]
    shown = {new.pane_keys(pane)[0] for pane in new.panes}
    hidden = [i for i, picture in enumerate(new.pictures) if picture in changed]
    return hidden[0] if hidden and shown.isdisjoint(changed) else new.current


def _snapshot(state: State) -> _Snapshot:
    return _Snapshot(state.selection, state.view, state.panes, state.active, state.regions, state.named_sets)
