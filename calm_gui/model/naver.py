"""Checkpoints of the released CALM code, and plain classifiers, as networks of ours.

The files of the released code (github.com/naver-ai/calm) name ``architecture``, ``epoch``, ``state_dict``,
``optimizer``. They don't say whether the method was CALM-EM, CALM-ML or CAM, how large the map is, which activation the
saliency branch has, or what the classes are called: `Answers`.
"""

import json
from collections.abc import Mapping
from typing import Any, get_args

import torch
from torch import Tensor, nn

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import CheckpointError
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.backbones import build_backbone
from calm_gui.model.class_names import class_table
from calm_gui.model.imagenet import imagenet_classes, imagenet_hierarchy
from calm_gui.model.info import AnsweredMethod, CheckpointInfo, InputSpec

__all__ = ["as_ours", "guess_answers", "stated_answers"]

IMAGENET_CLASSES = 1000

MAX_CLASSES = 100_000
"""Files that claim more are refused before a network of that size is built."""

_IMAGENET_INPUT = InputSpec(224, "squash", "bilinear")


def stated_answers(content: Mapping[str, Any], name: str) -> Answers:
    """What a file says of itself after all: ``attribution_method`` and ``classes``, a list or its JSON.

    Both spellings of the methods are in use, CALM_EM and CALM-EM.

    Raises
    ------
    CheckpointError
        If the classes aren't JSON or aren't names.
    """
    said = str(content.get("attribution_method", "")).lower().replace("_", "-")
    classes = content.get("classes")
    if isinstance(classes, str):
        try:
            classes = json.loads(classes)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"the classes in the metadata of {name} aren't JSON ({error})") from error
    method = said if said in get_args(AnsweredMethod) else None
    return Answers.from_json({"method": method, **({"classes": classes} if isinstance(classes, list) else {})})


def guess_answers(weights: Mapping[str, Tensor]) -> Answers:
    """What a file most likely is: the paper's main choices, and ImageNet's classes for 1,000 outputs."""
    has_saliency = "attention.0.weight" in weights
    names = _imagenet_names() if _outputs(weights, "conv_last.weight", "") == IMAGENET_CLASSES else None
    return Answers("calm-em" if has_saliency else "cam", "relu" if has_saliency else None, True, names)


def as_ours(
    weights: Mapping[str, Tensor], answers: Answers, name: str, architecture: str = ""
) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    """Metadata and tensors of a network of ours from foreign weights.

    Parameters
    ----------
    weights : mapping of name to Tensor
        Without prefixes.
    answers : Answers
    name : str
        What to call the file.
    architecture : str
        What the file calls its network, if it does; a name of timm's helps to recognise a plain classifier.

    Raises
    ------
    AnswersNeeded
        If something that the file doesn't say wasn't answered.
    CheckpointError
        If the weights are of no known network, or have no classifier.
    """
    if "conv_last.weight" in weights:
        return _released(weights, answers, name)
    if "fc.weight" in weights and "layer1.0.conv3.weight" in weights and architecture in ("", "resnet50"):
        return _plain_classifier(weights, answers, name, "resnet50", "fc")
    if timm := _timm_classifier(weights, architecture):
        return _plain_classifier(weights, answers, name, *timm)
    shown = ", ".join(list(weights)[:4])
    raise CheckpointError(
        f"{name} holds {len(weights)} tensors of no network that is known here ({shown}, …); known are the released "
        "CALM networks (ResNet50, VGG16, Inception v3), torchvision's ResNet50, timm's EfficientNet-Lites, and any "
        "network of timm's that the file names under arch"
    )


def _released(weights: Mapping[str, Tensor], answers: Answers, name: str) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    n = _outputs(weights, "conv_last.weight", name)
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
    classes, told = _classes(answers.classes, n, name)
    unused = ("the file's saliency branch is not used",) if method == "cam" and has_saliency else ()
    info = CheckpointInfo(
        method=method or "cam",
        backbone=backbone,
        output_stride=stride,
        classes=classes,
        saliency_activation=None if method == "cam" else answers.saliency_activation,
        input=_IMAGENET_INPUT,
        hierarchy=_hierarchy_of(classes),
        licence="not stated by the file",
        assumed=(*(f"{question}: {answer}" for question, answer in asked.items()), *told, *unused),
    )
    return info, _renamed(weights, backbone, stride, keep_saliency=method != "cam")


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


