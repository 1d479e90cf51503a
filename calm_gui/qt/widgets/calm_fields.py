"""Fields that the wheel leaves alone unless they have the keyboard: scrolling past them changes nothing.

Numbers are written with a point, as everywhere else in the program, whatever the system's language; a comma that is
typed is a point too.
"""

from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QDoubleSpinBox, QSlider, QSpinBox, QWidget

from calm_gui.render.naming import MINUS

__all__ = ["CalmComboBox", "CalmDoubleSpinBox", "CalmSlider", "CalmSpinBox"]


def _passed_on(widget: QWidget, event: QWheelEvent) -> bool:
    """Whether the wheel goes on to what a widget stands in."""
    if widget.hasFocus():
        return False
    event.ignore()
    return True


_COMMAS = str.maketrans(f",\N{ARABIC DECIMAL SEPARATOR}{MINUS}", "..-")


def _pointed(text: str) -> str:
    """A text as Python reads numbers: points for commas, ASCII digits and minus."""
    return "".join(str(int(c)) if c.isdecimal() else c for c in text.translate(_COMMAS))


class CalmComboBox(QComboBox):
    """A combo box."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not _passed_on(self, event):
            super().wheelEvent(event)


def _plain_locale() -> QLocale:
    """Points, ASCII digits, and nothing between thousands."""
    locale = QLocale.c()
    locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator | QLocale.NumberOption.RejectGroupSeparator)
    return locale


def _prepare(box: QAbstractSpinBox) -> None:
    box.setLocale(_plain_locale())
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.lineEdit().setTextMargins(5, 0, 0, 0)  # the style sheet's padding doesn't move a spin box's text


class CalmSpinBox(QSpinBox):
    """A field for whole numbers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _prepare(self)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not _passed_on(self, event):
            super().wheelEvent(event)


class CalmDoubleSpinBox(QDoubleSpinBox):
    """A field for numbers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _prepare(self)

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        state, text, position = super().validate(_pointed(text), position)
        return state, text.replace("-", MINUS), position

    def valueFromText(self, text: str) -> float:
        return super().valueFromText(_pointed(text))

    def textFromValue(self, value: float) -> str:
        return super().textFromValue(value).replace("-", MINUS)

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
