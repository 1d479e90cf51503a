"""Maps: values on a grid of locations, with what they are, what they are about, and whether their sum is right."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calm_gui.core.classes import ClassSet
from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.geometry import Geometry, interpolate
from calm_gui.core.hierarchy import Node
from calm_gui.core.map_kind import MapKind, Telling
from calm_gui.core.map_numbers import MapNumbers
from calm_gui.errors import ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]

__all__ = ["AnyMap", "Computed", "Map", "SumCheck", "WinnerMap"]

SUM_TOLERANCE = 1e-4
"""Relative tolerance of the sum check."""

_DENORMAL = 1e-37
"""Probabilities below this have lost digits in float32 and can't be held to a relative tolerance."""


@dataclass(frozen=True)
class SumCheck:
    """Comparison of a map's sum with the probability computed anew from the raw branches in float64.

    Attributes
    ----------
    total : float
        Sum of the displayed float32 values.
    expected : float
        The probability (or difference of two) that it should be.
    error : float
        Their difference, relative to the probability mass involved.
    """

    total: float
    expected: float
    error: float

    @classmethod
    def of(cls, total: float, expected: float, mass: float) -> SumCheck:
        """Compare a sum with what it should be, relative to a probability mass."""
        return cls(float(total), expected, abs(float(total) - expected) / max(mass, _DENORMAL))

    @property
    def passed(self) -> bool:
        """Whether the error lies within `SUM_TOLERANCE`; False for NaN."""
        return self.error <= SUM_TOLERANCE


class _Shown:
    """What maps of every kind do in the same way: be saved, be plotted, show themselves in a notebook."""

    explanation: ClassifiedPicture

    def save(self, path: str) -> None:
        """Write the map to an `.npz` file, and `<name>.json` that says what it is; see `calm_gui.render.arrays`."""
        self.explanation.present().save_map(self, path)

    def plot(self, axes: Any, **options: Any) -> None:
        """Draw the map over its picture into matplotlib Axes; options are those of `FigureSpec`."""
        self.explanation.present().plot(axes, self, **options)

    def _repr_png_(self) -> bytes | None:
        presenter = self.explanation.presenter
        return presenter.png(self.explanation, [self]) if presenter else None


@dataclass(frozen=True, eq=False, repr=False)
class Map(MapNumbers, _Shown):
    """The answer to one reading, on the native grid.

    Attributes
    ----------
    values : ndarray (H,W), float32
    kind : MapKind
        The reading, or the method of others.
    explanation : Explanation or CamExplanation
        What it was read from.
    target, contrast : ClassSet or None
        The class sets the reading is about.
    check : SumCheck or None
        None where a sum means nothing (CAM).
    unit : str
        What one value is; the kind's where none is given.
    """

    values: Float32
    kind: MapKind
    explanation: ClassifiedPicture
    target: ClassSet | None = None
    contrast: ClassSet | None = None
    check: SumCheck | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.unit:
            object.__setattr__(self, "unit", self.kind.unit)

    @property
    def reading(self) -> str:
        """Key of the reading or method."""
        return self.kind.key

    @property
    def method_name(self) -> str:
        """What version 0.1 called the title of a method of others; empty for a reading."""
        warnings.warn(
            "Map.method_name is now Map.kind.title; the old name still works in 0.2",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.kind.title if self.kind.family == "method" else ""

    @property
    def geometry(self) -> Geometry:
        """How the map's own grid lies on the picture; a method's may be finer than the explanation's."""
        height, width = self.values.shape
        geometry = self.explanation.geometry
        return geometry if geometry.grid == (height, width) else replace(geometry, grid=(height, width))

    @property
    def sum(self) -> float:
        """Sum over the native grid (weighted by h for the conditional)."""
        return self.check.total if self.check else float(self.values.sum(dtype=np.float64))

    @property
    def signed(self) -> bool:
        """Whether values below zero have a meaning: those of a difference, and a class's raw scores."""
        return self.kind.signed_in(self.unit)

    @property
    def named_target(self) -> str:
        """What the target is called where there is little room: its class, or how many they are."""
        target, told = self.target or ClassSet(), self.explanation
        if len(target) == 1:
            return told.classes.name_of(next(iter(target)))
        node = told.hierarchy.node_of(target) if told.hierarchy is not None else None
        return node.name if node else f"{len(target)} classes"

    def _combined(self, sign: str, first: Any, second: Any) -> Any:
        other = second if first is self else first
        if isinstance(other, str) or not (hasattr(other, "__array__") or np.isscalar(other)):
            return NotImplemented
        return _combined(sign, first, second)

    def __repr__(self) -> str:
        rows, columns = self.values.shape
        of = f" of {self.named_target}" if self.target is not None and self.kind.family != "computed" else ""
        return f"<Map {self.kind.title}{of}: {rows}x{columns} cells, sum {self.sum:.6g}>"

    def upsampled(self, size: tuple[int, int] | None = None, nearest: bool = False) -> Float32:
        """The map over the upright picture, bilinear with half-pixel centres.

        Parameters
        ----------
        size : (int, int), optional
            Height and width wanted; by default the upright picture's.
        nearest : bool
            Native cells instead of a smooth map.

        Returns
        -------
        ndarray (height, width), float32
            NaN where the network saw nothing. Values are not rescaled: their sum is not the map's sum.
        """
        width, height = self.geometry.picture
        out_height, out_width = size or (height, width)
        x = (np.arange(out_width) + 0.5) * width / out_width
        y = (np.arange(out_height) + 0.5) * height / out_height
        columns, rows = self.geometry.to_grid(x, y)
        result = interpolate(self.values, columns, rows, nearest)
        if not self.geometry.sees_all:
            seen = self.geometry.seen
            result[(y < seen.y0) | (y >= seen.y1), :] = np.nan
            result[:, (x < seen.x0) | (x >= seen.x1)] = np.nan
        return result


@dataclass(frozen=True, eq=False, repr=False)
class WinnerMap(_Shown):
    """At each cell the node, of one depth, with the largest p(node,z|x).

    Attributes
    ----------
    winner : ndarray (H,W), intp
        Index into `nodes`, or -1 where h = 0.
    values : ndarray (H,W), float32
        The winner's p(node,z|x).
    share : ndarray (H,W), float32
        The winner's p(node|x,z), its confidence at that cell.
    nodes : tuple of Node
    depth : int
    overlapping : bool
        Whether some classes count in several nodes, so that the nodes' probabilities add to more than one.
    kind : MapKind
    explanation : Explanation
    """

    winner: NDArray[np.intp]
    values: Float32
    share: Float32
    nodes: tuple[Node, ...]
    depth: int
    overlapping: bool
    kind: MapKind
    explanation: ClassifiedPicture

    @property
    def reading(self) -> str:
        """Key of the reading."""
        return self.kind.key

    @property
    def geometry(self) -> Geometry:
        """How the grid lies on the picture."""
        return self.explanation.geometry

    @property
    def sum(self) -> float:
        """What the winners have in all."""
        return float(self.values.sum(dtype=np.float64))

    def __repr__(self) -> str:
        rows, columns = self.values.shape
        return f"<WinnerMap at depth {self.depth}: {rows}x{columns} cells, {len(self.legend())} groups win>"

    def legend(self) -> list[tuple[Node, int, float]]:
        """Nodes that win somewhere, with their number of cells and the mass they win there, largest mass first."""
        rows = []
        for index in np.unique(self.winner[self.winner >= 0]):
            won = self.winner == index
            rows.append((self.nodes[index], int(won.sum()), float(self.values[won].sum(dtype=np.float64))))
        return sorted(rows, key=lambda row: (-row[2], row[0].key))


AnyMap = Map | WinnerMap


_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "\N{MINUS SIGN}": operator.sub,
    "\N{MULTIPLICATION SIGN}": operator.mul,
    "/": operator.truediv,
}


