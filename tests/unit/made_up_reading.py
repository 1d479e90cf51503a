"""A reading from outside, in one file: log-odds of A at each location."""

from calm_gui.core.joint import Array, Joint
from calm_gui.core.map_kind import Telling
from calm_gui.core.readings import READINGS, Asked, Reading


class LogOdds(Reading):
    """log p(A|x,z) - log(1 - p(A|x,z))."""

    key = "log_odds"
    title = "Log-odds"
    formula = "log p(A|x,z) / (1 − p(A|x,z))"
    question = "What are the log-odds of A if the cue lay here?"
    meaning = "log-odds of A if the cue lay here"
    unit = "nat"
    quantity = "log-odds"
    signed = True

    def values(self, source: Joint, asked: Asked) -> Array:
        """Between -30 and 30."""
        g = source.conditional(asked.a).clip(1e-13, 1 - 1e-13)
        return source.xp.log(g) - source.xp.log1p(-g)

    def sentence(self, telling: Telling) -> str:
        """The largest value."""
        return f"The log-odds of {telling.target} reach {telling.number(float(telling.shown.values.max()))}."


def register() -> Reading:
    """Add it, as a package of others would."""
    return READINGS.register(LogOdds())
