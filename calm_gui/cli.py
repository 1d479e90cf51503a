"""`calm-explain`: explanations without a window, of one picture or of thousands."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import calm_gui
from calm_gui.answer_options import add_answer_options, answers_of
from calm_gui.command import INTERRUPTED, UNUSABLE, command
from calm_gui.core.readings import CAM, READINGS
from calm_gui.errors import CalmError, CheckpointError, DataError, ExportError, why_unexpected
from calm_gui.methods import METHODS
from calm_gui.ranks import rank_number
from calm_gui.session.pane import CLASSIFIER_MAP, shows_text

if TYPE_CHECKING:
    from calm_gui.core.classes import ClassTable
    from calm_gui.model.loaded import LoadedModel
    from calm_gui.render.sheet import SheetItem
    from calm_gui.session.batch import BatchPlan
    from calm_gui.session.picture_result import PictureResult
    from calm_gui.session.truth import GroundTruth

__all__ = ["build_parser", "main"]

ALL_DONE, SOME_FAILED = 0, 1
"""Exit statuses, besides those of `calm_gui.command`."""

_FORMATS = ("png", "svg", "pdf", "tiff", "jpeg", "overlay", "npz", "csv", "mask", "coco")
_SHEET_SIDE = 12

_EPILOG = """\
A class set is @predicted, @superset (the superset of the predicted class), @runner-up, @rest, @siblings, a WordNet
id or other key of the checkpoint's hierarchy (n02084071: all dogs), a class index, a name that only one class has, or
several of these with commas between them, which are united.

Examples:
  calm-explain dog.jpg --target @predicted --target n02084071 --reading attribution --format png,npz --out figures
  calm-explain dog.jpg --reading counterfactual --target 160 --contrast 170 --format pdf --out figures
  calm-explain photos/ --truth boxes.csv --out report --where "share_in_box < 0.5" --contact-sheet report/worst.pdf
  calm-explain --from figures/dog.attribution.afghan-hound-n02088094.json --out again

Exit status: 0 if all was done, 1 if some pictures failed (the others are done, the failures listed) or something
unexpected happened, 2 if the arguments can't be used, 130 after Ctrl-C, 143 after SIGTERM.
"""


def build_parser() -> argparse.ArgumentParser:
    """The command line's arguments."""
    parser = argparse.ArgumentParser(
        prog="calm-explain",
        description="Say and show where in pictures a classifier's evidence lies.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("pictures", nargs="*", metavar="PICTURE_OR_FOLDER")
    add("--version", action="version", version=f"calm-gui {calm_gui.__version__}")

    group = parser.add_argument_group("what is asked")
    add = group.add_argument
    add("--checkpoint", action="append", metavar="NAME_OR_FILE", help="demo, demo-cam or a file; may be repeated")
    add("--target", action="append", metavar="SET", help="class set A (default @predicted); may be repeated")
    add(
        "--contrast", default="@runner-up", metavar="SET", help="class set B of the counterfactual (default @runner-up)"
    )
    names = ", ".join(READINGS)
    add(
        "--reading",
        type=_reading,
        action="append",
        metavar="NAME",
        help=f"{names}; may be repeated (default attribution; cam for CAM)",
    )
    add(
        "--map",
        dest="reading",
        action="append",
        metavar="NAME",
        type=_map,
        help=f"a reading, or a method of others: {', '.join(METHODS)}; may be repeated",
    )
    add("--depth", type=int, default=6, metavar="N", help="depth of the winner map in the hierarchy (default 6)")
    add("--top", type=int, default=5, metavar="N", help="how many of the most probable classes are listed (default 5)")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default auto)")

    add_answer_options(parser)

    group = parser.add_argument_group("what is written")
    add = group.add_argument
    add("--out", metavar="DIR", help="folder for files; made if it isn't there")
    add("--format", metavar="LIST", help=f"of {','.join(_FORMATS)}; png by default if there is --out; or none")
    add("--json", action="store_true", help="results as one JSON document on stdout")
    add("--overwrite", action="store_true", help="replace existing files instead of numbering new ones")
    add("--from", dest="reproduce", metavar="FILE.json", help="make again the exports that this manifest lists")
    add("--quiet", action="store_true", help="no progress on stderr")

    group = parser.add_argument_group("how figures look")
    add = group.add_argument
    add(
        "--layout", choices=("single", "pair", "panes", "strip"), default="single", help="panes, strip: all maps in one"
    )
    add("--width", type=float, default=120, metavar="MM", help="of a figure in millimetres (default 120)")
    add("--dpi", type=int, default=300, help="default 300")
    add("--opacity", type=float, default=0.6, help="of the map over the picture, 0 to 1 (default 0.6)")
    add("--log", action="store_true", help="logarithmic colours")
    add("--native", action="store_true", help="cells instead of a smooth map")
    add("--credible-mass", type=float, metavar="SHARE", help="outline the smallest set of cells with this share")

    group = parser.add_argument_group("many pictures")
    add = group.add_argument
    add("--resume", action="store_true", help="go on with an interrupted batch in the same --out")
    add("--shard", metavar="I/N", help="only the I-th of N parts; torchrun's ranks are shards by themselves")
    add("--batch-size", type=int, metavar="N", help="pictures per forward pass (default 1 on a CPU, 16 on a GPU)")
    add("--truth", metavar="FILE.csv", help="ground truth: file, wnid or class_index, boxes (x0 y0 x1 y1;...)")
    add("--where", metavar="CONDITION", help='list pictures by the summary, such as "share_in_box < 0.5 and p > 0.3"')
    add("--contact-sheet", metavar="FILE", help="PNG or PDF of the lowest and highest by a column (or of --where)")
    add("--by", default="p", metavar="COLUMN", help="column for --contact-sheet (default p)")
    return parser


