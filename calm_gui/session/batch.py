"""Explaining many pictures: decode ahead, batched forward passes, bounded memory, resume, shards, a summary.

Window and command line use the same engine; whoever iterates decides about progress and may stop at any time.
"""

import csv
import io
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calm_gui.core.explanation import AnyExplanation, Explanation
from calm_gui.core.geometry import Box
from calm_gui.core.maps import AnyMap, WinnerMap
from calm_gui.core.threshold import component_boxes, credible_cells
from calm_gui.errors import CalmError, DataError, ExportError, PictureError
from calm_gui.model.files import write_bytes, write_text
from calm_gui.model.picture import load_picture
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.session.exports import FORMATS, planned_exports, write_exports
from calm_gui.session.request import Request, parse_set
from calm_gui.session.truth import GroundTruth

if TYPE_CHECKING:
    from torch import Tensor

    from calm_gui.core.geometry import Geometry
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.model.picture import Picture

__all__ = [
    "COLUMNS",
    "BatchPlan",
    "PictureResult",
    "explain_stream",
    "free_name",
    "output_names",
    "run_batch",
    "shard_of",
    "summary_row",
    "write_summary",
]

CREDIBLE_MASS = 0.9
"""Share of the mass that the summary's area and box hold."""

COLUMNS = (
    *("file", "name", "checkpoint", "predicted_index", "predicted_wnid", "predicted_name", "p_predicted"),
    *("truth_index", "truth_name", "p_truth"),
    *("target", "target_name", "target_size", "p", "contrast_name", "p_contrast", "peak_x", "peak_y", "area"),
    *("box_x0", "box_y0", "box_x1", "box_y1", "mass_in_box", "share_in_box", "iou"),
)
"""Columns of the summary, empty where there is no value.

`truth_*`: the class that the ground truth names. `area`: share of the grid's cells in the smallest set that holds 90 %
of p(A,z|x). `box_*`: box around that set's largest part, in pixels of the upright picture. `mass_in_box`: p(A, z in
G|x) for G the union of the true boxes. `share_in_box`: that over p(A|x). `iou`: of the box and the true one that fits
it best.
"""

Row = dict[str, Any]


@dataclass(frozen=True)
class BatchPlan:
    """What is made of every picture.

    Attributes
    ----------
    request : Request
    formats : tuple of str
        Keys of `session.exports.FORMATS`; none for a summary alone.
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


@dataclass(frozen=True)
class PictureResult:
    """What came of one picture.

    Attributes
    ----------
    path : str
    name : str
        What its files are called.
    top : tuple of dict
        ``{"index", "wnid", "name", "probability"}``, the most probable first.
    maps : tuple of dict
        ``{"reading" or "method", "target", "sum", "check_passed"}`` of each map.
    rows : tuple of dict
        Its rows of the summary.
    files : tuple of str
        Names of the files written.
    notes : tuple of str
        What was changed when the picture was opened, and what couldn't be asked of it.
    error : str
        Why there is nothing else; empty if all went well.
    """

    path: str
    name: str
    top: tuple[Row, ...] = ()
    maps: tuple[Row, ...] = ()
    rows: tuple[Row, ...] = ()
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "PictureResult":
        """Read what `to_json` wrote."""
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in data.items()}
        return cls(**values)


def output_names(paths: Sequence[str]) -> dict[str, str]:
    """A name for each picture's files: its stem, numbered where several pictures share it (case aside).

    Parameters
    ----------
    paths : sequence of str
        All pictures of a batch, so that every shard gives the same names.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for path in paths:
        # Room for reading, class and extension within the 255 bytes that file systems allow.
        stem = Path(path).stem.encode()[:100].decode(errors="ignore") or "picture"
        name, number = stem, 2
        while name.casefold() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.casefold())
        names[path] = name
    return names


