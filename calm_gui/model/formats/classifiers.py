"""Plain classifiers of torchvision and timm: recognised by what a file says, what stands beside it, or its tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.backbones import build_classifier, family_of
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.checkpoint import fitted, fitted_network, without_weights
from calm_gui.model.classifier import split
from calm_gui.model.formats.form import Content, Form, Opened
from calm_gui.model.formats.outputs import classes_of, outputs
from calm_gui.model.info import CheckpointInfo, InputSpec
from calm_gui.model.known_classes import KnownClasses
from calm_gui.model.one_output import TOLD, OneOutput, check_outputs, inside, two_classes

__all__ = ["FORM", "candidates"]

_ASKED = 7919
"""Outputs of a network that is built to learn which of its tensors belong to them; no layer has as many channels."""

_SPARE = ("aux", "AuxLogits.", "head.norm_aux")
"""Beginnings of names of heads that only training uses."""

_OF_PLACES = ("pos_embed", "relative_position_bias_table")
"""Ends of names of tensors with a row for each place, which timm interpolates for a picture of another side."""

_BY_MARKER: Mapping[str, Sequence[str]] = {
    "layer1.0.conv1.weight": (
        *("resnet50", "torchvision:resnet18", "torchvision:resnet34", "torchvision:resnet101", "torchvision:resnet152"),
        *("torchvision:resnext50_32x4d", "torchvision:resnext101_32x8d", "torchvision:resnext101_64x4d"),
        *("torchvision:wide_resnet50_2", "torchvision:wide_resnet101_2"),
    ),
    "features.denseblock1.denselayer1.conv1.weight": tuple(
        f"torchvision:densenet{depth}" for depth in (121, 161, 169, 201)
    ),
    "features.0.weight": (
        *("torchvision:alexnet", "torchvision:squeezenet1_0", "torchvision:squeezenet1_1"),
        *(f"torchvision:vgg{depth}{norm}" for depth in (11, 13, 16, 19) for norm in ("", "_bn")),
    ),
    "features.0.0.weight": (
        *("torchvision:mobilenet_v2", "torchvision:mobilenet_v3_small", "torchvision:mobilenet_v3_large"),
        *(f"torchvision:efficientnet_b{size}" for size in range(8)),
        *(f"torchvision:efficientnet_v2_{size}" for size in "sml"),
        *(f"torchvision:convnext_{size}" for size in ("tiny", "small", "base", "large")),
        *(f"torchvision:swin_{size}" for size in "tsb"),
        *(f"torchvision:swin_v2_{size}" for size in "tsb"),
    ),
    "conv_proj.weight": tuple(f"torchvision:vit_{kind}" for kind in ("b_16", "b_32", "l_16", "l_32", "h_14")),
    "stem.0.weight": tuple(
        f"torchvision:regnet_{kind}"
        for kind in (
            *(f"{letter}_{size}" for letter in "xy" for size in ("400mf", "800mf", "1_6gf", "3_2gf", "8gf", "16gf")),
            *("x_32gf", "y_32gf", "y_128gf"),
        )
    ),
    "stem.0.0.weight": ("torchvision:maxvit_t",),
    "Conv2d_1a_3x3.conv.weight": ("torchvision:inception_v3",),
    "conv1.conv.weight": ("torchvision:googlenet",),
    "conv1.0.weight": tuple(f"torchvision:shufflenet_v2_x{size}" for size in ("0_5", "1_0", "1_5", "2_0")),
    "layers.0.weight": tuple(f"torchvision:mnasnet{size}" for size in ("0_5", "0_75", "1_0", "1_3")),
    "conv_stem.weight": (
        *("timm:tf_efficientnet_lite0", "timm:tf_efficientnet_lite1", "timm:tf_efficientnet_lite2"),
        *("timm:tf_efficientnet_lite3", "timm:tf_efficientnet_lite4"),
    ),
}
"""Networks whose tensors tell them apart, by the name of a tensor that all of them have."""

_LIKELY: Mapping[str, Sequence[str]] = {
    "conv_stem.weight": (
        *(f"timm:efficientnet_b{size}" for size in range(5)),
        *("timm:mobilenetv3_small_100", "timm:mobilenetv3_large_100", "timm:mobilenetv2_100", "timm:mnasnet_100"),
    ),
    "patch_embed.proj.weight": (
        *(f"timm:vit_{size}_patch{patch}_224" for size in ("tiny", "small", "base", "large") for patch in (16, 32)),
        *(f"timm:swin_{size}_patch4_window7_224" for size in ("tiny", "small", "base", "large")),
        "timm:vit_small_patch14_dinov2",
    ),
    "stem.0.weight": (*(f"timm:convnext_{size}" for size in ("tiny", "small", "base")), "timm:convnextv2_atto"),
    "stem.conv.weight": tuple(f"timm:regnety_{size}" for size in ("002", "004", "008", "016", "032")),
}
"""Networks of timm's that fit files by their tensors alone, but not by what these were trained with: a guess to ask."""


