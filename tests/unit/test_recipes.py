"""Recipes: parts and overrides, where each setting came from, ranges, settings without effect, the names of 0.1."""

import json
import re
import warnings
from importlib.resources import files
from pathlib import Path

import pytest

from calm_gui.errors import CalmError
from calm_training.cli import DEMOS, main
from calm_training.config import Config
from calm_training.demo import RECIPES
from calm_training.methods import training_methods
from calm_training.methods.method import Objective
from calm_training.recipes import KINDS, OLD_NAMES, compose, load_config, recipe_parts

RATES = {"cub": 3e-5, "openimages": 5e-5, "ilsvrc": 7e-5}
BEFORE = json.loads(Path(__file__).with_name("recipes_0_1_0.json").read_text("utf-8"))

MOVED = {
    "model.saliency_activation": "saliency_activation",
    "model.normaliser_gradient": "normaliser_gradient",
    "optimizer.e_step": "e_step",
    "optimizer.ema_decay": "ema_decay",
}
"""Settings of 0.1.0 that are a method's now."""

ADDED = {"data.validation": "", "run.select": "accuracy"}
"""Settings that 0.1.0 didn't have, with what they are in every old recipe: a split of their own to choose the best
checkpoint on, where 0.1.0 chose it on the test split."""

ADDED_TO_CALM = {"context": "none", "saliency_power": 1.0}
"""Likewise settings of CALM, at values that change nothing."""

CHANGED: dict[str, dict[str, tuple[object, object, str]]] = {}
"""Values of an old recipe that aren't what 0.1.0 said, as (then, now, why), by recipe and setting. None is."""


def flat(values: dict, where: str = "") -> dict[str, object]:
    result = {}
    for key, value in values.items():
        result |= flat(value, f"{where}{key}.") if isinstance(value, dict) else {where + key: value}
    return result


def silent(recipe: str, overrides: tuple[str, ...] = ()) -> Config:
    return load_config(recipe, overrides, note=lambda _: None)


@pytest.mark.parametrize("name", BEFORE)
def test_recipes_of_0_1_say_what_they_said(name):
    before = flat(BEFORE[name])
    config = silent(name)
    now = flat(json.loads(json.dumps(config.to_json())))
    objective = before.pop("model.method")
    assert list(config.methods) == [objective]
    del before["recipe"], now["recipe"]
    differ = {}
    for key, value in before.items():
        present = f"methods.{objective}.{MOVED[key]}" if key in MOVED else key
        if present not in now:
            assert has_no_effect(key, before, objective), key
        elif (shown := now.pop(present)) != value:
            differ[key] = value, shown
    assert differ == {key: (then, to) for key, (then, to, _) in CHANGED.get(name, {}).items()}
    own = {} if objective == "cam" else {f"methods.{objective}.{name}": value for name, value in ADDED_TO_CALM.items()}
    assert now == ADDED | own


def has_no_effect(key: str, values: dict[str, object], objective: str) -> bool:
    """Whether a setting of 0.1.0 had no effect beside the others; such are no longer shown."""
    if key in MOVED:
        settings = {"cam": (), "calm-ml": ("saliency_activation", "normaliser_gradient")}
        return MOVED[key] not in settings.get(objective, MOVED.values()) or (
            MOVED[key] == "ema_decay" and values["optimizer.e_step"] != "ema"
        )
    needs = {"momentum": ("name", "sgd"), "nesterov": ("name", "sgd")}
    needs |= {"step_epochs": ("schedule", "step"), "decay": ("schedule", "step")}
    other, value = needs[key.removeprefix("optimizer.")]
    return values[f"optimizer.{other}"] != value


@pytest.mark.parametrize("backbone", ["resnet50", "vgg16", "inceptionv3"])
@pytest.mark.parametrize("method", ["calm-em", "calm-ml", "cam"])
@pytest.mark.parametrize("dataset", RATES)
def test_the_paper_s_values(dataset, backbone, method):
    config = load_config(f"{dataset}+{backbone}+{method}")
    assert config.recipe == f"{dataset}+{backbone}+{method}"
    assert list(config.methods) == [method]
    assert config.model.backbone.replace("_", "") == backbone
    assert config.optimizer.learning_rate == RATES[dataset]
    assert config.optimizer.batch == 64
    assert config.optimizer.momentum == 0.9
    assert config.optimizer.weight_decay == 1e-4
    assert config.model.output_stride == 8
    assert config.data.layout == dataset