def _reading(name: str) -> str:
    """A reading, as requests write it."""
    if name not in READINGS:
        raise argparse.ArgumentTypeError(f"there is no reading {name!r}; there are {', '.join(READINGS)}")
    return name


def _map(name: str) -> str:
    """A reading or a method, as requests write it."""
    if name in METHODS:
        return shows_text(METHODS[name])
    if name not in READINGS:
        raise argparse.ArgumentTypeError(f"there is no map {name!r}; there are {', '.join((*READINGS, *METHODS))}")
    return name


@command("calm-explain")
def main(argv: Sequence[str] | None = None) -> int:
    """Run `calm-explain`; returns its exit status."""
    parser = build_parser()
    options = parser.parse_args(argv)
    missing = _missing_folders(options.out)
    try:
        if options.reproduce:
            return _reproduce(options)
        return _Run(options).run()
    except CalmError as error:
        print(f"calm-explain: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("calm-explain: stopped; the same command with --resume goes on", file=sys.stderr)
        return INTERRUPTED
    finally:
        for folder in missing:  # made for nothing, if they are empty
            with suppress(OSError):
                folder.rmdir()


def _missing_folders(out: str | None) -> list[Path]:
    """Folders that are made if `out` is, deepest first."""
    try:
        return [folder for folder in (Path(out), *Path(out).parents) if not folder.exists()] if out else []
    except (OSError, ValueError):
        return []  # making them will say what is wrong


def _load(name: str, options: argparse.Namespace) -> "LoadedModel":
    from calm_gui.api import resolve_checkpoint
    from calm_gui.model.loaded import load_remembering
    from calm_gui.render import PRESENTER

    if not options.quiet:
        print(f"loading {name}", file=sys.stderr)
    return load_remembering(resolve_checkpoint(name), _device(options), PRESENTER, answers=answers_of(options))


def _device(options: argparse.Namespace) -> str:
    """The device asked for; under torchrun each process takes the GPU of its own rank."""
    device = str(options.device)
    rank = rank_number("LOCAL_RANK")
    if device == "auto" and rank is not None:
        from calm_gui.model.device import available_devices

        own = f"cuda:{rank}"
        return own if own in available_devices() else "auto"
    return device


def _reproduce(options: argparse.Namespace) -> int:
    from calm_gui.session.reproduce import reproduce

    if options.pictures:
        raise DataError("--from takes no pictures; the manifest names its own")
    out = _made_folder(options.out or ".")
    checkpoint = options.checkpoint[0] if options.checkpoint else None
    written = reproduce(options.reproduce, out, lambda name: _load(name, options), checkpoint, options.overwrite)
    if options.json:
        print(json.dumps({"files": [str(path) for path in written]}, ensure_ascii=False))
    else:
        for path in written:
            print(path)
    return ALL_DONE


def _made_folder(name: str) -> Path:
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"the folder {folder} can't be made: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise ExportError(f"the folder {folder} can't be written to; choose another with --out")
    return folder


class _Run:
    """One call of the program over pictures."""

    def __init__(self, options: argparse.Namespace) -> None:
        from calm_gui.session.batch import shard_of
        from calm_gui.session.condition import parse_condition
        from calm_gui.session.output_names import output_names
        from calm_gui.session.picture_files import pictures_in

        self.options = options
        if not options.pictures:
            raise DataError("there is no picture to explain; name files or folders (--help shows examples)")
        try:
            paths = pictures_in(options.pictures)
        except OSError as error:
            raise DataError(f"{error.filename} can't be opened: {error.strerror}") from error
        if not paths:
            raise DataError(f"there are no pictures in {', '.join(options.pictures)}")
        self.names = output_names(paths)
        self.shard = _shard(options.shard)
        self.paths = shard_of(paths, *self.shard) if self.shard else paths
        self.several = len(paths) > 1
        if options.where:
            parse_condition(options.where, _columns())
        self.plan = self._plan()
        if options.resume and not options.out:
            raise DataError("--resume needs the --out of the interrupted batch")
        self.out = _made_folder(options.out) if options.out else Path()
        if options.contact_sheet:
            self._check_sheet()
        self.results: list[tuple[str, PictureResult]] = []
        self.failures: list[str] = []
        self.labels = _labels(list(dict.fromkeys(options.checkpoint or ["demo"])))
        self.taken: set[str] = set()

    def _check_sheet(self) -> None:
        from calm_gui.render.manifest import check_suffix

        check_suffix(Path(self.options.contact_sheet), (".png", ".pdf"))
        if self.options.by not in _columns():
            raise DataError(f"there is no column {self.options.by!r}; there are {', '.join(_columns())}")

    def _plan(self) -> "BatchPlan":
        from calm_gui.render.figure_spec import FigureSpec
        from calm_gui.session.batch import BatchPlan
        from calm_gui.session.request import Request

        options = self.options
        asked = options.format or ("png" if options.out else "none")
        formats = () if asked == "none" else tuple(dict.fromkeys(part.strip() for part in asked.lower().split(",")))
        aliases = {"tif": "tiff", "jpg": "jpeg"}
        if formats and not options.out:
            raise ExportError("--format needs a folder to write to; give --out")
        figure = FigureSpec(
            layout=options.layout,
            width=options.width,
            dpi=options.dpi,
            opacity=options.opacity,
            native=options.native,
            spacing="log" if options.log else "linear",
        )
        if options.credible_mass is not None:
            if not 0 < options.credible_mass <= 1:
                raise DataError("--credible-mass must lie above 0 and at most at 1")
            figure = replace(figure, threshold="mass", threshold_value=options.credible_mass)
        if options.top < 0 or (options.batch_size is not None and options.batch_size < 1):
            raise DataError("--top and --batch-size must be positive")
        request = Request(
            tuple(dict.fromkeys(options.reading or ["attribution"])),
            tuple(dict.fromkeys(options.target or ["@predicted"])),
            options.contrast,
            options.depth,
        )
        return BatchPlan(request, tuple(aliases.get(name, name) for name in formats), figure, options.top)

    def run(self) -> int:
        for name in self.labels:
            self._check_request(name)
        for name in self.labels:
            self._explain_or_say_why_not(name)
        failed = [result for _, result in self.results if result.error]
        written = self._write_summary()
        matches = self._matches()
        if self.options.contact_sheet:
            written.append(self._write_sheet(matches))
        self._report(failed, written, matches)
        for result in failed:
            print(f"calm-explain: {result.error}", file=sys.stderr)
        for result in (result for _, result in self.results if result.warnings):
            print(f"calm-explain: {result.path}: {'; '.join(result.warnings)}", file=sys.stderr)
        if failed and self.several:
            print(f"calm-explain: {len(failed)} of {len(self.results)} pictures failed", file=sys.stderr)
        for sentence in self.failures:
            print(f"calm-explain: {sentence}", file=sys.stderr)
        return SOME_FAILED if failed or self.failures else ALL_DONE

    def _check_request(self, checkpoint: str) -> None:
        """Refuse class sets that a checkpoint doesn't know before anything slow is loaded."""
        from calm_gui.api import resolve_checkpoint
        from calm_gui.model.info import is_ours, read_info
        from calm_gui.session.request import check_sets

        path = resolve_checkpoint(checkpoint)
        if is_ours(path):
            info = read_info(path)
            check_sets(self._plan_for(info.method).request, info.classes, info.hierarchy)
            self._truth(info.classes)
        elif not path.exists():
            raise CheckpointError(f"there is no checkpoint {checkpoint}; give a file, demo or demo-cam")

    def _truth(self, classes: "ClassTable") -> "GroundTruth | None":
        from calm_gui.session.truth import read_truth

        return read_truth(self.options.truth, classes) if self.options.truth else None

    def _plan_for(self, method: str) -> "BatchPlan":
        """The plan; where nothing is asked for, the one map that a kind of checkpoint has without p(y,z|x) is meant."""
        if method.startswith("calm") or self.options.reading:
            return self.plan
        own = shows_text(CLASSIFIER_MAP) if method == "classifier" else CAM.key
        return replace(self.plan, request=replace(self.plan.request, readings=(own,)))

    def _explain_or_say_why_not(self, checkpoint: str) -> None:
        """One of several checkpoints that can't be used doesn't take the results of the others along."""
        try:
            self._explain_all(checkpoint)
        except CalmError as error:
            if len(self.labels) == 1:
                raise
            self.failures.append(f"{self.labels[checkpoint]}: {error}")

    def _explain_all(self, checkpoint: str) -> None:
        from calm_gui.session.batch import run_batch
        from calm_gui.session.output_names import free_name
        from calm_gui.session.request import check_sets

        model = _load(checkpoint, self.options)
        plan = self._plan_for(model.info.method)
        check_sets(plan.request, model.classes, model.hierarchy)
        truth = self._truth(model.classes)
        if truth and not truth.covers_each(self.paths):
            print(f"calm-explain: {truth.coverage(self.paths)}", file=sys.stderr)
        names, journal = self.names, None
        label = self.labels[checkpoint]
        own = f".{Path(label).with_suffix('').as_posix().replace('/', '-')}" if len(self.labels) > 1 else ""
        names = {path: f"{name}{own}" for path, name in names.items()}
        if self.options.out and self.several:
            name = f"batch{own}{self._part}.jsonl"
            journal = self.out / free_name(name, self.out, self.options.resume or self.options.overwrite)
        batch = run_batch(
            model,
            self.paths,
            plan,
            self.out,
            names=names,
            truth=truth,
            journal=journal,
            resume=self.options.resume,
            overwrite=self.options.overwrite,
            batch_size=self.options.batch_size,
            label=label,
            taken=self.taken,
        )
        for result in self._with_progress(batch):
            self.results.append((label, result))

    def _with_progress(self, batch: "Iterator[PictureResult]") -> "Iterator[PictureResult]":
        if not self.several or self.options.quiet:
            yield from batch
            return
        from tqdm import tqdm

        failed = 0
        with tqdm(total=len(self.paths), unit="picture", file=sys.stderr, dynamic_ncols=True) as bar:
            for result in batch:
                failed += bool(result.error)
                bar.set_postfix_str(f"{failed} failed" if failed else "", refresh=False)
                bar.update()
                yield result

    @property
    def _part(self) -> str:
        return f".{self.shard[0]}-of-{self.shard[1]}" if self.shard else ""

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [row for _, result in self.results for row in result.rows]

    def _write_summary(self) -> list[str]:
        from calm_gui.session.batch import write_summary
        from calm_gui.session.output_names import free_name

        if not self.options.out or not (self.several or self.options.truth):
            return []
        replaced = self.options.resume or self.options.overwrite
        name = free_name(f"summary{self._part}.csv", self.out, replaced)
        return [str(path) for path in write_summary(self._rows, self.out / name, overwrite=replaced)]

    def _matches(self) -> list[dict[str, Any]] | None:
        from calm_gui.session.condition import matching, what_is_empty

        if not self.options.where:
            return None
        matches = matching(self._rows, self.options.where)
        if empty := what_is_empty(self._rows, self.options.where):
            print(f"calm-explain: {empty}", file=sys.stderr)
        return [dict(row) for row in matches]

    def _write_sheet(self, matches: list[dict[str, Any]] | None) -> str:
        from calm_gui.render.manifest import describe_pictures
        from calm_gui.render.sheet import contact_sheet, save_sheet
        from calm_gui.session.output_names import free_name

        column = self.options.by
        rows = [row for row in (self._rows if matches is None else matches) if row.get(column) not in (None, "")]
        rows.sort(key=lambda row: row[column])
        half = 2 * _SHEET_SIDE if matches is not None else _SHEET_SIDE
        lowest, highest = rows[:half], rows[half:][-half:][::-1] if matches is None else []
        sections = [(f"Lowest {column}", lowest), (f"Highest {column}", highest)]
        items = self._sheet_items([row for _, chosen in sections for row in chosen])
        shown = [(title, [items[id(row)] for row in chosen if id(row) in items]) for title, chosen in sections]
        figure = contact_sheet([(title, chosen) for title, chosen in shown if chosen])
        path = Path(self.options.contact_sheet)
        path = path.with_name(free_name(path.name, path.parent, self.options.overwrite or self.options.resume))
        listed = {"column": column, "question": self.options.where, "lowest": lowest, "highest": highest}
        save_sheet(figure, path, describe_pictures(listed))
        return str(path)

    def _sheet_items(self, rows: list[dict[str, Any]]) -> "dict[int, SheetItem]":
        """A thumbnail of each row's picture with the map of its target; explained once more, since few are shown."""
        items: dict[int, SheetItem] = {}
        for checkpoint in dict.fromkeys(row["checkpoint"] for row in rows):
            name = next(name for name, label in self.labels.items() if label == checkpoint)
            model = _load(name, argparse.Namespace(**{**vars(self.options), "quiet": True}))
            truth = self._truth(model.classes)
            for row in (row for row in rows if row["checkpoint"] == checkpoint):
                try:
                    items[id(row)] = self._sheet_item(row, model, truth)
                except Exception as error:  # the sheet goes on without it
                    print(f"calm-explain: {row['file']} isn't on the sheet: {why_unexpected(error)}", file=sys.stderr)
        return items

    def _sheet_item(self, row: dict[str, Any], model: "LoadedModel", truth: "GroundTruth | None") -> "SheetItem":
        from calm_gui.render.sheet import SheetItem, thumbnail
        from calm_gui.session.request import parse_set

        explanation = model.explain(row["file"])
        target, own = parse_set(row["target"], explanation), explanation.own_reading
        if own is None:
            shown: Any = CLASSIFIER_MAP.map(model, row["file"], target, explanation=explanation)
        else:
            shown = explanation.reading(own.key, target)
        value = row[self.options.by]
        number = f"{value:.3g}" if isinstance(value, float) else str(value)
        lines = (row["name"], row["target_name"], f"{self.options.by} {number}")
        boxes = truth.boxes_of(row["file"]) if truth else ()
        return SheetItem(thumbnail(shown, boxes=boxes), lines)

    def _report(
        self,
        failed: "list[PictureResult]",
        written: list[str],
        matches: list[dict[str, Any]] | None,
        to: TextIO | None = None,
    ) -> None:
        to = to or sys.stdout
        if self.options.json:
            document = {
                "results": [
                    {"checkpoint": checkpoint, **{k: v for k, v in result.to_json().items() if k != "error"}}
                    for checkpoint, result in self.results
                    if not result.error
                ],
                "failed": [{"path": result.path, "error": result.error} for result in failed],
                "files": written,
                **({} if matches is None else {"matches": matches}),
            }
            print(json.dumps(document, ensure_ascii=False, indent=1), file=to)
            return
        if matches is not None:
            for path in dict.fromkeys(row["file"] for row in matches):
                print(path, file=to)
            return
        if not (self.several and self.options.out):
            for _, result in self.results:
                _print_result(result, to)
        for path in written:
            print(path, file=to)


def _print_result(result: "PictureResult", to: TextIO) -> None:
    if result.error:
        return
    print(result.path + (f" ({', '.join(result.notes)})" if result.notes else ""), file=to)
    for guess in result.top:
        print(f"  {guess['probability']:.4f}  {guess['name']} ({guess['wnid'] or guess['index']})", file=to)
    for shown in result.maps:
        if shown.get("sum") is not None:
            verdict = "adds up" if shown["check_passed"] else "DOESN'T ADD UP: the sum check failed"
            print(f"  {shown['reading']}: sum {shown['sum']:.4g}, {verdict}", file=to)
    for name in result.files:
        print(f"  {name}", file=to)


def _labels(checkpoints: list[str]) -> dict[str, str]:
    """What each checkpoint is called in files and summary: its file, with its folder where another has that name."""
    from calm_gui.api import resolve_checkpoint
    from calm_gui.core.comparison import distinct_ends

    return dict(zip(checkpoints, distinct_ends([resolve_checkpoint(name) for name in checkpoints]), strict=True))


def _columns() -> tuple[str, ...]:
    from calm_gui.session.summary_columns import COLUMNS

    return COLUMNS


def _shard(text: str | None) -> tuple[int, int] | None:
    """Number and count of the part asked for, or of torchrun's rank."""
    rank, world = rank_number("RANK"), rank_number("WORLD_SIZE")
    if text is None and rank is not None and world is not None and world > 1:
        return rank + 1, world
    if text is None:
        return None
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal()):
        raise DataError(f"--shard {text} makes no sense; the first of four is 1/4")
    return int(number), int(count)


if __name__ == "__main__":
    sys.exit(main())
