"""Explanations: one picture under one checkpoint, and every question that sums answer.

The joint p(y,z|x) = g * h is computed once from the raw branches. All readings are sums of its rows (of g's for the
conditional), so that their own sums over locations are probabilities (paper, section 4.1).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.geometry import Box, Geometry
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.joint import Evidence, Joint
from calm_gui.core.lookup import ClassSetLike, resolve
from calm_gui.core.maps import AnyMap, Map, WinnerMap
from calm_gui.core.presenter import Presenter
from calm_gui.core.readings import (
    ATTRIBUTION,
    CONDITIONAL,
    COUNTERFACTUAL,
    CUE_POSTERIOR,
    READINGS,
    SALIENCY,
    WINNER,
    Asked,
    Reading,
)
from calm_gui.core.region import Region, region_from_box, region_from_mask, region_from_polygon
from calm_gui.errors import HierarchyError, NumericalError, ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]
    Float64 = NDArray[np.float64]

__all__ = ["AnyExplanation", "Explanation"]


class AnyExplanation:
    """What explanations of every kind of checkpoint share: classes, hierarchy, geometry, p(y|x), their readings.

    Attributes
    ----------
    f : ndarray (C,H,W), float32
        Raw class branch; of a classifier without one its logits, (C,1,1).
    evidence : Joint, ClassScores or ClassLogits
        What readings are computed from.
    own_reading : Reading or None
        The one that shows where a class's evidence lies; None if no reading does.
    picture : ndarray (h,w,3), uint8, or None
        The upright picture.
    """

    evidence: Evidence
    own_reading: Reading | None

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
        self.supersets = supersets or SupersetTable(hierarchy, (), classes)
        self.source = source or {}
        self.picture: NDArray[np.uint8] | None = None
        self.presenter: Presenter | None = None
        if self.f.shape != (len(classes), *self._cells):
            raise ReadingError(
                f"the class branch has the shape {self.f.shape}, but there are {len(classes)} classes "
                f"on a grid of {self._cells}"
            )
        if not np.isfinite(self.f).all():
            raise NumericalError("the class branch holds NaN or infinity; the checkpoint's weights are broken")

    @property
    def _cells(self) -> tuple[int, int]:
        """Rows and columns of the class branch."""
        return self.geometry.grid

    @property
    def class_probabilities(self) -> Float64:
        """p(y|x) of every class, (C,), in float64."""
        return cast("Float64", self.evidence.class_probabilities)

    def give_hierarchy(self, hierarchy: Hierarchy | None, supersets: SupersetTable | None = None) -> None:
        """Speak of other groups of the same classes from now on.

        Raises
        ------
        HierarchyError
            If the hierarchy is one of other classes.
        """
        if hierarchy is not None and hierarchy.n_classes != len(self.classes):
            raise HierarchyError(
                f"the hierarchy is one of {hierarchy.n_classes} classes, and there are {len(self.classes)} here"
            )
        self.hierarchy = hierarchy
        self.supersets = supersets or SupersetTable(hierarchy, (), self.classes)
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

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The readings that this explanation can answer, in the order of menus."""
        return tuple(reading for reading in READINGS.values() if not reading.refusal(self))

    def lacks(self, reading: Reading) -> str:
        """Why a reading of another kind of checkpoint has no answer here, in words."""
        raise NotImplementedError

    def answerable(self, reading: Reading) -> Reading:
        """The reading itself, or `own_reading` in the place of one that only another kind of checkpoint has."""
        return reading if isinstance(self.evidence, reading.needs) else self.own_reading or reading

    def reading(self, name: str, target: ClassSetLike, contrast: ClassSetLike | None = None, **options: Any) -> AnyMap:
        """The map of a reading by name.

        Parameters
        ----------
        name : str
            A key of `calm_gui.core.readings.READINGS`.
        target, contrast : class sets, in any form that `class_set` takes
            Readings that take none ignore them.
        **options
            Further fields of `Asked`.

        Raises
        ------
        ReadingError
            If there is no such reading, this explanation can't answer it, or it needs a contrast and gets none.
        """
        reading = READINGS[name]
        return reading.map(self, self.asked(reading, target, contrast, **options))

    def asked(
        self, reading: Reading, target: ClassSetLike, contrast: ClassSetLike | None = None, **options: Any
    ) -> Asked:
        """What a reading is asked, with of the sets those that it takes."""
        return Asked(
            self.class_set(target) if reading.takes_target else None,
            self.class_set(contrast) if reading.takes_contrast and contrast is not None else None,
            **options,
        )

    def probability(self, target: ClassSetLike, region: Region | None = None) -> float:
        """p(A|x), or p(A, z in R|x) for a region."""
        if region is not None:
            return self._probability_in(self.class_set(target), region)
        return self.evidence.probability(self.class_set(target))

    def _probability_in(self, classes: ClassSet, region: Region) -> float:
        raise ReadingError("this kind of checkpoint gives no probability of a region; use a CALM checkpoint")

    def region_from_box(self, x0: float, y0: float, x1: float, y1: float, name: str = "region") -> Region:
        """Region of a rectangle in pixels of the upright picture."""
        return region_from_box(self.geometry, Box(x0, y0, x1, y1), name)

    def region_from_mask(self, mask: Any, name: str = "region") -> Region:
        """Region of a mask over the grid, as `Map.threshold` gives it, or over the upright picture."""
        return region_from_mask(self.geometry, mask, name)

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

    def figure(self, *maps: AnyMap, **options: Any) -> Any:
        """A matplotlib Figure of the maps over the picture; options as for `calm_gui.render.figure.map_figure`."""
        return self.present().figure(self, maps, **options)

    def __repr__(self) -> str:
        rows, columns = self.geometry.grid
        picture = self.source.get("picture", {}).get("name", "a picture")
        index, p = self.top(1)[0]
        return (
            f"<{type(self).__name__} of {picture}: {self.classes.name_of(index)} {p:.3f}, {len(self.classes)} classes, "
            f"{rows}x{columns} cells>"
        )

    def _repr_html_(self) -> str | None:
        return self.presenter.html(self) if self.presenter else None

    def _repr_png_(self) -> bytes | None:
        return self.presenter.png(self, []) if self.presenter else None


