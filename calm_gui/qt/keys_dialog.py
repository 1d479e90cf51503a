"""The cheat sheet: every key and mouse gesture."""

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

__all__ = ["GESTURES", "KeysDialog"]

GESTURES = (
    ("Click a class or group", "it is the target A"),
    ("Ctrl+click, tick, or Space", "add it to A, or take it away"),
    ("Alt+click, or Ctrl+Return", "it is the contrast B"),
    ("Right-click", "add to or take away from A or B"),
    ("Hold Space over the panes", "see the picture without the map"),
    ("Wheel, drag", "zoom and pan all panes together"),
    ("Ctrl+F, Return", "search; Return goes to what was found"),
    ("Left, Right in the strip", "a step down or up the hierarchy"),
    ("Drop files on the window", "open pictures, folders and checkpoints"),
)
"""What the mouse and keys do beyond the menus."""


class KeysDialog(QDialog):
    """Lists shortcuts and gestures.

    Parameters
    ----------
    actions : dict of name to QAction
    """

    def __init__(self, actions: dict[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        self.resize(520, 620)
        rows = [(keys, what) for keys, what in GESTURES]
        for action in actions.values():
            keys = ", ".join(s.toString(QKeySequence.SequenceFormat.NativeText) for s in action.shortcuts())
            if keys:
                rows.append((keys, action.text().replace("&", "").rstrip("…")))
        text = QTextBrowser()
        text.setAccessibleName("Keys and gestures")
        cells = "".join(
            f"<tr><td><b>{keys}</b></td><td style='padding-left:14px'>{what}</td></tr>" for keys, what in rows
        )
        text.setHtml(f"<table cellpadding='3'>{cells}</table>")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(text)
        layout.addWidget(buttons)
