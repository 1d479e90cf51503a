"""Explanations under a CAM checkpoint: class scores, and no p(z|x)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Geometry
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.joint import ClassScores
from calm_gui.core.lookup import ClassSetLike
from calm_gui.core.maps import Map
from calm_gui.core.readings import CAM, READINGS
from calm_gui.core.region import Region
from calm_gui.errors import ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]


__all__ = ["CamExplanation"]


class CamExplanation(AnyExplanation):
    """One picture under a CAM checkpoint: class scores at each location, whose mean is the logit.

    Parameters as for `Explanation`, without the saliency branch.
    """

    evidence: ClassScores
    own_reading = CAM

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
        self.evidence = ClassScores(self.f)

    def lacks(self, reading: str) -> str:
        """CAM has no p(z|x), so none of CALM's readings is defined."""
        return f"a CAM checkpoint has no p(y,z|x), so {READINGS[reading].title.lower()} is undefined; it has cam"

    def _probability_in(self, classes: ClassSet, region: Region) -> float:
        raise ReadingError("CAM gives no probability of a region; use a CALM checkpoint")

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
        return cast("Map", self.reading(CAM.key, target, normalisation=normalisation))
