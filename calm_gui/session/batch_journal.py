"""The journal of a batch: what each picture's results were made from, so that an interrupted batch goes on."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calm_gui.core.comparison import compare_values, say_changes
from calm_gui.errors import DataError, ExportError
from calm_gui.model.files import sha256_of, write_text
from calm_gui.session.output_names import free_name
from calm_gui.session.picture_result import PictureResult

__all__ = ["BatchJournal"]


class BatchJournal:
    """A file with one JSON line for each picture begun and finished, by which a batch is resumed.

    Parameters
    ----------
    path : str, Path or None
        None keeps nothing.
    made_from : dict
        Whatever the results depend on besides the pictures themselves; plain values. A batch that was made from
        something else isn't gone on with.
    names : mapping of str to str
        Path of each picture of the batch to what its files are called.
    resume : bool
    taken : set of str, optional
        Case-folded names of files that other batches of this run have written; those of this one are added.

    Raises
    ------
    DataError
        If the journal to resume is of another batch, or a picture has changed since.
    """

    def __init__(
        self,
        path: str | Path | None,
        made_from: dict[str, Any],
        names: Mapping[str, str],
        *,
        resume: bool,
        taken: set[str] | None = None,
    ) -> None:
        self.path = Path(path) if path else None
        self.done: dict[str, PictureResult] = {}
        self._begun: dict[str, list[str]] = {}
        self._taken: set[str] = set() if taken is None else taken
        self._header = json.loads(json.dumps(made_from))
        self._names = names
        if self.path is None:
            return
        kept = self._read() if resume and self.path.exists() else [json.dumps(self._header, ensure_ascii=False)]
        write_text(self.path, "".join(f"{line}\n" for line in kept), overwrite=True)

    def _read(self) -> list[str]:
        assert self.path is not None
        kept = []
        try:
            lines = self.path.read_bytes().decode("utf-8", errors="replace").split("\n")
            for number, line in enumerate(lines[:-1]):  # what follows the last line break was cut off
                entry = json.loads(line)
                if number == 0 and (changes := compare_values(entry, self._header)):
                    raise DataError(
                        f"{self.path} is of a batch with other settings ({say_changes(changes)}); "
                        "give the same ones, or leave --resume out"
                    )
                if "result" in entry:
                    result = PictureResult.from_json(entry["result"])
                    if result.error or not all((self.path.parent / name).exists() for name in result.files):
                        continue
                    self._refuse_another(result)
                    self.done[result.path] = result
                    self._taken.update(name.casefold() for name in result.files)
                elif "begin" in entry:
                    self._begun[entry["begin"]] = entry["files"]
                kept.append(line)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path} isn't the journal of a batch; leave --resume out") from error
        return kept or [json.dumps(self._header, ensure_ascii=False)]

    def _refuse_another(self, result: PictureResult) -> None:
        """Refuse a finished picture that isn't now what it was."""
        if result.path not in self._names:
            return
        if self._names[result.path] != result.name:
            raise DataError(
                f"{result.path} was called {result.name} in the interrupted batch, which had other pictures; "
                "give the same ones, or leave --resume out"
            )
        try:
            same = sha256_of(result.path) == result.sha256
        except OSError:
            same = False
        if not same:
            raise DataError(
                f"{result.path} has changed since the interrupted batch explained it; "
                "put it back, or leave --resume out"
            )

    def begin(self, path: str, names: Sequence[str], out: Path, overwrite: bool) -> list[str]:
        """Fix the file names of a picture's exports and write them down; in the order of the planned names.

        Those that an interrupted run began are this batch's own.
        """
        begun = self._begun.get(path, [])
        if len(begun) == len(names):
            chosen = list(begun)
        else:
            chosen = []
            for name in names:
                chosen.append(free_name(name, out, overwrite, self._taken))
                self._taken.add(chosen[-1].casefold())
        self._append({"begin": path, "files": chosen})
        return chosen

    def finish(self, result: PictureResult) -> None:
        """Write a picture's result down."""
        self._append({"result": result.to_json()})

    def sort(self, paths: Sequence[str]) -> None:
        """Write the finished journal in the pictures' order, so that it's the same however often it was resumed."""
        if self.path is None:
            return
        results: dict[str, str] = {}
        for line in self.path.read_bytes().decode("utf-8").split("\n")[1:-1]:  # names may hold other line breaks
            entry = json.loads(line)
            if "result" in entry:
                results[entry["result"]["path"]] = line
        lines = [json.dumps(self._header, ensure_ascii=False), *(results[path] for path in paths if path in results)]
        write_text(self.path, "".join(f"{line}\n" for line in lines), overwrite=True)

    def _append(self, entry: dict[str, Any]) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        except OSError as error:
            raise ExportError(f"{self.path} can't be written: {error.strerror or error}") from error
