"""The training loop on tiny real runs: resuming bit for bit, several processes, frozen stages, the run's files.

Long: the runs share their pictures and settings, which are made once.
"""

import dataclasses
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from calm_gui.errors import CalmError, DataError
from calm_gui.model.backbones import build_backbone
from calm_gui.model.checkpoint import read_checkpoint
from calm_gui.model.info import InputSpec
from calm_gui.model.loaded import load_model
from calm_gui.render.naming import map_title
from calm_training import trainer as trainer_module
from calm_training.cli import main as train_command
from calm_training.config import Config, DataConfig, ModelConfig, OptimizerConfig, RunConfig
from calm_training.distributed import Processes
from calm_training.loop import RunInterruptedError, train
from calm_training.methods import Batch, method_named
from calm_training.methods.calm_em import CalmEm, CalmEmSettings
from calm_training.network import freeze, make_network
from calm_training.objectives import TopTarget
from calm_training.optimizer import learning_rate_factor, make_optimizer
from calm_training.run_folder import RunFolder
from calm_training.trainer import Task

BACKBONE = "timm:test_efficientnet"
SIZE = 64


ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Networks this small are slower on several threads, much so on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tiny(methods: dict[str, object] | None = None, **optimizer: object) -> Config:
    """Settings of a run that takes a second."""
    return Config(
        recipe="tiny",
        data=DataConfig(layout="folder"),
        model=ModelConfig(
            backbone=BACKBONE, output_stride=16, dilated=True, weights="none", input=InputSpec(size=SIZE)
        ),
        methods=methods or {"calm-em": CalmEmSettings()},
        optimizer=OptimizerConfig(
            **{"learning_rate": 1e-2, "head_factor": 1.0, "epochs": 2, "batch": 8, "schedule": "cosine", **optimizer}
        ),
        run=RunConfig(device="cpu", workers=0),
    )


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes of noisy pictures, red and blue, 12 for training, 4 for validation and 4 for testing each."""
    root = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(0)
    for split, number in (("train", 12), ("val", 4), ("test", 4)):
        for name, channel in (("10 blue", 2), ("9 red", 0)):
            folder = root / split / name
            folder.mkdir(parents=True)
            for i in range(number):
                pixels = generator.integers(0, 120, (80, 90, 3), dtype=np.uint8)
                pixels[20:60, 20:60, channel] += 120
                Image.fromarray(pixels).save(folder / f"{i}.png")
    return root


def weights(path: Path) -> dict[str, torch.Tensor]:
    return read_checkpoint(path)[1]


def assert_same(first: Path, second: Path) -> None:
    a, b = weights(first), weights(second)
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


@pytest.mark.parametrize("method", ["calm-em", "calm-ml", "cam", "acol", "spg", "inca-reading"])
def test_a_run_learns_and_its_checkpoint_explains(pictures, tmp_path, method):
    config = tiny({method: method_named(method).Settings()}, epochs=6, name="adamw")
    best = train(config, pictures, tmp_path / "run", quiet=True)
    model = load_model(best)
    assert [c.name for c in model.classes] == ["9 red", "10 blue"]
    assert model.info.method == method_named(method).reads_as
    assert model.info.training["settings"]["optimizer"]["epochs"] == 6
    metrics = model.info.training["metrics"]
    assert metrics["top-1 on the test split"] >= 0.75
    assert (metrics["validation pictures"], metrics["test pictures"]) == (8, 8)
    red = model.explain(pictures / "test/9 red/0.png")
    assert red.top(1)[0][0] == 0
    if model.info.is_cam:  # the map goes by the name of its method
        assert map_title(red.cam(0))[0] == f"{method_named(method).title} — 9 red"
    rows = (tmp_path / "run/log.csv").read_text().splitlines()
    assert rows[0].startswith("epoch,loss,accuracy")
    assert len(rows) == 7
    losses = [float(row.split(",")[1]) for row in rows[1:]]
    assert losses[-1] < losses[0]


def settings_of(*names: str, **first: object) -> dict[str, object]:
    """Settings of methods by their names; those of the first as given."""
    return {name: method_named(name).Settings(**(first if name == names[0] else {})) for name in names}


RUNS = {
    "current": settings_of("calm-em", e_step="current"),
    "ema": settings_of("calm-em", e_step="ema", ema_decay=0.9),
    "epoch": settings_of("calm-em", e_step="epoch"),
    "epoch with has, cutmix, adl": settings_of("calm-em", "has", "cutmix", "adl", e_step="epoch"),
    "cam with has": settings_of("cam", "has"),
    "cam with cutmix": settings_of("cam", "cutmix"),
    "cam with adl": settings_of("cam", "adl"),
    "acol": settings_of("acol"),
    "spg": settings_of("spg"),
    "inca-reading": settings_of("inca-reading"),
}


@pytest.mark.parametrize("methods", RUNS.values(), ids=RUNS)
def test_resuming_after_an_interruption_is_exact(pictures, tmp_path, methods, monkeypatch):
    config = tiny(methods)
    train(config, pictures, tmp_path / "whole", quiet=True)
    steps, forward = [], Task.forward

    def interrupting(*arguments):
        steps.append(1)
        if len(steps) == 5:  # in the second epoch
            os.kill(os.getpid(), signal.SIGTERM)
        return forward(*arguments)

    monkeypatch.setattr(Task, "forward", interrupting)
    with pytest.raises(RunInterruptedError, match="epoch 2"):
        train(config, pictures, tmp_path / "parts", quiet=True)
    train(config, pictures, tmp_path / "parts", resume=True, quiet=True)
    assert len(steps) == 6
    assert_same(tmp_path / "whole/last.safetensors", tmp_path / "parts/last.safetensors")
    assert (tmp_path / "whole/log.csv").read_text() == (tmp_path / "parts/log.csv").read_text()


def test_training_spawns_its_processes(pictures, tmp_path, monkeypatch):
    begun = set()

    class Loader(DataLoader):
        def __init__(self, *arguments, num_workers, multiprocessing_context, **options):
            begun.add((num_workers, multiprocessing_context))
            super().__init__(*arguments, **options)  # all in this process, which is quicker

    monkeypatch.setattr(trainer_module, "DataLoader", Loader)
    config = dataclasses.replace(tiny(epochs=1), run=RunConfig(device="cpu", workers=2))
    train(config, pictures, tmp_path / "run", quiet=True)
    assert begun == {(2, "spawn")}


def test_a_resumed_run_may_have_more_epochs_and_nothing_else(pictures, tmp_path, capsys):
    run = tmp_path / "run"
    steps = {"schedule": "step", "step_epochs": 2}
    train(tiny(epochs=3, **steps), pictures, tmp_path / "whole", quiet=True)
    train(tiny(epochs=1, **steps), pictures, run, quiet=True)
    train(tiny(epochs=3, **steps), pictures, run, resume=True, quiet=True)
    assert "gets longer: optimizer.epochs was 1, now 3" in capsys.readouterr().err
    assert_same(tmp_path / "whole/last.safetensors", run / "last.safetensors")
    assert (tmp_path / "whole/log.csv").read_text() == (run / "log.csv").read_text()
    settings = json.loads((run / "config.json").read_text())
    assert settings["optimizer"]["epochs"] == 3
    settled = tiny(epochs=3, **steps)
    for other, said in (
        (tiny(epochs=2, **steps), r"optimizer\.epochs was 3, now 2"),
        (tiny(epochs=4, batch=4, **steps), r"optimizer\.epochs was 3, now 4; optimizer\.batch was 8, now 4"),
        (dataclasses.replace(settled, run=dataclasses.replace(settled.run, seed=1)), r"run\.seed was 0, now 1"),
    ):
        with pytest.raises(CalmError, match=said + r".* only optimizer\.epochs may grow"):
            train(other, pictures, run, resume=True, quiet=True)
    assert json.loads((run / "config.json").read_text()) == settings


def test_what_is_drawn_and_chosen_stays_when_a_run_goes_on(tmp_path):
    def two_methods(*names: str, **run: object) -> Config:
        methods = {name: method_named(name).Settings() for name in ("cam", *names)}
        return dataclasses.replace(tiny(methods), run=RunConfig(device="cpu", workers=0, **run))

    RunFolder(tmp_path / "run", two_methods("has", "cutmix")).begin()
    RunFolder(tmp_path / "run", two_methods("has", "cutmix", save_minutes=1), resume=True)
    for other, said in (
        (two_methods("cutmix", "has"), "methods in order was"),
        (two_methods("has", "cutmix", select="localization", boxes="b"), "run.select was accuracy, now localization"),
    ):
        with pytest.raises(CalmError, match=said):
            RunFolder(tmp_path / "run", other, resume=True)


def test_a_run_may_start_from_a_whole_checkpoint(pictures, tmp_path, capsys):
    best = train(tiny(epochs=1), pictures, tmp_path / "first", quiet=True)
    config = tiny(epochs=1, learning_rate=1e-12)
    config = dataclasses.replace(config, model=dataclasses.replace(config.model, weights=str(best)))
    second = train(config, pictures, tmp_path / "second", quiet=True)
    said = "backbone and heads start from best.safetensors"
    assert said in capsys.readouterr().err and said in read_checkpoint(second)[0].training["notes"]
    before, after = weights(best), weights(second)
    for name in (name for name in before if name.startswith("head.")):
        assert torch.allclose(before[name], after[name], atol=1e-8), name


def test_a_longer_cosine_goes_on_where_the_longer_run_would_be(pictures, tmp_path, capsys):
    cosine = {"schedule": "cosine", "learning_rate": 0.01}
    train(tiny(epochs=1, **cosine), pictures, tmp_path / "run", quiet=True)
    train(tiny(epochs=4, **cosine), pictures, tmp_path / "run", resume=True, quiet=True)
    assert "along the cosine of the longer run" in capsys.readouterr().err
    train(tiny(epochs=4, **cosine), pictures, tmp_path / "whole", quiet=True)
    rates = [
        [line.split(",")[3] for line in (tmp_path / name / "log.csv").read_text().splitlines()]
        for name in ("run", "whole")
    ]
    assert rates[0][2:] == rates[1][2:] and rates[0][1] != rates[1][1]


def command(pictures: Path, out: Path, *more: str) -> list[str]:
    settings = [
        "data.layout=folder",
        f"model.backbone={BACKBONE}",
        "model.weights=none",
        f"model.input.size={SIZE}",
        "optimizer.epochs=2",
        "optimizer.batch=8",
        "run.workers=0",
        "run.device=cpu",
        "run.save_minutes=0",
        "model.freeze=''",
        "data.augment=true",
    ]
    sets = [part for setting in settings for part in ("--set", setting)]
    arguments = ["train", "--recipe", "folder", "--data", str(pictures), "--out", str(out), "--quiet", *sets, *more]
    return ["-m", "calm_training", *arguments]


@pytest.mark.slow
def test_killed_ten_times_and_resumed_ends_with_the_same_weights(pictures, tmp_path):
    subprocess.run([sys.executable, *command(pictures, tmp_path / "whole")], check=True, env=ONE_THREAD)
    out = tmp_path / "parts"
    generator = random.Random(0)
    for _ in range(10):
        process = subprocess.Popen(
            [sys.executable, *command(pictures, out, "--resume")], stderr=subprocess.DEVNULL, env=ONE_THREAD
        )
        time.sleep(generator.uniform(2, 7))
        process.kill()
        process.wait()
    subprocess.run([sys.executable, *command(pictures, out, "--resume")], check=True, env=ONE_THREAD)
    assert_same(tmp_path / "whole/last.safetensors", out / "last.safetensors")


KILLED = """
import os, signal, sys
from calm_training.cli import main
from calm_training.trainer import Task

