"""``calm-train``: list and show recipes, check data, train, search learning rates, export."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calm_gui.cli.answer_options import add_answer_options, answers_of, give_hierarchy
from calm_gui.cli.command import command
from calm_gui.errors import CalmError
from calm_gui.torchrun import rank_number
from calm_training.memory import keep_freed_memory

if TYPE_CHECKING:
    from calm_training.config import Config

__all__ = ["main"]

DEMOS = ("imagenet-demo", "imagenet-demo-large")
"""Not TOML recipes: they make the bundled checkpoints (`calm_training.demo`)."""


@command("calm-train")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0 done, 1 the work failed, 2 unusable arguments, 130 or 143 interrupted with the state saved.
    """
    options = build_parser().parse_args(arguments)
    chosen: Callable[[argparse.Namespace], int] = options.command
    keep_freed_memory()
    try:
        return chosen(options)
    except CalmError as error:
        print(f"calm-train: {error}", file=sys.stderr)
        return int(getattr(error, "status", 1))


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="calm-train", description="Train CALM and CAM checkpoints.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    recipe = argparse.ArgumentParser(add_help=False)
    recipe.add_argument(
        "--recipe", required=True, help="parts joined by +, as in cub+resnet50+calm-em, or a TOML or JSON file"
    )
    recipe.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting; repeatable"
    )
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--data", type=Path, required=True, help="folder that the recipe's data.root is below")

    commands.add_parser("list", help="list the parts of recipes").set_defaults(command=_list)
    show = commands.add_parser("show", parents=[recipe], help="all settings of a recipe, with the source of each")
    show.add_argument("--json", action="store_true", help="JSON instead of TOML, without the sources")
    show.set_defaults(command=_show)
    commands.add_parser(
        "check", parents=[recipe, data], help="open every picture; list the classes and bad files"
    ).set_defaults(command=_check)

    train = commands.add_parser("train", parents=[recipe, data], help="train a checkpoint")
    train.add_argument("--out", type=Path, required=True, help="folder of the run")
    train.add_argument("--resume", action="store_true", help="continue the run in --out")
    train.add_argument("--overwrite", action="store_true", help="replace the run in --out")
    train.add_argument("--quiet", action="store_true", help="no progress bar")
    train.set_defaults(command=_train)

    search = commands.add_parser(
        "search", parents=[recipe, data], help="try random learning rates and method settings, and keep the best"
    )
    search.add_argument("--out", type=Path, required=True, help="folder with a run for each trial")
    search.add_argument("--trials", type=int, default=30)
    search.add_argument(
        "--boxes", type=Path, help="validation pictures with boxes or masks: select by localization on them"
    )
    search.add_argument(
        "--part", type=_part, default=(1, 1), metavar="I/N", help="every N-th trial, starting with the I-th"
    )
    search.set_defaults(command=_search)

    adapting = commands.add_parser("adapt", help="make a CALM of a plain classifier, from pictures without labels")
    adapting.add_argument(
        "--checkpoint",
        required=True,
        metavar="FILE|timm:NAME|torchvision:NAME",
        help="the classifier; names are downloaded",
    )
    adapting.add_argument("--data", type=Path, nargs="+", help="pictures, or folders of them")
    adapting.add_argument("--list", type=Path, metavar="FILE.json", help="a JSON list of pictures, for programs")
    adapting.add_argument("--out", type=Path, required=True, help="folder of the run; a run in it is continued")
    adapting.add_argument(
        "--what",
        choices=("saliency", "head", "last-stages"),
        help="what is trained (default saliency; head where the classifier has no CAM); last-stages takes longer",
    )
    adapting.add_argument(
        "--boxes", type=Path, help="pictures with boxes or masks: say how well the maps find the objects in them"
    )
    adapting.add_argument("--steps", type=int, help="default 200")
    adapting.add_argument("--progress", choices=("bar", "json", "none"), default="bar", help="json: lines on stdout")
    adapting.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default auto)")
    add_answer_options(adapting)
    adapting.set_defaults(command=_adapt)

    export = commands.add_parser(
        "export",
        help="write a smaller copy of a checkpoint in float16; of another program's file, a checkpoint that says "
        "what it is",
    )
    export.add_argument("checkpoint", type=Path)
    export.add_argument("--out", type=Path, required=True, help="file to write, ending in .safetensors")
    export.add_argument("--overwrite", action="store_true", help="replace --out if it exists")
    add_answer_options(export)
    export.set_defaults(command=_export)
    return parser


