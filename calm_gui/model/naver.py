"""Checkpoints of the released CALM code, and plain classifiers, as networks of ours.

The files of the released code (github.com/naver-ai/calm) name ``architecture``, ``epoch``, ``state_dict``,
``optimizer``. They don't say whether the method was CALM-EM, CALM-ML or CAM, how large the map is, which activation the
saliency branch has, or what the classes are called: `Answers`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import CheckpointError
from calm_gui.model.backbones import build_backbone
from calm_gui.model.info import Activation, CheckpointInfo, InputSpec, Method

__all__ = ["Answers", "AnswersNeeded", "as_ours", "guess_answers"]

_IMAGENET_INPUT = InputSpec(224, "squash", "bilinear")


@dataclass(frozen=True)
class Answers:
    """What a foreign file doesn't say.

    Attributes
    ----------
    method : {"calm-em", "calm-ml", "cam"} or None
    saliency_activation : {"relu", "softplus"} or None
    large_feature_map : bool or None
        28x28 cells instead of 14x14 at 224 pixels.
    classes : tuple of str or None
        Names in the order of the outputs.
    averaged : bool or None
        Whether to take the slow average where the file holds both.
    """

    method: Method | None = None
    saliency_activation: Activation | None = None
    large_feature_map: bool | None = None
    classes: tuple[str, ...] | None = None
    averaged: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


class AnswersNeeded(CheckpointError):  # noqa: N818  a question to the user, not a fault
    """A file that can be used once its user has said what it is.

    Attributes
    ----------
    guess : Answers
        What is most likely.
    open_questions : tuple of str
        Names of the attributes of `Answers` that are missing.
    """

    def __init__(self, message: str, guess: Answers, open_questions: tuple[str, ...]) -> None:
        super().__init__(message)
        self.guess = guess
        self.open_questions = open_questions


def guess_answers(weights: Mapping[str, Tensor]) -> Answers:
    """What a file most likely is: the paper's main choices."""
    has_saliency = any(name.startswith("attention.") for name in weights)
    return Answers("calm-em" if has_saliency else "cam", "relu" if has_saliency else None, True)


def as_ours(weights: Mapping[str, Tensor], answers: Answers, name: str) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    """Metadata and tensors of a network of ours from foreign weights.

    Parameters
    ----------
    weights : mapping of name to Tensor
        Without prefixes.
    answers : Answers
    name : str
        What to call the file.

    Raises
    ------
    AnswersNeeded
        If something that the file doesn't say wasn't answered.
    CheckpointError
        If the weights are of no known network, or have no classifier.
    """
    if "conv_last.weight" in weights:
        return _released(weights, answers, name)
    if "fc.weight" in weights and "layer4.0.conv1.weight" in weights:
        return _plain_classifier(weights, answers, name, "resnet50", "fc")
    if timm := _timm_classifier(weights):
        return _plain_classifier(weights, answers, name, *timm)
    shown = ", ".join(list(weights)[:4])
    raise CheckpointError(
        f"{name} holds {len(weights)} tensors of no network that is known here ({shown}, …); known are the released "
        "CALM networks (ResNet50, VGG16, Inception v3), torchvision's ResNet50 and timm's EfficientNets"
    )


def _released(weights: Mapping[str, Tensor], answers: Answers, name: str) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    guess = guess_answers(weights)
    has_saliency = "attention.0.weight" in weights
    if answers.method is not None and (answers.method == "cam") == has_saliency:
        what = "has a saliency branch, so it isn't CAM" if has_saliency else "has no saliency branch, so it is CAM"
        raise CheckpointError(f"{name} {what}; the method can't be {answers.method}")
    is_cam = not has_saliency
    asked = {
        "method": answers.method if not is_cam else "cam",
        "saliency_activation": answers.saliency_activation if not is_cam else "none",
        "large_feature_map": answers.large_feature_map,
    }
    missing = tuple(question for question, answer in asked.items() if answer is None)
    if missing:
        words = ", ".join(f"{question}={getattr(guess, question)!r}" for question in missing)
        raise AnswersNeeded(f"{name} doesn't say what it is; answer with (most likely) {words}", guess, missing)
    backbone = _released_backbone(weights, name)
    stride = 8 if answers.large_feature_map else 16
    n = weights["conv_last.weight"].shape[0]
    info = CheckpointInfo(
        method=answers.method or "cam",
        backbone=backbone,
        output_stride=stride,
        classes=_classes(answers.classes, n, name),
        saliency_activation=None if is_cam else answers.saliency_activation,
        input=_IMAGENET_INPUT,
        licence="not stated by the file",
        assumed=tuple(f"{question}: {answer}" for question, answer in asked.items() if answer not in (None, "none")),
    )
    heads = {"conv_last.": "head.class_branch.", "attention.0.": "head.saliency_branch."}
    renamed = {}
    features = _vgg_names(backbone, stride) if backbone.startswith("vgg") else {}
    for key, tensor in weights.items():
        for theirs, ours in heads.items():
            if key.startswith(theirs):
                renamed[ours + key.removeprefix(theirs)] = tensor
                break
        else:
            stem, _, rest = key.partition(".")
            number, _, leaf = rest.partition(".")
            if stem == "features" and number in features:
                key = f"features.{features[number]}.{leaf}"
            renamed[f"backbone.{key}"] = tensor
    return info, renamed


