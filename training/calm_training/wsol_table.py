"""The methods of the paper's Table 5 on a small set, side by side: one command, which continues where it stopped.

EfficientNet-Lite0 with its first stages frozen is trained on 20 ImageNet classes with labels (`imagenette-train` and
`imagewoof-train`), two epochs at the recipes' default settings without any search, and measured on the boxes of the
same classes in `imagenet-val-boxes`, without the pictures that settings were ever chosen on.

    python -m calm_training.wsol_table --data DATA --hours 10

trains the cells that `docs/wsol_table.json` lacks, writes each down there as it ends, and puts the table into
the page that ``--page`` names; with ``--hours 0`` it trains nothing and writes the table alone.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from calm_gui.cli.command import command
from calm_gui.errors import CalmError, DataError, why_unreadable
from calm_gui.model.files import write_text
from calm_gui.model.imagenet import imagenet_classes
from calm_gui.model.loaded import LoadedModel, load_model
from calm_training.datasets.boxes import BoxedPicture, read_boxes_csv
from calm_training.datasets.split import CHOSEN_ON, split_by_hash
from calm_training.evaluate.documented_results import with_tables
from calm_training.evaluate.maps import own_map
from calm_training.evaluate.paper import WSOL
from calm_training.evaluate.wsol import box_accuracy
from calm_training.loop import train
from calm_training.memory import keep_freed_memory
from calm_training.recipes import load_config

__all__ = ["PAPER", "ROWS", "cells", "page_part", "pictures_for", "run_cells", "table_of_cells", "training_folder"]

TRAINING_SETS = ("imagenette-train", "imagewoof-train")
ROWS = (
    "cam",
    "has",
    "acol-narrow",
    "spg-narrow",
    "adl",
    "cutmix",
    "inca-reading",
    "calm-ml",
    "calm-em",
    "calm-em+has",
    "calm-em+adl",
    "calm-em+cutmix",
)
"""Methods as recipes name them. Layers of ACoL and SPG are narrow: with whole ones a cell would take hours."""

PAPER: dict[str, float] = {
    "cam": WSOL["cam"][0],
    "has": 62.6,
    "acol-narrow": 61.1,
    "spg-narrow": 62.2,
    "adl": 61.6,
    "cutmix": 62.2,
    "calm-ml": WSOL["attribution calm-ml"][0],
    "calm-em": WSOL["attribution calm-em"][0],
}
"""MaxBoxAccV2 on ImageNet, mean of three backbones, percent (the paper's Tables 2 and 5). Its InCA is another method
than our reading of it."""

SEEDS = (0, 1, 2)

Cells = dict[str, dict[str, Any]]
"""Figures by ``method/seed``."""


def cells(methods: Sequence[str] = ()) -> Iterator[tuple[str, int]]:
    """Method and seed of each cell: every method once, then again, so that a table that isn't done compares alike."""
    return ((method, seed) for seed in SEEDS for method in methods or ROWS)


def training_folder(data: Path, work: Path) -> Path:
    """A folder ``train`` with links to the class folders of both sets.

    Raises
    ------
    DataError
        If a set is missing or both have a class.
    """
    train_folder = work / "pictures" / "train"
    train_folder.mkdir(parents=True, exist_ok=True)
    for name in TRAINING_SETS:
        if not (data / name).is_dir():
            raise DataError(f"there is no folder {data / name}")
        for folder in sorted(path for path in (data / name).iterdir() if path.is_dir()):
            link = train_folder / folder.name
            if link.exists() and link.resolve() != folder.resolve():
                raise DataError(f"{link} is of another set; give another --work")
            if not link.exists():
                link.symlink_to(folder.resolve(), target_is_directory=True)
    return train_folder.parent


def pictures_for(model: LoadedModel, boxes: Path) -> list[BoxedPicture]:
    """Pictures of the checkpoint's classes, with its labels, that no setting was chosen on."""
    index = {info.wnid: info.index for info in model.classes}
    wnids = [info.wnid for info in imagenet_classes()]
    _, rest = split_by_hash(read_boxes_csv(boxes / "index.csv"), CHOSEN_ON)
    found = [replace(one, label=index[wnids[one.label]]) for one in rest if wnids[one.label] in index]
    if not found:
        raise DataError(f"{boxes} has no picture of the {len(index)} classes of {model.name}")
    return found


def run_cells(
    data: Path,
    work: Path,
    out: Path,
    hours: float,
    settings: Sequence[str] = (),
    methods: Sequence[str] = (),
    say: Callable[[str], object] = print,
) -> Cells:
    """Train and measure the cells that are left, each written down as it ends.

    Parameters
    ----------
    data : Path
        Folder with the three sets.
    work : Path
        Gets a run for each cell.
    out : Path
        JSON file of all cells.
    hours : float
        Of training in all; no cell is begun that would begin after them.
    settings : sequence of str
        ``section.key=value`` for every cell.
    methods : sequence of str
        Rows, in the order in which to train them; by default all.
    say : callable
        Told of each cell.
    """
    done = _cells_of(out)
    for method, seed in cells(methods):
        name = f"{method}/{seed}"
        if name in done:
            continue
        if sum(cell["seconds"] for cell in done.values()) >= 3600 * hours:
            say(f"{hours:g} hours of training are over; {len(done)} cells are done")
            break
        pictures = training_folder(data, work)
        config = load_config(f"folder+lite0+{method}", ["optimizer.epochs=2", f"run.seed={seed}", *settings])
        run = work / name.replace("/", "-")
        with _timed(work / f"{run.name}-time.json") as spent:
            best = train(config, pictures, run, resume=run.exists(), quiet=True)
        model = load_model(best, "cpu")
        own = own_map(model)
        result = box_accuracy(model, pictures_for(model, data / "imagenet-val-boxes"), maps=[own])
        done[name] = {
            "top-1": result.top_one,
            "MaxBoxAccV2": result.maps[own].max_box_acc_v2,
            "pictures": result.images,
            **{name: round(value, 1) for name, value in spent.items()},
            "sha256": model.sha256,
        }
        write_text(out, json.dumps(done, indent=1), overwrite=True)
        say(f"{name}: MaxBoxAccV2 {done[name]['MaxBoxAccV2']:.2%}, {spent['seconds'] / 60:.1f} min")
    return done


def _cells_of(path: Path) -> Cells:
    try:
        cells: Cells = json.loads(path.read_text("utf-8")) if path.exists() else {}
    except ValueError as error:
        raise DataError(f"{path} isn't a table of cells: {why_unreadable(error)}") from error
    return cells


@contextmanager
def _timed(kept: Path) -> Iterator[dict[str, float]]:
    """Adds the time of what is done inside, also where it is interrupted, to what a file has of it from before."""
    spent: dict[str, float] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    began = {"seconds": time.monotonic(), "CPU seconds": time.process_time()}
    try:
        yield spent
    finally:
        now = {"seconds": time.monotonic(), "CPU seconds": time.process_time()}
        spent |= {name: spent.get(name, 0.0) + now[name] - began[name] for name in now}
        write_text(kept, json.dumps(spent), overwrite=True)


def table_of_cells(done: Mapping[str, Mapping[str, Any]]) -> str:
    """The Markdown table: means over seeds, with 95 % intervals of Student's t where there are two or more.

    A method of which no cell is done says so.
    """
    lines = [
        "| method | seeds | top-1 | MaxBoxAccV2 | the paper's (ImageNet, three backbones) |",
        "| --- | --- | --- | --- | --- |",
    ]
    for method in ROWS:
        of_seeds = [done[f"{method}/{seed}"] for seed in SEEDS if f"{method}/{seed}" in done]
        figures = [_mean_with_interval([100 * cell[key] for cell in of_seeds]) for key in ("top-1", "MaxBoxAccV2")]
        paper = f"{PAPER[method]:.1f}" if method in PAPER else ""
        lines.append(f"| {method} | {len(of_seeds) or 'not yet'} | {' | '.join(figures)} | {paper} |")
    return "\n".join(lines)


def page_part(done: Mapping[str, Mapping[str, Any]]) -> str:
    """What stands in the page: the command, the table, and what was run."""
    hours = sum(cell["seconds"] for cell in done.values()) / 3600
    pictures = sorted({cell["pictures"] for cell in done.values()})
    measured = f" measured on {' or '.join(map(str, pictures))} pictures each," if pictures else ""
    ran = (
        f"{len(done)} of {len(ROWS) * len(SEEDS)} cells are trained,{measured} {hours:.1f} hours in all. Means over "
        "seeds in percent, with 95 % intervals of Student's t where there are two or more; a method without a cell "
        "says *not yet*."
    )
    return f"\n`python -m calm_training.wsol_table --data DATA`\n\n{table_of_cells(done)}\n\n{ran}\n"


def _mean_with_interval(values: Sequence[float]) -> str:
    if not values:
        return ""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:.1f}"
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / len(values) ** 0.5
    return f"{mean:.1f} ± {half:.1f}"


@command("calm_training.wsol_table")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0 done, 1 the work failed, 2 unusable arguments, 130 or 143 interrupted; the same command goes on.
    """
    parser = argparse.ArgumentParser(prog="calm_training.wsol_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the three sets")
    parser.add_argument("--work", type=Path, default=Path("build/wsol-table"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=Path("docs/wsol_table.json"), help="JSON file of all cells")
    parser.add_argument(
        "--page", type=Path, help="page with the marker <!-- wsol-methods --> to write the table behind"
    )
    parser.add_argument("--method", action="append", default=[], choices=ROWS, help="a row to train; repeatable")
    parser.add_argument("--hours", type=float, default=10.0, help="of training in all (default: 10)")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="for every cell")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    try:
        done = run_cells(options.data, options.work, options.out, options.hours, options.set, options.method)
        if options.page:
            page = with_tables(options.page.read_text("utf-8"), {"wsol-methods": page_part(done)})
            write_text(options.page, page, overwrite=True)
    except (CalmError, OSError) as error:
        print(f"calm_training.wsol_table: {error}", file=sys.stderr)
        return int(getattr(error, "status", 1))
    print(table_of_cells(done))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
