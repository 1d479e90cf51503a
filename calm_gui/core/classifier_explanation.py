"""Explanations under a classifier whose head says nothing about places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Geometry
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.joint import ClassLogits
from calm_gui.core.readings import CAM, READINGS
from calm_gui.core.region import Region
from calm_gui.errors import ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Float32 = NDArray[np.float32]


__all__ = ["ClassifierExplanation"]


class ClassifierExplanation(AnyExplanation):
    """One picture under a classifier whose head says nothing about places: its own p(y|x), and methods of others.

    Parameters
    ----------
    logits : ndarray (C,), float32
    geometry : Geometry
        Its grid is that of the features that methods look at.
    classes, hierarchy, supersets, source
        As for `Explanation`.
    """

    evidence: ClassLogits
    own_reading = None

    def __init__(
        self,
        logits: Float32,
        geometry: Geometry,
        classes: ClassTable,
        hierarchy: Hierarchy | None = None,
        supersets: SupersetTable | None = None,
        source: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(np.reshape(logits, (-1, 1, 1)), geometry, classes, hierarchy, supersets, source)
        self.evidence = ClassLogits(self.f[:, 0, 0])

    @property
    def _cells(self) -> tuple[int, int]:
        return 1, 1

    def lacks(self, reading: str) -> str:
        """No reading is defined: there is neither p(y,z|x) nor a class score at a place."""
        what = "class score at a place" if reading == CAM.key else "p(y,z|x)"
        head = "" if reading != CAM.key else ": its head is more than pooling and one linear layer"
        return (
            f"this classifier has no {what}{head}, so {READINGS[reading].title} is undefined; ask a method "
            "such as grad_cam, or make it a CALM: File > Make it a CALM, or calm-train adapt"
        )

    def _probability_in(self, classes: ClassSet, region: Region) -> float:
        raise ReadingError("a plain classifier gives no probability of a region; make it a CALM with calm-train adapt")