def _released_backbone(weights: Mapping[str, Tensor], name: str) -> str:
    if "layer4.2.conv3.weight" in weights or "layer1.0.conv1.weight" in weights or "conv1.weight" in weights:
        return "resnet50"
    if "conv6.weight" in weights:
        return "vgg16_bn" if "bn6.weight" in weights else "vgg16"
    if any(key.startswith("Mixed_") for key in weights):
        return "inception_v3_without_6e"  # the released forward pass goes on from Mixed_6d
    raise CheckpointError(f"{name} has a CALM head (conv_last) on a backbone that isn't known here")


def _vgg_names(backbone: str, stride: int) -> dict[str, str]:
    """Numbers of the released VGG's layers, which leaves dropped pools out, to ours, which keep their places."""
    layers = build_backbone(backbone, stride).get_submodule("features")
    kept = [number for number, layer in layers.named_children() if not isinstance(layer, nn.Identity)]
    return {str(theirs): ours for theirs, ours in enumerate(kept)}


def _timm_classifier(weights: Mapping[str, Tensor]) -> tuple[str, str] | None:
    """Backbone and name of the linear layer of a timm EfficientNet-Lite, by the width of its stem and head."""
    if "classifier.weight" not in weights or "conv_stem.weight" not in weights:
        return None
    depth = len({key.split(".")[2] for key in weights if key.startswith("blocks.2.")})
    variant = {2: 0, 3: 1}.get(depth)
    return None if variant is None else (f"timm:tf_efficientnet_lite{variant}", "classifier")


def _plain_classifier(
    weights: Mapping[str, Tensor], answers: Answers, name: str, backbone: str, linear: str
) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    """Warm start: the linear layer is the class branch (supplement A), and the cue may lie anywhere alike."""
    n, channels = weights[f"{linear}.weight"].shape
    info = CheckpointInfo(
        method="calm-ml",
        backbone=backbone,
        output_stride=16 if backbone.startswith("timm:") else 32,
        dilated=backbone.startswith("timm:"),
        saliency_activation="softplus",
        input=InputSpec(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
        if backbone.startswith("timm:")
        else _IMAGENET_INPUT,
        classes=_classes(answers.classes, n, name),
        licence="not stated by the file",
        assumed=("a plain classifier: its saliency branch is uniform and was never trained",),
    )
    prefix = "backbone.trunk." if backbone.startswith("timm:") else "backbone."
    ours = {prefix + key: tensor for key, tensor in weights.items() if not key.startswith(f"{linear}.")}
    ours["head.class_branch.weight"] = weights[f"{linear}.weight"].reshape(n, channels, 1, 1)
    ours["head.class_branch.bias"] = weights.get(f"{linear}.bias", torch.zeros(n))
    ours["head.saliency_branch.weight"] = torch.zeros(1, channels, 1, 1)
    ours["head.saliency_branch.bias"] = torch.zeros(1)
    return info, ours


def _classes(names: Sequence[str] | None, n: int, name: str) -> ClassTable:
    if names is not None and len(names) != n:
        raise CheckpointError(f"{name} has {n} classes, but {len(names)} names were given")
    return ClassTable(ClassInfo(i, names[i] if names else f"class {i}") for i in range(n))
