"""Cue posterior: p(z|x,A)."""

from calm_gui.core.joint import Array, Joint
from calm_gui.core.map_kind import Telling
from calm_gui.core.readings.reading import READINGS, Asked, Reading
from calm_gui.errors import ReadingError

__all__ = ["CUE_POSTERIOR"]

_FEW_DIGITS = 1e-30
"""Below this, cells of a float32 joint are denormal or zero: what is divided by p(A|x) is computed anew in float64."""


class CuePosterior(Reading):
    """Given A, where its cue lies."""

    key = "cue_posterior"
    title = "Cue posterior"
    formula = "p(z|x,A)"
    question = "Given that the class is in A, how likely is it that its cue lies here?"
    meaning = "given A: where its cue lies"
    unit = "probability per cell"
    quantity = "cue_posterior"
    times_uniform = True
    sum_text = "sum {}"

    def values(self, source: Joint, asked: Asked) -> Array:
        """The attribution over p(A|x); it sums to 1.

        Raises
        ------
        ReadingError
            If p(A|x) is zero in float64 (an empty set, or one whose every score underflows).
        """
        p = source.probability(asked.a)
        rows = source.rows(asked.a) if p > _FEW_DIGITS else source.rows64(asked.a)
        if not (p > 0 and rows.any()):
            raise ReadingError("p(A|x) is 0, so where the cue of A lies given A is undefined; choose another target")
        return rows / p

    def expected(self, source: Joint, asked: Asked) -> tuple[float, float]:
        """1."""
        return 1.0, 1.0

    def sentence(self, telling: Telling) -> str:
        """How much lies in a region, or that it all adds up to 1."""
        if telling.inside:
            mass, region = telling.inside
            return f"Given that this is {telling.a}, its cue lies in {region} with probability {mass}."
        return f"Given that this is {telling.a}, the map says where its cue lies; it adds up to 1."


CUE_POSTERIOR = READINGS.register(CuePosterior())
