"""One call of ``calm-explain`` over pictures: what is asked is checked, then each checkpoint explains them all."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from calm_gui.api import bundled_checkpoints, resolve_checkpoint
from calm_gui.cli.contact_sheet import check_sheet, write_sheet
from calm_gui.cli.folders import made_folder
from calm_gui.cli.loading import labels_of, load, marks_of
from calm_gui.cli.printing import print_results
from calm_gui.core.classes import ClassTable
from calm_gui.core.readings import CAM
from calm_gui.errors import CalmError, CheckpointError, DataError, ExportError
from calm_gui.model.hierarchy_file import read_hierarchy
from calm_gui.model.info import is_ours, read_info
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.session.batch import BatchPlan, run_batch, shard_of
from calm_gui.session.batch_summary import write_summary
from calm_gui.session.condition import matching, parse_condition, what_is_empty
from calm_gui.session.output_names import free_name, names_of_inputs, output_names
from calm_gui.session.pane import CLASSIFIER_MAP, shows_text
from calm_gui.session.picture_files import pictures_in
from calm_gui.session.picture_result import PictureResult
from calm_gui.session.request import Request, check_sets
from calm_gui.session.summary_columns import COLUMNS
from calm_gui.session.truth import GroundTruth, read_truth
from calm_gui.torchrun import rank_number

__all__ = ["Run"]

ALL_DONE, SOME_FAILED = 0, 1
"""Exit statuses, besides those of `calm_gui.cli.command`."""


class Run:
    """One call of the program over pictures.

    Parameters
    ----------
    options : Namespace

    Raises
    ------
    CalmError
        If the arguments can't be used; no checkpoint is loaded by then.
    """

    def __init__(self, options: argparse.Namespace) -> None:
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
            parse_condition(options.where, COLUMNS)
        self.plan = _plan(options)
        if options.resume and not options.out:
            raise DataError("--resume needs the --out of the interrupted batch")
        self.out = made_folder(options.out) if options.out else Path()
        if options.contact_sheet:
            check_sheet(options)
        self.results: list[tuple[str, PictureResult]] = []
        self.failures: list[str] = []
        self.labels = labels_of(list(dict.fromkeys(options.checkpoint or ["demo"])))
        self.marks = marks_of(self.labels.values())
        made_from = (options.truth, options.hierarchy, options.classes, *map(resolve_checkpoint, self.labels))
        self.inputs = [*paths, *(each for each in made_from if each)]
        self.taken = names_of_inputs(self.inputs, self.out)

    def run(self) -> int:
        """Explain everything, write and print what was found; returns the exit status."""
        for name in self.labels:
            self._check_request(name)
        for name in self.labels:
            self._explain_or_say_why_not(name)
        failed = [result for _, result in self.results if result.error]
        written = self._write_summary()
        matches = self._matches()
        if self.options.contact_sheet:
            try:
                written.append(write_sheet(self.options, self.labels, self._rows, matches, self._truth, self.inputs))
            except CalmError as error:  # what was explained is told all the same
                self.failures.append(str(error))
        print_results(self.options, self.results, written, matches, several=self.several)
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
        path = resolve_checkpoint(checkpoint)
        if is_ours(path):
            info = read_info(path)
            own = self.options.hierarchy
            hierarchy = read_hierarchy(own, info.classes) if own else info.hierarchy
            check_sets(self._plan_for(info.method).request, info.classes, hierarchy)
            self._truth(info.classes)
        elif not path.exists():
            names = ", ".join(bundled_checkpoints())
            raise CheckpointError(f"there is no checkpoint {checkpoint}; give a file or one of {names}")

    def _truth(self, classes: ClassTable) -> GroundTruth | None:
        return read_truth(self.options.truth, classes) if self.options.truth else None

    def _plan_for(self, method: str) -> BatchPlan:
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
        options = self.options
        model = load(checkpoint, options)
        plan = self._plan_for(model.info.method)
        check_sets(plan.request, model.classes, model.hierarchy)
        truth = self._truth(model.classes)
        if truth and not truth.covers_each(self.paths):
            print(f"calm-explain: {truth.coverage(self.paths)}", file=sys.stderr)
        label, journal = self.labels[checkpoint], None
        own = f".{self.marks[label]}" if len(self.labels) > 1 else ""
        if options.out and self.several:
            name = f"batch{own}{self._part}.jsonl"
            journal = self.out / free_name(name, self.out, options.resume or options.overwrite)
        batch = run_batch(
            model,
            self.paths,
            plan,
            self.out,
            names={path: f"{name}{own}" for path, name in self.names.items()},
            truth=truth,
            journal=journal,
            resume=options.resume,
            overwrite=options.overwrite,
            batch_size=options.batch_size,
            label=label,
            taken=self.taken,
        )
        for result in self._with_progress(batch):
            self.results.append((label, result))

    def _with_progress(self, batch: Iterator[PictureResult]) -> Iterator[PictureResult]:
        if not self.several or self.options.quiet:
            yield from batch
            return
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
        if not self.options.out or not (self.several or self.options.truth):
            return []
        replaced = self.options.overwrite or (self.options.resume and self.several)
        name = free_name(f"summary{self._part}.csv", self.out, replaced, names_of_inputs(self.inputs, self.out))
        return [str(path) for path in write_summary(self._rows, self.out / name, overwrite=replaced)]

    def _matches(self) -> list[dict[str, Any]] | None:
        if not self.options.where:
            return None
        matches = matching(self._rows, self.options.where)
        if empty := what_is_empty(self._rows, self.options.where):
            print(f"calm-explain: {empty}", file=sys.stderr)
        return [dict(row) for row in matches]


def _plan(options: argparse.Namespace) -> BatchPlan:
    """What is made of every picture, as the options say."""
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


def _shard(text: str | None) -> tuple[int, int] | None:
    """Number and count of the part asked for, or of torchrun's rank."""
    rank, world = rank_number("RANK"), rank_number("WORLD_SIZE")
    if text is None and rank is not None and world is not None and world > 1:
        return rank + 1, world
    if text is None:
        return None
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal()):
        raise DataError(f"--shard {text} isn't a part; the first of four is 1/4")
    return int(number), int(count)