def combinations() -> list[str]:
    parts = recipe_parts()
    return [f"{d}+{b}+{m}" for d in parts["data"] for b in parts["backbone"] for m in parts["method"]]


@pytest.mark.parametrize("recipe", [*combinations(), *recipe_parts()["data"]])
def test_what_is_shown_is_a_recipe_itself(recipe, tmp_path):
    composed = compose(recipe)
    assert Config.from_json(json.loads(json.dumps(composed.config.to_json()))) == composed.config
    for name, text in (("a.toml", composed.to_toml()), ("b.json", json.dumps(composed.config.to_json()))):
        (tmp_path / name).write_text(text, "utf-8")
        assert load_config(str(tmp_path / name)) == composed.config


SOURCE = re.compile(r"\b(paper|code|benchmark|ours|choice|formula|weights expect)\b")


@pytest.mark.parametrize(
    "path", sorted((files("calm_training") / "recipes").rglob("*.toml")), ids=lambda path: path.stem
)
def test_every_value_has_its_source(path):
    """On its line, at its table's heading, or for the whole file where the first comment speaks of nothing else."""
    lines = path.read_text("utf-8").splitlines()
    head = " ".join(line for line in lines[: lines.index("")] if line.startswith("#"))
    whole = bool(SOURCE.search(head)) and ("Sources:" not in head)
    table, values = "", 0
    for line in lines:
        if line.startswith("["):
            table = line
        elif "=" in line and not line.startswith("#") and line.split(" = ")[0] not in ("rest", "layout", "root"):
            values += 1
            assert whole or SOURCE.search(line.partition("#")[2]) or SOURCE.search(table), line
    assert values or path.stem in ("cam",)


def test_parts_have_names_of_their_own():
    names = [name for kind in KINDS for name in recipe_parts()[kind]]
    assert len(set(names)) == len(names)


def test_every_setting_says_where_it_came_from(tmp_path):
    (tmp_path / "mine.toml").write_text("[run]\nseed = 3\n")
    composed = compose(f"cub+resnet50+calm-em+{tmp_path / 'mine.toml'}", ["optimizer.batch=32"])
    expected = {
        "data.layout": "recipes/data/cub.toml",
        "model.backbone": "recipes/backbone/resnet50.toml",
        "methods.calm-em.saliency_activation": "recipes/method/calm-em.toml",
        "run.seed": str(tmp_path / "mine.toml"),
        "optimizer.batch": "--set",
    }
    assert {key: composed.sources[key] for key in expected} == expected
    shown = composed.to_toml().splitlines()
    assert "batch = 32  # --set" in shown
    assert "accumulate = 1  # default" in shown
    assert "learning_rate = 3e-05  # recipes/data/cub.toml" in shown


