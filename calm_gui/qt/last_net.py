"""What nobody foresaw, in a slot or while something is painted: it is logged and told, and the window goes on."""

import logging
import sys
from types import TracebackType

from PySide6.QtCore import QTimer

from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.failures import error_sentence

__all__ = ["LastNet"]

_log = logging.getLogger(__name__)


class LastNet:
    """A `sys.excepthook` that tells in a window; Qt calls it for what its slots and events raise.

    Parameters
    ----------
    window : MainWindow
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._logged: set[tuple[type[BaseException], object, int]] = set()

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Tell what was raised, and log it the first time: a widget is painted again and again."""
        if not isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            return
        last = trace
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = (kind, last.tb_frame.f_code, last.tb_lineno) if last is not None else (kind, None, 0)
        if place not in self._logged:
            self._logged.add(place)
            _log.error("unexpected failure", exc_info=(kind, error, trace))
        sentence = error_sentence(error)
        # Afterwards: telling moves widgets, which mustn't be while one of them is painted.
        QTimer.singleShot(0, self._window, lambda: self._window.workspace.complain(sentence))
