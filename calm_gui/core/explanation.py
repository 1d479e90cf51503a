"""Explanations and readings: one picture under one checkpoint, and every question that sums answer.

The joint p(y,z|x) = g * h is computed once from the raw branches. All readings are sums of its rows (of g's for the
conditional), so that their own sums over locations are probabilities (paper, section 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.geometry import Box, Geometry, interpolate
from calm_gui.core.hierarchy import Hierarchy, Node, SupersetTable
from calm_gui.core.region import Region, region_from_box, region_from_polygon
from calm_gui.errors import ClassLookupError, NumericalError, ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]
    Float64 = NDArray[np.float64]

__all__ = [
    "READINGS",
    "AnyExplanation",
    "CamExplanation",
    "ClassSetLike",
    "Explanation",
    "Map",
    "Presenter",
    "Reading",
    "SumCheck",
    "WinnerMap",
    "resolve",
]

Reading = Literal["attribution", "saliency", "conditional", "cue_posterior", "counterfactual", "winner", "cam"]
READINGS: dict[Reading, str] = {
    "attribution": "How likely is it that the class is in A and its cue lies here?",
    "saliency": "How likely is it that the cue, of whatever class, lies here?",
    "conditional": "If the cue lay here, how likely would A be?",
    "cue_posterior": "Given that the class is in A, how likely is it that its cue lies here?",
    "counterfactual": "How much more likely is A with its cue here than B with its cue here?",
    "winner": "Which group has the most probability here?",
    "cam": "CAM's class score here, in units that no probability has.",
}
"""The readings and the question that each answers."""

SUM_TOLERANCE = 1e-4
"""Relative tolerance of the sum check (DESIGN.md, section 2)."""

_DENORMAL = 1e-37
"""Probabilities below this have lost digits in float32 and can't be held to a relative tolerance."""

_FEW_DIGITS = 1e-30
"""Below this, cells of a float32 joint are denormal or zero: what is divided by p(A|x) is computed anew in float64."""

ClassSetLike = ClassSet | Node | int | str | Iterable[Any]
"""Whatever names a class set: an index, a wnid, a hierarchy node, a unique name, or an iterable of these."""


class Presenter(Protocol):
    """What turns maps into files and figures; handed in from above, since the core knows neither."""

    def save_map(self, shown: Map | WinnerMap, path: str) -> None:
        """Write a map's numbers to `path` and what they are to `<name>.json`."""

    def figure(self, explanation: AnyExplanation, maps: Sequence[Map | WinnerMap], **options: Any) -> Any:
        """A matplotlib Figure of maps over their picture."""

    def plot(self, axes: Any, shown: Map | WinnerMap, **options: Any) -> None:
        """Draw one map over its picture into given matplotlib Axes."""

    def png(self, explanation: AnyExplanation, maps: Sequence[Map | WinnerMap]) -> bytes:
        """A small figure as PNG, for notebooks."""

    def html(self, explanation: AnyExplanation) -> str:
        """Picture, first guesses and their maps as HTML, for notebooks."""


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
        """Draw the map over its picture into matplotlib Axes; options as for `calm_gui.render.figure.FigureSpec`."""
        self.explanation.present().plot(axes, self, **options)

    def _repr_png_(self) -> bytes | None:
        presenter = self.explanation.presenter
        return presenter.png(self.explanation, [self]) if presenter else None


