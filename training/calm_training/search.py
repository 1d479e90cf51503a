"""Random search of the learning rate, LogUniform[5^-5, 5^-1], as the WSOL benchmark does (supplement D)."""

import csv
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calm_gui.model.files import write_text
from calm_gui.model.loaded import load_model
from calm_training.config import Config
from calm_training.datasets.boxes import BoxedPicture
from calm_training.evaluate.plan import Plan, read_set
from calm_training.evaluate.wsol import box_accuracy
from calm_training.loop import train

__all__ = ["learning_rates", "search_learning_rate"]


def learning_rates(trials: int, seed: int) -> list[float]:
    """Learning rates drawn from LogUniform[5^-5, 5^-1]; the first ones don't depend on how many are wanted."""
    return [float(5.0**exponent) for exponent in np.random.default_rng(seed).uniform(-5, -1, trials)]


def search_learning_rate(
    config: Config, data: Path, out: Path, trials: int, boxes: Path | None = None, part: tuple[int, int] = (1, 1)
) -> tuple[float, float]:
    """Train once for each learning rate and select by localization, or by the test split's accuracy.

    A finished trial isn't repeated, and an interrupted one goes on, so the search may be ended and started again.

    Parameters
    ----------
    config : Config
    data : Path
    out : Path
        Gets a folder for each trial, and ``search.csv``.
    trials : int
    boxes : Path, optional
        Validation pictures with boxes, as ``calm-evaluate wsol --data`` takes them; the score is then MaxBoxAccV2 of
        the true class's map. None selects by accuracy.
    part : (int, int)
        Number of this process, from 1, and how many share the trials. The last one to end should be started again with
        ``(1, 1)``: it only gathers the scores.

    Returns
    -------
    float, float
        The best rate of this part and its score.
    """
    found = read_set(Plan("wsol", boxes)).pictures if boxes else None  # faults of the boxes come before any training
    out.mkdir(parents=True, exist_ok=True)
    number_of_part, parts = part
    scores = []
    for number, rate in enumerate(learning_rates(trials, config.run.seed)):
        if number % parts != number_of_part - 1:
            continue
        trial = dataclasses.replace(config, optimizer=dataclasses.replace(config.optimizer, learning_rate=rate))
        folder = out / f"{number:02d}"
        best = train(trial, data, folder, resume=folder.exists(), quiet=True)
        scores.append((_accuracy(folder) if found is None else _localization(best, found), rate))
        lines = ["learning_rate,score", *(f"{rate},{score}" for score, rate in scores)]
        write_text(
            out / (f"search-{number_of_part}.csv" if parts > 1 else "search.csv"), "\n".join(lines), overwrite=True
        )
    score, rate = max(scores)
    return rate, score


def _accuracy(folder: Path) -> float:
    with (folder / "log.csv").open() as file:
        return max(float(row["accuracy"]) for row in csv.DictReader(file))


def _localization(checkpoint: Path, pictures: Sequence[BoxedPicture]) -> float:
    """MaxBoxAccV2 of the true class's map, kept beside the checkpoint with its hash."""
    model = load_model(checkpoint)
    kept = checkpoint.with_name("localization.json")
    if kept.exists() and (known := json.loads(kept.read_text("utf-8")))["sha256"] == model.sha256:
        return float(known["MaxBoxAccV2"])
    own = "cam" if model.info.is_cam else "attribution"
    score = box_accuracy(model, pictures, maps=[own]).maps[own].max_box_acc_v2
    write_text(kept, json.dumps({"sha256": model.sha256, "MaxBoxAccV2": score}), overwrite=True)
    return score
