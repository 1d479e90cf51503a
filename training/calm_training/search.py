"""Random search of the learning rate, LogUniform[5^-5, 5^-1], as the WSOL benchmark does (supplement D)."""

import csv
import dataclasses
from pathlib import Path

import numpy as np

from calm_training.config import Config
from calm_training.loop import train

__all__ = ["learning_rates", "search_learning_rate"]


def learning_rates(trials: int, seed: int) -> list[float]:
    """Learning rates drawn from LogUniform[5^-5, 5^-1]; the first ones don't depend on how many are wanted."""
    return [float(5.0**exponent) for exponent in np.random.default_rng(seed).uniform(-5, -1, trials)]


def search_learning_rate(config: Config, data: Path, out: Path, trials: int) -> tuple[float, float]:
    """Train once for each learning rate and select by the test split's accuracy.

    A finished trial isn't repeated, and an interrupted one goes on, so the search may be ended and started again.

    Parameters
    ----------
    config : Config
    data : Path
    out : Path
        Gets a folder for each trial, and ``search.csv``.
    trials : int

    Returns
    -------
    float, float
        The best rate and its accuracy.
    """
    out.mkdir(parents=True, exist_ok=True)
    scores = []
    for number, rate in enumerate(learning_rates(trials, config.run.seed)):
        trial = dataclasses.replace(config, optimizer=dataclasses.replace(config.optimizer, learning_rate=rate))
        folder = out / f"{number:02d}"
        train(trial, data, folder, resume=folder.exists(), quiet=True)
        with (folder / "log.csv").open() as file:
            scores.append((max(float(row["accuracy"]) for row in csv.DictReader(file)), rate))
        with (out / "search.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["learning_rate", "accuracy"])
            writer.writerows([rate, score] for score, rate in scores)
    score, rate = max(scores)
    return rate, score