def _timm_classifier(weights: Mapping[str, Tensor], architecture: str) -> tuple[str, str] | None:
    """Backbone and name of the linear layer of a timm network that the file names, or of an EfficientNet-Lite."""
    if architecture:
        import timm

        linear = next((key for key in ("classifier", "fc", "head.fc") if f"{key}.weight" in weights), None)
        return (f"timm:{architecture}", linear) if linear and timm.is_model(architecture) else None
    if "classifier.weight" not in weights or "conv_stem.weight" not in weights:
        return None
    depth = len({key.split(".")[2] for key in weights if key.startswith("blocks.2.")})
    variant = {2: 0, 3: 1}.get(depth)
    return None if variant is None else (f"timm:tf_efficientnet_lite{variant}", "classifier")


def _plain_classifier(
    weights: Mapping[str, Tensor], answers: Answers, name: str, backbone: str, linear: str
) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    """Warm start: the linear layer is the class branch (supplement A), and the cue may lie anywhere alike."""
    n = _outputs(weights, f"{linear}.weight", name)
    weight = weights[f"{linear}.weight"]
    by_timm = backbone.startswith("timm:")
    classes, told = _classes(answers.classes, n, name)
    info = CheckpointInfo(
        method="calm-ml",
        backbone=backbone,
        # At the stride it was trained at, 32, the mean of the class branch is its logits.
        output_stride=16 if answers.large_feature_map else 32,
        dilated=bool(answers.large_feature_map),
        saliency_activation="softplus",
        input=_timm_input(backbone) if by_timm else _IMAGENET_INPUT,
        classes=classes,
        hierarchy=_hierarchy_of(classes),
        licence="not stated by the file",
        assumed=("a plain classifier: its saliency branch is uniform and was never trained", *told),
    )
    prefix = "backbone.trunk." if by_timm else "backbone."
    ours = {prefix + key: tensor for key, tensor in weights.items() if not key.startswith(f"{linear}.")}
    ours["head.class_branch.weight"] = weight.flatten(1)[:, :, None, None]
    ours["head.class_branch.bias"] = weights.get(f"{linear}.bias", torch.zeros(n))
    ours["head.saliency_branch.weight"] = torch.zeros(1, weight.shape[1], 1, 1)
    ours["head.saliency_branch.bias"] = torch.zeros(1)
    return info, ours


def _timm_input(backbone: str) -> InputSpec:
    name = backbone.removeprefix("timm:")
    if name.startswith("tf_efficientnet_lite"):
        return InputSpec(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
    import timm

    config = timm.get_pretrained_cfg(name)
    if config is None:
        return _IMAGENET_INPUT
    return InputSpec(config.input_size[-1], "squash", "bicubic", tuple(config.mean), tuple(config.std))


def _outputs(weights: Mapping[str, Tensor], key: str, name: str) -> int:
    shape = weights[key].shape
    if len(shape) not in (2, 4) or not 0 < shape[0] <= MAX_CLASSES:
        raise CheckpointError(f"{key} of {name} has the shape {tuple(shape)}, which no classifier has")
    return int(shape[0])


def _classes(names: tuple[str, ...] | None, n: int, name: str) -> tuple[ClassTable, tuple[str, ...]]:
    """The classes, and what was assumed for them."""
    if names is not None:
        if len(names) != n:
            raise CheckpointError(f"{name} has {n} classes, but {len(names)} names were given")
        return class_table(names), ("classes: named by the user",)
    if n == IMAGENET_CLASSES:
        return imagenet_classes(), ("classes: ImageNet-1k in the usual order, since there are 1,000",)
    return ClassTable(ClassInfo(i, f"class {i}") for i in range(n)), ()


def _imagenet_names() -> tuple[str, ...]:
    return tuple(f"{info.wnid} {info.name}" for info in imagenet_classes())


def _hierarchy_of(classes: ClassTable) -> Hierarchy | None:
    """WordNet's graph, if these are ImageNet's classes in the usual order."""
    ours = imagenet_classes()
    same = len(classes) == len(ours) and all(a.wnid == b.wnid for a, b in zip(classes, ours, strict=True))
    return imagenet_hierarchy(classes) if same else None
