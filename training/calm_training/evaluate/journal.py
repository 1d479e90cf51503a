"""The journal of an evaluation: what each picture counted, so that an interrupted evaluation goes on where it was."""

import json
from pathlib import Path
from typing import Any

from calm_gui.core.comparison import compare_values, say_changes
from calm_gui.errors import DataError, ExportError
from calm_gui.model.files import write_text

__all__ = ["Journal"]


class Journal:
    """A file of JSON lines: the settings, then one line for each picture of a checkpoint.

    Parameters
    ----------
    path : Path
    settings : dict
        Whatever the counts depend on; an evaluation with other settings isn't gone on with.
    resume : bool
        Whether to keep what the file holds.
    overwrite : bool
        Whether what it holds of an interrupted evaluation may be lost.

    Raises
    ------
    DataError
        If the file can't be gone on with.
    """

    def __init__(self, path: Path, settings: dict[str, Any], *, resume: bool = False, overwrite: bool = False) -> None:
        self.path = path
        self._entries: dict[str, dict[str, dict[str, Any]]] = {}
        header = json.loads(json.dumps({"evaluation": settings}))
        if not resume and not overwrite and _holds_counts(path):
            raise DataError(
                f"{path} holds an interrupted evaluation; continue it with --resume, or discard it with --overwrite"
            )
        self._first = self._read(header) if resume and path.exists() else [json.dumps(header)]
        if resume or not _holds_counts(path):
            self._begin()

    def counts(self, checkpoint: str) -> dict[str, dict[str, Any]]:
        """What every picture finished under a checkpoint counted, by the picture's key."""
        return self._entries.get(checkpoint, {})

    def add(self, checkpoint: str, picture: str, counts: dict[str, Any]) -> None:
        """Write down what one picture counted.

        Raises
        ------
        ExportError
            If the file can't be written.
        """
        line = json.dumps({"checkpoint": checkpoint, "picture": picture, "counts": counts})
        if self._first:  # only now is an interrupted evaluation replaced
            self._begin()
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise ExportError(f"{self.path} can't be written: {error.strerror or error}") from error

    def _begin(self) -> None:
        write_text(self.path, "".join(f"{line}\n" for line in self._first), overwrite=True)
        self._first = []

    def discard(self) -> None:
        """Delete the file: the evaluation is done."""
        self.path.unlink(missing_ok=True)

    def _read(self, header: dict[str, Any]) -> list[str]:
        try:
            # What follows the last line break was cut off by the interruption.
            lines = self.path.read_bytes().decode("utf-8").split("\n")[:-1]
            changes = compare_values(json.loads(lines[0]), header) if lines else ()
            if [change.key for change in changes] == ["evaluation.pictures"]:
                raise DataError(
                    f"{self.path} is of other pictures: some were repaired, removed or added, or their annotations "
                    "changed, since; put them back, or start again with --overwrite and without --resume"
                )
            if changes:
                raise DataError(
                    f"{self.path} is of an evaluation with other settings ({say_changes(changes)}); "
                    "give the same ones, or discard it with --overwrite and without --resume"
                )
            for line in lines[1:]:
                entry = json.loads(line)
                self._entries.setdefault(entry["checkpoint"], {})[entry["picture"]] = entry["counts"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path} isn't the journal of an evaluation; leave --resume out") from error
        return lines or [json.dumps(header)]


def _holds_counts(path: Path) -> bool:
    """Whether a file holds the counts of a picture, which took their time."""
    try:
        return path.read_bytes().count(b"\n") > 1
    except OSError:
        return False
