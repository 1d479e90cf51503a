"""The folder of an adaptation: what is done already isn't done again, and nothing in it is ever half written."""

import hashlib
import json
import logging
import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calm_gui.errors import CheckpointError, DataError, PictureError
from calm_gui.model.files import atomic_path, content_hash, write_bytes
from calm_gui.model.info import read_info
from calm_gui.model.input import network_input
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_training.adapt_teacher import Teacher
from calm_training.objectives import TopTarget

__all__ = ["AdaptRun", "Progress", "Seen"]

Progress = Callable[[str, int, int], None]
"""Told a stage, how much of it is done, and of how much."""

_log = logging.getLogger(__name__)


@dataclass
class Seen:
    """What is kept of all pictures.

    Attributes
    ----------
    features : ndarray (N,L,H,W) float16, or None
        None where the backbone is trained too, so that features change.
    target : TopTarget
    posterior : Tensor (N,K,H,W), float16
    top : Tensor (N,)
        The teacher's probability of its most probable class.
    held_out : ndarray of int
        Numbers of the pictures that are measured on; of all of them where there are too few to hold some out.
    training : ndarray of int
    left_out : tuple of str
        Why some pictures can't be opened.
    """

    features: np.ndarray | None
    target: TopTarget
    posterior: Tensor
    top: Tensor
    held_out: np.ndarray
    training: np.ndarray
    left_out: tuple[str, ...] = ()

    def part(self, numbers: np.ndarray) -> tuple[TopTarget, Tensor]:
        """Targets and posteriors of some."""
        return TopTarget(self.target.classes[numbers], self.target.weights[numbers]), self.posterior[numbers].float()


