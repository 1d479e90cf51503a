"""Checkpoints of strangers: read without running anything, given the right names, or refused with the cause.

Long: one place for all foreign files, since the same few checkpoints are written for each of them.
"""

import argparse
import json
import os
import pickle
import shutil
import subprocess
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path

import munch
import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

import calm_gui
from calm_gui.api import sample_pictures
from calm_gui.cli.answer_options import add_answer_options, answers_of
from calm_gui.errors import CalmError, CheckpointError
from calm_gui.model import answers as answers_module
from calm_gui.model.answers import Answers, AnswersNeeded, recall_answers
from calm_gui.model.backbones import build_classifier
from calm_gui.model.class_names import class_table, read_class_names
from calm_gui.model.files import sha256_of
from calm_gui.model.formats import open_content
from calm_gui.model.formats.file_content import find_weights, read_foreign
from calm_gui.model.formats.form import Content
from calm_gui.model.formats.said import stated_answers
from calm_gui.model.loaded import LoadedModel, load_remembering
from calm_gui.model.picture import as_picture

ANSWERS = {"method": "calm-em", "saliency_activation": "relu", "large_feature_map": False}
MARKER = "CALM_BUGTEST_MARKER.txt"
MALICIOUS = [
    "ck_malicious_marker.pth.tar",
    "ck_malicious_marker_inside_namespace.pth.tar",
    "ck_malicious_marker_legacy_format.pth.tar",
    "ck_malicious_marker_plain_pickle.pth",
    "ck_malicious_marker_renamed.safetensors",
]
FULL_SHAPE = [
    "ck_good_full_shape_200_legacy_format.pth.tar",
    "ck_prefix_module_full_shape_200.pth.tar",
    "ck_args_namespace_full_shape_200.pth.tar",
]
REFUSED = {
    "ck_zero_byte.pth": r"is empty; was the download complete\?",
    "ck_html_page.pth": "web page",
    "ck_git_lfs_pointer.pth": "Git LFS pointer",
    "ck_git_lfs_pointer.safetensors": "Git LFS pointer",
    "ck_random_bytes.pth": "unknown format",
    "ck_plain_zip.pth": "zip archive without weights",
    "ck_real_tar_archive.pth.tar": "tar archive; unpack it",
    "ck_torchscript_archive.pth": "TorchScript program",
    "ck_whole_model_object.pth": "whole pickled model .*save the weights alone instead",
    "ck_list_not_dict.pth": "holds a list",
    "ck_no_weights_inside.pth": "no weights that are known by name; it holds optimizer, epoch",
    "ck_truncated.pth.tar": "incomplete.*download or copy it again",
    "ck_truncated_legacy_format.pth.tar": "incomplete or damaged.*download or copy it again",
    "ck_truncated.safetensors": "incomplete or damaged",
    "ck_header_too_large.safetensors": "first bytes are damaged",
    "ck_metadata_bad_json.safetensors": "classes in the metadata of .* aren't JSON",
    "ck_nan_weights_full_shape_200.pth.tar": "NaN or infinity .*class_branch",
    "ck_cam_without_attention_tiny.pth.tar": "no saliency branch, so it is CAM",
    **dict.fromkeys(MALICIOUS[:4], "holds code"),
    MALICIOUS[4]: "isn't a safetensors file",
}
TINY_REFUSED = [  # they hold stem and heads only: read, stripped of prefixes, and refused for what is missing
    "ck_good_tiny.pth.tar",
    "ck_good_tiny.safetensors",
    "ck_no_metadata_tiny.safetensors",
    "ck_args_munch_tiny.pth.tar",
    "ck_args_namespace_tiny.pth.tar",
    "ck_extra_keys_tiny.pth.tar",
    "ck_nan_weights_tiny.pth.tar",
    "ck_numpy_scalar_tiny.pth.tar",
    "ck_prefix_mixed_tiny.pth.tar",
    "ck_prefix_module_tiny.pth.tar",
    "ck_prefix_orig_mod_module_tiny.pth.tar",
    "ck_prefix_orig_mod_tiny.pth.tar",
    "ck_prefix_unknown_tiny.pth.tar",
    "ck_raw_state_dict_tiny.pth",
    "ck_saved_on_cuda_tiny.pth.tar",
    "ck_under_key_model_tiny.pth",
    "模型_ñ_tiny.pth.tar",
]