@dataclass(frozen=True, eq=False)
class Map(_Shown):
    """The answer to one reading, on the native grid.

    Attributes
    ----------
    values : ndarray (H,W), float32
    reading : str
    explanation : Explanation or CamExplanation
        What it was read from.
    target, contrast : ClassSet or None
        The class sets the reading is about.
    check : SumCheck or None
        None where a reading's sum means nothing (CAM).
    unit : str
        What one value is.
    """

    values: Float32
    reading: Reading
    explanation: AnyExplanation
    target: ClassSet | None = None
    contrast: ClassSet | None = None
    check: SumCheck | None = None
    unit: str = "probability per cell"

    @property
    def geometry(self) -> Geometry:
        """How the grid lies on the picture."""
        return self.explanation.geometry

    @property
    def sum(self) -> float:
        """Sum over the native grid (weighted by h for the conditional)."""
        return self.check.total if self.check else float(self.values.sum(dtype=np.float64))

    @property
    def method_name(self) -> str:
        """The method that made it, where that is no reading; empty otherwise."""
        return ""

    @property
    def signed(self) -> bool:
        """Whether values below zero have a meaning: those of a difference, and a class's raw scores."""
        return self.reading == "counterfactual" or (self.reading == "cam" and self.unit == "class score")

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


@dataclass(frozen=True, eq=False)
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
    """

    winner: NDArray[np.intp]
    values: Float32
    share: Float32
    nodes: tuple[Node, ...]
    depth: int
    overlapping: bool
    explanation: Explanation

    @property
    def geometry(self) -> Geometry:
        """How the grid lies on the picture."""
        return self.explanation.geometry

    def legend(self) -> list[tuple[Node, int, float]]:
        """Nodes that win somewhere, with their number of cells and the mass they win there, largest mass first."""
        rows = []
        for index in np.unique(self.winner[self.winner >= 0]):
            won = self.winner == index
            rows.append((self.nodes[index], int(won.sum()), float(self.values[won].sum(dtype=np.float64))))
        return sorted(rows, key=lambda row: (-row[2], row[0].key))


class _Classified:
    """What explanations of every kind of checkpoint share: classes, hierarchy, geometry, p(y|x)."""

    def __init__(
        self,
        f: Float32,
        geometry: Geometry,
        classes: ClassTable,
        hierarchy: Hierarchy | None,
        supersets: SupersetTable | None,
        source: dict[str, Any] | None,
    ) -> None:
        self.f = np.ascontiguousarray(f, dtype=np.float32)
        self.geometry = geometry
        self.classes = classes
        self.hierarchy = hierarchy
        self.supersets = supersets or SupersetTable(hierarchy)
        self.source = source or {}
        self.picture: NDArray[np.uint8] | None = None
        self.presenter: Presenter | None = None
        if self.f.shape != (len(classes), *geometry.grid):
            raise ReadingError(
                f"the class branch has the shape {self.f.shape}, but there are {len(classes)} classes "
                f"on a grid of {geometry.grid}"
            )
        if not np.isfinite(self.f).all():
            raise NumericalError("the class branch holds NaN or infinity; the checkpoint's weights are broken")

    @property
    def class_probabilities(self) -> Float64:
        """p(y|x), (C,)."""
        raise NotImplementedError

    def give_hierarchy(self, hierarchy: Hierarchy | None, supersets: SupersetTable) -> None:
        """Speak of other groups of the same classes from now on."""
        self.hierarchy, self.supersets = hierarchy, supersets
        self.__dict__.pop("node_probabilities", None)

    @cached_property
    def node_probabilities(self) -> dict[str, float]:
        """p(node|x) of every node of the hierarchy; empty without one."""
        return self.hierarchy.probabilities(self.class_probabilities) if self.hierarchy else {}

    def class_set(self, what: ClassSetLike) -> ClassSet:
        """The class set that an index, wnid, node, name, ClassSet or iterable of these names.

        Raises
        ------
        ClassLookupError
            If it names nothing, several classes (they are listed), or an index out of range.
        """
        return resolve(what, self.classes, self.hierarchy)

    def top(self, n: int = 5) -> list[tuple[int, float]]:
        """The n most probable classes as (index, p(y|x)), ties by index."""
        p = self.class_probabilities
        return [(i, float(p[i])) for i in self._order[:n].tolist()]

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """Class indices, the most probable first."""
        return np.argsort(-self.class_probabilities, kind="stable")

    def region_from_box(self, x0: float, y0: float, x1: float, y1: float, name: str = "region") -> Region:
        """Region of a rectangle in pixels of the upright picture."""
        return region_from_box(self.geometry, Box(x0, y0, x1, y1), name)

    def region_from_polygon(self, points: list[tuple[float, float]], name: str = "region") -> Region:
        """Region of a closed polygon in pixels of the upright picture."""
        return region_from_polygon(self.geometry, points, name)

    def present(self) -> Presenter:
        """The presenter that this explanation was given.

        Raises
        ------
        ReadingError
            If it was built from arrays and given none.
        """
        if self.presenter is None:
            raise ReadingError(
                "this explanation was built without a presenter; set one, such as calm_gui.render.PRESENTER"
            )
        return self.presenter

    def figure(self, *maps: Map | WinnerMap, **options: Any) -> Any:
        """A matplotlib Figure of the maps over the picture; options as for `calm_gui.render.figure.map_figure`."""
        return self.present().figure(self, maps, **options)  # type: ignore[arg-type]

    def _repr_html_(self) -> str | None:
        return self.presenter.html(self) if self.presenter else None  # type: ignore[arg-type]

    def _repr_png_(self) -> bytes | None:
        return self.presenter.png(self, []) if self.presenter else None  # type: ignore[arg-type]


class Explanation(_Classified):
    """One picture under one CALM checkpoint.

    Parameters
    ----------
    f : ndarray (C,H,W), float32
        Raw class branch.
    a : ndarray (H,W), float32
        Raw saliency branch.
    activation : {"softplus", "relu"}
    geometry : Geometry
    classes : ClassTable
    hierarchy : Hierarchy, optional
    supersets : SupersetTable, optional
    source : dict, optional
        What identifies picture and checkpoint; goes into exports.

    Attributes
    ----------
    joint : ndarray (C,H,W), float32
        p(y,z|x), sums to 1.
    picture : ndarray (h,w,3), uint8, or None
        The upright picture.

    Raises
    ------
    NumericalError
        If a branch isn't finite or the saliency branch is zero everywhere.
    """

    def __init__(
        self,
        f: Float32,
        a: Float32,
        activation: Literal["softplus", "relu"],
        geometry: Geometry,
        classes: ClassTable,
        hierarchy: Hierarchy | None = None,
        supersets: SupersetTable | None = None,
        source: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f, geometry, classes, hierarchy, supersets, source)
        self.a = np.ascontiguousarray(a, dtype=np.float32).reshape(geometry.grid)
        self.activation = activation
        if not np.isfinite(self.a).all():
            raise NumericalError("the saliency branch holds NaN or infinity; the checkpoint's weights are broken")
        # In float64, so that a branch far below zero, where softplus is tiny, keeps its shape.
        positive = np.maximum(self.a, 0) if activation == "relu" else np.logaddexp(self.a.astype(np.float64), 0)
        total = positive.sum(dtype=np.float64)
        if not total > 0:
            raise NumericalError(
                "the saliency branch is zero everywhere, so p(z|x) is undefined; the checkpoint's saliency "
                "branch is dead, or it was trained with softplus instead of ReLU"
            )
        h = (positive / total).astype(np.float32)
        peak = self.f.max(axis=0)
        joint = self.f - peak
        np.exp(joint, out=joint)
        normaliser = np.add.reduce(joint, axis=0)
        self._log_normaliser = peak + np.log(normaliser)
        joint *= h / normaliser
        self.joint = joint
        self._h = h

    @cached_property
    def class_probabilities(self) -> Float64:
        """p(y|x) of every class, (C,), in float64 from raw f and a alone: what the sum check compares with."""
        scores, weights = self._raw64()
        result: Float64 = scores.reshape(len(self.classes), -1) @ weights.ravel()
        return result

    def _raw64(self) -> tuple[Float64, Float64]:
        """Two factors of the joint in float64: (C,H,W), exp of f less each cell's largest; and the rest, (H,W)."""
        a = self.a.astype(np.float64)
        s = np.maximum(a, 0) if self.activation == "relu" else np.logaddexp(a, 0)
        scores = np.subtract(self.f, self.f.max(axis=0), dtype=np.float64)
        np.exp(scores, out=scores)
        return scores, s / s.sum() / scores.sum(axis=0)

    def _p64(self, classes: ClassSet) -> float:
        return float(self.class_probabilities[classes.indices].sum())

    def _checked(self, values: Float64, expected: float, mass: float, **fields: Any) -> Map:
        """A map of float32 values whose sum is held against an expectation, relative to `mass`."""
        shown = values.astype(np.float32)
        return Map(shown, explanation=self, check=_compare(shown.sum(dtype=np.float64), expected, mass), **fields)

    def _rows(self, classes: ClassSet) -> Float64:
        """Sum of the joint's rows of a class set, (H,W), float64."""
        if len(classes) == len(self.classes):
            return self.joint.sum(axis=0, dtype=np.float64)
        rows = self.joint[classes.indices]
        result: Float64 = rows.sum(axis=0, dtype=np.float64)
        return result

    def _rows64(self, classes: ClassSet) -> Float64:
        """The same from raw f and a, for probabilities too small for float32."""
        scores, weights = self._raw64()
        result: Float64 = scores[classes.indices].sum(axis=0) * weights
        return result

    def attribution(self, target: ClassSetLike) -> Map:
        """p(A,z|x): that the class is in A and its cue lies at z (paper, equation 7 and subset attribution).

        Parameters
        ----------
        target : class set A, in any form that `class_set` takes

        Returns
        -------
        Map
            Sums to p(A|x).
        """
        a_set = self.class_set(target)
        expected = self._p64(a_set)
        return self._checked(self._rows(a_set), expected, expected, reading="attribution", target=a_set)

    def saliency(self) -> Map:
        """p(z|x): that the cue, of whatever class, lies at z. Sums to 1."""
        return self._checked(self._h.astype(np.float64), 1.0, 1.0, reading="saliency")

    def conditional(self, target: ClassSetLike) -> Map:
        """p(A|x,z): how likely A would be if the cue lay at z (paper, section 4.1.3).

        Computed from the class branch alone, so that it is defined where h = 0 too.

        Returns
        -------
        Map
            Weighted by h it sums to p(A|x); that sum is the map's `sum`.
        """
        a_set = self.class_set(target)
        g = np.exp(self.f[a_set.indices] - self._log_normaliser).sum(axis=0, dtype=np.float64)
        shown = np.minimum(g, 1.0).astype(np.float32)
        expected = self._p64(a_set)
        weighted = float((shown * self._h.astype(np.float64)).sum())
        return Map(
            shown,
            "conditional",
            self,
            target=a_set,
            check=_compare(weighted, expected, expected),
            unit="probability of A at the cell",
        )

    def cue_posterior(self, target: ClassSetLike) -> Map:
        """p(z|x,A): given A, where its cue lies. Sums to 1.

        Raises
        ------
        ReadingError
            If p(A|x) is zero in float64 (an empty set, or one whose every score underflows).
        """
        a_set = self.class_set(target)
        expected = self._p64(a_set)
        rows = self._rows(a_set) if expected > _FEW_DIGITS else self._rows64(a_set)
        if not (expected > 0 and rows.any()):
            raise ReadingError("p(A|x) is 0, so where the cue of A lies given A is undefined; choose another target")
        return self._checked(rows / expected, 1.0, 1.0, reading="cue_posterior", target=a_set)

    def counterfactual(self, target: ClassSetLike, contrast: ClassSetLike) -> Map:
        """p(A,z|x) - p(B,z|x): how much more A is to be seen at z than B. Classes in both sets cancel.

        Returns
        -------
        Map
            Sums to p(A|x) - p(B|x).
        """
        a_set, b_set = self.class_set(target), self.class_set(contrast)
        only_a, only_b = a_set - b_set, b_set - a_set
        p_a, p_b = self._p64(only_a), self._p64(only_b)
        return self._checked(
            self._rows(only_a) - self._rows(only_b),
            p_a - p_b,
            p_a + p_b,
            reading="counterfactual",
            target=a_set,
            contrast=b_set,
        )

    def winner(self, depth: int) -> WinnerMap:
        """At each cell the node at a depth with the largest p(node,z|x); see `Hierarchy.cut` for what depth is.

        Raises
        ------
        ReadingError
            If the checkpoint has no hierarchy or the depth is out of range.
        """
        if self.hierarchy is None:
            raise ReadingError("the winner map needs a hierarchy, and this checkpoint has none")
        if not 0 <= depth <= self.hierarchy.max_depth:
            raise ReadingError(f"depth must lie between 0 and {self.hierarchy.max_depth}, not at {depth}")
        nodes = self.hierarchy.cut(depth)
        stacked = np.stack([self._rows(node.classes) for node in nodes])
        best = stacked.argmax(axis=0)
        values = np.take_along_axis(stacked, best[None], axis=0)[0]
        g = np.stack([np.exp(self.f[node.classes.indices] - self._log_normaliser).sum(axis=0) for node in nodes])
        return WinnerMap(
            winner=np.where(self._h > 0, best, -1),
            values=values.astype(np.float32),
            share=np.take_along_axis(g, best[None], axis=0)[0].astype(np.float32),
            nodes=nodes,
            depth=depth,
            overlapping=sum(len(node.classes) for node in nodes) > len(frozenset().union(*(n.classes for n in nodes))),
            explanation=self,
        )

    def reading(self, name: Reading, target: ClassSetLike, contrast: ClassSetLike | None = None) -> Map:
        """The map of a reading by name; those that take no target ignore it.

        Raises
        ------
        ReadingError
            If the reading isn't one of CALM's maps or needs a contrast and gets none.
        """
        if name == "counterfactual":
            if contrast is None:
                raise ReadingError("the counterfactual needs a contrast B; choose a second class or group")
            return self.counterfactual(target, contrast)
        one_set: dict[str, Callable[[], Map]] = {
            "attribution": lambda: self.attribution(target),
            "saliency": self.saliency,
            "conditional": lambda: self.conditional(target),
            "cue_posterior": lambda: self.cue_posterior(target),
        }
        if name not in one_set:
            raise ReadingError(
                f"a CALM checkpoint has no reading {name!r}; it has {', '.join(one_set)}, counterfactual"
            )
        return one_set[name]()

    def probability(self, target: ClassSetLike, region: Region | None = None) -> float:
        """p(A|x), or p(A, z in R|x) for a region."""
        a_set = self.class_set(target)
        if region is None:
            return self._p64(a_set)
        return float((self._rows(a_set) * region.weights).sum())

    def region_probabilities(self, region: Region) -> Float64:
        """p(y, z in R|x) of every class, (C,)."""
        return self.joint.reshape(len(self.classes), -1) @ region.weights.ravel()


