"""The search of the learning rate: its draws, its score, going on, sharing; and TensorBoard's event files."""

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from calm_gui.errors import CalmError, DataError
from calm_gui.model.info import InputSpec
from calm_gui.model.loaded import load_model
from calm_training import run_folder, search, selection
from calm_training.config import Config, DataConfig, ModelConfig, OptimizerConfig, RunConfig
from calm_training.evaluate.masks import mask_accuracy
from calm_training.loop import DivergedError, train
from calm_training.methods import Objective, training_methods
from calm_training.run_folder import RunFolder
from calm_training.search import learning_rates, ranges_of, search_settings, trial_of
from calm_training.trainer import Trainer


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
    best = search_settings(tiny(), data, tmp_path / "s", 2, boxes=data)
    with (tmp_path / "s/search.csv").open() as file:
        rows = [(float(row["score"]), float(row["learning_rate"])) for row in csv.DictReader(file)]
    assert (best.score, best.settings["optimizer.learning_rate"]) == max(rows) and len(rows) == 2
    kept = [json.loads((tmp_path / f"s/0{i}/best-localization.json").read_text())["MaxBoxAccV2"] for i in (0, 1)]
    assert kept == [value for value, _ in rows]

    monkeypatch.setattr(selection, "box_accuracy", None)  # what is known isn't measured again
    assert search_settings(tiny(), data, tmp_path / "s", 2, boxes=data) == best


