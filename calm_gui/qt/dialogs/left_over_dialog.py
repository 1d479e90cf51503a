"""What to do with the sessions of programs that didn't end well."""

import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QListWidget, QPushButton, QVBoxLayout, QWidget

from calm_gui.qt.autosave import Autosave, LeftOver
from calm_gui.render.naming import counted

__all__ = ["LeftOverDialog", "ask_about_left_over"]


class LeftOverDialog(QDialog):
    """Lists them, the latest first: each can be gone on with, kept for the next start, or discarded.

    Parameters
    ----------
    autosave : Autosave
    left : sequence of LeftOver
    """

    def __init__(self, autosave: Autosave, left: Sequence[LeftOver], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("calm-gui")
        self.resize(520, 240)
        self._autosave = autosave
        self._left = list(left)
        self.restored = False
        words = QLabel(
            "calm-gui ended unexpectedly. Restore what was open? If not, you are asked again at the next start."
        )
        words.setWordWrap(True)
        self.list = QListWidget()
        self.list.setAccessibleName("Sessions that can be restored")
        self.list.addItems([_words(one) for one in self._left])
        self.list.setCurrentRow(0)
        self.list.itemDoubleClicked.connect(lambda _: self.go_on())
        buttons = QDialogButtonBox()
        self.later = buttons.addButton("&Not now", QDialogButtonBox.ButtonRole.RejectRole)
        self.on = buttons.addButton("&Restore", QDialogButtonBox.ButtonRole.AcceptRole)
        self.forget = buttons.addButton("&Discard it", QDialogButtonBox.ButtonRole.DestructiveRole)
        for button in buttons.findChildren(QPushButton):
            button.setAutoDefault(False)
        self.on.setDefault(True)
        buttons.accepted.connect(self.go_on)
        buttons.rejected.connect(self.reject)
        self.forget.clicked.connect(self.discard)
        layout = QVBoxLayout(self)
        layout.addWidget(words)
        layout.addWidget(self.list, 1)
        layout.addWidget(buttons)

    def go_on(self) -> None:
        """Open the chosen session and close; one that can't be opened stays in the list."""
        row = self.list.currentRow()
        if row >= 0 and self._autosave.restore(self._left[row]):
            self.restored = True
            self.accept()

    def discard(self) -> None:
        """Forget the chosen session; with the last one the dialog closes."""
        row = self.list.currentRow()
        if row < 0:
            return
        self._autosave.discard(self._left.pop(row))
        self.list.takeItem(row)
        if not self._left:
            self.reject()


def ask_about_left_over(parent: QWidget, autosave: Autosave, left: Sequence[LeftOver]) -> bool:
    """Ask what is to become of sessions that were left; whether one was opened."""
    dialog = LeftOverDialog(autosave, left, parent)
    dialog.exec()
    dialog.deleteLater()
    return dialog.restored


def _words(left: LeftOver) -> str:
    when = time.strftime("%d %b, %H:%M", time.localtime(left.saved))
    first = f": {Path(left.pictures[0]).name}" if left.pictures else ""
    return f"{when}, {counted(len(left.pictures), 'picture')}{first}{' …' if len(left.pictures) > 1 else ''}"
