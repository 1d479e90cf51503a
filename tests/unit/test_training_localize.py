"""Batch maps against the library's readings, and the evaluation command on a small set."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_checkpoint import write_tiny_set

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import DataError
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.info import CheckpointInfo, InputSpec
from calm_gui.model.loaded import LoadedModel, load_model
from calm_training.config import ModelConfig
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.datasets.cub_cues import CubCues
from calm_training.datasets.masks import MaskedPicture, read_masks_csv
from calm_training.evaluate import main
from calm_training.evaluate.accuracy import accuracy
from calm_training.evaluate.cues import cub_classes, cue_localization
from calm_training.evaluate.maps import map_of, maps_of, min_max, native_maps
from calm_training.evaluate.masks import mask_accuracy
from calm_training.evaluate.removal import removal_curves
from calm_training.evaluate.sweep import Outputs, SweepOptions
from calm_training.evaluate.wsol import box_accuracy
from calm_training.methods import method_named
from calm_training.network import make_network

CLASSES = ClassTable(ClassInfo(i, name) for i, name in enumerate(("cat", "dog", "owl", "crow")))
HIERARCHY = Hierarchy(
    {
        "root": {"name": "animal", "parents": []},
        "mammal": {"name": "mammal", "parents": ["root"]},
        **{
            f"c{i}": {"name": c.name, "parents": ["mammal" if i < 2 else "root"], "class": i}
            for i, c in enumerate(CLASSES)
        },
    },
    4,
)


def checkpoint(path: Path, method: str, classes: ClassTable = CLASSES, hierarchy: Hierarchy | None = HIERARCHY) -> Path:
    torch.manual_seed(0)
    model = ModelConfig(backbone="timm:test_efficientnet", output_stride=16, dilated=True, weights="none")
    network = make_network(model, method_named(method)(), len(classes)).network
    torch.nn.init.normal_(network.head.class_branch.weight, std=3)
    if method != "cam":
        torch.nn.init.normal_(network.head.saliency_branch.weight, std=3)
    info = CheckpointInfo(
        method=method,
        backbone=model.backbone,
        output_stride=16,
        dilated=True,
        classes=classes,
        saliency_activation=None if method == "cam" else "softplus",
        input=InputSpec(size=64),
        hierarchy=hierarchy,
        supersets=("mammal",) if hierarchy else (),
    )
    save_checkpoint(path, network, info, torch.float32)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures with boxes, and the two checkpoints."""
    root = write_tiny_set(tmp_path_factory.mktemp("set"), 6, classes=4, grain=(9, 12))
    for method in ("calm-em", "cam"):
        checkpoint(root / f"{method}.safetensors", method)
    return root


def model_of(folder: Path, method: str) -> LoadedModel:
    return load_model(folder / f"{method}.safetensors", "cpu")


def test_maps_and_predictions_are_the_library_s_readings(folder):
    model = model_of(folder, "calm-em")
    for picture in read_boxes_csv(folder / "index.csv"):
        explanation = model.explain(picture.path)
        f, a = torch.from_numpy(explanation.f)[None], torch.from_numpy(explanation.a)[None, None]
        outputs = Outputs(torch.empty(0), f, a, "softplus", {})
        names = ("counterfactual", "conditional", "cue_posterior", "conditional-superset")
        maps = native_maps(model, outputs, [picture.label], [*maps_of(model), *map(map_of, names)])
        likeliest = next(c for c, _ in explanation.top(2) if c != picture.label)
        expected = {
            "attribution": explanation.attribution(picture.label),
            "superset": explanation.attribution(model.supersets[picture.label]),
            "saliency": explanation.saliency(),
            "counterfactual": explanation.counterfactual(picture.label, likeliest),
            "conditional": explanation.conditional(picture.label),
            "cue_posterior": explanation.cue_posterior(picture.label),
            "conditional-superset": explanation.conditional(model.supersets[picture.label]),
        }
        assert maps.keys() == expected.keys()
        for name, reading in expected.items():
            np.testing.assert_allclose(maps[name], reading.values, rtol=1e-5, atol=1e-8)
            large = reading.upsampled((64, 64))
            scaled = (large - large.min()) / (large.max() - large.min())
            np.testing.assert_allclose(min_max(maps[name][None], 64)[0], scaled, atol=1e-4)
        assert int(outputs.evidence.class_probabilities.argmax()) == explanation.top(1)[0][0]


def test_cam_maps(folder):
    model = model_of(folder, "cam")
    explanation = model.explain(folder / "0.png")
    f = torch.from_numpy(explanation.f)[None]
    outputs = Outputs(torch.empty(0), f, None, None, {})
    maps = native_maps(model, outputs, [1], maps_of(model))
    np.testing.assert_allclose(maps["cam"], explanation.f[1])
    np.testing.assert_allclose(maps["cam-superset"], explanation.f[:2].sum(0), rtol=1e-5)
    assert int(outputs.evidence.class_probabilities.argmax()) == explanation.top(1)[0][0]


def test_a_map_without_variation_is_zero_everywhere():
    assert (min_max(torch.full((1, 4, 4), 0.3), 8) == 0).all()


@pytest.mark.parametrize("method", ["calm-em", "cam"])
def test_results_do_not_depend_on_the_batch(folder, method):
    model, pictures = model_of(folder, method), read_boxes_csv(folder / "index.csv")
    one, many = (
        box_accuracy(model, pictures, options=SweepOptions(batch=batch, workers=workers))
        for batch, workers in ((1, 0), (6, 3))
    )
    assert one == many
    assert one.top_one == accuracy(model, pictures).top_one
    assert set(one.maps) == ({"cam", "cam-superset"} if method == "cam" else {"attribution", "superset", "saliency"})


