"""A map that has been waited for fades in."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QVariantAnimation

__all__ = ["Fade"]

_MILLISECONDS = 150


class Fade(QVariantAnimation):
    """Goes from 0 to 1.

    Parameters
    ----------
    parent : QObject
    changed : callable
        Called at each step.

    Attributes
    ----------
    share : float
        1 while nothing fades.
    """

    def __init__(self, parent: QObject, changed: Callable[[], None]) -> None:
        super().__init__(parent)
        self.share = 1.0
        self._changed = changed
        self.setDuration(_MILLISECONDS)
        self.setStartValue(0.0)
        self.setEndValue(1.0)
        self.valueChanged.connect(self._step)

    def begin(self) -> None:
        """Begin anew."""
        self.stop()
        self.share = 0.0
        self.start()

    def _step(self, share: float) -> None:
        self.share = float(share)
        self._changed()
