"""Paired differences between two checkpoints, or two maps, on the same pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from calm_gui.errors import CalmError, DataError
from calm_training.evaluate.evaluation import Results
from calm_training.evaluate.intervals import Estimate
from calm_training.evaluate.maps import map_of
from calm_training.evaluate.table import Table, shown

__all__ = ["Difference", "check_pairs", "compared", "comparison_table"]


@dataclass(frozen=True)
class Difference:
    """The difference of one figure.

    Attributes
    ----------
    first, second : str
        What is compared: checkpoints or maps.
    of : str
        The map, or the checkpoint, that both have in common; may be empty.
    figure : str
    estimate : Estimate
        First minus second.
    """

    first: str
    second: str
    of: str
    figure: str
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "first": self.first,
            "second": self.second,
            "of": self.of,
            "figure": self.figure,
            "difference": self.estimate.value,
            "interval": self.estimate.interval,
        }


def compared(results: Results, pairs: Sequence[Sequence[str]]) -> list[Difference]:
    """The differences of every figure that both sides of each pair have.

    Parameters
    ----------
    results : mapping
    pairs : sequence of (str, str)
        Two checkpoints, or two maps; ``CHECKPOINT:MAP`` names one map of one checkpoint.

    Raises
    ------
    DataError
        If a name is neither, or both have no figure in common.
    """
    if len({frozenset(one.picture for one in result.failed) for result in results.values()}) > 1:
        results = {name: _unpaired(result) for name, result in results.items()}
    return [difference for first, second in pairs for difference in _differences(results, first, second)]


def _unpaired(result: Any) -> Any:
    """A result whose figures are of other pictures than another's, so that no resample goes with one of the other."""
    return replace(
        result,
        estimates={
            shown_map: {figure: replace(one, resamples=None) for figure, one in of_map.items()}
            for shown_map, of_map in result.estimates.items()
        },
    )


def check_pairs(
    pairs: Sequence[Sequence[str]], checkpoints: Sequence[str], maps: Sequence[str], takes_maps: bool = True
) -> None:
    """Refuse names that no result will have, before anything is measured.

    Parameters
    ----------
    pairs : sequence of (str, str)
        As for `compared`.
    checkpoints : sequence of str
    maps : sequence of str
        Those asked for; empty for an evaluation's usual ones, whatever they are.
    takes_maps : bool
        Whether the evaluation is of maps at all.

    Raises
    ------
    DataError
        With the names there are.
    """
    for name in (name for pair in pairs for name in pair):
        ends = [name.removeprefix(f"{checkpoint}:") for checkpoint in checkpoints]
        if name in checkpoints or any(end in maps for end in (name, *ends)):
            continue
        if maps or not takes_maps or not any(_is_map(end) for end in (name, *ends)):
            there = ", ".join([*checkpoints, *maps])
            more = "" if maps or not takes_maps else " and maps"
            raise DataError(f"there is nothing called {name!r} to compare; there are {there}{more}")


def _is_map(name: str) -> bool:
    try:
        return bool(map_of(name))
    except CalmError:
        return False


def _differences(results: Results, first: str, second: str) -> list[Difference]:
    sides = [_figures(results, name) for name in (first, second)]
    found = []
    if first in results and second in results:
        # The class's own map is CAM under one checkpoint and the attribution under another, so that maps of two
        # checkpoints that share no name are compared in their order.
        names = [[map_name for map_name in side if map_name] for side in sides]
        if not set(names[0]) & set(names[1]):
            pairs = {("", ""), *zip(*names, strict=False)} if "" in sides[0] else set(zip(*names, strict=False))
            for a, b in sorted(pairs):
                of = a if a == b else f"{a}, {b}"
                found += _of_figures(first, second, of, sides[0][a], sides[1].get(b, {}))
            return found
    for of in sides[0]:
        if of in sides[1]:
            found += _of_figures(first, second, of, sides[0][of], sides[1][of])
    if not found:
        raise DataError(f"{first} and {second} have no figure in common to compare")
    return found


def _of_figures(first: str, second: str, of: str, left: Any, right: Any) -> list[Difference]:
    return [
        Difference(first, second, of, figure, one.minus(right[figure]))
        for figure, one in left.items()
        if figure in right
    ]


def _figures(results: Results, name: str) -> dict[str, Any]:
    """Figures of a checkpoint by map, or of a map by checkpoint."""
    if name in results:
        return dict(results[name].estimates)
    by_checkpoint = {checkpoint: r.estimates[name] for checkpoint, r in results.items() if name in r.estimates}
    if by_checkpoint:
        return by_checkpoint
    for checkpoint, result in results.items():
        if name.startswith(f"{checkpoint}:") and name.removeprefix(f"{checkpoint}:") in result.estimates:
            return {"": result.estimates[name.removeprefix(f"{checkpoint}:")]}
    maps = dict.fromkeys(map_name for result in results.values() for map_name in result.estimates if map_name)
    raise DataError(f"there is nothing called {name!r} to compare; there are {', '.join([*results, *maps])}")


def comparison_table(differences: Sequence[Difference]) -> Table:
    """The differences in a table; those whose interval leaves 0 out are marked."""
    rows = []
    for one in differences:
        interval = one.estimate.interval
        clear = "yes" if interval and not interval[0] <= 0 <= interval[1] else "no"
        rows.append([f"{one.first} - {one.second}", one.of, one.figure, shown(one.estimate), clear if interval else ""])
    return Table.of(["difference", "of", "figure", "value", "interval leaves out 0"], rows)
