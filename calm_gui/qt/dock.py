"""What a dock is, and the registry of all docks: one file a dock in this folder, and one line in its `__init__`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtWidgets import QFrame, QWidget

from calm_gui.core.registry import Registry
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings
from calm_gui.session.scene import Scene

__all__ = ["AREAS", "DOCKS", "Area", "Dock", "DockPanel"]

Area = Literal["left", "right", "bottom"]
AREAS: tuple[Area, ...] = ("left", "right", "bottom")


class DockPanel(QFrame):
    """What a dock holds: made when it's first opened, and told of a scene only while it can be seen.

    Attributes
    ----------
    heading : QWidget or None
        Stands in the title bar in the place of the dock's title, such as tabs or a field.
    tools : tuple of QWidget
        Stand in the title bar before the buttons that every dock has.
    """

    heading: QWidget | None = None
    tools: tuple[QWidget, ...] = ()

    def show_scene(self, scene: Scene) -> None:
        """Show a scene."""
        raise NotImplementedError

    @property
    def in_tab_order(self) -> tuple[QWidget, ...]:
        """What the Tab key goes to, from first to last; empty where Qt's own order is right."""
        return ()


@dataclass(frozen=True)
class Dock:
    """A dock: a panel with a title and a place at the start.

    Attributes
    ----------
    key : str
        In settings and tests.
    title : str
        On its button and above it.
    tip : str
        What it is for, in a few words.
    area : {"left", "right", "bottom"}
        Where it stands at the start, and where its button is.
    size : int
        Width (height at the bottom) at the start, in pixels for DejaVu Sans of 12 pixels.
    make : callable
        (hub, settings) -> DockPanel.
    least : int
        The smallest of such sizes.
    opened : bool
        Whether it is open at the first start.
    count : callable
        Scene -> a number that its button shows, or None.
    """

    key: str
    title: str
    tip: str
    area: Area
    size: int
    make: Callable[[Hub, Settings], DockPanel]
    least: int = 160
    opened: bool = False
    count: Callable[[Scene], int | None] = lambda _: None


def _incomplete(dock: Dock) -> str:
    """What a dock lacks, in words."""
    words = [f"its {word}" for word in ("key", "title", "tip") if not getattr(dock, word)]
    return ", ".join(words + ([] if dock.area in AREAS else ["an area: left, right or bottom"]))


DOCKS: Registry[Dock] = Registry("dock", KeyError, _incomplete)
"""All docks, in the order of their buttons."""
