"""Conditional: p(A|x,z)."""

from calm_gui.core.joint import Array, Joint
from calm_gui.core.map_kind import Telling
from calm_gui.core.readings.reading import READINGS, Asked, Reading

__all__ = ["CONDITIONAL"]


class Conditional(Reading):
    """How likely A would be if the cue lay at z (paper, section 4.1.3)."""

    key = "conditional"
    title = "Conditional"
    formula = "p(A|x,z)"
    question = "If the cue lay here, how likely would A be?"
    meaning = "if the cue were here: how likely A is"
    unit = "probability of A at the cell"
    quantity = "conditional"
    sum_text = "weighted by p(z|x) {} = p(A|x)"

    def values(self, source: Joint, asked: Asked) -> Array:
        """From the class branch alone, never joint / h, so that it is defined where h = 0 too."""
        return source.conditional(asked.a).clip(max=1.0)

    def expected(self, source: Joint, asked: Asked) -> tuple[float, float]:
        """p(A|x), which is what the map weighted by h sums to."""
        p = source.probability(asked.a)
        return p, p

    def total(self, source: Joint, values: Array) -> float:
        """The sum of h times the map."""
        weights = source.xp.asarray(source.h, dtype=source.xp.float64)
        return float((values * weights).sum())

    def sentence(self, telling: Telling) -> str:
        """The largest value, and the weighted sum."""
        best = telling.number(float(telling.shown.values.max()))
        return (
            f"If the cue lay where {telling.target} is likeliest, the model would give it {best}; "
            f"weighted by where the cue lies, {telling.number(telling.total)}."
        )


CONDITIONAL = READINGS.register(Conditional())
