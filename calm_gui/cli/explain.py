"""`calm-explain`: explanations without a window, of one picture or of thousands."""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress

from calm_gui.cli.command import INTERRUPTED, UNUSABLE, command
from calm_gui.cli.folders import made_folder, missing_folders
from calm_gui.cli.parser import build_parser
from calm_gui.errors import CalmError, DataError

__all__ = ["main"]


@command("calm-explain")
def main(argv: Sequence[str] | None = None) -> int:
    """Run `calm-explain`; returns its exit status."""
    parser = build_parser()
    options = parser.parse_args(_with_differences(sys.argv[1:] if argv is None else argv))
    missing = missing_folders(options.out)
    try:
        return _reproduce(options) if options.reproduce else _explain(options)
    except CalmError as error:
        print(f"calm-explain: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("calm-explain: stopped; repeat the command with --resume to continue", file=sys.stderr)
        return INTERRUPTED
    finally:
        for folder in missing:  # made for nothing, if they are empty
            with suppress(OSError):
                folder.rmdir()


def _with_differences(arguments: Sequence[str]) -> list[str]:
    """The arguments, sets that begin with a minus (``--target -tench``) told from options, as argparse can't."""
    found: list[str] = []
    for argument in arguments:
        after_set = bool(found) and found[-1] in ("--target", "--contrast")
        if after_set and argument.startswith("-") and not argument.startswith("--"):
            found[-1] += f"={argument}"
        else:
            found.append(argument)
    return found


def _explain(options: argparse.Namespace) -> int:
    from calm_gui.cli.run import Run

    return Run(options).run()


def _reproduce(options: argparse.Namespace) -> int:
    from calm_gui.cli.loading import load
    from calm_gui.session.reproduce import reproduce

    if options.pictures:
        raise DataError("--from is given without pictures; the manifest names them")
    out = made_folder(options.out or ".")
    checkpoint = options.checkpoint[0] if options.checkpoint else None
    written = reproduce(options.reproduce, out, lambda name: load(name, options), checkpoint, options.overwrite)
    if options.json:
        print(json.dumps({"files": [str(path) for path in written]}, ensure_ascii=False))
    else:
        for path in written:
            print(path)
    return 0
