"""What one pane shows, and what is said about it; derived, never stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.map_kind import MapKind
from calm_gui.core.maps import AnyMap, Map, WinnerMap
from calm_gui.late import np
from calm_gui.render.naming import counted, number_text
from calm_gui.render.ranks import RANK_UNIT, ranked
from calm_gui.render.scale import Scale
from calm_gui.session.pane import Pane, Shows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PaneContent"]


@dataclass(frozen=True, eq=False)
class PaneContent:
    """What one pane shows.

    Attributes
    ----------
    pane : Pane
    shows : Reading, Method or Picture
        What it shows: the pane's own, unless this kind of checkpoint has another reading in its place.
    title : str
    subtitle : str
        The formula and the sum, in numbers.
    explanation : Explanation or CamExplanation or None
        None while it's being computed.
    shown : Map, WinnerMap or None
    scale : Scale or None
    fitted : Scale or None
        The scale without the limits that were set.
    message : str
        Why there is no map, or what must be known about it; empty if nothing.
    early : ndarray (h,w,3), uint8, or None
        The picture, while it's being explained.
    source : str
        What its checkpoint is called, where several are open; empty otherwise.
    """

    pane: Pane
    shows: Shows
    title: str
    subtitle: str = ""
    explanation: AnyExplanation | None = None
    shown: AnyMap | None = None
    scale: Scale | None = None
    message: str = ""
    early: NDArray[np.uint8] | None = None
    fitted: Scale | None = None
    source: str = ""

    @property
    def heading(self) -> str:
        """Title and subtitle in one line, with the checkpoint where several are open."""
        return " · ".join(part for part in (self.title, self.source, self.subtitle) if part)

    @property
    def pixels(self) -> NDArray[np.uint8] | None:
        """The picture, (h,w,3), whether it is explained or not."""
        return self.explanation.picture if self.explanation is not None else self.early

    @cached_property
    def drawn(self) -> AnyMap | None:
        """What the pane's colours tell: the map, or its ranks where these are the unit."""
        if isinstance(self.shown, Map) and self.scale is not None and self.scale.unit == RANK_UNIT:
            return ranked(self.shown)
        return self.shown

    @property
    def label(self) -> str:
        """What it shows, in a word or two."""
        if self.pane.picture:
            return Path(self.pane.picture).stem
        if self.explanation is not None and isinstance(self.shows, MapKind):
            return self.shows.label_in(self.explanation)
        return self.shows.label

    @property
    def letter(self) -> str:
        """A or B where it is about that set alone."""
        if not isinstance(self.shown, Map) or not self.shows.takes_target or self.shows.takes_contrast:
            return ""
        return {"target": "A", "contrast": "B", "superset": ""}[self.pane.about]

    @property
    def name(self) -> str:
        """What it is about, in words."""
        about = self.title.partition(" — ")[2]
        if isinstance(self.shown, WinnerMap):
            return f"at depth {self.shown.depth}"
        if not isinstance(self.shown, Map):
            return about
        if not self.shows.takes_target:
            return "any class"
        size = len(self.shown.target) if self.shown.target is not None else 1
        about = about.removeprefix("superset ")
        counts = size > 1 and not self.shows.takes_contrast and not about[:1].isdigit()
        return f"{about} · {counted(size, 'class', 'classes')}" if counts else about

    @property
    def number(self) -> str:
        """The map's sum where it means something; of a winner map its groups."""
        if isinstance(self.shown, WinnerMap):
            return counted(len(self.shown.legend()), "group")
        if not isinstance(self.shown, Map) or self.shown.check is None:
            return ""
        return ("+" if self.shown.kind.signed and self.shown.sum > 0 else "") + number_text(self.shown.sum)