def candidates(architecture: str) -> tuple[str, ...]:
    """What a network's name may mean, the likeliest first."""
    if ":" in architecture or architecture == "resnet50":
        return (architecture,)
    import timm
    from torchvision import models

    named, at, side = architecture.removeprefix("hf_hub:").rpartition("/")[2].partition("@")
    short = named.partition(".")[0]
    found = [f"timm:{short}{at}{side}"] if timm.is_model(short) else []
    found += [f"torchvision:{short}"] if short in models.list_models(module=models) else []
    return tuple(found)


def _open(content: Content, answers: Answers) -> Opened:
    backbone, weights, n = _recognised(content, answers)
    check_outputs(answers.outputs, n, content.name)
    network = fitted(lambda: build_classifier(backbone, n), weights, content.name, backbone).eval()
    spec = _input(content, backbone)
    parts = family_of(backbone, 16).parts(network)
    known, told = (
        (KnownClasses(two_classes(answers.classes, content.name)), (TOLD,))
        if n == 1
        else classes_of(answers.classes, n, content.name)
    )
    if n == 1:
        network, parts = OneOutput(network), inside(parts)
    if answers.method == "classifier":
        parts = replace(parts, heads=())
    insist = answers.method in ("cam", "calm-em", "calm-ml") or bool(answers.large_feature_map)
    found = split(network, parts, spec.size, content.name, insist)
    if answers.architecture:
        told = (f"architecture: {answers.architecture}", *told)
    if resized := [key for key in weights if key.endswith(_OF_PLACES) and _resized(key, content.weights, weights)]:
        told = (
            *told,
            f"made for another input side: its {resized[0]} was resized for {spec.size} pixels; "
            f"its own side may be given as architecture={backbone.partition(':')[2].partition('@')[0]}@SIDE",
        )
    info = CheckpointInfo(
        method="cam" if isinstance(found, HeadNetwork) else "classifier",
        backbone=backbone,
        output_stride=parts.stride,
        classes=known.classes,
        saliency_activation=None,
        input=spec,
        hierarchy=known.hierarchy,
        supersets=known.supersets,
        licence="not stated by the file",
        assumed=told,
    )
    return (
        _changed(Opened(info, found), answers, content.name) if isinstance(found, HeadNetwork) else Opened(info, found)
    )


def _changed(opened: Opened, answers: Answers, name: str) -> Opened:
    """A classifier with CAM as what was asked for: on a larger map, or as a CALM whose cue may lie anywhere alike."""
    info, tensors = opened.info, dict(opened.network.state_dict())
    if answers.large_feature_map:
        info = replace(info, output_stride=16, dilated=True)
    if answers.method in ("calm-em", "calm-ml"):
        channels = tensors["head.class_branch.weight"].shape[1]
        tensors |= {
            "head.saliency_branch.weight": torch.zeros(1, channels, 1, 1),
            "head.saliency_branch.bias": torch.zeros(1),
        }
        told = "a plain classifier: its saliency branch is uniform and was never trained"
        info = replace(info, method="calm-ml", saliency_activation="softplus", assumed=(told, *info.assumed))
    return opened if info is opened.info else Opened(info, fitted_network(info, tensors, name))


