"""The seam of training methods: one from outside walks through recipe, command, run, resuming and checkpoint."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from calm_gui.errors import CalmError
from calm_gui.model.backbones import build_backbone
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.checkpoint import read_checkpoint
from calm_gui.model.choices import CAM_METHODS
from calm_gui.model.loaded import load_model
from calm_training import methods
from calm_training.methods import Batch, Objective, Step, make_methods, training_methods
from calm_training.methods.cam import Cam

FOCAL = '''
"""Focal loss on CAM's logits, and pictures made grey by chance: a training method of another package."""

from dataclasses import dataclass
from typing import ClassVar

from calm_training.methods.cam import Cam
from calm_training.settings import Section, setting


@dataclass(frozen=True)
class FocalSettings(Section):
    section: ClassVar[str] = "methods.focal"

    gamma: float = setting(2.0, low=0)
    grey: float = setting(0.5, low=0, high=1)


class Focal(Cam):
    settings: FocalSettings
    name = "focal"
    Settings = FocalSettings
    changes_pictures = True

    def change_batch(self, batch, step):
        from dataclasses import replace

        import torch

        draws = step.own(step.generator.random(len(batch.inputs) * step.world))
        grey = torch.from_numpy(draws < self.settings.grey)[:, None, None, None]
        return replace(batch, inputs=torch.where(grey, batch.inputs.mean(1, keepdim=True), batch.inputs))

    def loss(self, outputs, batch, label_smoothing=0.0):
        log_p = outputs[0].mean((2, 3)).log_softmax(1).gather(1, batch.labels[:, None])
        return (-((1 - log_p.exp()) ** self.settings.gamma) * log_p).mean()
'''

RECIPE = """
[data]
layout = "folder"

[model]
backbone = "timm:test_efficientnet"
output_stride = 16
weights = "none"
input = {size = 64}

[methods.focal]
gamma = 1.5

[optimizer]
epochs = 2
batch = 4

[run]
device = "cpu"
workers = 0
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A package that was installed: one file with the method, its entry point, and a recipe."""
    site = tmp_path / "site"
    (site / "focal-1.0.dist-info").mkdir(parents=True)
    (site / "focal-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: focal\nVersion: 1.0\n")
    (site / "focal-1.0.dist-info/entry_points.txt").write_text("[calm_training.methods]\nfocal = focal:Focal\n")
    (site / "focal.py").write_text(FOCAL)
    (tmp_path / "focal.toml").write_text(RECIPE)
    generator = np.random.default_rng(0)
    for split in ("train", "test"):
        for name in ("a", "b"):
            (tmp_path / "pictures" / split / name).mkdir(parents=True)
            for i in range(4):
                pixels = generator.integers(0, 255, (70, 70, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / "pictures" / split / name / f"{i}.png")
    return tmp_path


def calm_train(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    paths = os.pathsep.join([str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "calm_training", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


def test_a_method_from_outside_is_one_file_and_a_recipe(outside):
    shown = calm_train(outside, "show", "--recipe", "focal.toml", "--set", "methods.focal.grey=0.25")
    assert shown.returncode == 0, shown.stderr
    assert "[methods.focal]\ngamma = 1.5  # focal.toml\ngrey = 0.25  # --set\n" in shown.stdout
    mixed = calm_train(outside, "show", "--recipe", "cub+resnet50+focal.toml")
    assert 'backbone = "timm:test_efficientnet"  # focal.toml' in mixed.stdout
    refused = calm_train(outside, "show", "--recipe", "focal.toml", "--set", "methods.focal.gamma=-1")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "methods.focal.gamma must be at least 0, not -1" in refused.stderr
    unaugmented = calm_train(outside, "show", "--recipe", "focal.toml", "--set", "data.augment=false")
    assert "focal changes pictures at random, which can have no effect where nothing is augmented" in unaugmented.stderr

    train = ["train", "--recipe", "focal.toml", "--data", "pictures", "--quiet", "--out"]
    ran = calm_train(outside, *train, "run")
    assert ran.returncode == 0, ran.stderr
    again = calm_train(outside, "train", "--recipe", "run/config.json", "--data", "pictures", "--quiet", "--out", "two")
    assert again.returncode == 0, again.stderr
    info, first = read_checkpoint(outside / "run/last.safetensors")
    second = read_checkpoint(outside / "two/last.safetensors")[1]
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert (info.method, info.training["methods"]) == ("cam", ["focal"])
    assert load_model(outside / "run/best.safetensors", "cpu").explain(outside / "pictures/test/a/0.png").top(1)


def test_what_another_package_gives_must_be_a_method(monkeypatch):
    def given(name: str, value: object):
        entry = type("Entry", (), {"name": name, "value": f"{name}:it", "load": lambda self: value})()
        monkeypatch.setattr(methods, "entry_points", lambda group: [entry])
        training_methods.cache_clear()

    try:
        given("three", 3)
        with pytest.raises(CalmError, match=r"three \(three:it\) isn't a subclass"):
            training_methods()
        given("cam", type("Other", (Cam,), {"name": "cam"}))
        with pytest.raises(CalmError, match="two training methods called cam"):
            training_methods()
        given("broken", None)
        monkeypatch.setattr(methods, "entry_points", lambda group: [Broken()])
        with pytest.raises(CalmError, match=r"broken \(nowhere:it\) can't be loaded: no such thing"):
            training_methods()
    finally:
        training_methods.cache_clear()


class Broken:
    name, value = "broken", "nowhere:it"

    def load(self):
        raise ImportError("no such thing")


@pytest.mark.parametrize("name", [n for n, m in training_methods().items() if issubclass(m, Objective)])
def test_every_objective_keeps_its_promises(name):
    """Documented shapes and types, and nothing changed in place, on a tiny network."""
    torch.manual_seed(0)
    method, (first, *_) = make_methods({name: training_methods()[name].Settings()})
    assert first is method
    backbone = build_backbone(method.stands_on("timm:test_efficientnet"), 16)
    network = HeadNetwork(backbone, method.make_head(backbone.channels, 5))
    method.attach(network, network, "timm:test_efficientnet")
    network.train()
    inputs, labels = torch.rand(3, 3, 64, 96), torch.tensor([0, 4, 2])
    batch = Batch(inputs.clone(), labels.clone(), labels)
    step = Step(np.random.default_rng(0))
    assert method.change_batch(batch, step).inputs.shape == inputs.shape
    method.begin_epoch()
    method.begin_step(step)
    loss = method.loss(method.outputs(network, batch), batch)
    assert (loss.shape, loss.dtype) == ((), torch.float32)
    torch.autograd.backward(loss)
    learning = [*network.parameters(), *method.extra.parameters()]
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in learning)
    method.end_step()
    assert torch.equal(batch.inputs, inputs)
    assert torch.equal(batch.labels, labels)
    network.eval()
    f, a = outputs = network(inputs)
    assert f.shape[:2] == (3, 5)
    assert (a is None) == (method.reads_as in CAM_METHODS)
    scores = method.scores(outputs)
    assert scores.shape == (3, 5)
    assert (method.saliency_activation is None) == (method.reads_as in CAM_METHODS)
    method.load_state_dict(method.state_dict())
