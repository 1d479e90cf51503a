"""Showing a context menu."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu

__all__ = ["show_menu"]


def show_menu(menu: QMenu, place: QPoint) -> None:
    """Show a menu at a global position, until something is chosen or Escape is pressed; then it's gone."""
    menu.aboutToHide.connect(menu.deleteLater)
    menu.popup(place)