calls, forward = [], Task.forward

def dying(*arguments):
    calls.append(1)
    if len(calls) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return forward(*arguments)

Task.forward = dying
sys.exit(main(sys.argv[1:]))
"""
"""A command that is killed within its fifth step."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    [
        "folder+calm-em",
        "folder+calm-ml",
        "folder+has",
        "folder+cutmix",
        "folder+adl",
        "folder+acol-narrow",
        "folder+spg",
        "folder+inca-reading",
        "folder+calm-em+has+cutmix+adl",
    ],
)
def test_each_method_killed_within_a_step_ends_with_the_same_weights(pictures, tmp_path, recipe):
    """Six steps, killed in the fifth, which is in the second epoch."""
    out, own = tmp_path / "parts", ("--recipe", recipe)
    if recipe == "folder+calm-em":  # the E-step's source has to survive too
        own += ("--set", "methods.calm-em.e_step=ema", "--set", "methods.calm-em.ema_decay=0.9")
    assert train_command(command(pictures, tmp_path / "whole", *own)[2:]) == 0
    arguments = command(pictures, out, *own, "--resume")
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments[2:]], env=ONE_THREAD, stderr=subprocess.DEVNULL)
    assert killed.returncode == -signal.SIGKILL
    assert train_command(arguments[2:]) == 0
    assert_same(tmp_path / "whole/last.safetensors", out / "last.safetensors")
    assert (tmp_path / "whole/log.csv").read_text() == (out / "log.csv").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    [
        "folder",
        "folder+calm-em+has+cutmix+adl",
        "folder+calm-ml",
        "folder+acol-narrow",
        "folder+spg",
        "folder+inca-reading",
    ],
)
def test_two_processes_give_the_weights_of_one(pictures, tmp_path, recipe):
    # SGD: Adam divides a gradient that is nothing but rounding by its own size.
    settings = ("model.freeze_statistics=true", "optimizer.epochs=1", "optimizer.name=sgd")
    frozen = [part for setting in settings for part in ("--set", setting)]
    frozen += ["--recipe", recipe]
    subprocess.run([sys.executable, *command(pictures, tmp_path / "one", *frozen)], check=True, env=ONE_THREAD)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    subprocess.run(
        [*torchrun, *command(pictures, tmp_path / "two", *frozen)], check=True, env=ONE_THREAD, capture_output=True
    )
    one, two = (weights(tmp_path / name / "last.safetensors") for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=1e-5, atol=1e-5)
    losses = [float((tmp_path / n / "log.csv").read_text().splitlines()[1].split(",")[1]) for n in ("one", "two")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_frozen_stages_stay_and_their_cached_outputs_give_the_same_run(pictures, tmp_path):
    config = tiny()
    model = dataclasses.replace(config.model, freeze="blocks.1", freeze_statistics=True)
    config = dataclasses.replace(config, model=model, data=DataConfig(augment=False))
    best = train(config, pictures, tmp_path / "run", quiet=True)
    torch.manual_seed(config.run.seed)
    start = make_network(config.model, CalmEm(), 2).network
    frozen, trained = freeze(start, config.model)
    before, after = start.state_dict(), weights(best)
    still = [name for name in before if name.startswith(("backbone.trunk.conv_stem", "backbone.trunk.blocks.1"))]
    assert len(still) > 3
    assert all(torch.equal(before[name], after[name]) for name in still)
    assert not torch.equal(before["head.class_branch.weight"], after["head.class_branch.weight"])
    inputs = torch.rand(2, 3, SIZE, SIZE)
    start.eval()
    assert torch.equal(trained(frozen(inputs))[0], start(inputs)[0])
    assert not any(p.requires_grad for p in frozen.parameters())
    assert not list((tmp_path / "run").glob("features-*"))


def test_non_finite_losses_are_skipped_and_counted_and_too_many_end_the_run(pictures, tmp_path, monkeypatch):
    calls, loss = [], CalmEm.loss

    def sometimes_nan(*arguments):
        calls.append(1)
        return loss(*arguments) * (math.nan if len(calls) == 2 else 1)

    monkeypatch.setattr(CalmEm, "loss", sometimes_nan)
    best = train(tiny(), pictures, tmp_path / "run", quiet=True)
    assert all(torch.isfinite(t).all() for t in weights(best).values())
    assert (tmp_path / "run/log.csv").read_text().splitlines()[1].endswith(",1")
    monkeypatch.setattr(CalmEm, "loss", lambda *a: loss(*a) * math.nan)
    config = dataclasses.replace(tiny(), run=RunConfig(device="cpu", workers=0, nonfinite_steps=3))
    with pytest.raises(CalmError, match="3 steps in a row"):
        train(config, pictures, tmp_path / "nan", quiet=True)


def test_a_run_is_never_overwritten_unasked(pictures, tmp_path):
    config = tiny(epochs=1)
    train(config, pictures, tmp_path / "run", quiet=True)
    with pytest.raises(CalmError, match="--overwrite"):
        train(config, pictures, tmp_path / "run", quiet=True)
    with pytest.raises(CalmError, match=r"optimizer\.batch"):
        train(tiny(epochs=1, batch=4), pictures, tmp_path / "run", resume=True, quiet=True)
    train(tiny(epochs=1, batch=4), pictures, tmp_path / "run", overwrite=True, quiet=True)
    assert json.loads((tmp_path / "run/config.json").read_text())["optimizer"]["batch"] == 4
    (tmp_path / "run/notes.txt").write_text("mine")
    kept = (tmp_path / "run/best.safetensors").read_bytes()
    with pytest.raises(DataError):
        train(config, tmp_path / "nowhere", tmp_path / "run", overwrite=True, quiet=True)
    for faulty in ({"weights": str(tmp_path / "nowhere.pth")}, {"freeze": "blocks.9"}):
        unusable = dataclasses.replace(config, model=dataclasses.replace(config.model, **faulty))
        with pytest.raises(CalmError):
            train(unusable, pictures, tmp_path / "run", overwrite=True, quiet=True)
    assert (tmp_path / "run/best.safetensors").read_bytes() == kept  # replaced only once all of it can be used
    assert json.loads((tmp_path / "run/config.json").read_text())["optimizer"]["batch"] == 4
    train(config, pictures, tmp_path / "run", overwrite=True, quiet=True)
    assert (tmp_path / "run/notes.txt").read_text() == "mine"
    other = tmp_path / "letters"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(CalmError, match="no training run"):
        train(config, pictures, other, overwrite=True, quiet=True)
    assert (other / "letter.txt").exists()


@pytest.mark.parametrize("spelling", ["run/best.safetensors", "run/../run/last.safetensors", "link.safetensors"])
def test_a_run_is_never_replaced_by_one_that_starts_from_it(tmp_path, spelling):
    run = tmp_path / "run"
    run.mkdir()
    for name in ("config.json", "best.safetensors", "last.safetensors"):
        (run / name).write_text(name)
    (tmp_path / "link.safetensors").symlink_to(run / "best.safetensors")
    config = tiny(epochs=1)
    config = dataclasses.replace(config, model=dataclasses.replace(config.model, weights=str(tmp_path / spelling)))
    with pytest.raises(CalmError, match="is what this is made from"):
        RunFolder(run, config, overwrite=True)
    assert sorted(path.read_text() for path in run.iterdir()) == sorted(path.name for path in run.iterdir())


def test_broken_test_pictures_are_never_skipped_silently(pictures, tmp_path):
    broken = tmp_path / "broken"
    for split in ("train", "val", "test"):
        for name in ("a", "b"):
            (broken / split / name).mkdir(parents=True)
            Image.new("RGB", (70, 70)).save(broken / split / name / "0.png")
    (broken / "test/a/1.png").write_bytes(b"not a picture")
    with pytest.raises(DataError, match=r"1\.png"):
        train(tiny(), broken, tmp_path / "run", quiet=True)


def test_learning_rate_schedules():
    step = OptimizerConfig(schedule="step", step_epochs=2, decay=0.1)
    assert [learning_rate_factor(step, s, 10) for s in (0, 19, 20, 39, 40)] == pytest.approx([1, 1, 0.1, 0.1, 0.01])
    cosine = OptimizerConfig(schedule="cosine", epochs=4)
    assert learning_rate_factor(cosine, 0, 10) == 1
    assert learning_rate_factor(cosine, 20, 10) == pytest.approx(0.5)
    assert learning_rate_factor(OptimizerConfig(schedule="constant"), 99, 10) == 1


def test_layers_that_pretrained_weights_lack_learn_at_the_heads_rate(tmp_path):
    """VGG16's sixth convolution isn't torchvision's; all other layers of the backbone are."""
    whole = build_backbone("vgg16", 8).state_dict()
    torch.save({name: tensor for name, tensor in whole.items() if "conv6" not in name}, tmp_path / "vgg16.pth")
    model = ModelConfig(backbone="vgg16", weights=str(tmp_path / "vgg16.pth"))
    network, fresh = make_network(model, CalmEm(), 3)
    names = {name for name, parameter in network.named_parameters() if any(parameter is p for p in fresh)}
    heads = {f"head.{branch}.{kind}" for branch in ("class_branch", "saliency_branch") for kind in ("weight", "bias")}
    assert names == heads | {"backbone.conv6.weight", "backbone.conv6.bias"}
    optimizer = make_optimizer(network, fresh, OptimizerConfig(learning_rate=1e-3, head_factor=10))
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert all(
        rates[id(parameter)] == pytest.approx(1e-2 if name in names else 1e-3)
        for name, parameter in network.named_parameters()
    )
    random = make_network(dataclasses.replace(model, weights="none"), CalmEm(), 3)
    assert len(random.fresh) == 4


def test_a_batch_that_processes_cannot_share_evenly_is_refused(pictures, tmp_path, monkeypatch):
    @contextmanager
    def three(_: str):
        yield Processes(0, 3)

    monkeypatch.setattr("calm_training.loop.processes", three)
    with pytest.raises(CalmError, match="a batch of 8 pictures can't be divided evenly among 3 processes"):
        train(tiny(), pictures, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_batch_statistics_of_one_process_among_several_are_refused(pictures, tmp_path, monkeypatch):
    """Before anything is written, and also where they should be shared, which torch does on GPUs alone."""

    @contextmanager
    def two(_: str):
        yield Processes(0, 2)

    monkeypatch.setattr("calm_training.loop.processes", two)
    monkeypatch.setattr(Processes, "wait", lambda _: None)
    shared = dataclasses.replace(tiny(), run=RunConfig(device="cpu", workers=0, sync_batch_norm=True))
    for config in (tiny(), shared):
        with pytest.raises(CalmError, match=r"its own part of a batch.*model\.freeze_statistics=true"):
            train(config, pictures, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_a_run_behind_frozen_stages_may_be_of_half_precision(pictures, tmp_path):
    """HaS hides other squares in every epoch, so that nothing of the frozen stages is kept."""
    config = tiny({"cam": method_named("cam").Settings(), "has": method_named("has").Settings()}, precision="bfloat16")
    config = dataclasses.replace(config, model=dataclasses.replace(config.model, freeze="blocks.1"))
    best = train(config, pictures, tmp_path / "run", quiet=True)
    assert all(torch.isfinite(tensor).all() for tensor in weights(best).values())


@pytest.mark.parametrize("method", ["calm-em", "calm-ml", "cam"])
def test_few_classes_as_target_are_a_distribution(method):
    """Mixed labels: the loss of two weighted classes is the loss of that distribution over all of them."""
    torch.manual_seed(0)
    f, a = torch.randn(3, 5, 4, 4), torch.randn(3, 1, 4, 4)
    few = TopTarget(torch.tensor([[0, 1], [4, 2], [3, 3]]), torch.tensor([[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]]))
    whole = torch.tensor([[0.3, 0.7, 0, 0, 0], [0, 0, 0, 0, 1.0], [0, 0, 0, 1.0, 0]])
    objective = method_named(method)()
    outputs = ((f, a), None) if method == "calm-em" else (f, None if method == "cam" else a)
    for smoothing in (0.0, 0.1):
        expected = objective.loss(outputs, Batch(f, whole.argmax(1), (1 - smoothing) * whole + smoothing / 5))
        torch.testing.assert_close(objective.loss(outputs, Batch(f, whole.argmax(1), few), smoothing), expected)
