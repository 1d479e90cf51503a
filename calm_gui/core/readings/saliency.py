"""Saliency: p(z|x)."""

from calm_gui.core.joint import Array, Joint
from calm_gui.core.map_kind import Telling
from calm_gui.core.readings.reading import READINGS, Asked, Reading

__all__ = ["SALIENCY"]


class Saliency(Reading):
    """That the cue, of whatever class, lies at z."""

    key = "saliency"
    title = "Saliency"
    formula = "p(z|x)"
    question = "How likely is it that the cue, of whatever class, lies here?"
    meaning = "the cue, of whatever class, lies here"
    unit = "probability per cell"
    quantity = "joint"
    scale_title = "p per cell"
    takes_target = False
    times_uniform = True
    sum_text = "sum {}"

    def values(self, source: Joint, asked: Asked) -> Array:
        """The distribution h; it sums to 1."""
        return source.h

    def expected(self, source: Joint, asked: Asked) -> tuple[float, float]:
        """1."""
        return 1.0, 1.0

    def sentence(self, telling: Telling) -> str:
        """How much lies in a region, or that it all adds up to 1."""
        if telling.inside:
            mass, region = telling.inside
            return f"The model gives {mass} that the cue, of whatever class, lies in {region}."
        return "The cue, of whatever class, lies somewhere: the map adds up to 1."


SALIENCY = READINGS.register(Saliency())
