"""Explanations: one picture under one checkpoint, and every question that sums answer.

The joint p(y,z|x) = g * h is computed once from the raw branches. All readings are sums of its rows (of g's for the
conditional), so that their own sums over locations are probabilities (paper, section 4.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.geometry import Geometry
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.joint import Joint
from calm_gui.core.lookup import ClassSetLike
from calm_gui.core.maps import AnyMap, Map, WinnerMap
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
from calm_gui.core.region import Region
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]
    Float64 = NDArray[np.float64]

__all__ = ["AnyExplanation", "Explanation"]


class AnyExplanation(ClassifiedPicture):
    """What explanations of every kind of checkpoint share: what they explain, and their readings.

    Attributes
    ----------
    own_reading : Reading or None
        The one that shows where a class's evidence lies; None if no reading does.
    """

    own_reading: Reading | None

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The readings that this explanation can answer, in the order of menus."""
        return tuple(reading for reading in READINGS.values() if not reading.refusal(self))

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

    def lacks(self, reading: str) -> str:
        """CALM has no class scores whose mean is a logit."""
        names = [other.key for other in READINGS.values() if isinstance(self.evidence, other.needs)]
        return f"a CALM checkpoint has no reading {reading!r}; it has {', '.join(names)}"

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
