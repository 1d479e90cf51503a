"""The training loop: from a configuration and pictures to ``best.safetensors``; interrupted runs go on bit for bit."""

import sys
from dataclasses import replace
from pathlib import Path

import torch

from calm_gui.errors import CalmError
from calm_gui.model.device import choose_device
from calm_training.config import Config
from calm_training.datasets.faults import bad_files, without_bad_files
from calm_training.datasets.picture_set import PictureSet
from calm_training.datasets.splits import Splits, read_splits
from calm_training.distributed import processes
from calm_training.run_folder import RunFolder
from calm_training.selection import read_validation
from calm_training.trainer import DivergedError, RunInterruptedError, Trainer

__all__ = ["DivergedError", "RunInterruptedError", "train"]


def train(
    config: Config, data: Path, out: Path, *, resume: bool = False, overwrite: bool = False, quiet: bool = False
) -> Path:
    """Train a checkpoint.

    Parameters
    ----------
    config : Config
    data : Path
        Folder that `config.data.root` is relative to.
    out : Path
        Folder of the run.
    resume, overwrite : bool
        What may be done with a run that is there already; a resumed one may have more epochs.
    quiet : bool
        No progress bar.

    Returns
    -------
    Path
        The best checkpoint on the validation split, or by localization.

    Raises
    ------
    DataError
        If pictures are missing or too many can't be opened.
    CalmError
        If the settings or the folder can't be used.
    DivergedError
        If the loss stays non-finite, or a weight is.
    RunInterruptedError
        If a signal ended the run; `resume` goes on.
    """
    device = choose_device(config.run.device)
    with processes(device.type) as group:
        if device.type == "cuda" and group.world > 1:
            device = torch.device("cuda", group.local_rank)
        _refuse_uneven(config.optimizer.batch, group.world)
        folder = RunFolder(out, config, resume=resume, overwrite=overwrite) if group.first else None
        group.wait()
        localized = read_validation(data / config.run.boxes) if config.run.select == "localization" else None
        root = data / config.data.root
        splits = read_splits(config.data.layout, root, config.data.train, config.data.validation, config.data.test)
        # Every process checks, so that all of them train on the same pictures.
        splits = _openable(splits, config)
        _refuse_uneven(min(config.optimizer.batch, len(splits.train.samples)), group.world)
        trainer = Trainer(config, splits, device, group, out, folder, quiet, localized)
        state = RunFolder(out, config, resume=True).load_state() if resume else None
        if state is not None:
            trainer.load(state)
        if folder is not None:  # now that all of it can be used, a run that is replaced may go
            folder.begin()
            for note in filter(None, (*splits.notes, folder.note, trainer.start)):
                print(note, file=sys.stderr)
        group.wait()
        with trainer.cached_features():
            trainer.run()
    return out / "best.safetensors"


def _openable(splits: Splits, config: Config) -> Splits:
    """The splits without pictures that can't be opened, of which some are tolerated in training alone."""

    def good(pictures: PictureSet, allowed: float) -> PictureSet:
        return without_bad_files(pictures, bad_files(pictures.samples, config.run.workers), allowed)

    return replace(
        splits,
        train=good(splits.train, config.data.bad_files),
        validation=good(splits.validation, 0),
        test=None if splits.test is None else good(splits.test, 0),
    )


def _refuse_uneven(batch: int, world: int) -> None:
    """Parts of different sizes would weigh pictures differently, and end with other weights than one process."""
    if batch % world:
        raise CalmError(
            f"a batch of {batch} pictures can't be divided evenly among {world} processes; set optimizer.batch to a "
            f"multiple of {world}, and at most to the number of pictures"
        )
