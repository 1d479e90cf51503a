"""The command ``calm-train adapt``: its classifier, its pictures and how it tells its progress."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from calm_gui.api import resolve_checkpoint
from calm_gui.cli.answer_options import answers_of, give_hierarchy
from calm_gui.errors import CheckpointError, DataError
from calm_gui.model.files import read_bounded
from calm_gui.model.loaded import LoadedModel, load_model, load_remembering
from calm_gui.session.picture_files import pictures_in
from calm_training.adapt import AdaptSettings, adapt

__all__ = ["JsonProgress", "run"]

_MOST_BYTES = 100_000_000
"""Of a list of pictures."""


class JsonProgress:
    """Progress as lines of JSON on stdout, for a program that runs the command: at most 100 of a stage."""

    def __init__(self) -> None:
        self._last: tuple[str, int] = ("", -1)

    def __call__(self, stage: str, done: int, of: int) -> None:
        """Write ``{"stage", "done", "of"}``."""
        now = (stage, 100 * done // max(of, 1))
        if now != self._last:
            self._last = now
            self.write({"stage": stage, "done": done, "of": of})

    @staticmethod
    def write(line: dict[str, Any]) -> None:
        """Write a line at once."""
        print(json.dumps(line, ensure_ascii=False), flush=True)


class _Bars:
    """Progress as a bar for each stage on stderr."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, done: int, of: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage, self._bar = stage, tqdm(total=of, desc=stage, initial=done, disable=self._quiet)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def run(options: argparse.Namespace) -> int:
    """Adapt what the command line names.

    With ``--progress json`` the last line is ``{"stage": "done", "checkpoint", "measures"}``. Interrupted, the same
    command goes on.
    """
    if options.steps is not None and options.steps < 1:
        raise DataError("--steps must be at least 1")
    settings = AdaptSettings(what=options.what)
    if options.steps is not None:
        settings = replace(settings, steps=options.steps)
    paths = _pictures(options)
    json_lines = JsonProgress() if options.progress == "json" else None
    if json_lines:
        json_lines.write({"stage": "loading", "done": 0, "of": 0})
    model = _classifier(options)
    give_hierarchy(options, model)
    truth = _Truth(options.boxes, model) if options.boxes else None
    bars = _Bars(options.progress == "none")
    checkpoint, measures = adapt(model, paths, options.out, settings, json_lines or bars)
    bars.close()
    if truth:
        measures = {**measures, truth.measure: truth.measured(load_model(checkpoint, options.device))}
    if json_lines:
        json_lines.write({"stage": "done", "checkpoint": str(checkpoint), "measures": measures})
        return 0
    if left_out := measures.get("left out"):
        print(f"calm-train: {len(left_out)} pictures are left out; {left_out[0]}", file=sys.stderr)
    print(
        f"{checkpoint}: on {measures['pictures held out']} pictures it names the original's class for "
        f"{measures['top-1 agreement']:.1%}, and its p differs by {measures['mean |dp|']:.3f} on average"
    )
    if "mean confidence" in measures:  # a run that was finished by an earlier version has none
        print(
            f"its mean confidence is {measures['mean confidence']:.1%}, and the calibration error (ECE) against that "
            f"agreement {measures['ECE against agreement']:.3f}"
        )
    if truth:
        scores = ", ".join(f"{score:.1%} of {name}" for name, score in measures[truth.measure].items())
        print(f"{truth.measure} on {len(truth.pictures.pictures)} pictures: {scores}")
    return 0


class _Truth:
    """Pictures with boxes or masks, and how well the classifier's own map does on them."""

    def __init__(self, folder: Path, model: LoadedModel) -> None:
        from calm_training.evaluate.maps import own_map
        from calm_training.selection import measure_of, read_validation, scores_of

        self.pictures = read_validation(folder)
        self.measure = measure_of(self.pictures)
        own = own_map(model)  # measured first: what is wrong with the pictures is said before anything is trained
        self._before = {f"the classifier's {own}": scores_of(model, self.pictures, [own])[own]}

    def measured(self, adapted: LoadedModel) -> dict[str, float]:
        """The measure of the CALM's maps, and of the classifier's."""
        from calm_training.selection import scores_of

        after = scores_of(adapted, self.pictures, ["saliency", "attribution"])
        return {name: round(score, 4) for name, score in {**after, **self._before}.items()}


def _pictures(options: argparse.Namespace) -> list[Path]:
    """The pictures of --data and of the list in --list."""
    named = [str(path) for path in options.data or ()]
    if options.list:
        try:
            listed = json.loads(read_bounded(options.list, _MOST_BYTES, DataError))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{options.list} isn't JSON: {error}") from error
        if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
            raise DataError(f"{options.list} must hold a JSON list of pictures' paths")
        named += listed
    if not named:
        raise DataError("there are no pictures to learn from; give a folder of them with --data")
    try:
        pictures = pictures_in(named)
    except OSError as error:
        raise DataError(f"{error.filename} can't be opened: {error.strerror}") from error
    if not pictures:
        raise DataError(f"there are no pictures in {', '.join(named[:3])}")
    if missing := [path for path in pictures if not Path(path).exists()]:
        raise DataError(f"there is no file {missing[0]}" + (f" (and {len(missing) - 1} more)" if missing[1:] else ""))
    return [Path(picture) for picture in pictures]


def _classifier(options: argparse.Namespace) -> LoadedModel:
    """The classifier of a file, or one that a library downloads."""
    name = str(options.checkpoint)
    if not name.startswith(("timm:", "torchvision:")):
        return load_remembering(resolve_checkpoint(name), options.device, answers=answers_of(options))
    return _published(name, options)


def _published(name: str, options: argparse.Namespace) -> LoadedModel:
    """A network of timm's or torchvision's with the weights that the library downloads, or has."""
    import torch

    try:
        if name.startswith("timm:"):
            import timm

            network = timm.create_model(name.removeprefix("timm:"), pretrained=True)
        else:
            from torchvision.models import get_model

            network = get_model(name.removeprefix("torchvision:"), weights="DEFAULT")
    except Exception as error:  # download errors of either library have no common base
        raise CheckpointError(
            f"the weights of {name} can't be fetched ({type(error).__name__}: {error}); where there is a network, save "
            "its state dictionary to a file and give that file with --checkpoint and --arch"
        ) from error
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{name.partition(':')[2].replace('/', '-')}.pth"
    torch.save({"arch": name, "state_dict": network.state_dict()}, path)
    return load_remembering(path, options.device, answers=answers_of(options))
