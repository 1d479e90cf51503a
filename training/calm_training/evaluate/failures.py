"""Pictures that failed: each ends its own part of an evaluation, and is listed."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calm_gui.errors import CalmError, DataError, why_unexpected
from calm_training.evaluate.table import Table

__all__ = [
    "Failure",
    "NothingMeasuredError",
    "check_some_left",
    "failed_of",
    "failure_of",
    "failure_table",
    "say_failures",
]

_log = logging.getLogger("calm_gui.evaluate")  # what the commands write to their log


class NothingMeasuredError(DataError):
    """Every picture failed."""


@dataclass(frozen=True)
class Failure:
    """A picture that couldn't be measured.

    Attributes
    ----------
    picture : str
        Its path.
    reason : str
        One sentence.
    """

    picture: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """As JSON has it."""
        return asdict(self)


def failure_of(picture: Path | str, error: Exception) -> Failure:
    """A picture's failure from what was raised; details of what nobody foresaw go to the log."""
    if not isinstance(error, CalmError):
        _log.error("%s", picture, exc_info=error)
    return Failure(str(picture), why_unexpected(error))


def check_some_left(failed: Sequence[Failure], measured: int) -> None:
    """Refuse to make a result of nothing.

    Raises
    ------
    NothingMeasuredError
        If pictures failed and none was measured; with the first one's reason.
    """
    if failed and not measured:
        first = failed[0]
        raise NothingMeasuredError(f"none of {len(failed)} pictures could be measured; {_said(first)}")


def failed_of(results: Mapping[str, Any]) -> dict[str, str]:
    """Why pictures failed under any checkpoint, by their paths."""
    return {one.picture: one.reason for result in results.values() for one in result.failed}


def failure_table(results: Mapping[str, Any]) -> list[Table]:
    """The pictures that failed in a table, or none."""
    rows = [[name, one.picture, one.reason] for name, result in results.items() for one in result.failed]
    return [Table.of(["checkpoint", "picture that failed", "reason"], rows)] if rows else []


def say_failures(failed: Mapping[str, str]) -> str:
    """What failed and what to do, in a sentence."""
    path, reason = next(iter(failed.items()))
    number = "1 picture" if len(failed) == 1 else f"{len(failed)} pictures"
    begin = "" if len(failed) == 1 else "the first: "
    return (
        f"{number} failed, listed in the results ({begin}{_said(Failure(path, reason))}); "
        "mend or take out what failed, and run again with --overwrite"
    )


def _said(failure: Failure) -> str:
    name = Path(failure.picture).name
    return failure.reason if name in failure.reason else f"{name}: {failure.reason}"