def shard_of(paths: Sequence[str], number: int, count: int) -> list[str]:
    """The `number`-th (from 1) of `count` parts of a list: every count-th picture."""
    if not 1 <= number <= count:
        raise DataError(f"shard {number}/{count} makes no sense; the first of four is 1/4")
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
        except CalmError as error:
            return error
        except MemoryError:
            return PictureError(f"{Path(path).name} needs more memory than there is")

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
    except CalmError:
        for picture, prepared in good:  # one by one, so that one picture's numbers don't take the others along
            try:
                explained += model.explain_batch([picture], [prepared])
            except CalmError as error:
                explained.append(error)
    results = iter(explained)
    for path, found in decoded:
        yield path, found if isinstance(found, CalmError) else next(results)


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

    Yields
    ------
    PictureResult
        One for each picture, in order; a picture that can't be explained has an `error`.

    Raises
    ------
    DataError
        If the journal to resume is of another batch.
    ExportError
        If the folder can't be written to: that would be the same for every picture.
    """
    names = names or output_names(paths)
    batch_size = batch_size or (1 if model.device.type == "cpu" else 16)
    log = _Journal(journal, plan, model.sha256, resume)
    # The same pictures share a forward pass whether the batch was interrupted or not, since on some devices a
    # picture's last bits depend on its company; so a pass is left out only if all of it is done.
    groups = [paths[i : i + batch_size] for i in range(0, len(paths), batch_size)]
    todo = [path for group in groups if not all(p in log.done for p in group) for path in group]
    stream = explain_stream(model, todo, batch_size)
    try:
        again = set(todo)
        for path in paths:
            found = next(stream)[1] if path in again else None
            result = log.done.get(path)
            if result is None:
                assert found is not None
                result = _result(
                    path, names[path], found, model, plan, Path(out), truth or GroundTruth(), log, overwrite
                )
                log.finish(result)
            yield result
        log.sort(paths)
    finally:
        stream.close()  # type: ignore[attr-defined]  # a generator


def _result(
    path: str,
    name: str,
    found: AnyExplanation | CalmError,
    model: "LoadedModel",
    plan: BatchPlan,
    out: Path,
    truth: GroundTruth,
    log: "_Journal",
    overwrite: bool,
) -> PictureResult:
    if isinstance(found, CalmError):
        return PictureResult(path, name, error=str(found))
    try:
        maps = list(plan.request.maps(found, lambda method, target: method.map(model, path, target, explanation=found)))
        origin = {"file": path, "name": name, "checkpoint": model.name, **_truth_columns(found, truth.class_of(path))}
        rows = [
            origin | summary_row(found, text, plan.request.contrast, truth.boxes_of(path))
            for text in plan.request.targets
        ]
    except CalmError as error:
        return PictureResult(path, name, error=f"{Path(path).name}: {error}")
    exports = planned_exports(found, maps, plan.formats, plan.figure, name, truth.boxes_of(path))
    ours = log.begin(path, [e.name for e in exports], out, overwrite)
    files = write_exports(exports, out, ours)
    return PictureResult(
        path,
        name,
        top=tuple(
            {"index": i, "wnid": found.classes[i].wnid, "name": found.classes[i].name, "probability": p}
            for i, p in found.top(plan.top)
        ),
        maps=tuple(_map_row(shown) for shown in maps),
        rows=tuple({key: row.get(key) for key in COLUMNS} for row in rows),
        files=tuple(files),
        notes=tuple(found.source.get("picture", {}).get("notes", ())),
    )


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
        "contrast": None if shown.contrast is None else shown.contrast.indices.tolist(),
        "sum": shown.sum if shown.check else None,
        "check_passed": bool(shown.check.passed) if shown.check else None,
    }


def summary_row(
    explanation: AnyExplanation, target: str, contrast: str = "@runner-up", truth: Sequence[Box] = ()
) -> Row:
    """One picture's row of the summary for one target; see `COLUMNS`.

    Parameters
    ----------
    explanation : Explanation or CamExplanation
    target, contrast : str
        As `parse_set` takes them.
    truth : sequence of Box
        Ground-truth boxes, in pixels of the upright picture.
    """
    from calm_gui.render.naming import set_name

    index, p_predicted = explanation.top(1)[0]
    info = explanation.classes[index]
    chosen = parse_set(target, explanation)
    against = parse_set(contrast, explanation, chosen)
    p = explanation.probability(chosen)
    row: Row = {
        "predicted_index": index,
        "predicted_wnid": info.wnid,
        "predicted_name": info.name,
        "p_predicted": p_predicted,
        "target": target,
        "target_name": set_name(chosen, explanation),
        "target_size": len(chosen),
        "p": p,
        "contrast_name": set_name(against, explanation),
        "p_contrast": explanation.probability(against),
    }
    if not isinstance(explanation, Explanation) or not chosen:
        return row
    shown = explanation.attribution(chosen)
    if not shown.values.any():
        return row
    peak = np.unravel_index(int(shown.values.argmax()), shown.values.shape)
    x, y = explanation.geometry.from_grid(peak[1] + 0.5, peak[0] + 0.5)
    cells = credible_cells(shown.values, CREDIBLE_MASS)
    box = component_boxes(cells, explanation.geometry)[0]
    row |= {"peak_x": float(x), "peak_y": float(y), "area": float(cells.mean())}
    row |= {"box_x0": box.x0, "box_y0": box.y0, "box_x1": box.x1, "box_y1": box.y1}
    if truth:
        region = explanation.region_from_box(truth[0].x0, truth[0].y0, truth[0].x1, truth[0].y1)
        for other in truth[1:]:
            region = region | explanation.region_from_box(other.x0, other.y0, other.x1, other.y1)
        mass = float((shown.values * region.weights).sum(dtype=np.float64))
        row |= {"mass_in_box": mass, "share_in_box": mass / shown.sum, "iou": max(_iou(box, other) for other in truth)}
    return row


def _iou(one: Box, other: Box) -> float:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    both = max(0.0, width) * max(0.0, height)
    return both / (one.width * one.height + other.width * other.height - both)


def write_summary(rows: Sequence[Row], path: str | Path, *, overwrite: bool = True) -> list[Path]:
    """Write summary rows as CSV, and as Parquet beside it where pyarrow is installed.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ExportError
        If a file can't be written.
    """
    path = Path(path)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue(), overwrite=overwrite)
    parquet = _as_parquet(rows)
    if parquet is None:
        return [path]
    write_bytes(path.with_suffix(".parquet"), parquet, overwrite=overwrite)
    return [path, path.with_suffix(".parquet")]


def _as_parquet(rows: Sequence[Row]) -> bytes | None:
    try:
        import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
        from pyarrow import parquet
    except ImportError:
        return None
    texts = {
        "file",
        "name",
        "checkpoint",
        "predicted_wnid",
        "predicted_name",
        "truth_name",
        "target",
        "target_name",
        "contrast_name",
    }
    counts = {"predicted_index", "truth_index", "target_size"}
    kinds = {
        key: pyarrow.string() if key in texts else pyarrow.int64() if key in counts else pyarrow.float64()
        for key in COLUMNS
    }
    target = io.BytesIO()
    schema = pyarrow.schema(list(kinds.items()))
    parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows], schema=schema), target)
    return target.getvalue()


class _Journal:
    """A file with one JSON line for each picture begun and finished, by which a batch is resumed."""

    def __init__(self, path: str | Path | None, plan: BatchPlan, checkpoint: str, resume: bool) -> None:
        self.path = Path(path) if path else None
        self.done: dict[str, PictureResult] = {}
        self._begun: dict[str, list[str]] = {}
        self._header = {"batch": plan.to_json(), "checkpoint": checkpoint}
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
                if number == 0 and entry != self._header:
                    raise DataError(
                        f"{self.path} is of a batch with other settings or another checkpoint; "
                        "give the same ones, or leave --resume out"
                    )
                if "result" in entry:
                    result = PictureResult.from_json(entry["result"])
                    if result.error or not all((self.path.parent / name).exists() for name in result.files):
                        continue
                    self.done[result.path] = result
                elif "begin" in entry:
                    self._begun[entry["begin"]] = entry["files"]
                kept.append(line)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path} isn't the journal of a batch; leave --resume out") from error
        return kept or [json.dumps(self._header, ensure_ascii=False)]

    def begin(self, path: str, names: Sequence[str], out: Path, overwrite: bool) -> dict[str, str]:
        """Fix the file names of a picture's exports and write them down; planned name to name.

        Those that an interrupted run began are this batch's own.
        """
        begun = self._begun.get(path, [])
        chosen = begun if len(begun) == len(names) else [free_name(name, out, overwrite) for name in names]
        self._append({"begin": path, "files": chosen})
        return dict(zip(names, chosen, strict=True))

    def finish(self, result: PictureResult) -> None:
        """Write a picture's result down."""
        self._append({"result": result.to_json()})

    def sort(self, paths: Sequence[str]) -> None:
        """Write the finished journal in the pictures' order, so that it's the same however often it was resumed."""
        if self.path is None:
            return
        results: dict[str, str] = {}
        for line in self.path.read_text(encoding="utf-8").splitlines()[1:]:
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


def free_name(name: str, folder: Path, overwrite: bool = False) -> str:
    """`name`, with a number before its extension if the folder has such a file and it mustn't be replaced."""
    stem, dot, suffix = name.rpartition(".")
    candidate, number = name, 2
    while not overwrite and (folder / candidate).exists():
        candidate, number = f"{stem}-{number}{dot}{suffix}", number + 1
    return candidate
