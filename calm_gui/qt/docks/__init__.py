"""The docks beside and below the panes, one file each. Importing this registers them in the order of their buttons."""

from calm_gui.qt.dock import AREAS, DOCKS, Area, Dock, DockPanel  # isort: skip
from calm_gui.qt.docks.classes_dock import CLASSES  # isort: skip
from calm_gui.qt.docks.ladder_panel import LADDER  # isort: skip
from calm_gui.qt.docks.regions_dock import REGIONS  # isort: skip
from calm_gui.qt.docks.view_panel import VIEW  # isort: skip
from calm_gui.qt.docks.pictures_panel import PICTURES  # isort: skip
from calm_gui.qt.docks.results_dock import RESULTS  # isort: skip
from calm_gui.qt.docks.values_panel import VALUES  # isort: skip

__all__ = [
    "AREAS",
    "CLASSES",
    "DOCKS",
    "LADDER",
    "PICTURES",
    "REGIONS",
    "RESULTS",
    "VALUES",
    "VIEW",
    "Area",
    "Dock",
    "DockPanel",
]
