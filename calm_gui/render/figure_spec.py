"""How a figure looks: layout, size, type, colours."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from calm_gui.core.threshold import ThresholdKind
from calm_gui.errors import ExportError
from calm_gui.render.colormap import DIVERGING, SEQUENTIAL
from calm_gui.render.scale import Spacing

__all__ = ["MAX_SIDE", "PRESETS", "FigureLayout", "FigureSpec"]

FigureLayout = Literal["auto", "single", "pair", "panes", "strip"]

MAX_SIDE = 20_000
"""Pixels of a figure's side: what Agg can draw, with room to spare."""

_MM_PER_INCH = 25.4


def _is_colour(text: str) -> bool:
    from matplotlib.colors import is_color_like  # off the start-up path

    return bool(is_color_like(text))


_FAR = 1e9
"""Of sides in any unit, where numbers of pixels can still be told."""


@dataclass(frozen=True)
class FigureSpec:
    """How a figure looks.

    Attributes
    ----------
    layout : {"auto", "single", "pair", "panes", "strip"}
        The first map alone; picture and first map; all maps in rows; all maps in one row. "auto" is "single" for one
        map and "panes" for several.
    width, height : float, float or None
        Of the whole figure; without a height it is as high as it needs to be.
    unit : {"mm", "inch", "px"}
    dpi : int
        Of raster formats and of the images inside vector formats.
    font : str
    font_size : float
        In points.
    titles, captions, colour_bar : bool
        Whether there are any.
    overlay : bool
        Whether the map lies over the picture; otherwise its colours alone are drawn.
    opacity : float
        0..1, of the map over the picture.
    sequential, diverging : str
        Colour maps.
    native : bool
        Native cells instead of a smooth map.
    scale : {"shared", "fit"}
        One scale for maps of one quantity, or one for each.
    spacing : {"linear", "log"}
    relative : bool
        Values as multiples of the uniform probability.
    threshold : {"none", "value", "mass", "min-max"}
    threshold_value : float
    contour, mask, found_boxes : bool
        What is done with the threshold: a line around what it chooses, the map only there, boxes around its parts.
    background : str
        Any colour of matplotlib.
    transparent : bool
        No background (JPEG has no transparency and gets the background).
    """

    layout: FigureLayout = "auto"
    width: float = 120.0
    height: float | None = None
    unit: Literal["mm", "inch", "px"] = "mm"
    dpi: int = 300
    font: str = "DejaVu Sans"
    font_size: float = 7.0
    titles: bool = True
    captions: bool = True
    colour_bar: bool = True
    overlay: bool = True
    opacity: float = 0.6
    sequential: str = SEQUENTIAL[0]
    diverging: str = DIVERGING[0]
    native: bool = False
    scale: Literal["shared", "fit"] = "shared"
    spacing: Spacing = "linear"
    relative: bool = False
    threshold: ThresholdKind = "none"
    threshold_value: float = 0.9
    contour: bool = True
    mask: bool = False
    found_boxes: bool = False
    background: str = "white"
    transparent: bool = False

    def __post_init__(self) -> None:
        checks = {
            "layout": self.layout in get_args(FigureLayout),
            "unit": self.unit in ("mm", "inch", "px"),
            "width": 0 < self.width < _FAR,
            "height": self.height is None or 0 < self.height < _FAR,
            "dpi": 10 <= self.dpi <= 2400,
            "font_size": 1 <= self.font_size <= 200,
            "opacity": 0 <= self.opacity <= 1,
            "sequential": self.sequential in SEQUENTIAL,
            "diverging": self.diverging in DIVERGING,
            "scale": self.scale in ("shared", "fit"),
            "spacing": self.spacing in ("linear", "log"),
            "threshold": self.threshold in get_args(ThresholdKind),
            "background": self.background == "white" or _is_colour(self.background),
        }
        for name, fine in checks.items():
            if not fine:
                raise ExportError(f"a figure can't have {name.replace('_', ' ')} {getattr(self, name)!r}")
        if max(self.pixels[0], self.pixels[1] or 0) > MAX_SIDE:
            raise ExportError(
                f"a figure of {self.width:g} {self.unit} at {self.dpi} dpi has more than {MAX_SIDE} pixels on a side; "
                "make it smaller or lower the dpi"
            )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "FigureSpec":
        """Read what `to_json` wrote; unknown keys are an `ExportError`."""
        known = {field.name for field in fields(cls)}
        if unknown := set(data) - known:
            raise ExportError(
                f"a figure has no option {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
            )
        try:
            return cls(**data)
        except TypeError as error:
            raise ExportError(f"the figure's options can't be used: {error}") from error

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)

    @property
    def threshold_json(self) -> dict[str, Any] | None:
        """The threshold as manifests state it, None for none."""
        return None if self.threshold == "none" else {"kind": self.threshold, "value": self.threshold_value}

    @property
    def pixels(self) -> tuple[int, int | None]:
        """Width and height in whole pixels."""
        factor = {"mm": self.dpi / _MM_PER_INCH, "inch": self.dpi, "px": 1.0}[self.unit]
        return max(1, round(self.width * factor)), None if self.height is None else max(1, round(self.height * factor))


PRESETS: dict[str, FigureSpec] = {
    "column": FigureSpec(width=85, font_size=7),
    "two columns": FigureSpec(width=178, font_size=7),
    "slide": FigureSpec(width=10, height=5.625, unit="inch", dpi=192, font_size=14),
    "poster": FigureSpec(width=400, font_size=24),
}
"""Sizes that people often need: a column of a two-column paper, both columns, a 16:9 slide, a poster's panel."""
