"""A batch from the window: a picture a job, so that other work comes between, and what is done stays done."""

import csv
import io
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.maps import Map
from calm_gui.errors import CalmError, ExportError
from calm_gui.session.batch import BatchPlan, run_batch
from calm_gui.session.batch_summary import write_summary
from calm_gui.session.jobs import Job, Runner
from calm_gui.session.output_names import free_name
from calm_gui.session.picture_result import PictureResult
from calm_gui.session.request import parse_set
from calm_gui.session.summary_columns import COLUMNS
from calm_gui.session.truth import GroundTruth

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["THUMBNAIL_SIDE", "BatchRun", "BatchWork", "ResultRow"]

THUMBNAIL_SIDE = 64
"""Longest side of a row's picture with its map, in pixels."""

_URGENCY = 3
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ResultRow:
    """One row of a batch's results.

    Attributes
    ----------
    values : dict
        By `calm_gui.session.summary_columns.COLUMNS`.
    picture : str
        Path of its picture.
    target : str
        What was asked about it, as `parse_set` takes it.
    thumbnail : ndarray (h,w,3), uint8, or None
        The picture with the target's map.
    """

    values: dict[str, Any]
    picture: str
    target: str
    thumbnail: NDArray[np.uint8] | None = None


@dataclass(frozen=True, eq=False)
class BatchWork:
    """What a run does.

    Attributes
    ----------
    load : callable
        Gives the model, on the worker.
    checkpoint : str
        What the checkpoint is called.
    key : str
        By which it is known.
    pictures : sequence of str
    plan : BatchPlan
    truth : GroundTruth
    out : Path or None
        Folder for files and the summary; None writes nothing.
    kept : callable
        Gets each explanation with its picture's path, on the worker.
    """

    load: "Callable[[Job], LoadedModel]"
    checkpoint: str
    key: str
    pictures: Sequence[str]
    plan: BatchPlan
    truth: GroundTruth
    out: Path | None = None
    kept: Callable[[str, AnyExplanation], object] = lambda *_: None


class BatchRun:
    """Explains pictures one after another; rows stay when it is stopped, fails, or the program ends.

    With a folder, each row is in `summary.csv` there as soon as it is known. A summary that another run left gets
    another name first, so that none stands beside files that it isn't about.

    Parameters
    ----------
    work : BatchWork
    runner : Runner
    told : callable
        Called after each picture and at the end, on the thread that started it.

    Attributes
    ----------
    rows : list of ResultRow
    results : list of PictureResult
    running : bool
    stopped : bool
        Whether it was stopped before the last picture.
    error : str
        Why it ended early; empty if it didn't.
    """

    def __init__(self, work: BatchWork, runner: Runner, told: Callable[[], object]) -> None:
        self.work = work
        self.rows: list[ResultRow] = []
        self.results: list[PictureResult] = []
        self.running = False
        self.error = ""
        self._runner = runner
        self._told = told
        self._stop = Event()
        self._stream: Iterator[PictureResult] | None = None
        self._small: dict[tuple[str, str], NDArray[np.uint8]] = {}
        self._summary: _Summary | None = None

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before the last picture."""
        return self._stop.is_set() and len(self.results) < len(self.work.pictures)

    @property
    def checkpoint(self) -> str:
        """Key of the checkpoint."""
        return self.work.key

    @property
    def failed(self) -> list[PictureResult]:
        """Pictures that can't be explained."""
        return [result for result in self.results if result.error]

    @property
    def words(self) -> str:
        """How far it is, or how it ended, in a sentence."""
        done, total = len(self.results), len(self.work.pictures)
        if self.running:
            return f"{done} of {total} pictures"
        parts = [f"stopped after {done} of {total} pictures" if self.stopped or self.error else f"{done} pictures"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed: " + "; ".join(result.error for result in self.failed[:3]))
        if self.error:
            parts.append(self.error)
        if self._summary is not None and self._summary.moved:
            parts.append(f"the earlier summary is now called {', '.join(self._summary.moved)}")
        return ", ".join(parts)

    def start(self) -> None:
        """Begin.

        Raises
        ------
        ExportError
            If the folder can't be written to.
        """
        if self.work.out is not None:
            self._summary = _Summary(self.work.out)
        self.running = True
        self._next()

    def stop(self) -> None:
        """Go no further than the picture at hand."""
        self._stop.set()

    def _next(self) -> None:
        self._runner.submit(Job("batch", self._one, self._done, self._failed, urgency=_URGENCY))

    def _one(self, job: Job) -> "tuple[PictureResult, list[ResultRow]] | None":
        """On the worker: the next picture's result, None after the last."""
        if self._stream is None and not self._stop.is_set():
            work, model = self.work, self.work.load(job)
            self._stream = run_batch(
                model,
                work.pictures,
                work.plan,
                work.out or Path(),
                truth=work.truth,
                batch_size=1,
                label=work.checkpoint,
                seen=self._seen,
            )
        result = None if self._stop.is_set() or self._stream is None else next(self._stream, None)
        if result is None:
            self._end()
            return None
        rows = [
            ResultRow(dict(row), result.path, row["target"], self._small.pop((result.path, row["target"]), None))
            for row in result.rows
        ]
        if self._summary is not None:
            self._summary.add([row.values for row in rows])
        return result, rows

    def _seen(self, path: str, explanation: AnyExplanation) -> None:
        """Keep an explanation, and a small picture of each target's map."""
        from calm_gui.render.sheet import thumbnail

        self.work.kept(path, explanation)
        own = explanation.own_reading
        if own is None:
            return  # a classifier without CAM has no map that needn't the network
        for text in self.work.plan.request.targets:
            try:
                shown = explanation.reading(own.key, parse_set(text, explanation))
            except CalmError as error:
                _log.info("no thumbnail of %s: %s", path, error)
                continue
            if isinstance(shown, Map):
                self._small[path, text] = thumbnail(shown, THUMBNAIL_SIDE)

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()  # type: ignore[attr-defined]  # a generator
        if self._summary is not None:
            self._summary.finish()

    def _done(self, found: "tuple[PictureResult, list[ResultRow]] | None") -> None:
        if found is None:
            self.running = False
        else:
            self.results.append(found[0])
            self.rows += found[1]
            self._next()
        self._told()

    def _failed(self, error: Exception) -> None:
        from calm_gui.session.failures import error_sentence

        _log.warning("the batch ended early", exc_info=error)
        self.running = False
        self.error = error_sentence(error)
        self._told()


class _Summary:
    """`summary.csv` of a folder, which grows by rows and is written whole at the end."""

    def __init__(self, out: Path) -> None:
        self._path = out / "summary.csv"
        self._rows: list[dict[str, Any]] = []
        self.moved: list[str] = []
        try:
            for name in ("summary.csv", "summary.parquet"):
                if (out / name).exists():
                    self.moved.append(free_name(f"earlier-{name}", out))
                    (out / name).rename(out / self.moved[-1])
            self._append(",".join(COLUMNS) + "\n", "x")
        except OSError as error:
            raise ExportError(f"{out} can't be used: {error.strerror or error}") from error

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows at the end."""
        self._rows += rows
        text = io.StringIO()
        csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore").writerows(rows)
        try:
            self._append(text.getvalue(), "a")
        except OSError as error:
            raise ExportError(f"{self._path} can't be written: {error.strerror or error}") from error

    def _append(self, text: str, mode: str) -> None:
        with self._path.open(mode, encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)

    def finish(self) -> None:
        """Write all rows, with the other formats of summaries."""
        write_summary(self._rows, self._path, overwrite=True)
