"""Maps: values on a grid of locations, with what they are, what they are about, and whether their sum is right."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calm_gui.core.classes import ClassSet
from calm_gui.core.geometry import Geometry, interpolate
from calm_gui.core.map_numbers import MapNumbers
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from calm_gui.core.explanation import AnyExplanation
    from calm_gui.core.hierarchy import Node

    Float32 = NDArray[np.float32]

__all__ = ["AnyMap", "Map", "MapKind", "SumCheck", "Telling", "WinnerMap", "missing_words"]

SUM_TOLERANCE = 1e-4
"""Relative tolerance of the sum check."""

_DENORMAL = 1e-37
"""Probabilities below this have lost digits in float32 and can't be held to a relative tolerance."""


@dataclass(frozen=True)
class Telling:
    """What a sentence about a map is made of; the names are those that the user sees.

    Attributes
    ----------
    shown : Map or WinnerMap
    target, contrast : str
        Names of A and B.
    a : str
        A with its article: ``an Afghan hound``, ``one of 12 classes``.
    inside : (str, str) or None
        The map's sum in the region that was drawn last, as text, and that region's name.
    number : callable
        A number as people read it.
    article : callable
        A name with its article.
    """

    shown: AnyMap
    target: str
    contrast: str
    a: str
    inside: tuple[str, str] | None
    number: Callable[[float], str]
    article: Callable[[str], str]

    @property
    def total(self) -> float:
        """The map's sum; of a winner map, what its winners have."""
        return self.shown.sum if isinstance(self.shown, Map) else float(self.shown.values.sum(dtype=np.float64))


class MapKind(ABC):
    """What maps of one kind are: a reading, or a method of others.

    Attributes
    ----------
    family : str
        What its key stands under in manifests: ``reading`` or ``method``.
    key : str
        In files and on command lines.
    title : str
        For people.
    short : str
        The same where there is little room; empty where the title will do.
    formula : str
        With A for the target and B for the contrast.
    question : str
        What the map answers.
    meaning : str
        The same in a few words.
    unit : str
        What one value is.
    quantity : str
        Only maps of one quantity share a scale.
    scale_title : str
        Above a scale of the quantity; empty for the label.
    takes_target, takes_contrast : bool
        Whether it is about A, about B too.
    signed : bool
        Whether values below zero have a meaning.
    times_uniform : bool
        Whether values may be written as multiples of the uniform probability.
    sum_text : str
        What a map's sum is, with ``{}`` in the number's place; empty where it means nothing.
    """

    family: str = ""
    key: str = ""
    title: str = ""
    short: str = ""
    formula: str = ""
    question: str = ""
    meaning: str = ""
    unit: str = ""
    quantity: str = ""
    scale_title: str = ""
    takes_target: bool = True
    takes_contrast: bool = False
    signed: bool = False
    times_uniform: bool = False
    sum_text: str = ""

    @abstractmethod
    def sentence(self, telling: Telling) -> str:
        """A map in a plain sentence with its number."""

    def title_in(self, explanation: AnyExplanation) -> str:
        """The title of an explanation's map."""
        return self.title

    def signed_in(self, unit: str) -> bool:
        """Whether values below zero have a meaning in one of the units that the kind has."""
        return self.signed

    def ends_in(self, unit: str) -> tuple[float, float] | None:
        """Ends of the scale that maps in a unit have whatever their values; None to fit it to them."""
        return None

    @property
    def label(self) -> str:
        """What stands on a button: the short title, or the title."""
        return self.short or self.title

    @property
    def details(self) -> dict[str, Any]:
        """What else descriptions of exports say of the kind."""
        return {}

    @property
    def slug(self) -> str:
        """The key as it stands in names of files."""
        return self.key

    def formula_of(self, letter: str) -> str:
        """The formula with another letter for the target."""
        return self.formula.replace("A", letter)

    def sum_words(self, total: str, letter: str = "A") -> str:
        """What a map's sum is, in numbers; empty where it means nothing."""
        return self.sum_text.replace("A", letter).format(total)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key}>"


def missing_words(kind: MapKind) -> str:
    """Which words a kind lacks, in words; empty if none."""
    words = ("key", "title", "formula", "question", "meaning", "unit", "quantity")
    return ", ".join(f"its {word}" for word in words if not getattr(kind, word))


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

    explanation: Any

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
    explanation: AnyExplanation
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
            "Map.method_name is now Map.kind.title; the old name goes on working through 0.2",
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
    explanation: AnyExplanation

    @property
    def reading(self) -> str:
        """Key of the reading."""
        return self.kind.key

    @property
    def geometry(self) -> Geometry:
        """How the grid lies on the picture."""
        return self.explanation.geometry

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
