"""One picture under one checkpoint: its classes and their probabilities. Of readings it knows nothing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.geometry import Box, Geometry
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.joint import Evidence
from calm_gui.core.lookup import ClassSetLike, resolve
from calm_gui.core.presenter import Presenter
from calm_gui.core.region import Region, region_from_box, region_from_mask, region_from_polygon
from calm_gui.errors import HierarchyError, NumericalError, ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]
    Float64 = NDArray[np.float64]

__all__ = ["ClassifiedPicture"]


class ClassifiedPicture:
    """Classes, hierarchy, geometry and p(y|x) of one picture under a checkpoint of any kind.

    Attributes
    ----------
    f : ndarray (C,H,W), float32
        Raw class branch; of a classifier without one its logits, (C,1,1).
    evidence : Joint, ClassScores or ClassLogits
        What readings are computed from.
    picture : ndarray (h,w,3), uint8, or None
        The upright picture.
    """

    evidence: Evidence

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

    def lacks(self, reading: str) -> str:
        """Why a reading of another kind of checkpoint has no answer here, in words.

        Parameters
        ----------
        reading : str
            Its key.
        """
        raise NotImplementedError
