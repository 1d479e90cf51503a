"""What a reading is: its words, its arithmetic and what it needs, in one object."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from calm_gui.core.classes import ClassSet
from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.joint import ClassScores, Joint
from calm_gui.core.map_kind import MapKind, missing_words
from calm_gui.core.maps import AnyMap, Map, SumCheck
from calm_gui.core.registry import Registry
from calm_gui.errors import ReadingError

__all__ = ["READINGS", "Asked", "Reading"]

Array = Any
"""numpy.ndarray or torch.Tensor."""


@dataclass(frozen=True)
class Asked:
    """What a reading is asked about; each takes of it what it needs.

    Attributes
    ----------
    target : ClassSet or None
        A.
    contrast : ClassSet or None
        B.
    depth : int
        Of the hierarchy, for readings that cut it.
    normalisation : str
        Of class scores, for readings that have several.
    """

    target: ClassSet | None = None
    contrast: ClassSet | None = None
    depth: int = 6
    normalisation: str = "min-max"

    @property
    def a(self) -> ClassSet:
        """The target.

        Raises
        ------
        ReadingError
            If there is none.
        """
        if self.target is None:
            raise ReadingError("no target A is given; name a class or group")
        return self.target

    @property
    def b(self) -> ClassSet:
        """The contrast.

        Raises
        ------
        ReadingError
            If there is none.
        """
        if self.contrast is None:
            raise ReadingError("no contrast B is given; choose a second class or group")
        return self.contrast


class Reading(MapKind):
    """One question put to an explanation, and its answer.

    To add one: a class with these attributes and methods in a file of its own, and ``READINGS.register(...)``.

    Attributes
    ----------
    needs : type
        `Joint`, or `ClassScores` for readings of CAM checkpoints.
    takes_depth : bool
        Whether the view's depth matters.
    """

    family = "reading"
    needs: type[Joint] | type[ClassScores] = Joint
    takes_depth: bool = False

    @abstractmethod
    def values(self, source: Any, asked: Asked) -> Array:
        """The map's values.

        Parameters
        ----------
        source : Joint or ClassScores, as the reading needs
            Its arrays are NumPy's or torch's, and so are the values.
        asked : Asked

        Returns
        -------
        array (H,W)

        Raises
        ------
        ReadingError
            If the answer is undefined for these sets.
        """

    def expected(self, source: Any, asked: Asked) -> tuple[float, float] | None:
        """What the map's total should be, in float64 from raw f and a, and the mass that an error is relative to.

        None where a sum means nothing.
        """
        return None

    def total(self, source: Any, values: Array) -> float:
        """The sum that the check compares, of the values that are shown."""
        return float(values.sum(dtype=source.xp.float64))

    def map(self, explanation: ClassifiedPicture, asked: Asked) -> AnyMap:
        """The map that an explanation gives.

        Raises
        ------
        ReadingError
            If the explanation can't answer it, or not for these sets.
        """
        if refusal := self.refusal(explanation):
            raise ReadingError(refusal)
        source = explanation.evidence
        values = source.xp.asarray(self.values(source, asked), dtype=source.xp.float32)
        expected = self.expected(source, asked)
        return Map(
            values,
            self,
            explanation,
            asked.target if self.takes_target else None,
            asked.contrast if self.takes_contrast else None,
            None if expected is None else SumCheck.of(self.total(source, values), *expected),
            self.unit_of(asked),
        )

    def unit_of(self, asked: Asked) -> str:
        """The unit of a map's values."""
        return self.unit

    def refusal(self, explanation: ClassifiedPicture) -> str:
        """Why an explanation can't answer this, in words; empty if it can."""
        return "" if isinstance(explanation.evidence, self.needs) else explanation.lacks(self.key)


def _missing(reading: Reading) -> str:
    return missing_words(reading)


READINGS: Registry[Reading] = Registry("reading", ReadingError, _missing)
"""All readings, in the order of menus."""