@pytest.fixture(scope="module")
def inputs(shared: Path) -> Path:
    return shared / "inputs"


def load(path: Path, **changes: object) -> LoadedModel:
    return calm_gui.load_checkpoint(path, "cpu", **{**ANSWERS, **changes})


@pytest.fixture(scope="module")
def good(inputs: Path) -> LoadedModel:
    return load(inputs / "ck_good_full_shape_200.pth.tar")


@pytest.fixture(scope="module")
def good_joint(good: LoadedModel, inputs: Path) -> np.ndarray:
    return good.explain(inputs / "wsol" / "a.png").joint


# Every file of the collection


@pytest.mark.shared
@pytest.mark.parametrize("name", FULL_SHAPE)
def test_variants_give_the_very_result_of_the_good_file(inputs: Path, name: str, good_joint: np.ndarray) -> None:
    assert np.array_equal(load(inputs / name).explain(inputs / "wsol" / "a.png").joint, good_joint)


@pytest.mark.shared
@pytest.mark.parametrize(("kind", "bound"), [("float16", 2e-2), ("bfloat16", 1e-1)])
def test_half_precision_files_agree_within_rounding(
    inputs: Path, kind: str, bound: float, good_joint: np.ndarray
) -> None:
    model = load(inputs / f"ck_{kind}_full_shape_200.pth.tar")
    assert {p.dtype for p in model.network.parameters()} == {torch.float32}
    joint = model.explain(inputs / "wsol" / "a.png").joint
    assert np.abs(joint - good_joint).max() < bound * good_joint.max()


@pytest.mark.shared
@pytest.mark.parametrize(("name", "cause"), REFUSED.items())
def test_refused_with_the_likely_cause(inputs: Path, name: str, cause: str) -> None:
    with pytest.raises(CheckpointError, match=cause) as refusal:
        load(inputs / name)
    assert name in str(refusal.value)
    assert "weights_only=False" not in str(refusal.value) and "trust" not in str(refusal.value)


@pytest.mark.shared
@pytest.mark.parametrize("name", TINY_REFUSED)
def test_never_a_partly_random_network(inputs: Path, name: str) -> None:
    counts = (
        r"of 322 tensors 26\d missing \(backbone\.layer1\.0\.conv1\.weight, .*wrong shape \(backbone\.conv1\.weight is"
    )
    with pytest.raises(CheckpointError, match=counts):
        load(inputs / name)


@pytest.mark.shared
def test_every_file_of_the_collection_is_tried(inputs: Path) -> None:
    good = {"ck_good_full_shape_200.pth.tar", "ck_dead_attention_full_shape_200.pth.tar"}
    half = {f"ck_{kind}_full_shape_200.pth.tar" for kind in ("float16", "bfloat16")}
    there = {p.name for pattern in ("ck_*", "*_tiny.pth.tar") for p in inputs.glob(pattern)}
    assert there == {*REFUSED, *TINY_REFUSED, *FULL_SHAPE} | good | half


@pytest.mark.shared
def test_a_dead_saliency_branch_ends_in_words(inputs: Path) -> None:
    model = load(inputs / "ck_dead_attention_full_shape_200.pth.tar")
    with pytest.raises(CalmError, match="saliency branch is zero everywhere"):
        model.explain(inputs / "wsol" / "a.png")


@pytest.mark.shared
def test_size_is_said(inputs: Path) -> None:
    with pytest.raises(CheckpointError, match=r"\(151 bytes\)"):
        load(inputs / "ck_html_page.pth")


