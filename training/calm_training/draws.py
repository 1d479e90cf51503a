"""Ranges that a search draws settings from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Range", "log_uniform", "uniform"]


@dataclass(frozen=True)
class Range:
    """What a search may try for a setting.

    Attributes
    ----------
    words : str
        The distribution, as a paper would name it.
    draw : callable
        From a generator and what was drawn of the method's other settings before to a value.
    """

    words: str
    draw: Callable[[np.random.Generator, Mapping[str, Any]], Any]


def uniform(low: float, high: float) -> Range:
    """Evenly between two numbers."""
    return Range(f"Uniform[{low:g}, {high:g}]", lambda generator, _: float(generator.uniform(low, high)))


def log_uniform(base: float, low: float, high: float, whole: bool = False) -> Range:
    """Powers of a base with exponents evenly between two numbers; whole numbers if wanted."""

    def draw(generator: np.random.Generator, _: Mapping[str, Any]) -> float | int:
        value = float(base ** generator.uniform(low, high))
        return round(value) if whole else value

    return Range(f"LogUniform[{base:g}^{low:g}, {base:g}^{high:g}]" + (", whole" if whole else ""), draw)
