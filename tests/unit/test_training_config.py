"""Recipes and overrides."""

import pytest

from calm_gui.errors import CalmError
from calm_training.cli import main
from calm_training.config import Config, load_config, recipe_names

RATES = {"cub": 3e-5, "openimages": 5e-5, "ilsvrc": 7e-5}


@pytest.mark.parametrize("recipe", recipe_names())
def test_every_recipe_is_valid_and_survives_json(recipe):
    config = load_config(recipe)
    assert config.recipe == recipe
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize("backbone", ["resnet50", "vgg16", "inceptionv3"])
@pytest.mark.parametrize("method", ["calm-em", "calm-ml", "cam"])
@pytest.mark.parametrize("dataset", RATES)
def test_the_paper_s_values(dataset, backbone, method):
    config = load_config(f"{dataset}-{backbone}-{method}")
    assert config.model.method == method
    assert config.model.backbone.replace("_", "") == backbone
    assert config.optimizer.learning_rate == RATES[dataset]
    assert config.optimizer.batch == 64
    assert config.optimizer.momentum == 0.9
    assert config.optimizer.weight_decay == 1e-4
    assert config.model.output_stride == 8
    assert config.data.layout == dataset


def test_overrides():
    config = load_config(
        "folder",
        ["optimizer.epochs=3", "model.method=cam", "optimizer.learning_rate=1", "data.augment=true", "model.freeze=''"],
    )
    assert config.optimizer.epochs == 3
    assert config.model.method == "cam"
    assert config.optimizer.learning_rate == 1.0
    assert config.data.augment is True
    assert config.model.freeze == ""
    assert load_config("folder", ["model.input.size=96"]).model.input.size == 96


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("optimizer.epoch=3", "unknown setting optimizer.epoch"),
        ("optimizer.epochs=many", r"optimizer\.epochs"),
        ("optimizer.epochs=true", r"optimizer\.epochs"),
        ("model.method=calm", "calm-em, calm-ml, cam"),
        ("model.input.mean=[1, 2]", r"model\.input\.mean"),
        ("epochs=3", "section.key=value"),
        ("optimizer.epochs", "section.key=value"),
    ],
)
def test_wrong_settings_are_named(override, reason):
    with pytest.raises(CalmError, match=reason):
        load_config("folder", [override])


def test_unknown_recipes_and_broken_files(tmp_path):
    with pytest.raises(CalmError, match="calm-train list"):
        load_config("resnet")
    broken = tmp_path / "mine.toml"
    broken.write_text("[data\n")
    with pytest.raises(CalmError, match="TOML"):
        load_config(str(broken))


def test_the_command_lists_shows_and_refuses(capsys):
    assert main(["list"]) == 0
    assert {"imagenet-demo", "cub-crops", "folder"} <= set(capsys.readouterr().out.split())
    assert main(["show", "--recipe", "cub-crops", "--set", "optimizer.epochs=7"]) == 0
    assert '"epochs": 7' in capsys.readouterr().out
    assert main(["show", "--recipe", "imagenet-demo"]) == 0
    assert main(["show", "--recipe", "nothing"]) == 1
    assert "no recipe 'nothing'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["train", "--recipe", "folder"])
    assert ended.value.code == 2