class Computed(MapKind):
    """What a map computed from others is: no reading, so that nothing is promised of its sum.

    Parameters
    ----------
    title : str
        How it was computed.
    unit : str
    """

    family, key = "computed", "computed"
    question = "What this is was said where it was computed."
    meaning = "computed from other maps"
    signed = True
    sum_text = "sum {}"

    def __init__(self, title: str, unit: str) -> None:
        self.title = self.formula = title
        self.unit, self.quantity = unit, f"computed: {unit}"

    def sentence(self, telling: Telling) -> str:
        """What it was computed from, and its sum."""
        return f"{self.title}; its cells add up to {telling.number(telling.total)}."


def _combined(sign: str, first: Any, second: Any) -> Map:
    """A map and a number, an array or another map as one map.

    Parameters
    ----------
    sign : {"+", "−", "×", "/"}
    first, second : Map, number, or array of the map's grid
        At least one is a map.

    Returns
    -------
    Map
        Of the first map's explanation; its values are float32, computed in float64. A division by zero gives NaN or
        infinity, as NumPy does.

    Raises
    ------
    ReadingError
        If the grids, or the pictures of two maps, differ.
    """
    own = first if isinstance(first, Map) else second
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _OPERATIONS[sign](_values(first, own), _values(second, own)).astype(np.float32)
    others = [m for m in (first, second) if isinstance(m, Map)]
    same = len({m.unit for m in others}) == 1 and (len(others) == 2) == (sign in ("+", "\N{MINUS SIGN}"))
    title = f"{_title(first, sign)} {sign} {_title(second, sign)}"
    target = own.target if all(m.target == own.target for m in others) else None
    unit = own.unit if same else "computed value"
    return replace(own, values=values, kind=Computed(title, unit), target=target, contrast=None, check=None, unit=unit)


def _values(part: Any, own: Map) -> Any:
    values = np.asarray(part, dtype=np.float64)
    if values.ndim and values.shape != own.values.shape:
        raise ReadingError(
            f"a map of {_cells(own.values)} and one of {_cells(values)} can't be combined; both can be brought to "
            "the picture's size: upsampled()"
        )
    if isinstance(part, Map) and _picture(part) != _picture(own):
        raise ReadingError("maps of two pictures can't be combined as a map; np.asarray(map) gives their numbers")
    return values


def _cells(values: Any) -> str:
    return "x".join(map(str, values.shape)) + " cells"


def _picture(shown: Map) -> Any:
    source = shown.explanation.source.get("picture", {})
    return source.get("sha256") or source.get("path"), shown.geometry.picture


def _title(part: Any, sign: str) -> str:
    if not isinstance(part, Map):
        return f"{part:g}" if np.ndim(part) == 0 else "an array"
    if isinstance(part.kind, Computed):
        return part.kind.title if sign == "+" else f"({part.kind.title})"
    return part.kind.title + (f" of {part.named_target}" if part.target else "")
