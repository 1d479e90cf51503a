"""The search of the learning rate: its draws, its score, going on, sharing; and TensorBoard's event files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from calm_gui.errors import CalmError, DataError
from calm_gui.model.info import InputSpec
from calm_training import run_folder, search
from calm_training.config import Config, DataConfig, ModelConfig, OptimizerConfig, RunConfig
from calm_training.loop import train
from calm_training.search import learning_rates, search_learning_rate


def tiny(**run: object) -> Config:
    return Config(
        recipe="tiny",
        data=DataConfig(layout="folder"),
        model=ModelConfig(
            backbone="timm:test_efficientnet",
            output_stride=16,
            dilated=True,
            weights="none",
            input=InputSpec(size=64),
        ),
        optimizer=OptimizerConfig(learning_rate=1e-2, epochs=1, batch=4),
        run=RunConfig(device="cpu", workers=0, **run),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes in train/ and test/, and boxes of the test pictures."""
    root = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(0)
    rows = [("file", "class_index", "width", "height", "boxes")]
    for split in ("train", "test"):
        for label, name in enumerate(("blue", "red")):
            (root / split / name).mkdir(parents=True)
            for i in range(4):
                pixels = generator.integers(0, 255, (64, 64, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(root / split / name / f"{i}.png")
                if split == "test":
                    rows.append((f"test/{name}/{i}.png", str(label), "64", "64", "10 10 50 50"))
    with (root / "index.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return root


def test_rates_are_drawn_between_the_powers_of_five():
    rates = learning_rates(400, 0)
    assert 5**-5 < min(rates) < 5**-4.8 and 5**-1.2 < max(rates) < 5**-1
    assert learning_rates(3, 0) == rates[:3]
    exponents = np.log(rates) / np.log(5)
    assert abs(np.mean(exponents) + 3) < 0.2


def test_the_search_selects_by_localization_and_goes_on(data, tmp_path, monkeypatch):
    rate, score = search_learning_rate(tiny(), data, tmp_path / "s", 2, boxes=data)
    with (tmp_path / "s/search.csv").open() as file:
        rows = [(float(row["score"]), float(row["learning_rate"])) for row in csv.DictReader(file)]
    assert (score, rate) == max(rows) and len(rows) == 2
    kept = [json.loads((tmp_path / f"s/0{i}/localization.json").read_text())["MaxBoxAccV2"] for i in (0, 1)]
    assert kept == [value for value, _ in rows]

    monkeypatch.setattr(search, "box_accuracy", None)  # what is known isn't measured again
    assert search_learning_rate(tiny(), data, tmp_path / "s", 2, boxes=data) == (rate, score)


def test_parts_share_the_trials(data, tmp_path):
    for part in ((1, 2), (2, 2)):
        search_learning_rate(tiny(), data, tmp_path / "s", 2, part=part)
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == ["00", "01", "search-1.csv", "search-2.csv"]
    search_learning_rate(tiny(), data, tmp_path / "s", 2)
    assert (tmp_path / "s/search.csv").read_text().count("\n") == 2


def test_faulty_boxes_are_reported_before_any_training(data, tmp_path):
    with pytest.raises(DataError):
        search_learning_rate(tiny(), data, tmp_path / "s", 2, boxes=tmp_path)
    assert not (tmp_path / "s").exists()


def test_tensorboard_gets_the_log_or_says_that_it_lacks(data, tmp_path, monkeypatch):
    scalars = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            scalars.append((Path(folder).name, purge_step))

        def __enter__(self) -> "Writer":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def add_scalar(self, name: str, value: float, step: int) -> None:
            scalars.append((name, value, step))

    monkeypatch.setattr(run_folder, "_event_writer", lambda: Writer)
    train(tiny(tensorboard=True), data, tmp_path / "run", quiet=True)
    with (tmp_path / "run/log.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert scalars[0] == ("tensorboard", 1)
    assert {name: str(value) for name, value, _ in scalars[1:]} == row

    def lacking() -> None:
        raise CalmError("TensorBoard isn't installed")

    monkeypatch.setattr(run_folder, "_event_writer", lacking)
    with pytest.raises(CalmError, match="isn't installed"):
        train(tiny(tensorboard=True), data, tmp_path / "other", quiet=True)
