"""Fields that the wheel leaves alone unless they have the keyboard: scrolling past them changes nothing."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QSlider, QSpinBox, QWidget

__all__ = ["CalmComboBox", "CalmDoubleSpinBox", "CalmSlider", "CalmSpinBox"]


def _passed_on(widget: QWidget, event: QWheelEvent) -> bool:
    """Whether the wheel goes on to what a widget stands in."""
    if widget.hasFocus():
        return False
    event.ignore()
    return True


class CalmComboBox(QComboBox):
    """A combo box."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not _passed_on(self, event):
            super().wheelEvent(event)


class CalmSpinBox(QSpinBox):
    """A field for whole numbers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not _passed_on(self, event):
            super().wheelEvent(event)


class CalmDoubleSpinBox(QDoubleSpinBox):
    """A field for numbers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not _passed_on(self, event):
            super().wheelEvent(event)


class CalmSlider(QSlider):
    """A slider."""

    def __init__(self, orientation: Qt.Orientation, parent: QWidget | None = None) -> None:
        super().__init__(orientation, parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not _passed_on(self, event):
            super().wheelEvent(event)
