"""The cheat sheet: every key and mouse gesture; keys can be changed."""

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QKeySequenceEdit,
    QLabel,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from calm_gui.qt.settings import Settings
from calm_gui.qt.shortcuts import apply_shortcuts
from calm_gui.qt.theme import current_theme

__all__ = ["GESTURES", "KeysDialog"]

GESTURES = (
    ("Click a class or group, or Return", "it is A"),
    ("B in the row under the mouse, or Ctrl+Return", "it is B"),
    ("Ctrl+click, click the mark, or Space", "add it to A, or remove it"),
    ("Right-click", "add to A or B, or remove from it"),
    ("Letters in the tree", "go to the next group that begins with them"),
    ("Hold Space on a pane", "see the picture without the map"),
    ("Wheel, drag", "zoom and pan all panes together"),
    ("Esc while drawing", "abandon the region"),
    ("Arrows, PgUp, PgDn in the film strip", "go through the pictures"),
    ("Ctrl+F, Return, Ctrl+Return", "search; the best match is A, or B"),
    ("Up, Down in lists and searches", "go through the rows without choosing one"),
    ("Up, Down in the ladder, Return", "go through the steps; Return makes a step A"),
    ("Delete in a set's field", "empty it"),
    ("Drag a limit, double-click a scale", "set it, fit it to the maps; right-click for more"),
    ("Double-click a pane", "show it alone, or all panes again"),
    ("Drag a region, or a handle of it; Delete", "move it, resize it; remove it"),
    ("Up, Down, double-click in Results", "show the row's picture with its target"),
    ("Drop files on the window", "open pictures, folders and checkpoints"),
)
"""What the mouse and keys do beyond the menus."""

_NEVER_SHORTCUTS = tuple(
    QKeyCombination(key)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape, Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
)
"""Keys that end the typing of a shortcut and aren't taken for one, since dialogs and fields need them."""


class KeysDialog(QDialog):
    """Lists gestures and shortcuts; a changed shortcut counts at once and is kept.

    Parameters
    ----------
    actions : dict of name to QAction
    settings : Settings
    """

    def __init__(self, actions: dict[str, QAction], settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        self.resize(560, 640)
        self._actions = actions
        self._settings = settings
        self.editors: dict[str, QKeySequenceEdit] = {}
        form = QFormLayout()
        for name, action in actions.items():
            editor = QKeySequenceEdit(action.shortcut())
            editor.setMaximumSequenceLength(1)
            editor.setFinishingKeyCombinations(_NEVER_SHORTCUTS)
            editor.setClearButtonEnabled(True)
            editor.setAccessibleName(f"Keys of {action.text().replace('&', '')}")
            editor.editingFinished.connect(lambda n=name: self._change(n))
            form.addRow(action.text().replace("&", "").rstrip("…"), editor)
            self.editors[name] = editor
        inside = QWidget()
        inside.setLayout(form)
        scroll = QScrollArea()
        scroll.setWidget(inside)
        scroll.setWidgetResizable(True)
        gestures = QTextBrowser()
        gestures.setAccessibleName("Gestures")
        cells = "".join(
            f"<tr><td><b>{keys}</b></td><td style='padding-left:14px'>{what}</td></tr>" for keys, what in GESTURES
        )
        gestures.setHtml(f"<table cellpadding='3'>{cells}</table>")
        tabs = QTabWidget()
        tabs.tabBar().setAccessibleName("Keys or gestures")
        tabs.addTab(scroll, "Keys")
        tabs.addTab(gestures, "Gestures")
        self.message = QLabel()
        self.message.setWordWrap(True)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.RestoreDefaults | QDialogButtonBox.StandardButton.Close
        )
        buttons.rejected.connect(self.reject)
        buttons.button(QDialogButtonBox.StandardButton.RestoreDefaults).clicked.connect(self._ask_restore)
        for button in buttons.findChildren(QPushButton):
            button.setAutoDefault(False)  # or Enter, pressed anywhere in the dialog, would press the first of them
        layout = QVBoxLayout(self)
        layout.addWidget(tabs)
        layout.addWidget(self.message)
        layout.addWidget(buttons)

    def _change(self, name: str) -> None:
        keys = self.editors[name].keySequence()
        action = self._actions[name]
        if keys == action.shortcut():
            return
        clash = next(
            (a for n, a in self._actions.items() if n != name and not keys.isEmpty() and keys in a.shortcuts()), None
        )
        if clash is not None:
            self.editors[name].setKeySequence(action.shortcut())
            self._say(f"{keys.toString()} belongs to {clash.text().replace('&', '')}")
            return
        self._settings.set(f"shortcut {name}", keys.toString(QKeySequence.SequenceFormat.PortableText))
        apply_shortcuts(self._actions, self._settings)
        self._say("")

    def _ask_restore(self) -> None:
        """Give all actions their own keys again if that is really meant, since keys that were chosen are lost by it."""
        own = [a for a in self._actions.values() if a.property("default") != _keys_of(a)]
        if not own:
            self._say("all keys have their defaults again")
            return
        names = ", ".join(action.text().replace("&", "").rstrip("…") for action in own[:3])
        more = f" and {len(own) - 3} more" if len(own) > 3 else ""
        answers = QMessageBox.StandardButton
        question = f"{names}{more} have keys that you chose. Restore their default keys?"
        if QMessageBox.question(self, "Keys", question, answers.Yes | answers.No, answers.No) == answers.Yes:
            self.restore_defaults()

    def restore_defaults(self) -> None:
        """Give all actions their own keys again."""
        for name, action in self._actions.items():
            self._settings.set(f"shortcut {name}", action.property("default"))
        apply_shortcuts(self._actions, self._settings)
        for name, editor in self.editors.items():
            editor.setKeySequence(self._actions[name].shortcut())
        self._say("")

    def _say(self, sentence: str) -> None:
        self.message.setText(sentence)
        self.message.setStyleSheet(f"color: {current_theme().bad};")


def _keys_of(action: QAction) -> str:
    return "; ".join(keys.toString() for keys in action.shortcuts())
