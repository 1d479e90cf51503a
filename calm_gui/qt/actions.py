"""Menus, tool bar and shortcuts: every action that has a name."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QToolBar, QToolButton

from calm_gui.qt.icons import icon
from calm_gui.qt.settings import Settings

__all__ = ["Command", "add_menus", "add_recent_menus", "add_tool_bar", "apply_shortcuts"]


class Command(NamedTuple):
    """One action.

    Attributes
    ----------
    name : str
        Identifies it in settings (shortcuts) and in tests.
    text : str
        With ``&`` before the letter of its menu key.
    run : callable
    shortcut : str
        As Qt writes key sequences; several separated by ``; ``.
    icon : str
        Of the bundled icons; empty for none.
    tip : str
    checked : bool or None
        Its state at the start, for actions that are on or off.
    """

    name: str
    text: str
    run: Callable[..., object]
    shortcut: str = ""
    icon: str = ""
    tip: str = ""
    checked: bool | None = None


def add_menus(window: QMainWindow, menus: dict[str, list[Command | None]]) -> dict[str, QAction]:
    """Fill the menu bar.

    Parameters
    ----------
    window : QMainWindow
    menus : dict of title to commands
        None stands for a separator.

    Returns
    -------
    dict of command name to QAction
    """
    actions: dict[str, QAction] = {}
    for title, commands in menus.items():
        menu = window.menuBar().addMenu(title)
        menu.setToolTipsVisible(True)
        for command in commands:
            if command is None:
                menu.addSeparator()
                continue
            action = QAction(command.text, window)
            action.setObjectName(command.name)
            if command.shortcut:
                action.setShortcuts([QKeySequence(keys) for keys in command.shortcut.split("; ")])
            if command.icon:
                action.setIcon(icon(command.icon))
                action.setProperty("icon name", command.icon)
            plain = command.text.replace("&", "").rstrip("…")
            action.setToolTip(f"{command.tip or plain}" + (f" ({command.shortcut})" if command.shortcut else ""))
            if command.checked is None:
                action.triggered.connect(lambda _=False, run=command.run: run())
            else:
                action.setCheckable(True)
                action.setChecked(command.checked)
                action.toggled.connect(command.run)
            menu.addAction(action)
            actions[command.name] = action
    return actions


def add_tool_bar(window: QMainWindow, actions: dict[str, QAction], names: Sequence[str]) -> QToolBar:
    """A tool bar of some of the actions; an empty name stands for a separator, ``!name`` shows the text too."""
    bar = window.addToolBar("Tools")
    bar.setObjectName("tools")
    bar.setMovable(False)
    for name in names:
        if not name:
            bar.addSeparator()
            continue
        action = actions[name.lstrip("!")]
        bar.addAction(action)
        button = bar.widgetForAction(action)
        if isinstance(button, QToolButton):
            with_text = name.startswith("!")
            styles = Qt.ToolButtonStyle
            button.setToolButtonStyle(styles.ToolButtonTextBesideIcon if with_text else styles.ToolButtonIconOnly)
            button.setAccessibleName(action.text().replace("&", ""))
    return bar


def add_recent_menus(window: QMainWindow, settings: Settings, open_paths: Callable[[list[str]], object]) -> None:
    """Add submenus of recently opened pictures and checkpoints to the first menu."""
    first = window.menuBar().actions()[0].menu()
    assert isinstance(first, QMenu)
    before = first.actions()[-1]
    for title, kind in (("Recent pict&ures", "pictures"), ("Recent chec&kpoints", "checkpoints")):
        menu = QMenu(title, window)
        menu.aboutToShow.connect(lambda m=menu, k=kind: _fill_recent(m, settings.recent(k), open_paths))
        first.insertMenu(before, menu)
    first.insertSeparator(before)


def _fill_recent(menu: QMenu, paths: list[str], open_paths: Callable[[list[str]], object]) -> None:
    menu.clear()
    for path in paths:
        menu.addAction(path).triggered.connect(lambda _=False, p=path: open_paths([p]))
    if not paths:
        menu.addAction("nothing yet").setEnabled(False)


def apply_shortcuts(actions: dict[str, QAction], settings: Settings) -> None:
    """Give actions the shortcuts that the user has chosen; each knows its own default."""
    for name, action in actions.items():
        if action.property("default") is None:
            action.setProperty("default", "; ".join(keys.toString() for keys in action.shortcuts()))
        chosen = settings.text(f"shortcut {name}", action.property("default"))
        action.setShortcuts([QKeySequence(keys) for keys in chosen.split("; ") if keys])