def test_masks_are_measured_by_pxap(data, tmp_path):
    masks = tmp_path / "masks"
    masks.mkdir()
    rows = [("file", "mask", "is_main", "imagenet_classes")]
    for i in range(2):
        Image.fromarray(np.random.default_rng(i).integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(masks / f"{i}.png")
        mask = np.zeros((64, 64), np.uint8)
        mask[10:50, 10:50] = 255
        Image.fromarray(mask).save(masks / f"m{i}.png")
        rows.append((f"{i}.png", f"m{i}.png", "1", str(i)))
    with (masks / "index.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    pictures = selection.read_validation(masks)
    assert selection.measure_of(pictures) == "PxAP"
    assert selection.measure_of(selection.read_validation(data)) == "MaxBoxAccV2"
    best = search_settings(tiny(), data, tmp_path / "s", 1, boxes=masks)
    model = load_model(tmp_path / "s/00/best.safetensors", "cpu")
    assert best.score == mask_accuracy(model, pictures.pictures, maps=["attribution"]).maps["attribution"]


def test_a_trial_that_diverges_is_the_worst_and_said_and_not_repeated(data, tmp_path, monkeypatch):
    calls = []

    def first_diverges(config, data, out, **how):
        calls.append(out.name)
        if out.name == "00":
            RunFolder(out, config).begin()
            raise DivergedError("the loss wasn't finite")
        return train(config, data, out, **how)

    monkeypatch.setattr(search, "train", first_diverges)
    for _ in range(2):
        said = []
        best = search_settings(tiny(), data, tmp_path / "s", 2, say=said.append)
        assert best.folder.name == "01"
        assert said[-1] == "trial 00: the loss wasn't finite"
        assert [row.split(",")[-1] for row in (tmp_path / "s/search.csv").read_text().split()][:2] == ["score", "nan"]
    assert calls == ["00", "01", "01"]
    with pytest.raises(CalmError, match="all 1 trials diverged"):
        search_settings(tiny(), data, tmp_path / "s", 1)


def test_weights_that_stop_being_numbers_are_a_divergence(data, tmp_path, monkeypatch):
    epoch = Trainer._train_epoch

    def broken_epoch(trainer):
        epoch(trainer)
        torch.nn.init.constant_(trainer.network.head.class_branch.weight, np.inf)

    monkeypatch.setattr(Trainer, "_train_epoch", broken_epoch)
    with pytest.raises(DivergedError, match=r"head\.class_branch\.weight isn't finite after epoch 1"):
        train(tiny(), data, tmp_path / "run", quiet=True)


def test_parts_share_the_trials(data, tmp_path):
    for part in ((1, 2), (2, 2)):
        search_settings(tiny(), data, tmp_path / "s", 2, part=part)
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == ["00", "01", "search-1.csv", "search-2.csv"]
    search_settings(tiny(), data, tmp_path / "s", 2)
    assert (tmp_path / "s/search.csv").read_text().count("\n") == 2
    with pytest.raises(CalmError, match="2 trials are too few for part 3 of 4"):
        search_settings(tiny(), data, tmp_path / "s", 2, part=(3, 4))


def test_faulty_boxes_are_reported_before_any_training(data, tmp_path):
    with pytest.raises(DataError):
        search_settings(tiny(), data, tmp_path / "s", 2, boxes=tmp_path)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("name", [name for name, method in training_methods().items() if method.ranges])
def test_each_method_draws_its_own_settings(name):
    beside = [] if issubclass(training_methods()[name], Objective) else ["cam"]
    config = dataclasses.replace(tiny(), methods={n: training_methods()[n].Settings() for n in (*beside, name)})
    ranges = ranges_of(config)
    drawn = [trial_of(config, number, 1e-3) for number in range(200)]
    assert trial_of(config, 7, 1e-3) == drawn[7]
    for key in set(ranges) - {"optimizer.learning_rate"}:
        values = [settings[key] for _, settings in drawn]
        assert len(set(values)) > 10, key
        assert all(
            getattr(trial.methods[name], key.split(".")[2]) == value
            for (trial, _), value in zip(drawn, values, strict=True)
        )
        if ranges[key] == "Uniform[0, 1]":
            assert np.mean(values) == pytest.approx(0.5, abs=0.1)
            assert min(values) < 0.1 and max(values) > 0.9
    if name == "spg":
        assert all(low < high for trial, _ in drawn for high, low in trial.methods["spg"].pairs)
    if name == "cutmix":
        betas = [trial.methods["cutmix"].beta for trial, _ in drawn]
        assert np.median(betas) == pytest.approx(0.5, abs=0.2)  # 1 / 1 - 1/2
    if name == "has":
        sides = [trial.methods["has"].grid_size for trial, _ in drawn]
        assert min(sides) == 2 and 50 < max(sides) <= 64
    assert all(Config.from_json(json.loads(json.dumps(trial.to_json()))) == trial for trial, _ in drawn)


def test_the_search_says_its_ranges_and_tries_settings(data, tmp_path):
    said = []
    config = dataclasses.replace(tiny(), methods={n: training_methods()[n].Settings() for n in ("cam", "has")})
    best = search_settings(config, data, tmp_path / "s", 2, say=said.append)
    assert said == [
        "optimizer.learning_rate is drawn from LogUniform[5^-5, 5^-1]",
        "methods.has.grid_size is drawn from LogUniform[2^1, 2^6], whole",
        "methods.has.drop_rate is drawn from Uniform[0, 1]",
    ]
    with (tmp_path / "s/search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {"learning_rate", "methods.has.grid_size", "methods.has.drop_rate", "score"}
    settings = json.loads((best.folder / "config.json").read_text())
    assert settings["methods"]["has"]["grid_size"] == best.settings["methods.has.grid_size"]


def test_the_best_checkpoint_may_be_the_best_at_localization(data, tmp_path):
    config = tiny(select="localization", boxes=str(data))
    config = dataclasses.replace(config, optimizer=dataclasses.replace(config.optimizer, epochs=3))
    best = train(config, data, tmp_path / "run", quiet=True)
    with (tmp_path / "run/log.csv").open() as file:
        scores = [float(row["localization"]) for row in csv.DictReader(file)]
    assert len(scores) == 3
    found = load_model(best, "cpu")
    assert found.info.training["epochs"] == scores.index(max(scores)) + 1
    assert selection.localization_of(best, selection.read_validation(data)) == max(scores)
    searched = search_settings(config, data, tmp_path / "s", 1)  # by what its epochs are chosen by
    assert searched.score == selection.localization_of(
        tmp_path / "s/00/best.safetensors", selection.read_validation(data)
    )


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
