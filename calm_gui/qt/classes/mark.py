"""How a class or group stands to A and B."""

from typing import NamedTuple

from PySide6.QtCore import Qt

from calm_gui.core.classes import ClassSet

__all__ = ["Mark", "mark_of"]


class Mark(NamedTuple):
    """What is drawn beside a row.

    Attributes
    ----------
    a, b : Qt.CheckState
        Whether A and B hold all of it, some or none.
    letter : str
        A or B where it is exactly that set.
    """

    a: Qt.CheckState = Qt.CheckState.Unchecked
    b: Qt.CheckState = Qt.CheckState.Unchecked
    letter: str = ""


def mark_of(classes: ClassSet, target: ClassSet, contrast: ClassSet) -> Mark:
    """The mark of a class set."""
    letter = "" if not classes else "A" if classes == target else "B" if classes == contrast else ""
    return Mark(_held(classes, target), _held(classes, contrast), letter)


def _held(classes: ClassSet, by: ClassSet) -> Qt.CheckState:
    if classes.isdisjoint(by):
        return Qt.CheckState.Unchecked
    return Qt.CheckState.Checked if classes <= by else Qt.CheckState.PartiallyChecked
