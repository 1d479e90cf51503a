"""``calm-train adapt``: a plain classifier becomes a CALM on pictures without labels."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_checkpoint import write_tiny_set

import calm_gui
from calm_gui.errors import CalmError
from calm_gui.model.backbones import build_classifier
from calm_gui.model.loaded import LoadedModel
from calm_training import selection
from calm_training.adapt import AdaptSettings, adapt
from calm_training.adapt_teacher import Teacher
from calm_training.cli import main
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.evaluate.wsol import box_accuracy

SETTINGS = AdaptSettings(steps=30, batch=4)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(0)
    for number in range(8):
        Image.fromarray(generator.integers(0, 255, (48, 48, 3), np.uint8)).save(folder / f"{number}.png")
    return folder


def saved(folder: Path, name: str, classes: int = 4) -> Path:
    torch.manual_seed(0)
    network = build_classifier(name, classes)
    with torch.no_grad():
        for head in (m for m in network.modules() if isinstance(m, torch.nn.Linear) and m.out_features == classes):
            head.weight.normal_(0, 0.3)
    torch.save({"arch": name, "state_dict": network.state_dict()}, folder / "x.pth")
    return folder / "x.pth"


@pytest.mark.parametrize("name", ["timm:regnety_002", "timm:deit_tiny_patch16_224", "timm:convnextv2_atto"])
def test_what_comes_of_it_is_a_calm_whose_maps_sum(name: str, tmp_path: Path, pictures: Path) -> None:
    model = calm_gui.load_checkpoint(saved(tmp_path, name), "cpu")
    stages: list[str] = []
    path, measures = adapt(
        model, sorted(pictures.iterdir()), tmp_path / "run", SETTINGS, lambda stage, done, of: stages.append(stage)
    )
    adapted = calm_gui.load_checkpoint(path, "cpu")
    explanation = adapted.explain(pictures / "0.png")
    for reading in ("attribution", "saliency", "conditional", "cue_posterior"):
        assert explanation.reading(reading, 1).check.passed
    assert explanation.joint.sum(dtype=np.float64) == pytest.approx(1, abs=1e-5)
    assert {"features", "training"} == set(stages) and 0 <= measures["top-1 agreement"] <= 1
    assert adapted.grid == model.grid and adapted.info.training["start"]["sha256"] == model.sha256
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["adapt.json", "x-calm.safetensors"]


def test_the_class_token_s_attention_is_that_of_a_slow_reference(tmp_path: Path, pictures: Path) -> None:
    model = calm_gui.load_checkpoint(saved(tmp_path, "timm:deit_tiny_patch16_224"), "cpu")
    teacher = Teacher(model, 2)
    inputs = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    seen = teacher.look(inputs)
    network = model.network.network
    before: list[torch.Tensor] = []
    handle = network.blocks[-1].attn.register_forward_pre_hook(lambda _, arguments: before.append(arguments[0]))
    with torch.no_grad():
        network(inputs)
        handle.remove()
        attention = network.blocks[-1].attn
        x = before[0][0]
        qkv = attention.qkv(x)
        width, heads = x.shape[1], attention.num_heads
        weights = torch.zeros(len(x))
        for head in range(heads):
            part = slice(head * width // heads, (head + 1) * width // heads)
            q, k = qkv[0, :width][part], qkv[:, width : 2 * width][:, part]
            weights += (k @ q / (width / heads) ** 0.5).softmax(0) / heads
    expected = weights[1:].reshape(14, 14)
    expected = expected / expected.max() + 1e-4
    assert torch.allclose(seen.posterior[0, 0], expected / expected.sum(), rtol=1e-4, atol=1e-7)
    assert teacher.maps.startswith("class-token attention")


def test_an_interrupted_run_ends_as_an_uninterrupted_one(tmp_path: Path, pictures: Path) -> None:
    model = calm_gui.load_checkpoint(saved(tmp_path, "timm:regnety_002"), "cpu")
    files = sorted(pictures.iterdir())
    whole, _ = adapt(model, files, tmp_path / "whole", SETTINGS)

    def stop(at: tuple[str, int]):
        def progress(stage: str, done: int, of: int) -> None:
            if (stage, done) == at:
                raise KeyboardInterrupt

        return progress

    for at in (("features", 4), ("training", 26)):
        with pytest.raises(KeyboardInterrupt):
            adapt(model, files, tmp_path / "parts", SETTINGS, stop(at))
    first: dict[str, int] = {}
    parts, _ = adapt(model, files, tmp_path / "parts", SETTINGS, lambda stage, done, of: first.setdefault(stage, done))
    assert first == {"features": 8, "training": 25}
    ours = calm_gui.load_checkpoint(parts, "cpu").network.state_dict()
    for key, tensor in calm_gui.load_checkpoint(whole, "cpu").network.state_dict().items():
        assert torch.allclose(tensor.float(), ours[key].float(), atol=1e-3), key


def test_a_run_goes_on_with_the_same_pictures_and_never_over_another_checkpoint(tmp_path: Path, pictures: Path) -> None:
    model = calm_gui.load_checkpoint(saved(tmp_path, "timm:regnety_002"), "cpu")
    copies = tmp_path / "copies"
    shutil.copytree(pictures, copies)
    files = sorted(copies.iterdir())
    few = AdaptSettings(steps=1, batch=8)
    path, _ = adapt(model, files, tmp_path / "run", few)
    assert adapt(model, files, tmp_path / "run", few)[0] == path
    shutil.copy(files[1], files[0])
    with pytest.raises(CalmError, match="other pictures"):
        adapt(model, files, tmp_path / "run", few)
    (tmp_path / "run" / "adapt.json").unlink()
    before = path.read_bytes()
    with pytest.raises(CalmError, match=r"x-calm\.safetensors is of another run"):
        adapt(model, files, tmp_path / "run", few)
    assert path.read_bytes() == before


def test_the_command_tells_its_progress_in_lines_of_json(
    tmp_path: Path, pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, "timm:regnety_002")
    command = ["adapt", "--checkpoint", str(path), "--data", str(pictures), "--out", str(tmp_path / "run")]
    assert main([*command, "--steps", "3", "--progress", "json", "--device", "cpu"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["stage"] for line in lines[-1:]] == ["done"] and Path(lines[-1]["checkpoint"]).is_file()
    assert {line["stage"] for line in lines[:-1]} == {"loading", "features", "training"}
    assert all(line["done"] <= line["of"] for line in lines[:-1])
    assert main([*command, "--steps", "4"]) == 1
    assert "holds a run of another classifier" in capsys.readouterr().err


def test_calibration_is_that_of_the_adapted_checkpoint_against_the_classifier(tmp_path: Path, pictures: Path) -> None:
    model = calm_gui.load_checkpoint(saved(tmp_path, "timm:test_resnet"), "cpu")
    files = sorted(pictures.iterdir())[:4]  # too few to hold some out: measured on all four
    path, measures = adapt(model, files, tmp_path / "run", AdaptSettings(steps=3, batch=4))
    adapted = calm_gui.load_checkpoint(path, "cpu")
    confidences: list[float] = []
    bins: list[list[float]] = [[] for _ in range(15)]
    for file in files:
        own = model.explain(file).top(1)[0][0]
        named, confidence = adapted.explain(file).top(1)[0]
        confidences.append(confidence)
        bins[min(int(confidence * 15), 14)].append(confidence - (named == own))
    assert measures["pictures held out"] == 4
    assert measures["mean confidence"] == pytest.approx(np.mean(confidences), abs=2e-3)  # features are kept as float16
    ece = sum(abs(sum(part)) for part in bins) / 4
    assert measures["ECE against agreement"] == pytest.approx(ece, abs=2e-3) and ece > 0.01


def test_where_truth_is_given_the_command_says_how_well_maps_find_it(
    tmp_path: Path, pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, "timm:test_resnet")
    boxes = tmp_path / "boxes"
    boxes.mkdir()
    write_tiny_set(boxes, 4, classes=4)
    command = ["adapt", "--checkpoint", str(path), "--data", str(pictures), "--out", str(tmp_path / "run")]
    command += ["--steps", "3", "--progress", "none", "--device", "cpu"]
    assert main([*command, "--boxes", str(boxes)]) == 0
    said = capsys.readouterr().out
    made = calm_gui.load_checkpoint(tmp_path / "run/x-calm.safetensors", "cpu")
    score = box_accuracy(made, read_boxes_csv(boxes / "index.csv"), maps=["saliency"]).maps["saliency"].max_box_acc_v2
    assert f"MaxBoxAccV2 on 4 pictures: {score:.1%} of saliency, " in said and "of the classifier's cam" in said
    assert "its mean confidence is " in said and "calibration error" in said
    assert main([*command[:6], str(tmp_path / "other"), "--steps", "3", "--boxes", str(pictures)]) == 1
    assert not (tmp_path / "other").exists()  # said before anything is trained


def test_true_classes_are_the_checkpoint_s_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("dog", "cat", "owl", "ant")  # in a table they are numbered by the alphabet
    model = calm_gui.load_checkpoint(saved(tmp_path, "timm:test_resnet"), "cpu", classes=names)
    write_tiny_set(tmp_path, 4, classes=4)
    head, *rows = (tmp_path / "index.csv").read_text().splitlines()
    named = [f"{row.split(',')[0]},{names[i]},{row.split(',', 2)[2]}" for i, row in enumerate(rows)]
    (tmp_path / "index.csv").write_text("\n".join([head.replace("class_index", "class"), *named]))
    seen: list[int] = []

    def watched(model: LoadedModel, pictures: Any, **options: Any) -> Any:
        seen.extend(picture.label for picture in pictures)
        return box_accuracy(model, pictures, **options)

    monkeypatch.setattr(selection, "box_accuracy", watched)
    selection.scores_of(model, selection.read_validation(tmp_path), ["cam"])
    assert seen == [0, 1, 2, 3]


def test_what_cannot_be_adapted_is_refused_in_words(tmp_path: Path, pictures: Path) -> None:
    files = sorted(pictures.iterdir())
    with pytest.raises(CalmError, match="is a CALM already"):
        adapt(calm_gui.load_checkpoint("demo", "cpu"), files, tmp_path / "a", SETTINGS)
    with pytest.raises(CalmError, match="at least two pictures"):
        adapt(calm_gui.load_checkpoint("demo-cam", "cpu"), files[:1], tmp_path / "b", SETTINGS)


@pytest.mark.parametrize("what", ["saliency", "head", "last-stages"])
def test_each_kind_of_training_changes_what_it_says(what: str, tmp_path: Path, pictures: Path) -> None:
    path = saved(tmp_path, "timm:test_resnet")
    model = calm_gui.load_checkpoint(path, "cpu")
    before = {key: tensor.clone() for key, tensor in model.network.state_dict().items()}
    settings = AdaptSettings(what=what, steps=4, batch=4)  # type: ignore[arg-type]
    made, _ = adapt(model, sorted(pictures.iterdir()), tmp_path / "run", settings)
    after = calm_gui.load_checkpoint(made, "cpu").network.state_dict()
    backbone = [k for k in before if k.startswith("backbone.") and "num_batches" not in k]
    moved = [k for k in backbone if not torch.allclose(after[k].float(), before[k].half().float(), atol=1e-6)]
    assert bool(moved) == (what == "last-stages") and len(moved) < len(backbone) / 2
    assert not [k for k in moved if "running" in k]  # batch statistics stay
    for key, tensor in model.network.state_dict().items():
        assert torch.equal(tensor, before[key])  # the classifier itself isn't touched
    assert calm_gui.load_checkpoint(made, "cpu").explain(pictures / "0.png").attribution(1).check.passed


def test_pictures_that_cannot_be_opened_are_left_out_and_listed(tmp_path: Path, pictures: Path) -> None:
    model = calm_gui.load_checkpoint(saved(tmp_path, "timm:test_resnet"), "cpu")
    (tmp_path / "bad.png").write_text("no picture")
    files = [tmp_path / "bad.png", *sorted(pictures.iterdir())]
    _, measures = adapt(model, files, tmp_path / "run", AdaptSettings(steps=3, batch=4))
    assert len(measures["left out"]) == 1 and "bad.png" in measures["left out"][0]
    with pytest.raises(CalmError, match=r"two pictures that can be opened; bad\.png"):
        adapt(model, files[:2], tmp_path / "few", AdaptSettings(steps=3))


def test_a_damaged_state_is_made_again_and_a_finished_run_has_its_result(tmp_path: Path, pictures: Path) -> None:
    model = calm_gui.load_checkpoint(saved(tmp_path, "timm:test_resnet"), "cpu")
    files, settings = sorted(pictures.iterdir()), AdaptSettings(steps=3, batch=4)
    adapt(model, files, tmp_path / "run", settings)[0].unlink()
    for name in ("targets.pt", "state.pt"):
        (tmp_path / "run" / name).write_bytes(b"cut off")
    made, measures = adapt(model, files, tmp_path / "run", settings)
    written = made.stat().st_mtime_ns
    assert adapt(model, files, tmp_path / "run", settings) == (made, measures) and made.stat().st_mtime_ns == written
