"""Start the window: ``calm-gui`` or ``python -m calm_gui``."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from calm_gui.api import bundled_checkpoints
from calm_gui.cli.command import UNUSABLE, command
from calm_gui.version import __version__

__all__ = ["build_parser", "main", "parse", "script"]


def build_parser() -> argparse.ArgumentParser:
    """The command line's arguments."""
    parser = argparse.ArgumentParser(
        prog="calm-gui",
        description="Explore where a classifier's evidence lies, with attributions that are probabilities.",
    )
    parser.add_argument("pictures", nargs="*", metavar="PICTURE", help="pictures and folders to open")
    bundled = ", ".join(bundled_checkpoints())
    parser.add_argument("--checkpoint", default="demo", metavar="FILE", help=f"{bundled} (default: demo) or a file")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
    parser.add_argument("--theme", choices=("light", "dark"), help="default: the one used last")
    parser.add_argument(
        "--target", metavar="CLASS", help="wnid, name, index or @predicted (default) or @superset: the target A"
    )
    parser.add_argument(
        "--contrast", metavar="CLASS", help="the same, or @runner-up (default), @rest or @siblings: the contrast B"
    )
    parser.add_argument(
        "--screenshot", metavar="FILE", help="open the window, explain, save a picture of the window and exit"
    )
    parser.add_argument("--size", default="1440x900", metavar="WxH", help="size of the window for --screenshot")
    entry = parser.add_mutually_exclusive_group()
    entry.add_argument(
        "--install-desktop-file",
        action="store_true",
        help="add calm-gui to the menu of a Linux desktop and exit",
    )
    entry.add_argument("--remove-desktop-file", action="store_true", help="remove it from that menu and exit")
    parser.add_argument("--version", action="version", version=f"calm-gui {__version__}")
    return parser


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line of ``calm-gui``."""
    return build_parser().parse_args(arguments)


def _missing_display() -> bool:
    """Whether Qt would end the process for want of a screen."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return False
    return not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _change_desktop(install: bool) -> int:
    """Install or remove the desktop file, and print what that changed."""
    from calm_gui.desktop_entry import install_desktop_file, remove_desktop_file

    if install:
        print("Written:", *install_desktop_file(), sep="\n  ")
    elif removed := remove_desktop_file():
        print("Removed:", *removed, sep="\n  ")
    else:
        print("There was no desktop file of calm-gui.")
    return 0


@command("calm-gui")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Returns
    -------
    int
        0 if all went well, 2 if it can't start, and those of `calm_gui.cli.command`.
    """
    options = parse(arguments)
    if options.install_desktop_file or options.remove_desktop_file:
        return _change_desktop(options.install_desktop_file)
    if _missing_display():
        if not options.screenshot:
            print(
                "calm-gui: there is no display. Start it on a desktop, or through ssh -X; "
                "calm-explain makes figures without one.",
                file=sys.stderr,
            )
            return UNUSABLE
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    try:
        from calm_gui.qt.app import run
    except ImportError as error:
        print(
            f"calm-gui: Qt can't be loaded ({error}). On Debian or Ubuntu `make app` installs what is missing; "
            "the README lists the system libraries.",
            file=sys.stderr,
        )
        return UNUSABLE
    return run(options)


def script() -> None:
    """What the command ``calm-gui`` runs: `main`, and an end that nothing can spoil.

    Everything is saved and the worker has ended by then. Python would now destroy Qt's objects, torch's and its own in
    an order that differs from start to start, and one in some dozens of them crashed.
    """
    status = main()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    script()
