"""Everything the user has open and chosen, as frozen values. What can be derived from it is not in it."""

import math
from typing import Literal, NamedTuple

from calm_gui.core.threshold import ThresholdKind
from calm_gui.session.expression import Expression
from calm_gui.session.limits import Limits
from calm_gui.session.pane import Pane, default_panes

__all__ = [
    "RegionShape",
    "ScaleMode",
    "Selection",
    "State",
    "Threshold",
    "View",
]

ScaleMode = Literal["fit", "shared"]


class Selection(NamedTuple):
    """Target and contrast, in the classes of one checkpoint.

    Attributes
    ----------
    checkpoint : str
        Key of the checkpoint whose classes the sets speak of.
    target, contrast : Expression
    """

    checkpoint: str
    target: Expression = Expression.of("@predicted")
    contrast: Expression = Expression.of("@runner-up")


class Threshold(NamedTuple):
    """How cells are chosen: by value, by credible mass, or at tau between minimum and maximum."""

    kind: ThresholdKind = "none"
    value: float = 0.9


class View(NamedTuple):
    """How maps are drawn, in all panes.

    Attributes
    ----------
    sequential, diverging : str
        Colour maps.
    opacity : float
    overlay : bool
        Whether maps are drawn over the picture.
    scale_mode : {"shared", "fit"}
        One scale for all maps of a quantity, or one for each map.
    limits : tuple of Limits
        Ends of shared scales that were set; of a quantity without, the scale fits the maps.
    spacing : {"linear", "log"}
    relative : bool
        Values relative to uniform instead of probability per cell.
    ranks : bool
        The share of cells below, in percent, instead of values: what maps of different quantities can share.
    threshold : Threshold
    mask, contour, boxes : bool
        What is done with the threshold: the map only there, a line around it, boxes around its parts.
    native : bool
        Native cells instead of a smooth map.
    ground_truth : bool
        Whether true boxes are drawn.
    regions, linked : bool
        Whether regions are drawn, and whether the cursor's cross-hair is shown in all panes.
    depth : int or None
        Of the winner map; None takes the first that divides the picture.
    zoom : float
        1 fits the picture into the pane; less, as far as one pixel to one, for pictures smaller than it.
    centre : (float, float)
        Middle of the pane as a share of the picture's width and height.
    """

    sequential: str = "inferno"
    diverging: str = "RdBu"
    opacity: float = 0.6
    overlay: bool = True
    scale_mode: ScaleMode = "shared"
    limits: tuple[Limits, ...] = ()
    spacing: Literal["linear", "log"] = "linear"
    relative: bool = False
    ranks: bool = False
    threshold: Threshold = Threshold()
    mask: bool = False
    contour: bool = True
    boxes: bool = False
    native: bool = False
    ground_truth: bool = True
    regions: bool = True
    linked: bool = True
    depth: int | None = None
    zoom: float = 1.0
    centre: tuple[float, float] = (0.5, 0.5)


class RegionShape(NamedTuple):
    """A region as drawn on a picture.

    Attributes
    ----------
    name : str
    picture : str
        Key of the picture it is drawn on.
    kind : {"box", "polygon", "brush"}
    points : tuple of (x, y)
        Pixels of the upright picture: two corners of a box, the corners of a polygon, or a brush's way.
    radius : float
        Of the brush, in pixels of the picture.
    """

    name: str
    picture: str
    kind: Literal["box", "polygon", "brush"]
    points: tuple[tuple[float, float], ...]
    radius: float = 0.0

    @property
    def holds_area(self) -> bool:
        """Whether it is more than a line or a point: a brush always is."""
        if self.kind == "brush":
            return True
        if len(self.points) < 2:
            return False
        x0, y0 = self.points[0]
        sides = [(x - x0, y - y0) for x, y in self.points[1:]]
        if self.kind == "box":
            return all(sides[-1])
        far = max(sides, key=lambda side: math.hypot(*side))
        rounding = 1e-9 * math.hypot(*far) ** 2
        return any(abs(x * far[1] - y * far[0]) > rounding for x, y in sides)


class State(NamedTuple):
    """The whole session.

    Attributes
    ----------
    selection : Selection
    pictures : tuple of str
        Keys (absolute paths) of the open pictures.
    current : int
        Index of the one shown; -1 where there is none.
    panes : tuple of Pane
    active : int
        Index of the pane that the View panel speaks of.
    view : View
    regions : tuple of RegionShape
    named_sets : tuple of Expression
        Sets that the user keeps, each with a name.
    truth_table : str or None
        Path of the table of ground truth.
    """

    selection: Selection
    pictures: tuple[str, ...] = ()
    current: int = -1
    panes: tuple[Pane, ...] = default_panes()
    active: int = 0
    view: View = View()
    regions: tuple[RegionShape, ...] = ()
    named_sets: tuple[Expression, ...] = ()
    truth_table: str | None = None

    @property
    def picture(self) -> str | None:
        """Key of the current picture."""
        return self.pictures[self.current] if 0 <= self.current < len(self.pictures) else None

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of all that is open, each once: pictures, checkpoints, the table of ground truth."""
        checkpoints = (self.selection.checkpoint, *(pane.checkpoint for pane in self.panes))
        return tuple(dict.fromkeys(path for path in (*self.pictures, *checkpoints, self.truth_table) if path))

    def pane_keys(self, pane: Pane) -> tuple[str | None, str]:
        """Keys of the picture and the checkpoint that a pane shows."""
        return pane.picture or self.picture, pane.checkpoint or self.selection.checkpoint

    def regions_of(self, picture: str | None) -> tuple[RegionShape, ...]:
        """Regions of a picture."""
        return tuple(region for region in self.regions if region.picture == picture)

    def regions_here(self) -> tuple[RegionShape, ...]:
        """Regions of the current picture."""
        return self.regions_of(self.picture)