class AdaptRun:
    """The folder of a run.

    Parameters
    ----------
    out : Path
        Made if it isn't there.
    model : LoadedModel
    pictures : sequence of Path
    settings : mapping
        All that the result depends on besides, JSON-ready.
    batch : int
        Pictures in a forward pass.

    Raises
    ------
    DataError
        If the folder holds another run, or files of a run's names without one.
    """

    def __init__(
        self, out: Path, model: LoadedModel, pictures: Sequence[Path], settings: dict[str, Any], batch: int
    ) -> None:
        self.model, self.pictures, self._batch = model, pictures, batch
        self.checkpoint = out / f"{Path(model.name).stem}-calm.safetensors"
        self._features, self._rest, self._state = out / "features.npy", out / "targets.pt", out / "state.pt"
        about = {
            "checkpoint": model.identity,
            "pictures": [str(path) for path in pictures],
            "contents": _digest(map(content_hash, pictures)),
            "settings": settings,
        }
        try:
            out.mkdir(parents=True, exist_ok=True)
            kept = out / "adapt.json"
            if not kept.exists():
                own = (self.checkpoint, self._features, self._rest, self._state)
                if others := [path for path in own if os.path.lexists(path)]:
                    raise DataError(f"{others[0]} is of another run; give another folder with --out")
                write_bytes(kept, json.dumps(about, indent=1).encode(errors="surrogateescape"))
            elif json.loads(kept.read_bytes()) != json.loads(json.dumps(about)):
                raise DataError(
                    f"{out} holds a run of another classifier, other pictures or settings; give another folder "
                    "with --out"
                )
        except ValueError as error:
            raise DataError(f"{out / 'adapt.json'} is damaged ({error}); give another folder with --out") from error
        except OSError as error:
            raise DataError(f"the folder {out} can't be used: {error.strerror or error}") from error

    def finished(self) -> dict[str, Any] | None:
        """What the run reached, if it came to its end before."""
        if not self.checkpoint.is_file():
            return None
        try:
            training = read_info(self.checkpoint).training
        except CheckpointError as error:
            _log.warning("%s is made again: %s", self.checkpoint.name, error)
            return None
        ours = training.get("start", {}).get("sha256") == self.model.sha256
        return dict(training["metrics"]) if ours and isinstance(training.get("metrics"), dict) else None

    def inputs(self, numbers: Sequence[int]) -> Tensor:
        """Network inputs (n,3,h,w) of pictures, on the network's device."""
        pictures = [load_picture(self.pictures[number]).pixels for number in numbers]
        return torch.stack([network_input(p, self.model.info.input) for p in pictures]).to(self.model.device)

    def look(self, teacher: Teacher, held_out: float, seed: int, progress: Progress, keep_features: bool) -> Seen:
        """What the teacher says of every picture, going on where an interrupted run stopped.

        Raises
        ------
        DataError
            If fewer than two pictures can be opened.
        """
        state = _loaded(self._rest) or {"rows": {}, "left_out": []}
        rows: dict[str, Tensor] = state["rows"]
        left_out: list[str] = state["left_out"]
        done, total = len(rows.get("good", ())), len(self.pictures)
        kept = None
        if done and keep_features:
            try:
                kept = np.lib.format.open_memmap(self._features, "r+")
            except (OSError, ValueError):  # somebody removed it
                rows, left_out, done = {}, [], 0
        progress("features", done, total)
        for start in range(done, total, self._batch):
            numbers = range(start, min(start + self._batch, total))
            inputs, good = self._openable(numbers, left_out)
            seen = teacher.look(inputs)
            if keep_features:
                if kept is None:
                    shape = (total, *seen.features.shape[1:])
                    kept = np.lib.format.open_memmap(self._features, "w+", np.float16, shape)
                kept[start : numbers.stop] = seen.features.half().cpu().numpy()
                kept.flush()
            new = {"classes": seen.target.classes, "weights": seen.target.weights, "posterior": seen.posterior.half()}
            new |= {"top": seen.probabilities.amax(1), "good": good}
            rows = {key: torch.cat([rows[key], value.cpu()]) if rows else value.cpu() for key, value in new.items()}
            _save({"rows": rows, "left_out": left_out}, self._rest)
            progress("features", numbers.stop, total)
        good_ones = np.flatnonzero(rows["good"].numpy())
        if len(good_ones) < 2:
            raise DataError(f"adapt needs at least two pictures that can be opened; {left_out[0]}")
        order = np.random.default_rng(seed).permutation(good_ones)
        few = int(len(order) * held_out)
        measured, training = (np.sort(order[:few]), np.sort(order[few:])) if few else (order, order)
        target = TopTarget(rows["classes"], rows["weights"])
        return Seen(kept, target, rows["posterior"], rows["top"], measured, training, tuple(left_out))

    def _openable(self, numbers: Sequence[int], left_out: list[str]) -> tuple[Tensor, Tensor]:
        """Inputs of pictures, and which of them could be opened; the others are black, and why is noted."""
        side = self.model.info.input.size
        inputs, good = torch.zeros(len(numbers), 3, side, side, device=self.model.device), torch.ones(len(numbers))
        for row, number in enumerate(numbers):
            try:
                inputs[row] = self.inputs([number])[0]
            except PictureError as error:
                good[row] = 0
                left_out.append(str(error))
        return inputs, good.bool()

    def state(self) -> dict[str, Any] | None:
        """What training was interrupted with; None at the beginning."""
        return _loaded(self._state)

    def keep_state(self, state: dict[str, Any]) -> None:
        """Keep what training goes on with."""
        _save(state, self._state)

    def clean(self) -> None:
        """Remove what only an interrupted run needs."""
        for path in (self._features, self._rest, self._state):
            path.unlink(missing_ok=True)


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode(errors="backslashreplace")).hexdigest()


def _save(state: dict[str, Any], path: Path) -> None:
    with atomic_path(path, overwrite=True) as temporary:
        torch.save(state, temporary)


def _loaded(path: Path) -> dict[str, Any] | None:
    """What `_save` wrote; None where there is nothing, or something damaged."""
    if not path.exists():
        return None
    try:
        found: dict[str, Any] = torch.load(path, weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        _log.warning("%s can't be read (%s) and is made again", path.name, error)
        return None
    return found
