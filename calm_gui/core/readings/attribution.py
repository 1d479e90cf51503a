"""Attribution: p(A,z|x)."""

from calm_gui.core.joint import Array, Joint
from calm_gui.core.map_kind import Telling
from calm_gui.core.readings.reading import READINGS, Asked, Reading

__all__ = ["ATTRIBUTION"]


class Attribution(Reading):
    """That the class is in A and its cue lies at z (paper, equation 7, and its sums over subsets)."""

    key = "attribution"
    title = "Attribution"
    formula = "p(A,z|x)"
    question = "How likely is it that the class is in A and its cue lies here?"
    meaning = "the class is in A and its cue lies here"
    unit = "probability per cell"
    quantity = "joint"
    scale_title = "p per cell"
    times_uniform = True
    sum_text = "sum {} = p(A|x)"

    def values(self, source: Joint, asked: Asked) -> Array:
        """The joint's rows of A; they sum to p(A|x)."""
        return source.rows(asked.a)

    def expected(self, source: Joint, asked: Asked) -> tuple[float, float]:
        """p(A|x)."""
        p = source.probability(asked.a)
        return p, p

    def sentence(self, telling: Telling) -> str:
        """How much of p(A|x) lies in a region, or p(A|x) alone."""
        a, total = telling.a, telling.number(telling.total)
        if telling.inside:
            mass, region = telling.inside
            return (
                f"The model gives {mass} that this is {a} and that its cue lies in {region}; with {total} it is "
                f"{a} at all."
            )
        return f"The map splits the {total} for {telling.target} over the picture."


ATTRIBUTION = READINGS.register(Attribution())