def test_overrides():
    config = load_config(
        "folder", ["optimizer.epochs=3", "optimizer.learning_rate=1", "data.augment=true", "model.freeze=''"]
    )
    assert config.recipe == "folder+lite0+calm-em-softplus"
    assert config.optimizer.epochs == 3
    assert config.optimizer.learning_rate == 1.0
    assert config.data.augment is True
    assert config.model.freeze == ""
    assert load_config("folder", ["model.input.size=96"]).model.input.size == 96
    assert load_config("folder+cam").model.backbone == "timm:tf_efficientnet_lite0"
    assert list(load_config("folder+cam").methods) == ["cam"]


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ("optimizer.epoch=3", "unknown setting optimizer.epoch"),
        ("optimiser.epochs=3", "unknown setting optimiser; known are data"),
        ("optimizer.epochs=many", r"optimizer\.epochs"),
        ("optimizer.epochs=true", r"optimizer\.epochs"),
        ("model.input.mean=[1, 2]", r"model\.input\.mean"),
        ("optimizer.batch.size=3", r"optimizer\.batch is no section"),
        ("epochs=3", "section.key=value"),
        ("optimizer.epochs", "section.key=value"),
        ("optimizer.batch=-3", r"optimizer\.batch must be at least 1, not -3"),
        ("optimizer.learning_rate=-1", r"optimizer\.learning_rate must be more than 0, not -1"),
        ("optimizer.label_smoothing=1", r"label_smoothing must be at least 0 and less than 1, not 1"),
        ("optimizer.epochs=0", r"optimizer\.epochs must be at least 1, not 0"),
        ("model.output_stride=7", r"output stride of resnet50 must be one of 8, 16, 32, not 7"),
        ("model.backbone=resnet51", "unknown backbone 'resnet51'"),
        ("model.input.size=-3", r"model\.input\.size must be at least 16"),
        ("model.input.std=[0, 1, 1]", r"model\.input\.std must be more than 0"),
        ("data.layout=tar", r"data\.layout must be one of folder"),
        ("data.bad_files=2", r"data\.bad_files must be at least 0 and at most 1"),
        ("run.workers=-1", r"run\.workers must be at least 0"),
        (
            "methods.calm-em.ema_decay=0.9",
            "can have no effect: it counts only where e_step is ema, and that is c",
        ),
        ("methods.calm-em.e_step=none", "current, ema, epoch, not 'none'"),
        ("methods.calm-em.e_step=ema methods.calm-em.ema_decay=1", "ema_decay must be at least 0 and less than 1"),
        ("methods.calm-ml.saliency_activation=relu", r"can have no effect: the run trains calm-em; put \+calm-ml into"),
        (
            "optimizer.name=adamw optimizer.momentum=0.5",
            "momentum can have no effect: it counts only where name is",
        ),
        ("optimizer.schedule=cosine optimizer.decay=0.5", r"decay can have no effect: .* where schedule is step"),
        ("optimizer.momentum=0", "nesterov needs a momentum"),
        ("run.boxes=x", "boxes can have no effect: it counts only where select is localization"),
        ("run.select=localization", r"needs pictures with boxes or masks; name their folder in run\.boxes"),
        ("model.freeze=all model.freeze_statistics=true", "freeze_statistics can have no effect: freeze is all"),
        ("optimizer.learning_rate=inf", r"optimizer\.learning_rate must be a finite number, not inf"),
        ("run.save_minutes=nan", r"run\.save_minutes must be a finite number, not nan"),
    ],
)
def test_wrong_settings_are_named(overrides, reason):
    with pytest.raises(CalmError, match=reason):
        load_config("cub", overrides.split(" ") if "[" not in overrides else [overrides])


def test_what_a_later_setting_takes_the_effect_from_is_left_out():
    composed = compose("cub", ["optimizer.schedule=cosine"])
    assert "step_epochs" not in composed.to_toml()
    assert "optimizer.step_epochs" not in composed.sources
    assert "momentum" not in compose("cub", ["optimizer.name=adamw"]).to_toml()