def _list(_: argparse.Namespace) -> int:
    from calm_training.recipes import recipe_parts

    for kind, names in recipe_parts().items():
        print(f"{kind + ':':10}{' '.join(names)}")
    print(f"\n{' and '.join(DEMOS)} make the bundled checkpoints. The others are parts: join one of each kind, as in")
    print("cub+resnet50+calm-em. A data part alone takes the backbone and method that suit it.")
    return 0


def _config(options: argparse.Namespace) -> "Config":
    from calm_training.recipes import load_config

    return load_config(options.recipe, options.set, _note)


def _note(text: str) -> None:
    print(f"calm-train: {text}", file=sys.stderr)


def _show(options: argparse.Namespace) -> int:
    from calm_training.recipes import compose

    if options.recipe in DEMOS:
        from dataclasses import asdict

        from calm_training.demo import RECIPES

        print(json.dumps(asdict(RECIPES[options.recipe]), indent=1))
    else:
        composed = compose(options.recipe, options.set, _note)
        print(json.dumps(composed.config.to_json(), indent=1) if options.json else composed.to_toml())
    return 0


def _check(options: argparse.Namespace) -> int:
    from calm_training.datasets.faults import bad_files
    from calm_training.datasets.splits import read_splits

    config = _config(options)
    data = config.data
    splits = read_splits(data.layout, options.data / data.root, data.train, data.validation, data.test)
    for note in splits.notes:
        print(note)
    bad = 0
    for name, pictures in (("training", splits.train), ("validation", splits.validation), ("test", splits.test)):
        if pictures is None:
            print(f"{name}: no pictures")
            continue
        faults = bad_files(pictures.samples, config.run.workers)
        bad += len(faults)
        print(f"{name}: {len(pictures.samples)} pictures, {len(pictures.classes)} classes, {len(faults)} bad files")
        for path, reason in faults:
            print(f"  {path}: {reason}")
        if pictures is splits.train:
            for info, count in zip(pictures.classes, pictures.counts(), strict=True):
                print(f"  {info.index:4d} {info.name}: {count}")
    return 1 if bad else 0


def _train(options: argparse.Namespace) -> int:
    if options.recipe in DEMOS:
        from calm_training.demo import main as make_demo

        return make_demo(["--recipe", options.recipe, "--shared", str(options.data), "--out", str(options.out)])
    from calm_training.loop import train

    config = _config(options)
    best = train(
        config,
        options.data,
        options.out,
        resume=options.resume,
        overwrite=options.overwrite,
        quiet=options.quiet,
    )
    if not rank_number("RANK"):  # torchrun's processes all come here
        print(f"best checkpoint: {best}")
    return 0


def _search(options: argparse.Namespace) -> int:
    from calm_training.search import search_settings

    config = _config(options)
    best = search_settings(
        config, options.data, options.out, options.trials, options.boxes, options.part, lambda text: print(text)
    )
    drawn = ", ".join(f"{name} {value:.3g}" for name, value in best.settings.items())
    by_boxes = options.boxes or config.run.boxes
    print(f"best: {drawn}; {'localization' if by_boxes else 'accuracy'} {best.score:.2%} ({best.folder})")
    return 0


def _part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdigit() and parts.isdigit() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} isn't of the form I/N with I from 1 to N")
    return int(number), int(parts)


def _adapt(options: argparse.Namespace) -> int:
    from calm_training.adapt_command import run

    return run(options)


def _export(options: argparse.Namespace) -> int:
    import torch

    from calm_gui.model.checkpoint import save_checkpoint
    from calm_gui.model.files import check_free
    from calm_gui.model.loaded import load_remembering

    if options.out.suffix != ".safetensors":
        raise CalmError(f"{options.out} doesn't end in .safetensors, which is the only format that is written")
    check_free(options.out, overwrite=options.overwrite, inputs=[options.checkpoint])
    model = load_remembering(options.checkpoint, "cpu", answers=answers_of(options))
    give_hierarchy(options, model)
    save_checkpoint(
        options.out, model.network, model.info, torch.float16, overwrite=options.overwrite, inputs=[options.checkpoint]
    )
    print(options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
