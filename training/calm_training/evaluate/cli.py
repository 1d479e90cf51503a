"""``calm-evaluate``: measures of checkpoints on a data set, as JSON, tables and plots."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calm_gui.cli.command import command
from calm_gui.errors import CalmError, DataError
from calm_training.evaluate.evaluation import Evaluation, Option

__all__ = ["main"]


@command("calm-evaluate")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0 done, 1 the work failed, 2 unusable arguments, 130 or 143 interrupted.
    """
    options = build_parser().parse_args(arguments)
    if getattr(options, "resume", False) and not options.out:
        print("calm-evaluate: --resume needs the --out of the interrupted evaluation", file=sys.stderr)
        return 2
    try:
        if options.command == "report":
            _report(options)
        else:
            _evaluate(options)
    except CalmError as error:
        print(f"calm-evaluate: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("calm-evaluate: interrupted; with --out, --resume continues it", file=sys.stderr)
        return 130
    return 0


def build_parser() -> argparse.ArgumentParser:
    from calm_training.datasets.evaluation_set import AUTO
    from calm_training.datasets.layouts import LAYOUTS
    from calm_training.evaluate.evaluation import EVALUATIONS

    parser = argparse.ArgumentParser(prog="calm-evaluate", description="Measure CALM and CAM checkpoints.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder of classes, or with index.csv, or with metadata/<split> and images; a CUB root",
    )
    every.add_argument("--layout", default=AUTO, choices=(AUTO, *LAYOUTS), help="of the data (default: by its files)")
    every.add_argument("--split", default="test", help="split of the data (default: test)")
    every.add_argument("--device", default="auto")
    every.add_argument("--batch", type=_at_least(1), default=32, help="pictures in a forward pass on a GPU")
    every.add_argument("--workers", type=_at_least(0), default=1, help="threads that decode and score (default: 1)")
    every.add_argument("--quiet", action="store_true", help="no progress bar")
    common = argparse.ArgumentParser(add_help=False, parents=[every])
    common.add_argument(
        "--checkpoint", action="append", required=True, metavar="FILE", help="file or bundled name; repeatable"
    )
    common.add_argument(
        "--out",
        type=Path,
        help="JSON file to write, with tables (.md), scores of every picture (.csv) and a plot (.png, .svg) next to it",
    )
    common.add_argument("--resume", action="store_true", help="continue the interrupted evaluation of --out")
    common.add_argument("--overwrite", action="store_true", help="replace existing files of --out")
    common.add_argument("--json", action="store_true", help="print JSON instead of a table")
    common.add_argument(
        "--compare",
        nargs=2,
        action="append",
        default=[],
        metavar=("A", "B"),
        help="paired differences between two checkpoints, or two maps; repeatable",
    )
    half = argparse.ArgumentParser(add_help=False)
    part = half.add_mutually_exclusive_group()
    part.add_argument(
        "--select", type=_at_least(1), metavar="N", help="only the N pictures with the lowest SHA-256 of the file name"
    )
    part.add_argument("--report", type=_at_least(0), metavar="N", help="all pictures but those")
    for evaluation in EVALUATIONS.values():
        parents = [common] if evaluation.reads == "cues" else [common, half]
        _add_options(commands.add_parser(evaluation.key, parents=parents, help=evaluation.summary), evaluation)
    report = commands.add_parser("report", parents=[every], help="everything that the data allows, on one page")
    report.add_argument("checkpoint", nargs="+", metavar="CHECKPOINT", help="files or bundled names")
    report.add_argument("--out", type=Path, required=True, help="folder for report.md, results and figures")
    report.add_argument("--resume", action="store_true", help="continue the interrupted report in --out")
    report.add_argument("--overwrite", action="store_true", help="replace the report in --out")
    report.add_argument("--most", type=_at_least(1), metavar="N", help="at most N pictures of a set (lowest hashes)")
    report.add_argument(
        "--slow", type=_at_least(1), default=20, metavar="N", help="pictures for slow parts (default: 20)"
    )
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    """What reads a whole number of at least so much."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
        return int(text)

    return read


def _add_options(parser: argparse.ArgumentParser, evaluation: Evaluation) -> None:
    if evaluation.takes_maps:
        parser.add_argument(
            "--map",
            "--method",  # its name in version 0.1
            action="append",
            default=[],
            dest="maps",
            metavar="NAME",
            help="a reading or another method, with -superset for the map of the superset; repeatable "
            "(default: the paper's readings)",
        )
    for option in evaluation.options:
        _add_option(parser, option)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    flag = option.name.replace("_", "-")
    if isinstance(option.default, bool):
        name, action = (f"--no-{flag}", "store_false") if option.default else (f"--{flag}", "store_true")
        parser.add_argument(name, action=action, dest=option.name, help=option.help)
    elif isinstance(option.default, tuple):
        parser.add_argument(
            f"--{flag}", action="append", dest=option.name, metavar="NAME", choices=option.choices, help=option.help
        )
    else:
        said = f"{option.help} (default: {option.default})"
        kind = type(option.default)
        parser.add_argument(
            f"--{flag}", type=kind, default=option.default, choices=option.choices or None, dest=option.name, help=said
        )


def _evaluate(options: argparse.Namespace) -> None:
    from calm_gui.model.files import check_free, write_text
    from calm_training.evaluate.comparison import check_pairs, compared, comparison_table
    from calm_training.evaluate.failures import failed_of, failure_table, say_failures
    from calm_training.evaluate.plan import content_of, files_of, journal_of, read_set
    from calm_training.evaluate.plot import draw
    from calm_training.evaluate.scores_table import write_scores
    from calm_training.evaluate.table import markdown

    plan = _plan(options)
    check_pairs(options.compare, options.checkpoint, plan.maps, plan.evaluation.takes_maps)
    files = _files(options.out) if options.out else []
    for path in files:
        check_free(path, overwrite=options.overwrite, inputs=options.checkpoint)
    found = read_set(plan)  # all faults of the data come here, before any network
    for path in files:
        check_free(path, overwrite=options.overwrite, inputs=files_of(plan, found))
    journal = None
    if options.out:
        place = _journal_path(options.out)
        journal = journal_of(plan, place, found, resume=options.resume, overwrite=options.overwrite)
    results, failures = _measured(plan, found, options, journal)
    content = content_of(plan, results, found)
    tables = [*plan.evaluation.tables(results), *failure_table(results)]
    if options.compare:
        try:
            differences = compared(results, options.compare)
        except DataError as error:
            failures.append(str(error))
        else:
            content["differences"] = [difference.to_json() for difference in differences]
            tables.append(comparison_table(differences))
    text = "\n\n".join([*map(markdown, tables), content["conventions"]])
    said = json.dumps(content, indent=1, allow_nan=False)
    print(said if options.json else text)
    if options.out:
        write_text(files[0], said, overwrite=options.overwrite)
        write_text(files[1], f"{text}\n", overwrite=options.overwrite)
        write_scores(results, options.out, overwrite=options.overwrite)
        draw(plan.evaluation, results, options.out, overwrite=options.overwrite)
    if journal:
        journal.discard()
    if failures:
        raise DataError("; ".join(failures))
    if failed := failed_of(results):
        raise DataError(say_failures(failed))


def _plan(options: argparse.Namespace) -> Any:
    from calm_training.evaluate.evaluation import EVALUATIONS, Plan

    settings = {}
    for option in EVALUATIONS[options.command].options:
        value = getattr(options, option.name)
        if value is not None:
            settings[option.name] = tuple(value) if isinstance(option.default, tuple) else value
    return Plan(
        options.command,
        options.data,
        options.split,
        options.layout,
        getattr(options, "select", None),
        getattr(options, "report", None),
        tuple(getattr(options, "maps", ())),
        settings,
    )


def _measured(plan: Any, found: Any, options: argparse.Namespace, journal: Any) -> tuple[dict[str, Any], list[str]]:
    """Results by checkpoint, and why others have none: the hours that one took aren't lost because another fails."""
    from tqdm import tqdm

    from calm_gui.api import load_checkpoint
    from calm_training.evaluate.plan import measure
    from calm_training.evaluate.sweep import SweepOptions

    results, failures = {}, []
    count = None if options.command == "cues" else len(found.pictures)
    for name in options.checkpoint:
        try:
            model = load_checkpoint(name, options.device)
            with tqdm(total=count, desc=model.name, unit="picture", disable=options.quiet) as bar:
                sweep = SweepOptions(options.batch, options.workers, journal, bar.update)
                results[name] = measure(plan, model, found, sweep)
        except CalmError as error:
            if len(options.checkpoint) == 1:
                raise
            failures.append(f"{name}: {error}")
            continue
        if not options.quiet and "total" in sweep.seconds:
            said = f"{model.name}: {sweep.seconds['total']:.0f} s"
            if "network" in sweep.seconds and sweep.seconds["total"] > 0:
                said += f", {sweep.seconds['network'] / sweep.seconds['total']:.0%} in the network"
            print(said, file=sys.stderr)
    if failures:
        number = f"{len(failures)} of {len(options.checkpoint)} checkpoints have no results"
        failures = [f"{number}: {'; '.join(failures)}"]
    if not results:
        raise DataError(failures[0])
    for name in plan.maps if plan.evaluation.takes_maps else ():
        if not any(name in result.estimates for result in results.values()):
            print(f"calm-evaluate: no checkpoint has the map {name}", file=sys.stderr)
    return results, failures


def _files(out: Path) -> list[Path]:
    """What an evaluation writes: numbers, tables, scores of every picture, plots."""
    from calm_training.evaluate.scores_table import scores_files

    beside = [out.with_suffix(".md"), *scores_files(out), out.with_suffix(".png"), out.with_suffix(".svg")]
    if out in beside:
        raise DataError(f"{out} names the JSON file, and the {out.suffix} is written next to it; use .json")
    return [out, *beside]


def _journal_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.journal")


def _report(options: argparse.Namespace) -> None:
    from calm_training.evaluate.report import write_report

    page = write_report(
        options.checkpoint,
        options.data,
        options.out,
        split=options.split,
        layout=options.layout,
        device=options.device,
        most=options.most,
        slow=options.slow,
        batch=options.batch,
        workers=options.workers,
        resume=options.resume,
        overwrite=options.overwrite,
        quiet=options.quiet,
    )
    print(page)


if __name__ == "__main__":
    raise SystemExit(main())
