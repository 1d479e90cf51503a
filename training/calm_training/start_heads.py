"""Heads that a run starts from: those of a checkpoint of the same classes (``model.weights=FILE``)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from calm_gui.core.classes import ClassTable
from calm_gui.core.comparison import class_keys, class_positions, compare_lists, compare_values, say_changes
from calm_gui.model.acol import AcolHead
from calm_gui.model.calm import CalmHead, CamHead
from calm_gui.model.checkpoint import load_weights, read_checkpoint
from calm_gui.model.info import CheckpointInfo, is_ours

__all__ = ["take_heads"]


def take_heads(head: nn.Module, weights: str, classes: ClassTable) -> str:
    """Start a head from a checkpoint's, its classes in the order of the data; its temperature goes into the weights.

    Parameters
    ----------
    head : torch.nn.Module
        The run's, whose weights are replaced.
    weights : str
        As in ``model.weights``.
    classes : ClassTable
        The data's.

    Returns
    -------
    str
        What was taken, and if not the heads why; empty where `weights` is no checkpoint of ours.
    """
    path = Path(weights)
    if weights in ("none", "pretrained") or not is_ours(path):
        return ""
    info, tensors = read_checkpoint(path)
    theirs = {name.removeprefix("head."): tensor for name, tensor in tensors.items() if name.startswith("head.")}
    if reason := _why_not(head, info, theirs, classes):
        return f"the backbone alone starts from {path.name}: {reason}"
    places = [place for place in class_positions(info.classes, classes) if place is not None]
    of_classes = _layers_of_classes(head)
    ours = {
        name: tensor[places].float() / info.temperature if name.startswith(of_classes) else tensor
        for name, tensor in theirs.items()
    }
    settings = dict(head.named_buffers())  # the run's own, as ACoL's threshold
    load_weights(head, {**ours, **settings}, path.name)
    return f"backbone and heads start from {path.name}"


def _layers_of_classes(head: nn.Module) -> tuple[str, ...]:
    """How the names of a head's layers with a row for each class begin."""
    if isinstance(head, AcolHead):
        return tuple(
            f"{name}.{len(branch) - 1}." for name, branch in (("branch_a", head.branch_a), ("branch_b", head.branch_b))
        )
    return "class_branch.", "context_branch."


def _why_not(head: nn.Module, info: CheckpointInfo, theirs: Mapping[str, Tensor], classes: ClassTable) -> str:
    """Why a checkpoint's heads can't be taken; empty if they can."""
    difference = compare_lists(class_keys(info.classes), class_keys(classes))
    if difference.missing or difference.unknown:
        return f"its classes are others ({replace(difference, moved=False).sentence('the checkpoint', 'the data')})"
    before = {name: getattr(info, name) for name in ("saliency_activation", "context", "saliency_power")}
    now = {
        "saliency_activation": getattr(head, "activation", None),
        "context": getattr(head, "context", "none"),
        "saliency_power": float(getattr(head, "saliency_power", 1.0)),
    }
    if changes := compare_values(before, now):
        return f"its heads are others ({say_changes(changes)})"
    shapes = {name: tensor.shape for name, tensor in head.state_dict().items()}
    if not isinstance(head, AcolHead | CalmHead | CamHead) or {name: t.shape for name, t in theirs.items()} != shapes:
        return f"its heads, of {info.method}, haven't the layers of this method's"
    return ""