class CamExplanation(_Classified):
    """One picture under a CAM checkpoint: class scores at each location, whose mean is the logit.

    Parameters as for `Explanation`, without the saliency branch.
    """

    def __init__(
        self,
        f: Float32,
        geometry: Geometry,
        classes: ClassTable,
        hierarchy: Hierarchy | None = None,
        supersets: SupersetTable | None = None,
        source: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f, geometry, classes, hierarchy, supersets, source)

    @cached_property
    def class_probabilities(self) -> Float64:
        """p(y|x), (C,): softmax of the mean class scores (paper, equation 1)."""
        from scipy.special import log_softmax  # off the start-up path

        return np.exp(log_softmax(self.f.mean(axis=(1, 2), dtype=np.float64)))

    def probability(self, target: ClassSetLike, region: Region | None = None) -> float:
        """p(A|x). CAM has no probability of a place.

        Raises
        ------
        ReadingError
            If a region is given.
        """
        if region is not None:
            raise ReadingError("CAM gives no probability of a region; use a CALM checkpoint")
        return float(self.class_probabilities[self.class_set(target).indices].sum())

    def cam(self, target: ClassSetLike, normalisation: Literal["none", "max", "min-max"] = "min-max") -> Map:
        """CAM's map (paper, equation 2); for several classes the sum of their scores (CAM + Y).

        Parameters
        ----------
        target : class set A
        normalisation : {"min-max", "max", "none"}
            "none" keeps the raw scores, whose mean is the class's logit.

        Returns
        -------
        Map
            Its sum means nothing. A map without variation is zero everywhere.
        """
        a_set = self.class_set(target)
        raw = self.f[a_set.indices].sum(axis=0, dtype=np.float64)
        units = {
            "none": "class score",
            "max": "share of the largest score",
            "min-max": "place between the extremes",
        }
        if normalisation == "max":
            raw = np.maximum(raw, 0.0)
            raw = raw / raw.max() if raw.max() > 0 else raw
        elif normalisation == "min-max":
            span = raw.max() - raw.min()
            raw = (raw - raw.min()) / span if span > 0 else np.zeros_like(raw)
        elif normalisation != "none":
            raise ReadingError(f"CAM's normalisation must be one of {', '.join(units)}, not {normalisation!r}")
        return Map(raw.astype(np.float32), "cam", self, target=a_set, unit=units[normalisation])

    def reading(self, name: Reading, target: ClassSetLike, contrast: ClassSetLike | None = None) -> Map:
        """CAM's only reading.

        Raises
        ------
        ReadingError
            For any other: CAM has no p(z|x), so none of them is defined.
        """
        if name != "cam":
            raise ReadingError(
                f"a CAM checkpoint has no p(y,z|x), so {name.replace('_', ' ')} is undefined; it has cam"
            )
        return self.cam(target)


