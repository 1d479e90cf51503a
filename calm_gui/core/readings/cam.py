"""CAM: the class feature map of a CAM checkpoint."""

from __future__ import annotations

from calm_gui.core.classified_picture import ClassifiedPicture
from calm_gui.core.joint import Array, ClassScores
from calm_gui.core.map_kind import Telling
from calm_gui.core.readings.reading import READINGS, Asked, Reading
from calm_gui.errors import ReadingError

__all__ = ["CAM", "UNITS"]

UNITS = {
    "none": "class score",
    "max": "share of the largest score",
    "min-max": "place between the extremes",
}
"""Normalisations of the class scores (paper, equation 2), and what a value then is."""


class Cam(Reading):
    """Class scores at each location, by default between their extremes; for several classes their sum (CAM + Y)."""

    key = "cam"
    title = "CAM"
    formula = "class score"
    question = "What is CAM's class score here? It is no probability."
    meaning = "the class's score at each cell; no probability"
    unit = UNITS["min-max"]
    quantity = "cam"
    needs = ClassScores

    def title_in(self, explanation: ClassifiedPicture) -> str:
        """The name of the method that the checkpoint was trained by, where that isn't CAM."""
        return str(explanation.source.get("checkpoint", {}).get("map", "")) or self.title

    def values(self, source: ClassScores, asked: Asked) -> Array:
        """Scores of A, normalised. A map without variation is zero everywhere.

        Raises
        ------
        ReadingError
            If there is no such normalisation.
        """
        raw = source.rows(asked.a)
        if asked.normalisation == "none":
            return raw
        if asked.normalisation == "max":
            raw = raw.clip(min=0.0)
            return raw / raw.max() if raw.max() > 0 else raw
        if asked.normalisation == "min-max":
            span = raw.max() - raw.min()
            return (raw - raw.min()) / span if span > 0 else source.xp.zeros_like(raw)
        raise ReadingError(f"CAM's normalisation must be one of {', '.join(UNITS)}, not {asked.normalisation!r}")

    def unit_of(self, asked: Asked) -> str:
        """As the normalisation has it."""
        return UNITS[asked.normalisation]

    def signed_in(self, unit: str) -> bool:
        """Raw scores have a sign."""
        return unit == UNITS["none"]

    def ends_in(self, unit: str) -> tuple[float, float] | None:
        """0 and 1 for normalised scores."""
        return None if unit == UNITS["none"] else (0.0, 1.0)

    def sentence(self, telling: Telling) -> str:
        """What the map is, and what it isn't."""
        name = self.title_in(telling.shown.explanation)
        return (
            f"{name} scores {telling.target} between its own extremes in this picture; "
            "the values are no probabilities and their sum means nothing."
        )


CAM = READINGS.register(Cam())
