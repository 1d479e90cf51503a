"""``calm-evaluate``: the paper's figures of checkpoints on a data set, as JSON, a Markdown table and a plot."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calm_gui.command import command
from calm_gui.errors import CalmError

__all__ = ["main"]


@command("calm-evaluate")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0 done, 1 the work failed, 2 unusable arguments, 130 or 143 interrupted.
    """
    options = _parser().parse_args(arguments)
    if getattr(options, "resume", False) and not options.out:
        print("calm-evaluate: --resume needs the --out of the evaluation to go on with", file=sys.stderr)
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
        print("calm-evaluate: interrupted; with --out it goes on with --resume", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="calm-evaluate", description="Measure CALM and CAM checkpoints.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder with index.csv, or with metadata/<split> and images; a CUB root",
    )
    every.add_argument("--device", default="auto")
    every.add_argument("--batch", type=int, default=32, help="pictures in a forward pass on a GPU")
    every.add_argument("--workers", type=int, default=1, help="threads that decode and score (default: 1)")
    every.add_argument("--quiet", action="store_true", help="no progress bar")
    common = argparse.ArgumentParser(add_help=False, parents=[every])
    common.add_argument(
        "--checkpoint", action="append", required=True, metavar="FILE", help="file or bundled name; repeatable"
    )
    common.add_argument("--out", type=Path, help="JSON file to write, with table (.md) and plot (.png, .svg) beside it")
    common.add_argument("--resume", action="store_true", help="go on with the interrupted evaluation that --out names")
    common.add_argument("--overwrite", action="store_true", help="replace the files of --out that are there")
    common.add_argument("--json", action="store_true", help="print JSON instead of a table")
    half = argparse.ArgumentParser(add_help=False)
    half.add_argument("--split", default="test", help="split of metadata/ (default: test)")
    part = half.add_mutually_exclusive_group()
    part.add_argument(
        "--select", type=int, metavar="N", help="only the N pictures with the lowest SHA-256 of the file name"
    )
    part.add_argument("--report", type=int, metavar="N", help="all pictures but those")
    mapped = argparse.ArgumentParser(add_help=False)
    mapped.add_argument(
        "--method",
        action="append",
        default=[],
        dest="maps",
        metavar="NAME",
        help="a reading or a method of others; repeatable (default: the paper's readings)",
    )
    commands.add_parser("accuracy", parents=[common, half], help="top-1 accuracy and calibration")
    removal = commands.add_parser("removal", parents=[common, half, mapped], help="accuracy after erasing")
    removal.add_argument("--erasure", choices=("blur", "zero", "mean"), default="blur")
    commands.add_parser("masks", parents=[common, half, mapped], help="PxAP against masks")
    cues = commands.add_parser("cues", parents=[common, mapped], help="cue localization on pairs of CUB classes")
    cues.add_argument("--mode", choices=("benchmark", "exact"), default="exact")
    wsol = commands.add_parser("wsol", parents=[common, half, mapped], help="top-1 and box accuracy (MaxBoxAccV2)")
    wsol.add_argument("--contours", choices=("all", "largest"), default="all")
    wsol.add_argument("--mode", choices=("benchmark", "exact"), default="benchmark")
    axioms = commands.add_parser("axioms", parents=[common, half], help="the paper's axioms as numbers")
    axioms.add_argument("--no-pixels", action="store_false", dest="pixels", help="leave out the slow part over pixels")
    report = commands.add_parser("report", parents=[every], help="everything that the data allows, on one page")
    report.add_argument("checkpoint", nargs="+", metavar="CHECKPOINT", help="files or bundled names")
    report.add_argument("--out", type=Path, required=True, help="folder for report.md, results and figures")
    report.add_argument("--resume", action="store_true", help="go on with the interrupted report in --out")
    report.add_argument("--overwrite", action="store_true", help="replace the report in --out")
    report.add_argument("--most", type=int, metavar="N", help="at most N pictures of a set (lowest hashes)")
    report.add_argument("--slow", type=int, default=20, metavar="N", help="pictures for slow parts (default: 20)")
    return parser


def _evaluate(options: argparse.Namespace) -> None:
    from dataclasses import fields

    from calm_gui.model.files import check_free, write_text
    from calm_training.evaluation import Evaluation, conventions, read_set, versions
    from calm_training.plots import draw
    from calm_training.tables import table_of

    wanted = {field.name for field in fields(Evaluation)}
    settings = {name: value for name, value in vars(options).items() if name in wanted}
    evaluation = Evaluation(**{**settings, "maps": tuple(settings.get("maps", ()))})
    files = _files(options.out) if options.out else []
    for path in files:
        check_free(path, overwrite=options.overwrite, inputs=options.checkpoint)
    found = read_set(evaluation)  # all faults of the data come here, before any network
    journal = evaluation.journal(_journal_path(options.out), found, resume=options.resume) if options.out else None
    results = _measured(evaluation, found, options, journal)
    text = table_of(options.command, results, said := conventions(evaluation, results))
    content = {"conventions": said, "results": results, "versions": versions()}
    print(json.dumps(content, indent=1) if options.json else text)
    if options.out:
        write_text(files[0], json.dumps(content, indent=1), overwrite=options.overwrite)
        write_text(files[1], f"{text}\n", overwrite=options.overwrite)
        draw(options.command, results, options.out, overwrite=options.overwrite)
    if journal:
        journal.discard()


def _measured(evaluation: Any, found: Any, options: argparse.Namespace, journal: Any) -> dict[str, Any]:
    from tqdm import tqdm

    from calm_gui.api import load_checkpoint
    from calm_training.evaluation import measure
    from calm_training.sweep import SweepOptions

    results = {}
    count = None if options.command == "cues" else len(found)
    for name in options.checkpoint:
        model = load_checkpoint(name, options.device)
        with tqdm(total=count, desc=model.name, unit="picture", disable=options.quiet) as bar:
            sweep = SweepOptions(options.batch, options.workers, journal, bar.update)
            results[name] = measure(evaluation, model, found, sweep)
        if not options.quiet and sweep.seconds["total"] > 0:
            share = sweep.seconds["network"] / sweep.seconds["total"]
            print(f"{model.name}: {sweep.seconds['total']:.0f} s, {share:.0%} in the network", file=sys.stderr)
    return results


def _files(out: Path) -> list[Path]:
    """What an evaluation writes: numbers, table, plots."""
    beside = [out.with_suffix(suffix) for suffix in (".md", ".png", ".svg")]
    if out in beside:
        raise CalmError(f"{out} is to be the JSON file, beside which {out.suffix} has a place of its own; use .json")
    return [out, *beside]


def _journal_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.journal")


def _report(options: argparse.Namespace) -> None:
    from calm_training.report import write_report

    page = write_report(
        options.checkpoint,
        options.data,
        options.out,
        device=options.device,
        most=options.most,
        slow=options.slow,
        workers=options.workers,
        resume=options.resume,
        overwrite=options.overwrite,
        quiet=options.quiet,
    )
    print(page)


if __name__ == "__main__":
    raise SystemExit(main())