def test_ones_own_part_is_above_what_a_data_set_takes_where_nothing_is_named(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[model]\nfreeze = "blocks.3"\n')
    alone, named = (compose(f"folder{lite0}+{mine}") for lite0 in ("", "+lite0"))
    assert alone.config.model == named.config.model
    assert alone.config.model.freeze == "blocks.3"
    assert alone.sources["model.freeze"] == str(mine)


@pytest.mark.parametrize("method", ["adl", "spg", "inca-reading"])
def test_a_method_that_acts_behind_stages_is_refused_where_it_knows_none(method):
    with pytest.raises(CalmError, match=f"{method} has no places in timm:resnet18; it has some in resnet50, vgg16"):
        load_config(f"cub+resnet50+{method}", ["model.backbone=timm:resnet18"])


def test_a_method_is_a_table_of_settings(tmp_path):
    (tmp_path / "mine.toml").write_text("methods.has = 3\n")
    with pytest.raises(CalmError, match=r"methods\.has must be a table of settings, not 3"):
        load_config(f"folder+lite0+cam+{tmp_path / 'mine.toml'}")


def test_a_run_has_one_objective(tmp_path):
    with pytest.raises(CalmError, match="calm-em and cam can't be it"):
        load_config("cub+resnet50+calm-em+cam")
    with pytest.raises(CalmError, match="there is no training method 'nothing'; there are calm-em"):
        (tmp_path / "mine.toml").write_text("[methods.nothing]\n")
        load_config(f"cub+resnet50+{tmp_path / 'mine.toml'}")
    assert [name for name, method in training_methods().items() if issubclass(method, Objective)][:3] == [
        "calm-em",
        "calm-ml",
        "cam",
    ]


def test_unknown_recipes_and_broken_files(tmp_path):
    for recipe in ("resnet", "cub+resnet", str(tmp_path / "none.toml"), "cub+"):
        with pytest.raises(CalmError, match="calm-train list"):
            load_config(recipe)
    for name, text in (("a.toml", "[data\n"), ("b.json", "{"), ("c.json", "[1]"), ("d.toml", 'data = "folder"')):
        (tmp_path / name).write_text(text)
        with pytest.raises(CalmError, match=r"TOML|JSON|a table of settings"):
            load_config(str(tmp_path / name))


def test_names_of_0_1_go_on_working_with_a_note():
    with pytest.warns(DeprecationWarning, match=r"cub-resnet50-cam is now cub\+resnet50\+cam"):
        config = load_config("cub-resnet50-cam")
    assert config == load_config("cub+resnet50+cam")
    assert len(OLD_NAMES) == 27
    notes: list[str] = []
    other = load_config("cub", ["model.method=calm-ml"], notes.append)
    assert other.methods == load_config("cub+calm-ml").methods
    assert "model.method=calm-ml is now +calm-ml" in notes.pop()
    config = load_config("cub", ["optimizer.e_step=ema", "optimizer.ema_decay=0.9"], notes.append)
    assert (config.methods["calm-em"].e_step, config.methods["calm-em"].ema_decay) == ("ema", 0.9)
    assert "optimizer.e_step is now methods.calm-em.e_step" in notes[0]
    with pytest.raises(CalmError, match=r"optimizer\.e_step can have no effect: the run trains cam"):
        load_config("cub+cam", ["optimizer.e_step=ema"], notes.append)
    with pytest.raises(CalmError, match="there is no training method 'calm'; there are calm-em, calm-ml, cam"):
        load_config("cub", ["model.method=calm"], notes.append)


def test_a_recipe_file_of_0_1_goes_on_working(tmp_path):
    old = tmp_path / "old.toml"
    old.write_text(
        '[data]\nlayout = "cub"\n[model]\nmethod = "calm-em"\nbackbone = "vgg16"\nsaliency_activation = "relu"\n'
        '[optimizer]\ne_step = "epoch"\n'
    )
    config = load_config(str(old), ["optimizer.batch=16"], lambda _: None)
    assert config.recipe == "old"
    assert config.methods["calm-em"].saliency_activation == "relu"
    assert config.methods["calm-em"].e_step == "epoch"
    assert (config.model.backbone, config.optimizer.batch) == ("vgg16", 16)


@pytest.mark.parametrize(
    ("recipe", "setting"),
    [
        ("cub", "optimizer.batch=-3"),
        ("cub", "model.output_stride=7"),
        ("cub", "optimizer.learning_rate=-1"),
        ("cub+cam", "methods.calm-em.e_step=ema"),
        ("cub-crops+lite0+has", "data.augment=false"),
        ("cub-crops+lite0+calm-em+cutmix", "data.augment=false"),
    ],
)
def test_settings_are_refused_before_any_picture_is_opened(recipe, setting, tmp_path, capsys):
    nowhere = str(tmp_path / "nowhere")
    arguments = ["train", "--recipe", recipe, "--data", nowhere, "--out", str(tmp_path / "run"), "--set", setting]
    assert main(arguments) == 1
    refused = capsys.readouterr().err
    assert refused.startswith("calm-train: ")
    assert refused.count("\n") == 1
    assert "nowhere" not in refused
    assert not (tmp_path / "run").exists()


def test_the_command_lists_shows_and_refuses(capsys):
    assert main(["list"]) == 0
    assert {"imagenet-demo", "cub-crops", "folder", "resnet50", "calm-em"} <= set(capsys.readouterr().out.split())
    assert main(["show", "--recipe", "cub-crops", "--set", "optimizer.epochs=7"]) == 0
    assert "epochs = 7  # --set" in capsys.readouterr().out
    assert main(["show", "--recipe", "cub-crops", "--set", "optimizer.epochs=7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["optimizer"]["epochs"] == 7
    with warnings.catch_warnings(action="error"):
        assert main(["show", "--recipe", "ilsvrc-vgg16-calm-ml"]) == 0
    said = capsys.readouterr()
    assert "ilsvrc-vgg16-calm-ml is now ilsvrc+vgg16+calm-ml" in said.err
    assert said.out.startswith('recipe = "ilsvrc+vgg16+calm-ml"')
    for name, settings in RECIPES.items():
        assert main(["show", "--recipe", name]) == 0
        assert json.loads(capsys.readouterr().out)["backbone"] == settings.backbone
    assert tuple(RECIPES) == DEMOS
    assert main(["show", "--recipe", "nothing"]) == 1
    assert "no recipe 'nothing'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["train", "--recipe", "folder"])
    assert ended.value.code == 2
