"""The demo: warm start from a linear classifier, the published weights, the bundled checkpoints."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import calm_resources
from calm_gui.api import bundled_checkpoints, resolve_checkpoint
from calm_gui.errors import CheckpointError, DataError
from calm_gui.model.backbones import build_backbone
from calm_gui.model.calm import CalmHead, CamHead
from calm_gui.model.checkpoint import fitted_network, read_checkpoint
from calm_gui.model.info import read_info
from calm_gui.model.input import prepare
from calm_gui.model.loaded import load_model
from calm_gui.model.picture import load_picture
from calm_training import demo
from calm_training.config import ModelConfig
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.datasets.split import split_by_hash
from calm_training.demo import LARGE, RECIPES, DemoSettings, e_step, main, make_calm
from calm_training.demo_data import HELD_OUT, TRAINING_SETS, TrainingPicture, training_pictures
from calm_training.evaluate.accuracy import accuracy
from calm_training.evaluate.sweep import SweepOptions
from calm_training.evaluate.wsol import box_accuracy
from calm_training.methods.calm_ml import CalmMl, CalmSettings
from calm_training.network import make_network
from calm_training.pretrained import (
    LITE0,
    LITE0_INPUT,
    LITE2,
    efficientnet_lite,
    efficientnet_lite0,
    load_in_order,
    warm_start,
)

BUNDLED = ("demo", "demo-cam", "demo-large")


def bundled(name: str):
    return calm_resources.path(f"checkpoints/{name}.safetensors")


@pytest.mark.parametrize("name", ["resnet50", LITE0])
@pytest.mark.parametrize("kind", [CamHead, CalmHead])
def test_warm_start_keeps_the_logits(name, kind):
    """Supplement A: the linear layer behind average pooling is the mean of a 1x1 convolution."""
    torch.manual_seed(0)
    backbone = build_backbone(name, 32, dilated=name == LITE0).eval()
    linear = nn.Linear(backbone.channels, 17)
    head = kind(backbone.channels, 17)
    warm_start(head, linear)
    with torch.inference_mode():
        features = backbone(torch.rand(2, 3, 96, 96))
        logits = linear(features.mean((2, 3)))
        f, _ = head(features)
    torch.testing.assert_close(f.mean((2, 3)), logits, rtol=0, atol=1e-5)


def test_warm_start_refuses_another_size():
    with pytest.raises(CheckpointError, match="class branch"):
        warm_start(CamHead(8, 3), nn.Linear(8, 4))
    with pytest.raises(CheckpointError, match="don't fit"):
        load_in_order(nn.Linear(2, 3), [torch.zeros(2, 3), torch.zeros(3)])


def test_the_published_weights_know_the_first_sample():
    backbone, linear = efficientnet_lite0(32)
    inputs, _ = prepare(load_picture(calm_resources.path("samples/afghan_hound.jpg")), LITE0_INPUT, (7, 7))
    with torch.inference_mode():
        logits = linear(backbone(inputs).mean((2, 3)))
    assert logits.argmax().item() == 160  # Afghan hound


def test_a_folder_or_file_called_demo_hides_no_bundled_checkpoint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo-cam").write_text("something else")
    for name in BUNDLED:
        assert resolve_checkpoint(name) == bundled_checkpoints()[name]
    assert resolve_checkpoint("./demo-cam") == Path("demo-cam")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_checkpoints_say_what_they_are(name):
    assert bundled(name).stat().st_size < 16e6
    info = read_info(bundled(name))
    assert info.backbone == (LITE2 if name == "demo-large" else LITE0)
    assert info.method == ("cam" if name == "demo-cam" else "calm-em")
    assert len(info.classes) == 1000
    assert info.classes[160].wnid == "n02088094"
    assert info.hierarchy is not None
    assert len(info.superset_table[160]) > 100
    assert info.licence.startswith("Apache-2.0")
    assert info.training["metrics"]["pictures"] == 1012
    assert info.training["metrics"]["top-1"] > 0.75
    assert info.training["recipe"] == f"imagenet-{name.removesuffix('-cam')}"
    assert set(info.training) >= {"recipe", "start", "data", "epochs", "seed", "settings", "metrics", "versions"}
    if name != "demo-cam":
        settings = RECIPES[f"imagenet-{name}"]
        made_with = {**asdict(DemoSettings()), **info.training["settings"]}  # files lack settings that came later
        assert [entry.split()[0] for entry in info.training["data"]] == list(TRAINING_SETS)
        assert made_with == json.loads(json.dumps(asdict(settings)))
        assert (info.context, info.saliency_power) == ("mean", settings.rescaling.saliency_power)
        assert info.input.size == settings.input_size
        assert info.temperature != 1 and str(HELD_OUT) in info.calibrated_on


@pytest.mark.shared
@pytest.mark.slow
def test_bundled_checkpoints_keep_the_classifier_and_localize(shared):
    """On 200 of the pictures that settings were chosen on: loose bounds, the exact figures stand in docs/results.md."""
    pictures, _ = split_by_hash(read_boxes_csv(shared / "data/imagenet-val-boxes/index.csv"), 200)
    calm, cam = (box_accuracy(load_model(bundled(name)), pictures) for name in BUNDLED[:2])
    assert calm.top_one > 0.72
    assert calm.top_one > cam.top_one - 0.02
    assert calm.maps["superset"].max_box_acc_v2 > calm.maps["attribution"].max_box_acc_v2
    assert calm.maps["superset"].max_box_acc_v2 > 0.6
    assert cam.maps["cam"].max_box_acc_v2 > 0.6
    again = box_accuracy(load_model(bundled("demo-cam")), pictures[:40], options=SweepOptions(batch=7, workers=0))
    assert again.top_one == accuracy(load_model(bundled("demo-cam")), pictures[:40]).top_one
    assert again == box_accuracy(
        load_model(bundled("demo-cam")), pictures[:40], options=SweepOptions(batch=32, workers=2)
    )


@pytest.mark.shared
def test_training_pictures_leave_out_what_measures(shared, tmp_path):
    pictures = training_pictures(shared)
    assert len(pictures) == 4237
    assert len(training_pictures(shared, every=2)) == 2737  # of the 3,000 of twenty classes half
    assert not [
        path
        for path in (p.path for p in pictures)
        if "val" in path.parts[-2] or "masks" in path.parts or "cub" in path.parts
    ]
    with pytest.raises(DataError, match=r"index\.csv"):
        training_pictures(tmp_path)


def test_calm_starts_even_and_alive():
    model = ModelConfig(backbone="timm:test_efficientnet", output_stride=16, dilated=True, weights="none")
    for activation in ("relu", "softplus"):
        network = make_network(model, CalmMl(CalmSettings(saliency_activation=activation)), 5).network.eval()
        with torch.inference_mode():
            _, a = network(torch.rand(2, 3, 64, 64))
        assert a.min() > 0.5
        assert np.ptp(a.numpy()) < 0.5


def test_the_e_step_looks_where_the_class_is():
    pictures = [calm_resources.path(f"samples/{name}.jpg") for name in ("afghan_hound", "chelsea")]
    target, posterior = e_step(pictures, DemoSettings(target_classes=3, map_size=224))
    assert target.classes.shape == (2, 3)
    assert target.classes[0, 0] == 160
    torch.testing.assert_close(target.weights.sum(1), torch.ones(2))
    assert posterior.shape == (2, 3, 14, 14)
    torch.testing.assert_close(posterior.float().sum((2, 3)), torch.ones(2, 3), rtol=0, atol=5e-3)
    assert posterior.min() > 0
    assert posterior[0, 0].max() > 3 / 196


@pytest.mark.parametrize("settings", [DemoSettings(epochs=0), LARGE], ids=["demo", "demo-large"])
def test_without_an_epoch_the_second_part_starts_from_the_original_classifier(settings):
    """Its class branch is the published linear layer, and places are alike."""
    network, losses = make_calm([], settings)
    backbone, linear = efficientnet_lite(settings.backbone, 16)
    assert losses == []
    assert torch.equal(network.head.class_branch.weight[:, :, 0, 0], linear.weight)
    assert all(torch.equal(a, b) for a, b in zip(network.backbone.parameters(), backbone.parameters(), strict=True))
    assert not network.head.saliency_branch.weight.any()


@pytest.mark.slow
def test_training_on_a_few_pictures_lowers_the_loss_and_moves_only_the_last_stages():
    pictures = sorted(calm_resources.path("samples").glob("*.jpg"))[:6]
    settings = DemoSettings(epochs=3, batch=3, map_size=224, target_classes=3, learning_rate=2e-5)
    network, losses = make_calm(pictures, settings)
    assert losses[-1] < losses[0]
    before = efficientnet_lite0(16)[0].state_dict()
    for name, tensor in network.backbone.state_dict().items():
        moved = not torch.equal(tensor, before[name])
        last = name.startswith(("trunk.blocks.5", "trunk.blocks.6", "trunk.conv_head", "trunk.bn2"))
        statistics = "running" in name or "num_batches" in name
        assert moved == (last and not statistics), name


def test_the_module_is_a_command(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--shared" in capsys.readouterr().out


def test_a_taught_network_is_rescaled_calibrated_and_measured_as_it_explains(monkeypatch, tmp_path):
    pictures = [TrainingPicture(calm_resources.path("samples/afghan_hound.jpg"), 160)]
    saved, fitted = {}, []

    def fit(outputs, labels, activation):
        fitted.append((outputs, labels))
        return 1.25

    monkeypatch.setattr(demo, "training_pictures", lambda *_: pictures)
    monkeypatch.setattr(demo, "held_out", lambda _: pictures)
    monkeypatch.setattr(demo, "fit_temperature", fit)
    monkeypatch.setattr(demo, "save_measured", lambda path, network, *_: saved.update({path.name: network}))
    taught = bundled("demo")  # any checkpoint with a context will do
    assert main(["--shared", str(tmp_path), "--out", str(tmp_path), "--taught", str(taught)]) == 0
    before, network = fitted_network(*read_checkpoint(taught), "taught"), saved["demo.safetensors"]
    by = DemoSettings().rescaling
    torch.testing.assert_close(network.head.class_branch.weight, before.head.class_branch.weight * by.class_factor)
    assert (network.head.temperature, network.head.saliency_power) == (1.25, by.saliency_power)
    assert not network.training and set(saved) == {"demo.safetensors", "demo-cam.safetensors"}
    ((((f, _),), labels),) = fitted
    network.head.temperature = 1.0
    with torch.inference_mode():
        inputs, _ = prepare(load_picture(pictures[0].path), LITE0_INPUT, (14, 14))
        torch.testing.assert_close(f.float(), network(inputs)[0], rtol=0, atol=0.05)
    assert labels == [160]
