"""Marking regions on pictures."""

from collections.abc import Iterable

from calm_gui.session.actions.intents import Intents
from calm_gui.session.state import RegionShape

__all__ = ["Marking"]


class Marking(Intents):
    """Regions."""

    def add_region(
        self, kind: str, points: Iterable[tuple[float, float]], radius: float = 0.0, picture: str | None = None
    ) -> None:
        """Mark a region on a picture, by default the current one; one that holds no area is ignored."""
        picture = picture or self.state.picture
        if picture is None:
            return
        taken = {region.name for region in self.state.regions_of(picture)}
        name = next(f"region {i}" for i in range(1, len(taken) + 2) if f"region {i}" not in taken)
        shape = RegionShape(name, picture, kind, tuple(points), radius)  # type: ignore[arg-type]
        if shape.holds_area:
            self.store.update(regions=(*self.state.regions, shape))

    def rename_region(self, shape: RegionShape, name: str) -> None:
        """Give a region another name."""
        renamed = shape._replace(name=name)
        self.store.update(regions=tuple(renamed if r == shape else r for r in self.state.regions))

    def change_region(self, shape: RegionShape, changed: RegionShape, undoable: bool = True) -> None:
        """Put a changed region in the place of another; one that holds no area is ignored.

        What a drag does on its way isn't undoable; its end is, and undoing it goes back to before the drag.
        """
        if changed.holds_area and changed != shape:
            regions = tuple(changed if r == shape else r for r in self.state.regions)
            self.store.update(undoable, regions=regions)

    def remove_region(self, shape: RegionShape) -> None:
        """Forget a region."""
        self.store.update(regions=tuple(r for r in self.state.regions if r != shape))
