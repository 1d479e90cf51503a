"""Timing that a busy machine disturbs as little as can be: interleaved, medians, ratios within one run."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Row", "Times", "interleaved", "process_seconds", "times_of", "yardstick"]


@dataclass(frozen=True)
class Times:
    """Milliseconds of repeated calls."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return sorted(self.values)[min(len(self.values) - 1, int(0.95 * len(self.values)))]


@dataclass(frozen=True)
class Row:
    """One line of the report: what was measured, what must be reached, and whether it is."""

    what: str
    value: float
    unit: str
    limit: float
    at_most: bool = True
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure is what is asked for."""
        return self.value <= self.limit if self.at_most else self.value >= self.limit


def times_of(
    call: Callable[[], object], repeat: int, warm_up: int = 3, clock: Callable[[], float] = time.perf_counter
) -> Times:
    """Time a call by a clock that gives seconds."""
    for _ in range(warm_up):
        call()
    values = []
    for _ in range(repeat):
        start = clock()
        call()
        values.append((clock() - start) * 1000)
    return Times(tuple(values))


def interleaved(
    one: Callable[[], object],
    other: Callable[[], object],
    repeat: int,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Median ratio of two calls that are timed in turn."""
    one(), other()
    ratios = []
    for _ in range(repeat):
        first = times_of(one, 1, 0, clock).median
        ratios.append(first / times_of(other, 1, 0, clock).median)
    return statistics.median(ratios)


def yardstick() -> float:
    """Milliseconds of 1,000 matrix products, each too small for BLAS to use several threads: how fast a core is now."""
    import numpy as np

    a = np.random.default_rng(0).normal(size=(1000, 40, 40))
    return times_of(lambda: a @ a, 31).median


def process_seconds(code: str) -> float:
    """Wall-clock seconds of a Python process that runs `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - start
