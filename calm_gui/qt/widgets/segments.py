"""A row of buttons of which one is chosen."""

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

__all__ = ["Segments"]


class Segments(QWidget):
    """Tab enters it at the chosen button; Left and Right go on from there.

    Parameters
    ----------
    name : str
        For screen readers.
    choices : mapping of value to text

    Signals
    -------
    chosen : object
        The value of a button that was pressed.
    """

    chosen = Signal(object)

    def __init__(self, name: str, choices: Mapping, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.group = QButtonGroup(self)
        self.buttons: dict[object, QPushButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        last = list(choices)[-1]
        for value, text in choices.items():
            button = QPushButton(text)
            button.setObjectName("segment")
            button.setProperty("last", value == last)
            button.setCheckable(True)
            button.setAutoDefault(False)
            button.setAccessibleName(f"{name}: {text}")
            button.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
            button.clicked.connect(lambda _=False, v=value: self.chosen.emit(v))
            button.installEventFilter(self)
            self.group.addButton(button)
            self.buttons[value] = button
            row.addWidget(button)

    def show_choice(self, value: object) -> None:
        """Show which one is chosen, and let Tab enter there; a value that is none of them leaves all unpressed."""
        self.group.setExclusive(False)
        for of, button in self.buttons.items():
            button.setChecked(of == value)
        self.group.setExclusive(True)
        entry = value if value in self.buttons else next(iter(self.buttons))
        for of, button in self.buttons.items():
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if of == entry else Qt.FocusPolicy.ClickFocus)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Left and Right choose the next one; Qt's own keys would only go to buttons that Tab reaches."""
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() in by:
            buttons = [button for button in self.buttons.values() if button.isEnabled() and not button.isHidden()]
            current = next((i for i, button in enumerate(buttons) if button is watched), -1)
            if current >= 0:
                goal = buttons[(current + by[Qt.Key(event.key())]) % len(buttons)]
                goal.setFocus()
                goal.click()
                return True
        return super().eventFilter(watched, event)
