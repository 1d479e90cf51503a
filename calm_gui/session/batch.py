"""Explaining many pictures: decode ahead, batched forward passes, bounded memory, resume, shards, a summary.

Window and command line use the same engine; whoever iterates decides about progress and may stop at any time.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calm_gui.core.classes import ClassSet
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import AnyMap, Map, WinnerMap
from calm_gui.errors import CalmError, DataError, ExportError, PictureError, why_unexpected
from calm_gui.methods import Method
from calm_gui.model.picture import load_picture
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.naming import set_name
from calm_gui.session.batch_journal import BatchJournal
from calm_gui.session.batch_summary import summary_row
from calm_gui.session.exports import planned_exports, write_exports
from calm_gui.session.formats import FORMATS
from calm_gui.session.output_names import output_names
from calm_gui.session.picture_result import PictureResult, Row
from calm_gui.session.request import Request
from calm_gui.session.summary_columns import COLUMNS
from calm_gui.session.truth import GroundTruth, boxes_outside, true_class
from calm_gui.version import __version__

if TYPE_CHECKING:
    from torch import Tensor

    from calm_gui.core.geometry import Geometry
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.model.picture import Picture

__all__ = [
    "BatchPlan",
    "explain_stream",
    "run_batch",
    "shard_of",
]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BatchPlan:
    """What is made of every picture.

    Attributes
    ----------
    request : Request
    formats : tuple of str
        Keys of `session.formats.FORMATS`; none for a summary alone.
    figure : FigureSpec
    top : int
        How many of the most probable classes each result lists.
    """

    request: Request = field(default_factory=Request)
    formats: tuple[str, ...] = ()
    figure: FigureSpec = field(default_factory=FigureSpec)
    top: int = 5

    def __post_init__(self) -> None:
        if unknown := [name for name in self.formats if name not in FORMATS]:
            raise ExportError(f"there is no format {', '.join(unknown)}; there are {', '.join(FORMATS)}")

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form, by which a resumed batch is known to be the same one."""
        request = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self.request).items()}
        return {"request": request, "formats": list(self.formats), "figure": self.figure.to_json(), "top": self.top}


def shard_of(paths: Sequence[str], number: int, count: int) -> list[str]:
    """The `number`-th (from 1) of `count` parts of a list: every count-th picture."""
    if not 1 <= number <= count:
        raise DataError(f"shard {number}/{count} isn't a part; the first of four is 1/4")
    return list(paths[number - 1 :: count])


def explain_stream(
    model: "LoadedModel", paths: Iterable[str], batch_size: int = 8, decoders: int = 2
) -> Iterator[tuple[str, AnyExplanation | CalmError]]:
    """Explanations of pictures, in order; the next batch is decoded while one is computed.

    Parameters
    ----------
    model : LoadedModel
    paths : iterable of str
    batch_size : int
        Pictures per forward pass. Two batches and one picture for each decoder are the most that is in memory.
    decoders : int
        Threads that decode.

    Yields
    ------
    path and explanation, or the error that says why there is none
    """

    def decode(path: str) -> "tuple[Picture, tuple[Tensor, Geometry]] | CalmError":
        try:
            picture = load_picture(path)
            return picture, model.prepare(picture)
        except Exception as error:
            return _as_failure(error, path)

    remaining = iter(paths)
    waiting: deque[tuple[str, Future[Any]]] = deque()
    with ThreadPoolExecutor(decoders, thread_name_prefix="decode") as pool:
        try:
            waiting.extend((path, pool.submit(decode, path)) for path in islice(remaining, batch_size + decoders))
            while waiting:
                batch = [waiting.popleft() for _ in range(min(batch_size, len(waiting)))]
                decoded = [(path, future.result()) for path, future in batch]
                waiting.extend((path, pool.submit(decode, path)) for path in islice(remaining, len(batch)))
                yield from _explain_decoded(model, decoded)
        finally:
            for _, future in waiting:
                future.cancel()


def _explain_decoded(
    model: "LoadedModel", decoded: Sequence[tuple[str, Any]]
) -> Iterator[tuple[str, AnyExplanation | CalmError]]:
    good = [found for _, found in decoded if not isinstance(found, CalmError)]
    explained: list[AnyExplanation | CalmError] = []
    try:
        explained = list(model.explain_batch([p for p, _ in good], [t for _, t in good])) if good else []
    except Exception:
        for picture, prepared in good:  # one by one, so that one picture's numbers don't take the others along
            try:
                explained += model.explain_batch([picture], [prepared])
            except Exception as error:
                explained.append(_as_failure(error, picture.name))
    results = iter(explained)
    for path, found in decoded:
        yield path, found if isinstance(found, CalmError) else next(results)


def _as_failure(error: Exception, path: str) -> CalmError:
    """What went wrong with one picture, as a sentence about it; details of what nobody foresaw go to the log."""
    if isinstance(error, CalmError):
        return error
    _log.error("%s failed", path, exc_info=error)
    return PictureError(f"{Path(path).name}: {why_unexpected(error)}")


