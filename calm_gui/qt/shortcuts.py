"""Keys of the window's actions: their defaults, and those that a person chose instead."""

from PySide6.QtGui import QAction, QKeySequence

from calm_gui.qt.settings import Settings

__all__ = ["apply_shortcuts"]


def apply_shortcuts(actions: dict[str, QAction], settings: Settings) -> list[str]:
    """Give actions the shortcuts that the user has chosen; each knows its own default.

    A key that a person chose stays; an action that has it by default goes without.

    Returns
    -------
    list of str
        A sentence for each default that was dropped.
    """
    chosen_keys = {
        key: name
        for name in actions
        if (text := settings.text(f"shortcut {name}", "\0")) != "\0"
        for key in text.split("; ")
        if key
    }
    dropped = []
    for name, action in actions.items():
        if action.property("default") is None:
            action.setProperty("default", "; ".join(keys.toString() for keys in action.shortcuts()))
        own = settings.text(f"shortcut {name}", "\0") != "\0"
        keys = settings.text(f"shortcut {name}", action.property("default")).split("; ")
        taken = [key for key in keys if key and not own and chosen_keys.get(key, name) != name]
        for key in taken:
            of = actions[chosen_keys[key]].text().replace("&", "").rstrip("…")
            what = action.text().replace("&", "").rstrip("…")
            dropped.append(f"{key} stays with {of}, as you chose; {what} has no key now")
        action.setShortcuts([QKeySequence(key) for key in keys if key and key not in taken])
    return dropped