def _recognised(content: Content, answers: Answers) -> tuple[str, Mapping[str, Tensor], int]:
    """Name of the network, its tensors and its number of outputs."""
    named = answers.architecture or content.architecture
    likely = candidates(named) if named else tuple(_marked(_BY_MARKER, content))
    if named and not likely:
        raise CheckpointError(
            f"{content.name} names {named!r} as its network, which neither torchvision nor timm has; open it in a "
            "program of your own with calm_gui.from_module(network)"
        )
    faults = ""
    for backbone in likely:
        fit, found = _fit(backbone, content)
        if fit is not None:
            return backbone, *fit
        faults = faults or found
    if named:
        raise CheckpointError(faults)
    guess = next((name for name in _marked(_LIKELY, content) if _fit(name, content)[0] is not None), None)
    if guess is None and faults and "fc.weight" in content.weights:
        raise CheckpointError(faults)
    shown = ", ".join(list(content.weights)[:4])
    raise AnswersNeeded(
        f"{content.name} holds {len(content.weights)} tensors ({shown}, …) and doesn't say of which network; name it: "
        f"architecture={guess.removeprefix('timm:') if guess else 'NAME'!r}, a name of timm's or torchvision's",
        replace(answers, architecture=guess),
        ("architecture",),
    )


def _marked(table: Mapping[str, Sequence[str]], content: Content) -> Iterator[str]:
    for marker, names in table.items():
        if marker in content.weights:
            yield from names


def _fit(backbone: str, content: Content) -> tuple[tuple[Mapping[str, Tensor], int] | None, str]:
    """A file's tensors for a network and the number of outputs, if they fit it; else why they don't."""
    shape = without_weights(lambda: build_classifier(backbone, _ASKED))
    expected = {key: tuple(tensor.shape) for key, tensor in shape.state_dict().items()}
    weights: Mapping[str, Tensor] = {
        key: value for key, value in content.weights.items() if key in expected or not key.startswith(_SPARE)
    }
    fault = _misfit(expected, weights, content.name, backbone)
    if fault and backbone.startswith("timm:") and (filtered := _by_timm(shape, weights)) is not None:
        weights = filtered
        fault = _misfit(expected, weights, content.name, backbone)
    if fault:
        return None, fault
    return (weights, _outputs(expected, weights, content.name)), ""


def _misfit(expected: Mapping[str, tuple[int, ...]], weights: Mapping[str, Tensor], name: str, backbone: str) -> str:
    n = _outputs(expected, weights, name)
    missing = [key for key in expected if key not in weights and not key.endswith("num_batches_tracked")]
    unexpected = [key for key in weights if key not in expected]
    misshapen = [
        key
        for key, shape in expected.items()
        if key in weights and tuple(weights[key].shape) != tuple(n if side == _ASKED else side for side in shape)
    ]
    kinds = (("missing", missing), ("unexpected", unexpected), ("of the wrong shape", misshapen))
    faults = [
        f"{len(keys)} {what} ({', '.join(keys[:3])}{', …' if len(keys) > 3 else ''})" for what, keys in kinds if keys
    ]
    return f"the weights of {name} don't fit {backbone}: {'; '.join(faults)}" if faults else ""


def _outputs(expected: Mapping[str, tuple[int, ...]], weights: Mapping[str, Tensor], name: str) -> int:
    """Outputs of the tensors that belong to the classifier; 0 if there is none in the file."""
    own = next((key for key, shape in expected.items() if _ASKED in shape and key in weights and len(shape) > 1), None)
    return outputs(weights, own, name) if own else 0


def _by_timm(network: nn.Module, weights: Mapping[str, Tensor]) -> Mapping[str, Tensor] | None:
    """Tensors as timm renames those of the networks' authors; None where it has no way to."""
    rename: Any = getattr(sys.modules[type(network).__module__], "checkpoint_filter_fn", None)
    if rename is None:
        return None
    try:
        renamed: Mapping[str, Tensor] = rename(dict(weights), network)
    except Exception:  # written for files of one kind; others raise any type of error, and fit or don't as they are
        return None
    return renamed


def _resized(key: str, before: Mapping[str, Tensor], now: Mapping[str, Tensor]) -> bool:
    return key in before and before[key].shape != now[key].shape


def _input(content: Content, backbone: str) -> InputSpec:
    """The input that the weights were trained with: what stands beside the file, else what the library says."""
    spec = family_of(backbone, 16).input(backbone)
    said = content.input
    try:
        return InputSpec(
            int(said["input_size"][-1]) if "input_size" in said else spec.size,
            spec.resize,
            spec.interpolation,
            tuple(map(float, said["mean"])) if "mean" in said else spec.mean,  # type: ignore[arg-type]
            tuple(map(float, said["std"])) if "std" in said else spec.std,  # type: ignore[arg-type]
        )
    except (TypeError, ValueError, IndexError) as error:
        raise CheckpointError(f"the description next to {content.name} can't be read: {error}") from error


FORM = Form("classifier", lambda _: True, _open)
