"""Checkpoints that a command line names: where they are, what they are called, and on which device they load."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from calm_gui.api import resolve_checkpoint
from calm_gui.cli.answer_options import answers_of, give_hierarchy
from calm_gui.core.comparison import distinct_ends
from calm_gui.torchrun import rank_number

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = ["labels_of", "load", "marks_of"]


def load(name: str, options: argparse.Namespace) -> "LoadedModel":
    """Load a checkpoint and say so on stderr; torch comes with it."""
    from calm_gui.model.loaded import load_remembering
    from calm_gui.render import PRESENTER

    if not options.quiet:
        print(f"loading {name}", file=sys.stderr)
    model = load_remembering(resolve_checkpoint(name), _device(options), PRESENTER, answers=answers_of(options))
    give_hierarchy(options, model)
    return model


def _device(options: argparse.Namespace) -> str:
    """The device asked for; under torchrun each process takes the GPU of its own rank."""
    device = str(options.device)
    rank = rank_number("LOCAL_RANK")
    if device == "auto" and rank is not None:
        from calm_gui.model.device import available_devices

        own = f"cuda:{rank}"
        return own if own in available_devices() else "auto"
    return device


def marks_of(labels: Iterable[str]) -> dict[str, str]:
    """What tells each checkpoint's files from those of the others: its label without slashes, with a number if needed.

    ``run-a/best`` and ``run/a-best`` are two checkpoints.
    """
    marks: dict[str, str] = {}
    for label in labels:
        plain, number = Path(label).with_suffix("").as_posix().replace("/", "-"), 2
        mark = plain
        while mark.casefold() in {other.casefold() for other in marks.values()}:
            mark, number = f"{plain}-{number}", number + 1
        marks[label] = mark
    return marks


def labels_of(checkpoints: list[str]) -> dict[str, str]:
    """What each checkpoint is called in files and summary: its file, with its folder where another has that name."""
    return dict(zip(checkpoints, distinct_ends([resolve_checkpoint(name) for name in checkpoints]), strict=True))
