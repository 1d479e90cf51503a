"""``calm-evaluate``: the paper's figures of checkpoints on a data set, as JSON and a Markdown table."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calm_gui.answer_options import add_answer_options, answers_of
from calm_gui.errors import CalmError

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["cue_table", "main", "markdown_table", "removal_table"]

Measurement = Callable[["LoadedModel", Callable[[int], object]], dict[str, Any]]
"""From a model, and a function to be told of pictures done, to results."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0 done, 1 the work failed, 2 unusable arguments.
    """
    options = _parser().parse_args(arguments)
    try:
        _evaluate(options)
    except CalmError as error:
        print(f"calm-evaluate: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="calm-evaluate", description="Measure CALM and CAM checkpoints.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--checkpoint", action="append", required=True, metavar="FILE", help="file or bundled name; repeatable"
    )
    common.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder with index.csv, or with metadata/<split> and images; a CUB root",
    )
    common.add_argument("--device", default="auto")
    common.add_argument("--out", type=Path, help="write the results to this JSON file, and a table beside it (.md)")
    common.add_argument("--quiet", action="store_true", help="no progress bar")
    add_answer_options(common)
    boxed = argparse.ArgumentParser(add_help=False)
    boxed.add_argument("--split", default="test", help="split of metadata/ (default: test)")
    half = boxed.add_mutually_exclusive_group()
    half.add_argument(
        "--select", type=int, metavar="N", help="only the N pictures with the lowest SHA-256 of the file name"
    )
    half.add_argument("--report", type=int, metavar="N", help="all pictures but those")
    boxed.add_argument("--batch", type=int, default=32, help="pictures in a forward pass")
    commands.add_parser("accuracy", parents=[common, boxed], help="top-1 accuracy")
    removal = commands.add_parser("removal", parents=[common, boxed], help="accuracy after erasing what a map marks")
    removal.add_argument("--erasure", choices=("blur", "zero", "mean"), default="blur")
    commands.add_parser("masks", parents=[common, boxed], help="PxAP against the masks of an index.csv")
    cues = commands.add_parser("cues", parents=[common], help="cue localization on pairs of CUB classes")
    cues.add_argument("--mode", choices=("benchmark", "exact"), default="exact")
    wsol = commands.add_parser("wsol", parents=[common, boxed], help="top-1 and box accuracy (MaxBoxAccV2)")
    wsol.add_argument("--contours", choices=("all", "largest"), default="all")
    wsol.add_argument("--mode", choices=("benchmark", "exact"), default="benchmark")
    return parser


def _evaluate(options: argparse.Namespace) -> None:
    from tqdm import tqdm

    from calm_gui.api import resolve_checkpoint
    from calm_gui.model.loaded import load_remembering

    measure, count = _measurement(options)
    results: dict[str, Any] = {}
    for name in options.checkpoint:
        model = load_remembering(resolve_checkpoint(name), options.device, answers=answers_of(options))
        with tqdm(total=count, desc=model.name, unit="picture", disable=options.quiet) as bar:
            results[name] = {**measure(model, bar.update), "sha256": model.sha256}
    conventions = _conventions(options)
    print(text := _TABLES[options.command](results, conventions))
    if options.out:
        from calm_gui.model.files import write_bytes

        content = {"conventions": conventions, "results": results, "versions": _versions()}
        write_bytes(options.out, json.dumps(content, indent=1).encode())
        write_bytes(options.out.with_suffix(".md"), text.encode())


def _measurement(options: argparse.Namespace) -> tuple[Measurement, int | None]:
    """What to do with each checkpoint, and the number of pictures; the data is checked here, before any network."""
    if options.command == "cues":
        from calm_training.cues import cue_localization
        from calm_training.metrics import CueLocalization

        cub = CueLocalization(options.data)
        return lambda model, progress: cue_localization(model, cub, mode=options.mode, progress=progress), None

    from calm_training.annotations import read_boxes_csv, read_boxes_wsol, read_masks_csv, split_by_hash

    table = options.data / "index.csv"
    if options.command == "masks":
        from calm_training.localize import mask_accuracy

        masked = read_masks_csv(table)
        return lambda model, progress: mask_accuracy(model, masked, batch=options.batch, progress=progress), len(masked)
    if table.exists():
        pictures = read_boxes_csv(table)
    else:
        pictures = read_boxes_wsol(options.data / "metadata" / options.split, options.data / "images")
    number = options.select or options.report
    if number:
        pictures = split_by_hash(pictures, number)[0 if options.select else 1]

    def measure(model: "LoadedModel", progress: Callable[[int], object]) -> dict[str, Any]:
        from calm_training.localize import accuracy, box_accuracy
        from calm_training.removal import removal_curves

        if options.command == "accuracy":
            return {"images": len(pictures), "top-1": accuracy(model, pictures, options.batch, progress)}
        if options.command == "removal":
            maps = removal_curves(model, pictures, erasure=options.erasure, progress=progress)
            return {"images": len(pictures), "maps": maps}
        return box_accuracy(
            model, pictures, contours=options.contours, mode=options.mode, batch=options.batch, progress=progress
        )

    return measure, len(pictures)


def markdown_table(results: dict[str, Any], conventions: str) -> str:
    """Results of several checkpoints as a Markdown table, in percent, with their conventions below."""
    rows = [
        "| checkpoint | map | pictures | top-1 | MaxBoxAccV2 | IoU 0.3 | 0.5 | 0.7 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        start = f"| {name} | {{}} | {result['images']} | {100 * result['top-1']:.1f} |"
        for reading, boxes in result.get("maps", {}).items():
            levels = " | ".join(f"{100 * v:.1f}" for v in boxes["per_iou"].values())
            rows.append(f"{start.format(reading)} {100 * boxes['MaxBoxAccV2']:.1f} | {levels} |")
        if "maps" not in result:
            rows.append(f"{start.format('')} | | | |")
    return "\n".join([*rows, "", conventions])


def removal_table(results: dict[str, Any], conventions: str) -> str:
    """Relative accuracies R_k as a Markdown table, in percent of random erasing's; lower is better."""
    shares = next(iter(next(iter(results.values()))["maps"].values()))["shares"]
    head = " | ".join(f"{100 * share:.0f} %" for share in shares)
    rows = [f"| checkpoint | map | pictures | {head} |", "|---" * (3 + len(shares)) + "|"]
    for name, result in results.items():
        for reading, curve in result["maps"].items():
            cells = " | ".join(f"{100 * value:.0f}" for value in curve["relative"])
            rows.append(f"| {name} | {reading} | {result['images']} | {cells} |")
    return "\n".join([*rows, "", conventions])


