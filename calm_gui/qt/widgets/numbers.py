"""How many decimals the window's probabilities have; exports have three always, tooltips all that are known."""

from calm_gui.render.naming import DECIMALS, number_text, probability_text

__all__ = ["MOST_DECIMALS", "decimals", "number", "probability", "widest_probability", "write_decimals"]

MOST_DECIMALS = 6

_decimals = DECIMALS


def write_decimals(count: int) -> None:
    """Write probabilities with so many decimals from now on, within 2 and `MOST_DECIMALS`."""
    global _decimals
    _decimals = max(2, min(count, MOST_DECIMALS))


def decimals() -> int:
    """How many there are."""
    return _decimals


def number(value: float) -> str:
    """A probability, or a difference of two; see `number_text`."""
    return number_text(value, _decimals)


def probability(p: float) -> str:
    """A probability in a fixed width; see `probability_text`."""
    return probability_text(p, _decimals)


def widest_probability() -> str:
    """The longest text that `probability` gives."""
    return probability_text(1 - 0.5 * 10.0**-_decimals, _decimals)