def test_removal_curves_of_a_checkpoint(folder):
    pictures = read_boxes_csv(folder / "index.csv")
    curves = removal_curves(model_of(folder, "calm-em"), pictures[:2], shares=(0.0, 1.0), random_seeds=(0,))
    assert curves.images == 2
    for curve in curves.maps.values():
        assert curve.images == 2
        # Nothing or everything erased: no map can differ from a random one.
        assert curve.accuracy == curve.random


@pytest.mark.shared
def test_masks(folder, tmp_path, shared):
    values = np.zeros((72, 96), np.uint8)
    values[10:40, 20:60], values[60:] = 255, 128
    Image.fromarray(values).save(tmp_path / "mask.png")
    picture = MaskedPicture(folder / "0.png", (tmp_path / "mask.png",), (0, 1))
    assert [int((picture.mask() == v).sum()) for v in (1, 255, 0)] == [1200, 1152, 4560]
    result = mask_accuracy(model_of(folder, "calm-em"), [picture])
    assert result.images == 1
    assert result.maps["attribution"] == result.maps["superset"]  # cat and dog are all of the mammals here
    listed = read_masks_csv(shared / "data/masks/index.csv")
    assert len({p.path for p in listed}) == len(listed) > 40
    assert any(p.classes == tuple(range(151, 269)) for p in listed)  # any dog, written 151-268


def test_the_command_writes_json_and_a_table(folder, tmp_path, capsys):
    checkpoints = [part for m in ("calm-em", "cam") for part in ("--checkpoint", str(folder / f"{m}.safetensors"))]
    arguments = ["wsol", *checkpoints, "--data", str(folder), "--report", "2", "--quiet", "--device", "cpu"]
    assert main([*arguments, "--out", str(tmp_path / "wsol.json")]) == 0
    table = capsys.readouterr().out
    assert table.count("| saliency | 4 |") == 1
    content = json.loads((tmp_path / "wsol.json").read_text())
    assert "lowest SHA-256" in content["conventions"]
    assert {result["images"] for result in content["results"].values()} == {4}
    assert (tmp_path / "wsol.md").read_text().strip() == table.strip()
    assert main(["accuracy", *checkpoints, "--data", str(folder), "--quiet"]) == 0
    assert main(["removal", *checkpoints, "--data", str(folder), "--quiet", "--select", "1"]) == 0
    assert "90 %" in capsys.readouterr().out


def test_what_cannot_be_measured_is_said(folder, tmp_path, capsys):
    assert main(["wsol", "--checkpoint", "demo", "--data", str(tmp_path), "--quiet"]) == 1
    assert "can't be read" in capsys.readouterr().err
    with pytest.raises(DataError, match="isn't trained on CUB"):
        cub_classes(model_of(folder, "cam"))
    with (tmp_path / "index.csv").open("w") as file:
        file.write(f"file,class_index,width,height,boxes\n{folder / '0.png'},9,96,72,1 1 5 5\n")
    with pytest.raises(DataError, match="of class 9"):
        box_accuracy(model_of(folder, "cam"), read_boxes_csv(tmp_path / "index.csv"))


@pytest.mark.shared
@pytest.mark.parametrize("method", ["calm-em", "cam"])
def test_cues_of_a_checkpoint_on_the_pairs_that_are_there(shared, tmp_path, method):
    cub = CubCues(shared / "data/cub/CUB_200_2011")
    names = [name for name in sorted({Path(f).parts[0] for f in cub.files.values()}) if name[:3] in ("009", "010")]
    classes = ClassTable(ClassInfo(i, name) for i, name in enumerate(names))
    model = load_model(checkpoint(tmp_path / "cub.safetensors", method, classes, None), "cpu")
    result = cue_localization(model, cub)
    assert result.pairs == {1: 0, 2: 1, 3: 0}
    assert result.within == "box"
    (scores,) = result.maps.values()
    assert 0 < scores.mean < 1
    assert scores.mean == scores.by_parts[2]


@pytest.mark.shared
def test_interrupted_cues_go_on_to_the_same_results(shared, tmp_path, monkeypatch, capsys):
    names = ("009.Brewer_Blackbird", "010.Red_winged_Blackbird")
    classes = ClassTable(ClassInfo(i, name) for i, name in enumerate(names))
    path = checkpoint(tmp_path / "cub.safetensors", "calm-em", classes, None)
    birds = shared / "data/cub/CUB_200_2011"
    command = ["cues", "--checkpoint", str(path), "--data", str(birds), "--quiet", "--device", "cpu", "--out"]
    assert main([*command, str(tmp_path / "whole.json")]) == 0

    passes, original = 0, LoadedModel.raw

    def raw(self, inputs):
        nonlocal passes
        passes += 1
        if passes == 7:
            raise KeyboardInterrupt
        return original(self, inputs)

    monkeypatch.setattr(LoadedModel, "raw", raw)
    broken = tmp_path / "broken.json"
    assert main([*command, str(broken)]) == 130
    done = len((tmp_path / "broken.json.journal").read_text().splitlines()) - 1
    assert 0 < done < 7
    passes = 8
    assert main([*command, str(broken), "--resume"]) == 0
    assert passes > 8
    assert broken.read_bytes() == (tmp_path / "whole.json").read_bytes()
    capsys.readouterr()
