"""The dock of regions."""

from calm_gui.qt.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings

__all__ = ["REGIONS"]


def _make(hub: Hub, settings: Settings) -> DockPanel:
    from calm_gui.qt.docks.region_panel import RegionPanel  # off the start-up path

    return RegionPanel(hub)


REGIONS = DOCKS.register(
    Dock(
        key="regions",
        title="Regions",
        tip="What lies inside and outside the regions drawn on the picture",
        area="right",
        size=272,
        least=200,
        make=_make,
    )
)