def mask_table(results: dict[str, Any], conventions: str) -> str:
    """PxAP of every map as a Markdown table, in percent."""
    rows = ["| checkpoint | map | pictures | PxAP |", "|---|---|---|---|"]
    for name, result in results.items():
        rows += [f"| {name} | {m} | {result['images']} | {100 * value:.1f} |" for m, value in result["maps"].items()]
    return "\n".join([*rows, "", conventions])


def cue_table(results: dict[str, Any], conventions: str) -> str:
    """Mean PxAP by number of differing parts as a Markdown table, in percent."""
    rows = [
        "| checkpoint | 1 part | 2 parts | 3 parts | mean | pairs | masks within |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        groups = " | ".join(f"{100 * result['mPxAP'][n]:.1f}" if n in result["mPxAP"] else "" for n in (1, 2, 3))
        pairs = sum(result["pairs"].values())
        rows.append(f"| {name} | {groups} | {100 * result['mean']:.1f} | {pairs} | {result['within']} |")
    return "\n".join([*rows, "", conventions])


_TABLES = {
    "accuracy": markdown_table,
    "wsol": markdown_table,
    "removal": removal_table,
    "cues": cue_table,
    "masks": mask_table,
}


def _conventions(options: argparse.Namespace) -> str:
    if options.command == "cues":
        return (
            f"Set: {options.data}, test pictures. PxAP over the released code's logarithmic thresholds, mode "
            f"{options.mode}, each pair on its own; CALM's maps as they are, CAM's scaled to 0..1 in each picture."
        )
    which = "all pictures"
    if options.select:
        which = f"the {options.select} pictures with the lowest SHA-256 of the file name"
    elif options.report:
        which = f"all pictures but the {options.report} with the lowest SHA-256 of the file name"
    text = f"Set: {options.data.name}, {which}; none skipped."
    if options.command == "masks":
        return (
            f"Set: {options.data.name}, the main object of each picture that some class stands for. PxAP over 1,000 "
            "even thresholds, all pixels pooled; maps enlarged bilinearly to the input's size and scaled to 0..1 each."
        )
    if options.command == "removal":
        text += f" Erased by {options.erasure}; accuracy relative to erasing at random (three seeds)."
    if options.command == "wsol":
        text += (
            f" Mode {options.mode}, {options.contours} contours, 1,000 thresholds, the best one of the whole set for "
            "each IoU level; maps enlarged bilinearly to the input's size and scaled to 0..1 each; true class given."
        )
    return text


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("calm-gui", "torch", "timm", "numpy")}


if __name__ == "__main__":
    raise SystemExit(main())
