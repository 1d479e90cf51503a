"""The dock of a batch's results."""

from calm_gui.qt.dock import DOCKS, Dock, DockPanel
from calm_gui.qt.hub import Hub
from calm_gui.qt.settings import Settings

__all__ = ["RESULTS"]


def _make(hub: Hub, settings: Settings) -> DockPanel:
    from calm_gui.qt.docks.results_panel import ResultsPanel  # off the start-up path

    return ResultsPanel(hub, settings)


RESULTS = DOCKS.register(
    Dock(
        key="results",
        title="Results",
        tip="The results of the last run over many pictures",
        area="bottom",
        size=286,
        least=120,
        make=_make,
    )
)
