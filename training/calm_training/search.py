"""Random search of the learning rate and of each method's own settings, as the WSOL benchmark does (supplement D)."""

import csv
import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calm_gui.errors import CalmError
from calm_gui.model.files import write_text
from calm_training.config import Config
from calm_training.datasets.evaluation_set import EvaluationSet
from calm_training.loop import DivergedError, train
from calm_training.methods import make_methods, method_named
from calm_training.selection import localization_of, read_validation

__all__ = ["Trial", "learning_rates", "ranges_of", "search_settings", "trial_of"]

LEARNING_RATE = "LogUniform[5^-5, 5^-1]"
DIVERGED = "diverged.txt"
"""File of a trial whose loss or weights stopped being finite; says why."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """One draw of a search.

    Attributes
    ----------
    settings : dict
        What was drawn, by dotted name.
    score : float
        On the validation pictures; NaN where the run diverged.
    folder : Path
        The run.
    """

    settings: dict[str, Any]
    score: float
    folder: Path


def learning_rates(trials: int, seed: int) -> list[float]:
    """Learning rates drawn from LogUniform[5^-5, 5^-1]; the first ones don't depend on how many are wanted."""
    return [float(5.0**exponent) for exponent in np.random.default_rng(seed).uniform(-5, -1, trials)]


def ranges_of(config: Config) -> dict[str, str]:
    """What is drawn, by dotted name: the distribution of each setting, in words."""
    own = {
        f"methods.{method.name}.{name}": drawn.words
        for method in make_methods(config.methods)[1]
        for name, drawn in method.ranges.items()
    }
    return {"optimizer.learning_rate": LEARNING_RATE, **own}


def trial_of(config: Config, number: int, rate: float) -> tuple[Config, dict[str, Any]]:
    """The settings of a trial, and those of them that were drawn, by dotted name.

    What a method draws depends on the run's seed, the trial's number and the method's name alone.
    """
    drawn: dict[str, Any] = {"optimizer.learning_rate": rate}
    methods = dict(config.methods)
    for name in methods:
        generator = np.random.default_rng((config.run.seed, number, *name.encode()))
        own: dict[str, Any] = {}
        for setting, wanted in method_named(name).ranges.items():
            own[setting] = wanted.draw(generator, own)
        methods[name] = dataclasses.replace(methods[name], **own)
        drawn |= {f"methods.{name}.{setting}": value for setting, value in own.items()}
    optimizer = dataclasses.replace(config.optimizer, learning_rate=rate)
    return dataclasses.replace(config, optimizer=optimizer, methods=methods), drawn


def search_settings(
    config: Config,
    data: Path,
    out: Path,
    trials: int,
    boxes: Path | None = None,
    part: tuple[int, int] = (1, 1),
    say: Callable[[str], object] = lambda _: None,
) -> Trial:
    """Train once for each draw and select by localization, or by accuracy, on validation pictures.

    A trial that has ended isn't repeated, and an interrupted one goes on, so the search may be ended and started again.
    One that diverges is counted as the worst.

    Parameters
    ----------
    config : Config
    data : Path
    out : Path
        Gets a folder for each trial, and ``search.csv``.
    trials : int
    boxes : Path, optional
        Validation pictures with boxes or masks; the score is then MaxBoxAccV2 or PxAP of the true class's map. None
        selects as the epochs of a run are: by localization on `config.run.boxes`, or by accuracy.
    part : (int, int)
        Number of this process, from 1, and how many share the trials. The last one to end should be started again with
        ``(1, 1)``: it only gathers the scores.
    say : callable
        Told in sentences what is drawn from where.

    Returns
    -------
    Trial
        The best one of this part.

    Raises
    ------
    CalmError
        If every trial diverged, or one can't be trained.
    """
    number_of_part, parts = part
    if not number_of_part - 1 < trials:
        raise CalmError(f"{trials} trials are too few for part {number_of_part} of {parts}")
    if boxes is None and config.run.select == "localization":
        boxes = data / config.run.boxes
    found = read_validation(boxes) if boxes else None  # faults of the boxes come before any training
    out.mkdir(parents=True, exist_ok=True)
    for name, words in ranges_of(config).items():
        say(f"{name} is drawn from {words}")
    done: list[Trial] = []
    for number, rate in enumerate(learning_rates(trials, config.run.seed)):
        if number % parts != number_of_part - 1:
            continue
        trial, drawn = trial_of(config, number, rate)
        folder = out / f"{number:02d}"
        try:
            score = _score(trial, data, folder, found)
        except DivergedError as error:
            score = math.nan
            say(f"trial {number:02d}: {error}")
            write_text(folder / DIVERGED, f"{error}\n", overwrite=True)
        done.append(Trial(drawn, score, folder))
        lines = [",".join([*(name.removeprefix("optimizer.") for name in drawn), "score"])]
        lines += [",".join(map(str, [*one.settings.values(), one.score])) for one in done]
        write_text(
            out / (f"search-{number_of_part}.csv" if parts > 1 else "search.csv"), "\n".join(lines), overwrite=True
        )
    if all(math.isnan(one.score) for one in done):
        raise CalmError(f"all {len(done)} trials diverged; their reasons stand in {out}/*/{DIVERGED}")
    return max(done, key=lambda one: -math.inf if math.isnan(one.score) else one.score)


def _score(trial: Config, data: Path, folder: Path, found: EvaluationSet | None) -> float:
    """Of a trial that has ended, or is trained now."""
    if (folder / DIVERGED).exists():
        raise DivergedError((folder / DIVERGED).read_text("utf-8").strip())
    best = train(trial, data, folder, resume=folder.exists(), quiet=True)
    return _accuracy(folder) if found is None else localization_of(best, found)


def _accuracy(folder: Path) -> float:
    with (folder / "log.csv").open() as file:
        return max(float(row["accuracy"]) for row in csv.DictReader(file))
