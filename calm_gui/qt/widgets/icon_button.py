"""A flat button with an icon."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QToolButton, QWidget

from calm_gui.qt.icons import icon

__all__ = ["IconButton"]


class IconButton(QToolButton):
    """Shows one bundled icon; its tool tip is its accessible name.

    Parameters
    ----------
    name : str
        Of the icon.
    tip : str
    checkable : bool
    """

    def __init__(self, name: str, tip: str, checkable: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("icon")
        self.setIconSize(QSize(16, 16))
        self.setCheckable(checkable)
        self.show_icon(name, tip)

    def show_icon(self, name: str, tip: str) -> None:
        """Show another icon, and say what it does now."""
        if self.property("icon name") != name:
            self.setProperty("icon name", name)
            self.setIcon(icon(name))
        if self.toolTip() != tip:
            self.setToolTip(tip)
            self.setAccessibleName(tip)
