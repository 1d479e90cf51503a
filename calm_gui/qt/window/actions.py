"""Menus: every action that has a name."""

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from calm_gui.qt.icons import icon
from calm_gui.qt.settings import Settings

__all__ = ["Command", "add_menus", "add_recent_menus", "first_menu"]


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


def add_menus(window: QMainWindow, bar: QMenuBar, menus: dict[str, list[Command | None]]) -> dict[str, QAction]:
    """Fill the menu bar.

    Parameters
    ----------
    window : QMainWindow
        Owns the actions, which so have their shortcuts while the menus are hidden.
    bar : QMenuBar
    menus : dict of title to commands
        None stands for a separator.

    Returns
    -------
    dict of command name to QAction
    """
    actions: dict[str, QAction] = {}
    for title, commands in menus.items():
        menu = bar.addMenu(title)
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
            window.addAction(action)
            actions[command.name] = action
    return actions


def add_recent_menus(
    window: QMainWindow, bar: QMenuBar, settings: Settings, open_paths: Callable[[list[str]], object]
) -> None:
    """Add submenus of recently opened pictures, checkpoints and sessions to the first menu."""
    first = first_menu(bar)
    before = first.actions()[-1]
    for title, kind in (
        ("Recent pict&ures", "pictures"),
        ("Recent chec&kpoints", "checkpoints"),
        ("Recent sess&ions", "sessions"),
    ):
        menu = QMenu(title, window)
        menu.aboutToShow.connect(lambda m=menu, k=kind: _fill_recent(m, settings.recent(k), open_paths))
        first.insertMenu(before, menu)
    first.insertSeparator(before)


def first_menu(bar: QMenuBar) -> QMenu:
    """A bar's menu *File*, not asked for through its action, which before PySide6 6.11.2 deletes it."""
    return bar.findChildren(QMenu)[0]


def _fill_recent(menu: QMenu, paths: list[str], open_paths: Callable[[list[str]], object]) -> None:
    menu.clear()
    for path in paths:
        menu.addAction(path).triggered.connect(lambda _=False, p=path: open_paths([p]))
    if not paths:
        menu.addAction("nothing yet").setEnabled(False)