# Nothing runs


@pytest.mark.shared
@pytest.mark.parametrize("name", MALICIOUS)
def test_the_library_leaves_no_marker(inputs: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for copied in (name, "renamed.safetensors", "renamed.pth"):
        path = Path(shutil.copy(inputs / name, tmp_path / copied))
        with pytest.raises(CheckpointError):
            load(path)
        with pytest.raises(CheckpointError):
            load_remembering(path, "cpu")
    assert not (tmp_path / MARKER).exists()


def test_the_trap_works_where_nothing_guards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with open(shared / "inputs" / MALICIOUS[3], "rb") as file:
        pickle.load(file)["note"].close()
    assert (tmp_path / MARKER).exists()


def commands(path: Path, data: Path) -> dict[str, list[str]]:
    """Every command line that is given a checkpoint."""
    recipe = ["--recipe", "cub-resnet50-calm-em", "--data", str(data)]
    return {
        "calm-explain": ["calm_gui.cli", str(sample_pictures()[0]), "--checkpoint", str(path)],
        "calm-evaluate": ["calm_training.evaluate", "wsol", "--checkpoint", str(path), "--data", str(data)],
        "calm-train export": ["calm_training.cli", "export", str(path), "--out", str(data / "out.safetensors")],
        "calm-train resume": ["calm_training.cli", "train", *recipe, "--out", str(data / "run"), "--resume"],
        "calm-train weights": [
            "calm_training.cli", "train", *recipe, "--out", str(data / "new"), "--set", f"model.weights={path}",
        ],
    }  # fmt: skip


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("command", list(commands(Path(), Path())))
def test_no_command_leaves_a_marker(inputs: Path, command: str, tmp_path: Path) -> None:
    for name in MALICIOUS:
        data = tmp_path / name
        shutil.copytree(inputs / "wsol", data)
        data.chmod(0o755)  # the original's folder may be read-only
        (data / "run").mkdir()
        shutil.copy(inputs / name, data / "run" / "state.pt")
        shutil.copy(inputs / name, data / "run" / "config.json")
        result = subprocess.run(
            [sys.executable, "-m", *commands(inputs / name, data)[command]],
            cwd=data,
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        assert result.returncode in (1, 2) and "Traceback" not in result.stderr, result.stderr
        assert not list(tmp_path.rglob(MARKER))


@pytest.mark.shared
@pytest.mark.parametrize("name", MALICIOUS)
def test_a_training_state_runs_nothing(
    inputs: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from calm_training.network import _from_file
    from calm_training.recipes import load_config
    from calm_training.run_folder import RunFolder

    monkeypatch.chdir(tmp_path)
    run = RunFolder(tmp_path / "run", load_config("cub+resnet50+calm-em"), resume=False, overwrite=False)
    run.begin()
    shutil.copy(inputs / name, run._state)
    with pytest.raises(CalmError, match="can't be read"):
        run.load_state()
    with pytest.raises(CalmError):
        _from_file(inputs / name)
    assert not (tmp_path / MARKER).exists()


# Names and sets of weights


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod.module."])
def test_prefixes_of_wrappers_go_in_any_nesting(prefix: str) -> None:
    weights, _ = find_weights({"state_dict": {f"{prefix}conv.weight": torch.zeros(1), "module.b": torch.ones(1)}}, "x")
    assert set(weights) == {"conv.weight", "b"}


def test_weights_and_their_average_are_told_apart_and_chosen(tmp_path: Path) -> None:
    plain, slow = {"a": torch.zeros(1)}, {"a": torch.ones(1)}
    both = {"state_dict": plain, "state_dict_ema": slow}
    with pytest.raises(AnswersNeeded, match="two sets of weights, state_dict and their average state_dict_ema"):
        find_weights(both, "x")
    assert find_weights(both, "x", averaged=False) == (plain, "state_dict")
    assert find_weights(both, "x", averaged=True) == (slow, "state_dict_ema")
    assert find_weights({"state_dict_ema": slow}, "x") == (slow, "state_dict_ema")
    with pytest.raises(CheckpointError, match="no average"):
        find_weights({"state_dict": plain}, "x", averaged=True)
    with pytest.raises(CheckpointError, match="nothing but the average"):
        find_weights({"model_ema": slow}, "x", averaged=False)


@pytest.mark.parametrize(
    "extra",
    [
        {"args": argparse.Namespace(lr=0.1, nested=argparse.Namespace(a=[1, 2]))},
        {"args": types.SimpleNamespace(lr=0.1)},
        {"args": munch.Munch(lr=0.1)},
        {"best": np.float64(0.5), "epoch": np.int64(3)},
        {"rng": np.random.RandomState(0).get_state()[1]},
        {"order": OrderedDict(a=1), "shape": torch.Size([1, 2]), "dtype": torch.float16},
    ],
)
def test_honest_extras_do_not_stand_in_the_way(tmp_path: Path, extra: dict[str, object]) -> None:
    torch.save({"state_dict": {"a": torch.arange(3)}, **extra}, tmp_path / "x.pth")
    assert find_weights(read_foreign(tmp_path / "x.pth"), "x")[0]["a"].tolist() == [0, 1, 2]


def test_numbers_of_an_older_numpy_are_read(tmp_path: Path) -> None:
    content = {"state_dict": {"a": torch.arange(3)}, "best": np.float64(0.5), "lrs": np.arange(2.0)}
    torch.save(content, tmp_path / "x.pth", _use_new_zipfile_serialization=False)
    data = (tmp_path / "x.pth").read_bytes()
    assert data.count(b"cnumpy._core.multiarray\n") == 2
    (tmp_path / "x.pth").write_bytes(data.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"))
    assert find_weights(read_foreign(tmp_path / "x.pth"), "x")[0]["a"].tolist() == [0, 1, 2]


class _Unknown:
    pass


def test_unknown_objects_are_refused(tmp_path: Path) -> None:
    torch.save({"state_dict": {"a": torch.zeros(1)}, "x": _Unknown()}, tmp_path / "x.pth")
    with pytest.raises(CheckpointError, match="never run"):
        read_foreign(tmp_path / "x.pth")


def test_claims_of_a_huge_network_cost_nothing(tmp_path: Path) -> None:
    """Tensors may be views of a single number; what they claim is checked before memory is given to it."""
    huge = torch.zeros(1, dtype=torch.float16).expand(10**6, 10**6)
    torch.save({"state_dict": {"fc.weight": huge, "layer1.0.conv1.weight": torch.zeros(1)}}, tmp_path / "x.pth")
    with pytest.raises(CheckpointError, match="which no classifier has"):
        calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu")
    wide = torch.zeros(1, dtype=torch.float16).expand(50_000, 10**8)
    torch.save({"state_dict": {"fc.weight": wide, "layer1.0.conv1.weight": torch.zeros(1)}}, tmp_path / "x.pth")
    with pytest.raises(CheckpointError, match="don't fit"):
        calm_gui.load_checkpoint(tmp_path / "x.pth", "cpu")


# What the file doesn't say


@pytest.mark.shared
def test_open_questions_come_with_a_guess(inputs: Path) -> None:
    with pytest.raises(AnswersNeeded, match="method='calm-em'") as question:
        calm_gui.load_checkpoint(inputs / "ck_good_full_shape_200.pth.tar", "cpu")
    assert question.value.open_questions == ("method", "large_feature_map", "saliency_activation")
    assert question.value.guess.method == "calm-em" and question.value.class_count == 200


@pytest.mark.shared
def test_answers_are_in_the_explanation_and_change_it(inputs: Path, good_joint: np.ndarray) -> None:
    softplus = load(inputs / "ck_good_full_shape_200.pth.tar", saliency_activation="softplus")
    explanation = softplus.explain(inputs / "wsol" / "a.png")
    assert not np.allclose(explanation.joint, good_joint)
    assert "saliency_activation: softplus" in explanation.source["checkpoint"]["assumed"]
    large = load(inputs / "ck_good_full_shape_200.pth.tar", large_feature_map=True)
    assert large.explain(inputs / "wsol" / "a.png").joint.shape == (200, 28, 28)
    cam = load(inputs / "ck_good_full_shape_200.pth.tar", method="cam")
    assert cam.info.is_cam and "saliency branch is not used" in " ".join(cam.info.assumed)


@pytest.mark.parametrize(
    "answers", [{"method": "CALM_EM"}, {"saliency_activation": "sigmoid"}, {"large_feature_map": "yes"}]
)
def test_answers_that_make_no_sense_are_refused(answers: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="must be"):
        calm_gui.load_checkpoint("demo", **answers)


@pytest.mark.shared
def test_answers_are_kept_by_hash(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_module, "answers_path", lambda: tmp_path / "data" / "answers.json")
    path = Path(shutil.copy(inputs / "ck_good_full_shape_200.pth.tar", tmp_path / "a.pth.tar"))
    with pytest.raises(AnswersNeeded):
        load_remembering(path, "cpu")
    names = tuple(f"name {i}" for i in range(200))
    load_remembering(path, "cpu", answers=Answers(**ANSWERS, classes=names))
    moved = path.rename(tmp_path / "b.pth.tar")
    again = load_remembering(moved, "cpu")
    assert again.info.output_stride == 16 and again.classes[7].name == "name 7"
    assert load_remembering(moved, "cpu", answers=Answers(large_feature_map=True)).info.output_stride == 8
    assert load_remembering(moved, "cpu").info.output_stride == 8
    for broken in ("", "[1]", "{", json.dumps({sha256_of(moved): {"method": 5}}), json.dumps({sha256_of(moved): 3})):
        (tmp_path / "data" / "answers.json").write_text(broken)
        assert recall_answers(sha256_of(moved)) == Answers()


def test_a_wrong_number_of_names_is_refused() -> None:
    weights = build_classifier("timm:resnet18", 5).state_dict()
    with pytest.raises(CheckpointError, match="5 classes, but 2 names"):
        open_content(Content("x", weights), Answers(classes=("a", "b")))


@pytest.mark.parametrize("spelling", ["CALM_EM", "CALM-EM", "calm-em", "Calm_Em"])
def test_both_spellings_of_the_methods_are_read(spelling: str) -> None:
    assert stated_answers({"attribution_method": spelling}, "x").method == "calm-em"
    options = argparse.ArgumentParser()
    add_answer_options(options)
    assert answers_of(options.parse_args(["--method", spelling])).method == "calm-em"


@pytest.mark.shared
def test_export_writes_a_file_that_says_what_it_is(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from calm_training.cli import main

    monkeypatch.setattr(answers_module, "answers_path", lambda: tmp_path / "answers.json")
    (tmp_path / "names.txt").write_text("".join(f"bird {i}\n" for i in range(200)))
    source = inputs / "ck_good_full_shape_200.pth.tar"
    answers = ["--method", "calm_em", "--saliency-activation", "relu", "--no-large-feature-map"]
    names = ["--classes", str(tmp_path / "names.txt")]
    out = tmp_path / "x.safetensors"
    assert main(["export", str(source), "--out", str(out), *answers, *names]) == 0
    model = calm_gui.load_checkpoint(out, "cpu")
    assert model.classes[3].name == "bird 3" and model.info.method == "calm-em"
    ours = model.explain(inputs / "wsol" / "a.png").joint
    theirs = load(source).explain(inputs / "wsol" / "a.png").joint
    assert np.abs(ours - theirs).max() < 0.02 * theirs.max()  # float16 on disk


# Class lists


@pytest.mark.shared
def test_class_lists(inputs: Path) -> None:
    classes = inputs / "classes"
    assert read_class_names(classes / "names_bom_crlf_trailing_blank.txt") == ("tench", "goldfish", "great white shark")
    assert read_class_names(classes / "names_latin1.txt") == ("Möwe", "Bläßhuhn", "Eichelhäher")
    assert read_class_names(classes / "names_with_duplicates.txt").count("crane") == 2
    wnids = read_class_names(classes / "wnids.txt")
    assert wnids[:2] == ("n01440764", "n02012849") and class_table(wnids)[1].wnid == "n02012849"
    index = class_table(read_class_names(classes / "imagenet_style_index.json"))
    assert [(c.index, c.name, c.wnid) for c in index][1:3] == [(1, "crane", "n02012849"), (2, "crane", "n03126707")]
    assert len({c.label for c in index}) == 5


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('["a", "b"]', ("a", "b")),
        ('{"1": "b", "0": "a"}', ("a", "b")),
        ('{"classes": [{"name": "a", "wnid": "n00000001"}, {"name": "b"}]}', ("n00000001 a", "b")),
        ("index,name,wnid\n1,b,\n0,a,n00000001\n", ("n00000001 a", "b")),
        ("name,wnid\r\ncrane,n02012849\r\ncrane,n03126707\r\n", ("n02012849 crane", "n03126707 crane")),
        ("a, with comma\nb\n", ("a, with comma", "b")),
    ],
)
def test_forms_of_class_lists(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    (tmp_path / "x").write_bytes(text.encode())
    assert read_class_names(tmp_path / "x") == names


@pytest.mark.parametrize(
    "text", ["", "\n\n", "a\n\nb", "{", '{"0": "a", "2": "b"}', '{"a": "b"}', '["a", 3]', "[[]]", "a\0b", "[" * 10**5]
)
def test_bad_class_lists_are_refused_in_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(CalmError, match="x"):
        read_class_names(tmp_path / "x")


# The released networks against slow references


def random_tensors(network: nn.Module, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(name: str, tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        if name.endswith(("running_var", "bn.weight")):
            return torch.rand(tensor.shape, generator=generator) + 0.5
        fan = max(1, tensor[0].numel()) if tensor.ndim > 1 else 1
        return torch.randn(tensor.shape, generator=generator) * (1.6 / fan**0.5 if tensor.ndim > 1 else 0.1)

    return {name: draw(name, tensor) for name, tensor in network.state_dict().items()}


def heads(channels: int, classes: int, saliency: bool) -> dict[str, nn.Module]:
    made: dict[str, nn.Module] = {"conv_last": nn.Conv2d(channels, classes, 1)}
    if saliency:
        made["attention"] = nn.Sequential(nn.Conv2d(channels, 1, 1), nn.ReLU())
    return made


def released_vgg(large: bool, batch_norm: bool, saliency: bool) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    network = nn.Module()
    last_pool = [] if large else ["M"]
    plan: list[object] = [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, *last_pool, 512, 512, 512]
    layers: list[nn.Module] = []
    channels = 3
    for step in plan:
        if step == "M":
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(channels, int(str(step)), 3, padding=1)]
            layers += [nn.BatchNorm2d(int(str(step)))] if batch_norm else []
            layers += [nn.ReLU()]
            channels = int(str(step))
    network.features = nn.Sequential(*layers)
    network.conv6 = nn.Conv2d(512, 1024, 3, padding=1)
    if batch_norm:
        network.bn6 = nn.BatchNorm2d(1024)
    for name, module in heads(1024, 4, saliency).items():
        network.add_module(name, module)

    def features(x: Tensor) -> Tensor:
        x = network.conv6(network.features(x))
        return functional.relu(network.bn6(x) if batch_norm else x)

    return network, features


def released_inception(large: bool, saliency: bool) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    from torchvision.models.inception import BasicConv2d, InceptionA, InceptionC

    network = nn.Module()
    network.Conv2d_1a_3x3 = BasicConv2d(3, 32, kernel_size=3, stride=2, padding=1)
    network.Conv2d_2a_3x3 = BasicConv2d(32, 32, kernel_size=3)
    network.Conv2d_2b_3x3 = BasicConv2d(32, 64, kernel_size=3, padding=1)
    network.Conv2d_3b_1x1 = BasicConv2d(64, 80, kernel_size=1)
    network.Conv2d_4a_3x3 = BasicConv2d(80, 192, kernel_size=3)
    network.Mixed_5b, network.Mixed_5c = InceptionA(192, 32), InceptionA(256, 64)
    network.Mixed_5d = InceptionA(288, 64)
    reduce = nn.Module()
    reduce.branch3x3 = BasicConv2d(288, 384, kernel_size=3, padding=1)
    reduce.branch3x3dbl_1 = BasicConv2d(288, 64, kernel_size=1)
    reduce.branch3x3dbl_2 = BasicConv2d(64, 96, kernel_size=3, padding=1)
    reduce.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, padding=1)
    network.Mixed_6a = reduce
    network.Mixed_6b, network.Mixed_6c = InceptionC(768, 128), InceptionC(768, 160)
    network.Mixed_6d, network.Mixed_6e = InceptionC(768, 160), InceptionC(768, 192)
    network.A3_1b = nn.Sequential(nn.Conv2d(768, 1024, 3, padding=1), nn.ReLU())
    network.A3_2b = nn.Sequential(nn.Conv2d(1024, 1024, 3, padding=1), nn.ReLU())
    for name, module in heads(1024, 4, saliency).items():
        network.add_module(name, module)

    def features(x: Tensor) -> Tensor:
        x = network.Conv2d_2b_3x3(network.Conv2d_2a_3x3(network.Conv2d_1a_3x3(x)))
        x = functional.max_pool2d(x, 3, 2, 1, ceil_mode=True)
        x = network.Conv2d_4a_3x3(network.Conv2d_3b_1x1(x))
        x = functional.max_pool2d(x, 3, 2, 1, ceil_mode=True)
        x = network.Mixed_5d(network.Mixed_5c(network.Mixed_5b(x)))
        if not large:
            x = functional.max_pool2d(x, 3, 2, ceil_mode=True)
        double = reduce.branch3x3dbl_3(reduce.branch3x3dbl_2(reduce.branch3x3dbl_1(x)))
        x = torch.cat([reduce.branch3x3(x), double, functional.max_pool2d(x, 3, 1, 1)], 1)
        x = network.Mixed_6d(network.Mixed_6c(network.Mixed_6b(x)))  # and not through Mixed_6e
        return network.A3_2b(network.A3_1b(x))

    return network, features


def released_resnet(large: bool, saliency: bool) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    from torchvision.models import resnet50

    network = resnet50(weights=None)
    del network.fc
    for layer in (network.layer3, network.layer4) if large else (network.layer4,):
        layer[0].conv2.stride = layer[0].downsample[0].stride = (1, 1)
    for name, module in heads(2048, 4, saliency).items():
        network.add_module(name, module)

    def features(x: Tensor) -> Tensor:
        x = network.maxpool(network.relu(network.bn1(network.conv1(x))))
        return network.layer4(network.layer3(network.layer2(network.layer1(x))))

    return network, features


RELEASED = {
    "resnet50": released_resnet,
    "vgg16": lambda large, saliency: released_vgg(large, False, saliency),
    "vgg16 with batch normalisation": lambda large, saliency: released_vgg(large, True, saliency),
    "inception": released_inception,
}


@pytest.mark.slow
@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("saliency", [True, False])
@pytest.mark.parametrize("kind", list(RELEASED))
def test_released_networks_equal_a_slow_reference(tmp_path: Path, kind: str, saliency: bool, large: bool) -> None:
    torch.manual_seed(0)
    network, features = RELEASED[kind](large, saliency)
    tensors = random_tensors(network)
    network.load_state_dict(tensors)
    network.eval()
    optimizer = {"state": {}, "param_groups": [{"lr": 0.1}]}
    content = {"architecture": "x", "epoch": 3, "state_dict": tensors, "optimizer": optimizer}
    torch.save(content, tmp_path / "x.pth.tar")
    method = {"method": "calm-ml", "saliency_activation": "relu"} if saliency else {}
    model = calm_gui.load_checkpoint(tmp_path / "x.pth.tar", "cpu", large_feature_map=large, **method)
    x = torch.randn(1, 3, 224, 224)
    f, a = model.raw(x)
    with torch.no_grad():
        deep = features(x)
        expected = network.conv_last(deep)
        scale = expected.abs().max()
        assert f.shape[2:] == ((28, 28) if large else (14, 14))
        assert (f - expected).abs().max() < 1e-4 * scale
        assert (a is not None) == saliency
        if a is not None:
            expected_a = network.attention[0](deep)
            assert (a - expected_a).abs().max() < 1e-4 * expected_a.abs().max()
    assert model.info.is_cam != saliency


# Plain classifiers


def plain(kind: str) -> tuple[nn.Module, Mapping[str, object]]:
    if kind == "torchvision":
        from torchvision.models import resnet50

        return resnet50(weights=None, num_classes=7), {}
    import timm

    if kind == "timm by name":
        return timm.create_model("mobilenetv2_035", num_classes=7), {"arch": "mobilenetv2_035"}
    return timm.create_model("tf_efficientnet_lite0", num_classes=7), {}


def save_plain(folder: Path, kind: str) -> tuple[nn.Module, Path]:
    network, extra = plain(kind)
    network.load_state_dict(random_tensors(network))
    torch.save({**extra, "state_dict": network.state_dict()}, folder / "x.pth")
    return network.eval(), folder / "x.pth"


@pytest.mark.parametrize("kind", ["torchvision", "timm", "timm by name"])
def test_plain_classifiers_are_themselves(tmp_path: Path, kind: str) -> None:
    network, path = save_plain(tmp_path, kind)
    model = calm_gui.load_checkpoint(path, "cpu")
    assert model.info.method == "cam"
    explanation = model.explain(sample_pictures()[0])
    inputs, _ = model.prepare(as_picture(sample_pictures()[0]))
    with torch.no_grad():
        p = network(inputs).softmax(1)[0].numpy()
    assert np.abs(explanation.class_probabilities - p).max() < 1e-5
    assert len(model.classes) == 7


@pytest.mark.parametrize("kind", ["torchvision", "timm", "timm by name"])
def test_plain_classifiers_start_warm_where_calm_is_asked_for(tmp_path: Path, kind: str) -> None:
    network, path = save_plain(tmp_path, kind)
    model = calm_gui.load_checkpoint(path, "cpu", method="calm-ml")
    x = torch.randn(1, 3, 224, 224)
    f, a = model.raw(x)
    assert a is not None
    with torch.no_grad():
        logits = network(x)
    assert (f.mean(dim=(2, 3)) - logits).abs().max() < 1e-5 * logits.abs().max()
    explanation = model.explain(sample_pictures()[0])
    h = explanation.saliency().values
    assert np.allclose(h, 1 / h.size, rtol=1e-6)
    assert "saliency branch is uniform" in " ".join(model.info.assumed)
    assert len(model.classes) == 7


def test_a_thousand_outputs_are_taken_for_imagenet_and_it_is_said(tmp_path: Path) -> None:
    import timm

    network = timm.create_model("tf_efficientnet_lite0")
    save_file(dict(network.state_dict()), tmp_path / "x.safetensors")
    model = calm_gui.load_checkpoint(tmp_path / "x.safetensors", "cpu")
    assert model.classes[134].wnid == "n02012849"
    assert model.hierarchy is not None and len(model.hierarchy["n02084071"].classes) > 100
    assert len(model.supersets[207]) > 1
    assert any("ImageNet" in words for words in model.info.assumed)
