"""``make results``: the tables of docs/results.md, measured on the bundled checkpoints and written between its markers.

    python -m calm_training.evaluate.documented_results --data DATA --out docs/results.md

The text around the tables is written by hand and kept. Slow methods, remove-and-classify and the axioms take fixed
subsets, whose size each table states. The whole run takes well over an hour on two quiet cores.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tqdm import tqdm

from calm_gui.api import load_checkpoint
from calm_gui.errors import CalmError, DataError
from calm_gui.methods import METHODS
from calm_gui.model.files import write_text
from calm_training.datasets.split import CHOSEN_ON
from calm_training.evaluate.evaluation import Plan
from calm_training.evaluate.plan import versions
from calm_training.evaluate.report import Part, run_part
from calm_training.evaluate.table import markdown

__all__ = ["main", "parts", "with_tables"]

CHECKPOINTS = ("demo", "demo-cam")
LARGE = ("demo-large",)
ALL = 1412

OVER_CAM = tuple((f"demo:{name}", "demo-cam:cam") for name in ("attribution", "superset", "saliency"))
"""What CALM's maps have over CAM's own."""


def parts(data: Path, cub: Sequence[str] = ()) -> list[Part]:
    """What is measured; the pictures of slow parts are the last ones in the order of hashes."""
    boxes, masks = data / "imagenet-val-boxes", data / "masks"
    today = (
        *("attribution", "superset", "saliency", "cam", "cam-superset"),
        # Those of torchcam only where it is installed.
        *(key for key in ("grad_cam", "layer_cam", "grad_cam_plus_plus", "finer_cam") if key in METHODS),
    )
    faithfulness = {"measure": ("deletion", "insertion", "additivity")}
    others = ("attribution", "cam", "conditional", "counterfactual", "gradient", "grad_cam")
    slow = ("attribution", "cam", "integrated_gradients", "smoothgrad", "vargrad", "occlusion")
    found = [
        Part(Plan("wsol", boxes, report=CHOSEN_ON), CHECKPOINTS, "wsol", OVER_CAM),
        Part(Plan("masks", masks), CHECKPOINTS, "masks", OVER_CAM),
        Part(
            Plan("removal", boxes, report=ALL - 300, maps=("attribution", "cam"), settings={"most": 50}),
            CHECKPOINTS,
            "removal",
            OVER_CAM[:1],
        ),
        Part(Plan("wsol", boxes, report=ALL - 30, maps=others), CHECKPOINTS, "methods"),
        Part(Plan("wsol", boxes, report=ALL - 20, maps=slow), CHECKPOINTS, "slow-methods"),
        Part(Plan("measures", boxes, report=ALL - 200, maps=today), CHECKPOINTS, "measures"),
        Part(Plan("measures", boxes, report=ALL - 20, maps=today, settings=faithfulness), CHECKPOINTS, "faithfulness"),
        Part(Plan("composites", boxes, report=CHOSEN_ON), CHECKPOINTS, "composites", OVER_CAM[:1]),
        Part(Plan("axioms", boxes, select=20), CHECKPOINTS, "axioms"),
        Part(Plan("accuracy", boxes, report=CHOSEN_ON), CHECKPOINTS, "accuracy", (CHECKPOINTS,)),
        Part(Plan("wsol", boxes, report=CHOSEN_ON), LARGE, "large-wsol"),
        Part(Plan("composites", boxes, report=CHOSEN_ON, maps=("attribution", "superset")), LARGE, "large-composites"),
        Part(Plan("accuracy", boxes, report=CHOSEN_ON), LARGE, "large-accuracy"),
        Part(
            Plan("removal", boxes, report=ALL - 300, maps=("attribution",), settings={"most": 50}),
            LARGE,
            "large-removal",
        ),
    ]
    if cub:
        birds = data / "cub/crops/CUB_200_2011"
        maps = ("attribution", "conditional", "cam", "gradient")
        found.append(Part(Plan("cues", birds, maps=maps), tuple(cub), "cues"))
    return found


def with_tables(page: str, tables: dict[str, str]) -> str:
    """A page with what stands between ``<!-- name -->`` and ``<!-- end -->`` replaced; other tables stay.

    Raises
    ------
    DataError
        If a table has no such place.
    """
    for name, table in tables.items():
        places = list(re.finditer(rf"<!-- {re.escape(name)} -->\n(.*?)<!-- end -->", page, re.DOTALL))
        if len(places) != 1:
            raise DataError(f"the page has {len(places)} places for the table {name!r}, not one; restore its markers")
        page = f"{page[: places[0].start(1)]}{table}\n{page[places[0].end(1) :]}"
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0 done, 1 the work failed, 2 unusable arguments.
    """
    parser = argparse.ArgumentParser(
        prog="calm_training.evaluate.documented_results", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with imagenet-val-boxes and masks")
    parser.add_argument("--out", type=Path, required=True, help="page with the markers to write between")
    parser.add_argument("--work", type=Path, default=Path("build/results"), help="folder of JSON files and plots")
    parser.add_argument("--cub", action="append", default=[], metavar="FILE", help="cub-crops checkpoint; repeatable")
    parser.add_argument("--only", action="append", default=[], metavar="TABLE", help="leave the others as they are")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run")
    options = parser.parse_args(arguments)
    load = cache(load_checkpoint)
    try:
        options.work.mkdir(parents=True, exist_ok=True)
        tables = {}
        for part in parts(options.data, options.cub):
            if options.only and part.name not in options.only:
                continue
            with tqdm(total=part.steps, desc=part.name, unit="picture") as bar:
                section = run_part(part, options.work, load, resume=options.resume, overwrite=True, progress=bar.update)
            said = "\n\n".join([*map(markdown, section.tables), section.conventions])
            tables[part.name] = f"\n`{part.command.replace(str(options.data), 'DATA')}`\n\n{said}\n"
        if not options.only:
            numbers = ", ".join(f"{name} {number}" for name, number in versions().items())
            tables["versions"] = f"\nMeasured with {numbers}.\n"
        write_text(options.out, with_tables(options.out.read_text("utf-8"), tables), overwrite=True)
    except (CalmError, OSError) as error:
        print(f"calm_training.evaluate.documented_results: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
