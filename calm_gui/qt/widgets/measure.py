"""Lengths that grow with the letters: the window is laid out for DejaVu Sans of 12 pixels, or Inter of 13."""

from PySide6.QtWidgets import QWidget

__all__ = ["scaled", "text_factor"]

_SAMPLE = "Where is the evidence for"
_WIDTH = 154
"""Of the sample in DejaVu Sans of 12 pixels."""


def text_factor(widget: QWidget) -> float:
    """How much wider a widget's letters are than those that lengths are given for; no less than 0.85."""
    return max(0.85, widget.fontMetrics().horizontalAdvance(_SAMPLE) / _WIDTH)


def scaled(widget: QWidget, length: float) -> int:
    """A length for a widget's letters, in whole pixels."""
    return round(length * text_factor(widget))
