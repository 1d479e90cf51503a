"""Checkpoints of the released CALM code as networks of ours.

The files of the released code (github.com/naver-ai/calm) name ``architecture``, ``epoch``, ``state_dict``,
``optimizer``. They don't say whether the method was CALM-EM, CALM-ML or CAM, how large the map is, which activation the
saliency branch has, or what the classes are called: `Answers`.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.backbones import build_backbone
from calm_gui.model.checkpoint import fitted_network
from calm_gui.model.formats.form import Content, Form, Opened
from calm_gui.model.formats.outputs import IMAGENET_CLASSES, classes_of, imagenet_names, outputs
from calm_gui.model.info import CheckpointInfo, InputSpec
from calm_gui.model.one_output import check_outputs

__all__ = ["FORM", "guess_answers"]

_IMAGENET_INPUT = InputSpec(224, "squash", "bilinear")


def guess_answers(weights: Mapping[str, Tensor]) -> Answers:
    """What a file most likely is: the paper's main choices, and ImageNet's classes for 1,000 outputs."""
    has_saliency = "attention.0.weight" in weights
    names = imagenet_names() if outputs(weights, "conv_last.weight", "") == IMAGENET_CLASSES else None
    return Answers("calm-em" if has_saliency else "cam", "relu" if has_saliency else None, True, names)


def _open(content: Content, answers: Answers) -> Opened:
    weights, name = content.weights, content.name
    n = outputs(weights, "conv_last.weight", name)
    check_outputs(answers.outputs, n, name)
    if n < 2:
        raise CheckpointError(f"{name} has one class, whose probability is always 1; there is nothing to explain")
    has_saliency = "attention.0.weight" in weights
    method = answers.method if has_saliency else answers.method or "cam"
    if not has_saliency and method != "cam":
        raise CheckpointError(f"{name} has no saliency branch, so it is CAM; the method can't be {method}")
    asked: dict[str, object] = {"method": method, "large_feature_map": answers.large_feature_map}
    if method != "cam":
        asked["saliency_activation"] = answers.saliency_activation
    if missing := tuple(question for question, answer in asked.items() if answer is None):
        guess = answers.over(guess_answers(weights))
        words = ", ".join(f"{question}={getattr(guess, question)!r}" for question in missing)
        raise AnswersNeeded(f"{name} doesn't say what it is; answer with (most likely) {words}", guess, missing, n)
    backbone = _released_backbone(weights, name)
    stride = 8 if answers.large_feature_map else 16
    known, told = classes_of(answers.classes, n, name)
    unused = ("the file's saliency branch is not used",) if method == "cam" and has_saliency else ()
    info = CheckpointInfo(
        method=method or "cam",
        backbone=backbone,
        output_stride=stride,
        classes=known.classes,
        saliency_activation=None if method == "cam" else answers.saliency_activation,
        input=_IMAGENET_INPUT,
        hierarchy=known.hierarchy,
        supersets=known.supersets,
        licence="not stated by the file",
        assumed=(*(f"{question}: {answer}" for question, answer in asked.items()), *told, *unused),
    )
    renamed = _renamed(weights, backbone, stride, keep_saliency=method != "cam")
    return Opened(info, fitted_network(info, renamed, name))


def _renamed(weights: Mapping[str, Tensor], backbone: str, stride: int, keep_saliency: bool) -> dict[str, Tensor]:
    """The released code's names as ours."""
    heads = {"conv_last.": "head.class_branch.", "attention.0.": "head.saliency_branch."}
    features = _vgg_names(backbone, stride) if backbone.startswith("vgg") else {}
    renamed = {}
    for key, tensor in weights.items():
        if head := next((theirs for theirs in heads if key.startswith(theirs)), None):
            if keep_saliency or head == "conv_last.":
                renamed[heads[head] + key.removeprefix(head)] = tensor
            continue
        stem, _, rest = key.partition(".")
        number, _, leaf = rest.partition(".")
        own = f"features.{features[number]}.{leaf}" if stem == "features" and number in features else key
        renamed[f"backbone.{own}"] = tensor
    return renamed


def _released_backbone(weights: Mapping[str, Tensor], name: str) -> str:
    if "layer1.0.conv1.weight" in weights or "conv1.weight" in weights:
        return "resnet50"
    if "conv6.weight" in weights:
        return "vgg16_bn" if "bn6.weight" in weights else "vgg16"
    if any(key.startswith("Mixed_") for key in weights):
        return "inception_v3_without_6e"  # the released forward pass goes on from Mixed_6d
    raise CheckpointError(f"{name} has a CALM head (conv_last) on a backbone that isn't known here")


def _vgg_names(backbone: str, stride: int) -> dict[str, str]:
    """Numbers of the released VGG's layers, which leaves dropped pools out, to ours, which keep their places."""
    with torch.device("meta"):
        layers = build_backbone(backbone, stride).get_submodule("features")
    kept = [number for number, layer in layers.named_children() if not isinstance(layer, nn.Identity)]
    return {str(theirs): ours for theirs, ours in enumerate(kept)}


FORM = Form("released", lambda content: "conv_last.weight" in content.weights, _open)
