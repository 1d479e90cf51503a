"""Counterfactual: p(A,z|x) - p(B,z|x)."""

from calm_gui.core.joint import Array, Joint
from calm_gui.core.map_kind import Telling
from calm_gui.core.readings.reading import READINGS, Asked, Reading

__all__ = ["COUNTERFACTUAL"]


class Counterfactual(Reading):
    """How much more A is to be seen at z than B. Classes in both sets cancel."""

    key = "counterfactual"
    title = "Counterfactual"
    short = "A − B"
    formula = "p(A,z|x) − p(B,z|x)"
    question = "How much more likely is A with its cue here than B with its cue here?"
    meaning = "A here rather than B here"
    unit = "probability per cell"
    quantity = "counterfactual"
    takes_contrast = True
    signed = True
    times_uniform = True
    sum_text = "sum {} = p(A|x) − p(B|x)"

    def values(self, source: Joint, asked: Asked) -> Array:
        """Rows of A alone less rows of B alone; they sum to p(A|x) - p(B|x)."""
        return source.rows(asked.a - asked.b) - source.rows(asked.b - asked.a)

    def expected(self, source: Joint, asked: Asked) -> tuple[float, float]:
        """The difference of both probabilities, relative to their sum."""
        p_a, p_b = source.probability(asked.a - asked.b), source.probability(asked.b - asked.a)
        return p_a - p_b, p_a + p_b

    def sentence(self, telling: Telling) -> str:
        """What the colours mean, and how much more or less probable A is."""
        total = ("+" if telling.total > 0 else "") + telling.number(telling.total)
        a, b = telling.target, telling.contrast
        return f"Cells above 0 speak for {a}, cells below 0 for {b}; they add up to {total}."


COUNTERFACTUAL = READINGS.register(Counterfactual())
