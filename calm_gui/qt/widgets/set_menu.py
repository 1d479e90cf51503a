"""The context menu of a class or group, wherever it is listed."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QWidget

from calm_gui.qt.widgets.popup_menu import show_menu
from calm_gui.session.expression import Expression
from calm_gui.session.workspace import Workspace

__all__ = ["set_menu", "show_set_menu"]


def set_menu(parent: QWidget, workspace: Workspace, key: str) -> QMenu:
    """What can be done with a class or group: A or B alone, added or taken away."""
    selection, alone = workspace.state.selection, Expression.of(key)
    menu = QMenu(parent)
    for title, setter, expression in (
        ("A is this", workspace.set_target, alone),
        ("Add to A", workspace.set_target, selection.target.including(key)),
        ("Remove from A", workspace.set_target, selection.target.excluding(key)),
        ("B is this", workspace.set_contrast, alone),
        ("Add to B", workspace.set_contrast, selection.contrast.including(key)),
        ("Remove from B", workspace.set_contrast, selection.contrast.excluding(key)),
    ):
        menu.addAction(title).triggered.connect(lambda _=False, s=setter, e=expression: s(e))
    return menu


def show_set_menu(parent: QWidget, workspace: Workspace, key: str, place: QPoint) -> None:
    """Show it at a global position."""
    menu = set_menu(parent, workspace, key)
    show_menu(menu, place)
