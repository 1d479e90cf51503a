"""Arranging panes and the way maps are drawn."""

from collections.abc import Iterable
from typing import Any

from calm_gui.core.maps import Map
from calm_gui.render.map_scale import quantity
from calm_gui.session.actions.intents import Intents
from calm_gui.session.limits import Limits
from calm_gui.session.pane import MAX_PANES, Pane
from calm_gui.session.state import View

__all__ = ["Arranging"]


class Arranging(Intents):
    """Panes and view."""

    def update_view(self, undoable: bool = True, **changes: Any) -> None:
        """Change attributes of the view."""
        self.store.update(undoable, view=self.state.view._replace(**changes))

    def lock_scales(self) -> None:
        """Keep the limits that are shown now for all pictures to come."""
        scales = {quantity(c.shown): c.scale for c in self.scene.panes if isinstance(c.shown, Map) and c.scale}
        limits = tuple(Limits(name, scale.low, scale.high) for name, scale in scales.items())
        self.update_view(scale_mode="shared", limits=limits)

    def set_limits(self, of: str, limits: Limits | None, undoable: bool = True) -> None:
        """Set the limits of the colours of one quantity; None fits them to the maps again."""
        others = tuple(one for one in self.state.view.limits if one.quantity != of)
        self.update_view(undoable, limits=(*others, limits) if limits else others)

    def reset_view(self) -> None:
        """Zoom so that the whole picture fits."""
        self.update_view(undoable=False, zoom=1.0, centre=View().centre)

    def set_panes(self, panes: Iterable[Pane]) -> None:
        """Show other panes, at most `MAX_PANES`."""
        panes = tuple(panes)[:MAX_PANES]
        if panes:
            self.store.update(panes=panes, active=min(self.state.active, len(panes) - 1))

    def show_by_rank(self, panes: Iterable[Pane]) -> None:
        """Show other panes on the one scale that maps of all kinds can share: the rank of the cell."""
        panes = tuple(panes)[:MAX_PANES]
        view = self.state.view._replace(ranks=True, scale_mode="shared")
        self.store.update(panes=panes, active=min(self.state.active, len(panes) - 1), view=view)

    def change_pane(self, index: int, **changes: Any) -> None:
        """Change attributes of one pane."""
        panes = list(self.state.panes)
        panes[index] = panes[index]._replace(**changes)
        self.store.update(panes=tuple(panes))

    def add_pane(self, picture: str | None = None) -> None:
        """Add a copy of the active pane, which may keep a picture of its own, and make it active."""
        if len(self.state.panes) < MAX_PANES:
            like = self.state.panes[self.state.active]
            panes = (*self.state.panes, like._replace(picture=picture) if picture else like)
            self.store.update(panes=panes, active=len(panes) - 1)

    def close_pane(self, index: int) -> None:
        """Close a pane; the last one stays."""
        panes = self.state.panes[:index] + self.state.panes[index + 1 :]
        if panes:
            active = self.state.active - (self.state.active > index)
            self.store.update(panes=panes, active=min(active, len(panes) - 1))

    def activate(self, index: int) -> None:
        """Let the View panel speak of another pane."""
        self.store.update(undoable=False, active=index)
