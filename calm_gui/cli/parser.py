"""The arguments of ``calm-explain``."""

import argparse
from typing import get_args

from calm_gui.api import bundled_checkpoints
from calm_gui.cli.answer_options import add_answer_options
from calm_gui.core.readings import READINGS
from calm_gui.errors import ReadingError
from calm_gui.methods import METHODS
from calm_gui.render.figure_spec import FigureLayout
from calm_gui.session.formats import FORMATS
from calm_gui.session.pane import shows_text
from calm_gui.version import __version__

__all__ = ["build_parser"]

_LAYOUTS = tuple(name for name in get_args(FigureLayout) if name != "auto")

_EPILOG = """\
A class set is @predicted, @superset (the superset of the predicted class), @runner-up, @rest, @siblings, a WordNet
id or other key of the checkpoint's hierarchy (n02084071: all dogs), a class index, a name that only one class has, or
several of these with commas between them, which are united; a minus before one removes it (n02084071,-tench;
-tench alone: all but tench).

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
        description="Show where in pictures a classifier finds its evidence, in figures and numbers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("pictures", nargs="*", metavar="PICTURE_OR_FOLDER", help="pictures and folders of pictures")
    add("--version", action="version", version=f"calm-gui {__version__}")

    group = parser.add_argument_group("question")
    add = group.add_argument
    bundled = ", ".join(bundled_checkpoints())
    add("--checkpoint", action="append", metavar="NAME_OR_FILE", help=f"{bundled} or a file; may be repeated")
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
        help=f"a reading, or another method: {', '.join(METHODS)}; may be repeated; settings of a method follow "
        "it: smoothgrad:samples=50,noise=0.1",
    )
    add("--depth", type=int, default=6, metavar="N", help="depth of the winner map in the hierarchy (default 6)")
    add("--top", type=int, default=5, metavar="N", help="how many of the most probable classes are listed (default 5)")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps (default auto)")

    add_answer_options(parser)

    group = parser.add_argument_group("output")
    add = group.add_argument
    add("--out", metavar="DIR", help="folder for the files; created if missing")
    add("--format", metavar="LIST", help=f"of {','.join(FORMATS)}; with --out png by default; or none")
    add("--json", action="store_true", help="results as one JSON document on stdout")
    add("--overwrite", action="store_true", help="replace existing files instead of numbering new ones")
    add("--from", dest="reproduce", metavar="FILE.json", help="make the exports that this manifest lists again")
    add("--quiet", action="store_true", help="no progress on stderr")

    group = parser.add_argument_group("figures")
    add = group.add_argument
    add(
        "--layout",
        choices=_LAYOUTS,
        default="single",
        help="panes, strip: all maps in one",
    )
    add("--width", type=float, default=120, metavar="MM", help="of a figure in millimetres (default 120)")
    add("--dpi", type=int, default=300, help="default 300")
    add("--opacity", type=float, default=0.6, help="of the map over the picture, 0 to 1 (default 0.6)")
    add("--log", action="store_true", help="logarithmic colours")
    add("--native", action="store_true", help="cells instead of a smooth map")
    add("--credible-mass", type=float, metavar="SHARE", help="outline the smallest set of cells with this share")

    group = parser.add_argument_group("many pictures")
    add = group.add_argument
    add("--resume", action="store_true", help="continue an interrupted batch in the same --out")
    add("--shard", metavar="I/N", help="only the I-th of N parts; torchrun's ranks are shards by themselves")
    add("--batch-size", type=int, metavar="N", help="pictures per forward pass (default 1 on a CPU, 16 on a GPU)")
    add(
        "--truth",
        metavar="FILE.csv",
        help="ground truth: file, wnid or class_index, boxes (x0 y0 x1 y1;...); otherwise a folder named like a class",
    )
    add(
        "--where",
        metavar="CONDITION",
        help='list the pictures whose row of the summary fulfils it, such as "share_in_box < 0.5 and p > 0.3"',
    )
    add("--contact-sheet", metavar="FILE", help="PNG or PDF of the lowest and highest by a column (or of --where)")
    add("--by", default="p", metavar="COLUMN", help="column for --contact-sheet (default p)")
    return parser


def _reading(name: str) -> str:
    """A reading, as requests write it."""
    if name in METHODS:
        raise argparse.ArgumentTypeError(f"{name} is another method, not a reading; use --map {name}")
    if name not in READINGS:
        raise argparse.ArgumentTypeError(f"there is no reading {name!r}; there are {', '.join(READINGS)}")
    return name


def _map(name: str) -> str:
    """A reading or a method, as requests write it."""
    if name in METHODS:
        try:
            return shows_text(METHODS[name])
        except ReadingError as error:  # of its settings
            raise argparse.ArgumentTypeError(str(error)) from error
    if name not in READINGS:
        raise argparse.ArgumentTypeError(f"there is no map {name!r}; there are {', '.join((*READINGS, *METHODS))}")
    return name