AnyExplanation = Explanation | CamExplanation


def _compare(total: float, expected: float, mass: float) -> SumCheck:
    return SumCheck(float(total), expected, abs(float(total) - expected) / max(mass, _DENORMAL))


def resolve(what: ClassSetLike, classes: ClassTable, hierarchy: Hierarchy | None = None) -> ClassSet:
    """The class set that `what` names: an index, wnid, node, unique name, ClassSet, or an iterable of these.

    Raises
    ------
    ClassLookupError
        If it names nothing, several classes or nodes (they are listed), or an index out of range.
    """
    if isinstance(what, Node):
        return what.classes
    if isinstance(what, str):
        return _resolve_text(what, classes, hierarchy)
    if isinstance(what, (int, np.integer)):
        chosen = ClassSet([int(what)])
    elif isinstance(what, ClassSet):
        chosen = what
    else:
        chosen = ClassSet(i for item in what for i in resolve(item, classes, hierarchy))
    if chosen and max(chosen) >= len(classes):
        raise ClassLookupError(
            f"there is no class {max(chosen)}; the checkpoint has the classes 0 to {len(classes) - 1}"
        )
    return chosen


def _resolve_text(text: str, classes: ClassTable, hierarchy: Hierarchy | None) -> ClassSet:
    if hierarchy is not None and text in hierarchy:
        return hierarchy[text].classes
    if info := classes.by_wnid(text):
        return ClassSet([info.index])
    if text.isdecimal():
        return resolve(int(text), classes, hierarchy)
    candidates: dict[str, ClassSet] = {info.label: ClassSet([info.index]) for info in classes.named(text)}
    if hierarchy is not None:
        candidates |= {
            f"{node.name} ({node.key})": node.classes
            for node in hierarchy.values()
            if node.class_index is None and node.name.casefold() == text.replace("_", " ").casefold()
        }
    if len(candidates) == 1:
        return next(iter(candidates.values()))
    if candidates:
        raise ClassLookupError(f"{text!r} names several things; use an id instead: {', '.join(candidates)}")
    near = ", ".join(info.label for info in classes.find(text)[:5])
    raise ClassLookupError(
        f"no class or group is called {text!r}" + (f"; did you mean {near}?" if near else "; search by part of a name")
    )