def run_batch(
    model: "LoadedModel",
    paths: Sequence[str],
    plan: BatchPlan,
    out: str | Path,
    *,
    names: Mapping[str, str] | None = None,
    truth: GroundTruth | None = None,
    journal: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    batch_size: int | None = None,
    label: str = "",
    taken: set[str] | None = None,
    seen: Callable[[str, AnyExplanation], object] | None = None,
) -> Iterator[PictureResult]:
    """Explain pictures one after another and write what the plan asks for.

    Parameters
    ----------
    model : LoadedModel
    paths : sequence of str
    plan : BatchPlan
    out : str or Path
        An existing folder.
    names : mapping of path to name, optional
        As `output_names` gives them, for all shards.
    truth : GroundTruth, optional
    journal : str or Path, optional
        A file that records each picture as it is finished; needed to resume.
    resume : bool
        Pass over the pictures that the journal holds (those that failed are tried again).
    overwrite : bool
        Whether existing files are replaced; otherwise new ones get a number.
    batch_size : int, optional
        Pictures per forward pass; by default 1 on a CPU, where more are no faster, and 16 on a GPU.
    label : str, optional
        What the checkpoint is called in the summary; by default its file's name.
    taken : set of str, optional
        Case-folded names of files that are never replaced, to which those of this batch are added.
    seen : callable, optional
        Gets the path and the explanation of each picture before its result comes.

    Yields
    ------
    PictureResult
        One for each picture, in order; a picture that can't be explained, or whose files can't be written, has an
        `error`, whatever happened.

    Raises
    ------
    DataError
        If the journal to resume is of another batch.
    ExportError
        If the journal can't be written.
    """
    names, truth = names or output_names(paths), truth or GroundTruth()
    batch_size = batch_size or (1 if model.device.type == "cpu" else 16)
    made_from = {
        "batch": plan.to_json(),
        "checkpoint": model.sha256,
        "answers": model.answers,
        "truth": truth.digest,
        "version": __version__,
    }
    log = BatchJournal(journal, made_from, names, resume=resume, taken=taken)
    # The same pictures share a forward pass whether the batch was interrupted or not, since on some devices a
    # picture's last bits depend on its company; so a pass is left out only if all of it is done.
    groups = [paths[i : i + batch_size] for i in range(0, len(paths), batch_size)]
    todo = [path for group in groups if not all(p in log.done for p in group) for path in group]
    stream = explain_stream(model, todo, batch_size)
    maker = _Maker(model, plan, Path(out), truth, log, overwrite, label or model.name)
    try:
        again = set(todo)
        for path in paths:
            found = next(stream)[1] if path in again else None
            result = log.done.get(path)
            if result is None:
                assert found is not None
                if seen is not None and not isinstance(found, CalmError):
                    seen(path, found)
                result = maker.result(path, names[path], found)
                log.finish(result)
            yield result
        log.sort(paths)
    finally:
        stream.close()  # type: ignore[attr-defined]  # a generator


@dataclass(frozen=True)
class _Maker:
    """Makes of an explanation what the plan asks for."""

    model: "LoadedModel"
    plan: BatchPlan
    out: Path
    truth: GroundTruth
    log: BatchJournal
    overwrite: bool
    label: str

    def result(self, path: str, name: str, found: AnyExplanation | CalmError) -> PictureResult:
        """The result of one picture; whatever goes wrong ends this picture alone."""
        if isinstance(found, CalmError):
            return PictureResult(path, name, error=str(found))
        try:
            return self._made(path, name, found)
        except Exception as error:
            said = str(_as_failure(error, path))
            return PictureResult(path, name, error=said if Path(path).name in said else f"{Path(path).name}: {said}")

    def _made(self, path: str, name: str, found: AnyExplanation) -> PictureResult:
        request, boxes = self.plan.request, self.truth.boxes_of(path)

        def method_map(method: Method, target: ClassSet, contrast: ClassSet | None) -> Map:
            return method.map(self.model, path, target, explanation=found, contrast=contrast)

        maps = list(request.maps(found, method_map))
        outside = boxes_outside(boxes, found.geometry.picture)
        boxes = tuple(box for box in boxes if box not in outside)
        origin = {
            "file": path,
            "name": name,
            "checkpoint": self.label,
            **_truth_columns(found, true_class(self.truth, path, found.classes)),
        }
        rows = [origin | summary_row(found, text, request.contrast, boxes) for text in request.targets]
        exports = planned_exports(found, maps, self.plan.formats, self.plan.figure, name, boxes)
        files = self.log.begin(path, [export.name for export in exports], self.out, self.overwrite)
        write_exports(exports, self.out, files)
        picture = found.source.get("picture", {})
        return PictureResult(
            path,
            name,
            top=tuple(
                {"index": i, "wnid": found.classes[i].wnid, "name": found.classes[i].name, "probability": p}
                for i, p in found.top(self.plan.top)
            ),
            maps=tuple(_map_row(shown) for shown in maps),
            rows=tuple({key: row.get(key) for key in COLUMNS} for row in rows),
            files=tuple(files),
            notes=tuple(picture.get("notes", ())),
            warnings=tuple(f"its true box {_corners(box)} lies outside the picture" for box in outside),
            sha256=str(picture.get("sha256") or ""),
        )


def _corners(box: Box) -> str:
    return f"{box.x0:g} {box.y0:g} {box.x1:g} {box.y1:g}"


def _truth_columns(explanation: AnyExplanation, index: int | None) -> Row:
    if index is None:
        return {}
    p = float(explanation.class_probabilities[index])
    return {"truth_index": index, "truth_name": explanation.classes[index].name, "p_truth": p}


def _map_row(shown: AnyMap) -> Row:
    if isinstance(shown, WinnerMap):
        return {shown.kind.family: shown.kind.key, "depth": shown.depth, "groups": len(shown.legend())}
    return {
        shown.kind.family: shown.kind.key,
        "target": None if shown.target is None else shown.target.indices.tolist(),
        "target_name": None if shown.target is None else set_name(shown.target, shown.explanation),
        "contrast": None if shown.contrast is None else shown.contrast.indices.tolist(),
        "contrast_name": None if shown.contrast is None else set_name(shown.contrast, shown.explanation),
        "sum": shown.sum if shown.check else None,
        "check_passed": bool(shown.check.passed) if shown.check else None,
    }