class Explanation(AnyExplanation):
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

    Raises
    ------
    NumericalError
        If a branch isn't finite or the saliency branch is zero everywhere.
    """

    evidence: Joint
    own_reading = ATTRIBUTION

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
        self.evidence = Joint(self.f, self.a, activation)

    @property
    def joint(self) -> Float32:
        """p(y,z|x), (C,H,W); sums to 1."""
        return cast("Float32", self.evidence.values)

    def lacks(self, reading: Reading) -> str:
        """CALM has no class scores whose mean is a logit."""
        names = [other.key for other in READINGS.values() if isinstance(self.evidence, other.needs)]
        return f"a CALM checkpoint has no reading {reading.key!r}; it has {', '.join(names)}"

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
        return cast("Map", self.reading(ATTRIBUTION.key, target))

    def saliency(self) -> Map:
        """p(z|x): that the cue, of whatever class, lies at z. Sums to 1."""
        return cast("Map", self.reading(SALIENCY.key, ()))

    def conditional(self, target: ClassSetLike) -> Map:
        """p(A|x,z): how likely A would be if the cue lay at z (paper, section 4.1.3).

        Returns
        -------
        Map
            Weighted by h it sums to p(A|x); that sum is the map's `sum`.
        """
        return cast("Map", self.reading(CONDITIONAL.key, target))

    def cue_posterior(self, target: ClassSetLike) -> Map:
        """p(z|x,A): given A, where its cue lies. Sums to 1.

        Raises
        ------
        ReadingError
            If p(A|x) is zero in float64 (an empty set, or one whose every score underflows).
        """
        return cast("Map", self.reading(CUE_POSTERIOR.key, target))

    def counterfactual(self, target: ClassSetLike, contrast: ClassSetLike) -> Map:
        """p(A,z|x) - p(B,z|x): how much more A is to be seen at z than B. Classes in both sets cancel.

        Returns
        -------
        Map
            Sums to p(A|x) - p(B|x).
        """
        return cast("Map", self.reading(COUNTERFACTUAL.key, target, contrast))

    def winner(self, depth: int) -> WinnerMap:
        """At each cell the node at a depth with the largest p(node,z|x); see `Hierarchy.cut` for what depth is.

        Raises
        ------
        ReadingError
            If the checkpoint has no hierarchy or the depth is out of range.
        """
        return cast("WinnerMap", self.reading(WINNER.key, (), depth=depth))

    def _probability_in(self, classes: ClassSet, region: Region) -> float:
        return float((self.evidence.rows(classes) * region.weights).sum())

    def region_probabilities(self, region: Region) -> Float64:
        """p(y, z in R|x) of every class, (C,)."""
        return self.joint.reshape(len(self.classes), -1) @ region.weights.ravel()
