"""The dock of classes and groups."""

from calm_gui.qt.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings

__all__ = ["CLASSES"]


def _make(hub: Hub, settings: Settings) -> DockPanel:
    from calm_gui.qt.classes.classes_panel import ClassesPanel  # which imports what a dock is

    return ClassesPanel(hub)


CLASSES = DOCKS.register(
    Dock(
        key="classes",
        title="Classes",
        tip="Classes by probability and in their hierarchy, with a search",
        area="left",
        size=280,
        least=200,
        make=_make,
        opened=True,
    )
)
