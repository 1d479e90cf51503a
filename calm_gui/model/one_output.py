"""Networks with one output: the softmax of one number is always 1, so it is read as the sigmoid that it is."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from calm_gui.core.classes import ClassTable
from calm_gui.errors import CheckpointError
from calm_gui.model.backbones.parts import Parts
from calm_gui.model.class_names import class_table
from calm_gui.model.classifier import logits_of

__all__ = ["TOLD", "OneOutput", "check_outputs", "inside", "two_classes"]

TOLD = "one output, read as a sigmoid: p of class 1, and 1 - p of class 0"
"""What is assumed of such a network."""


class OneOutput(nn.Module):
    """A network whose one logit x becomes the two logits 0 and x, of which softmax gives the sigmoid of x."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits (B,2) of pictures (B,3,h,w)."""
        logits = logits_of(self.network(pictures))
        return torch.cat((torch.zeros_like(logits), logits), 1)


def two_classes(names: tuple[str, ...] | None, name: str) -> ClassTable:
    """The two classes of one output: what it isn't, and what it is.

    Parameters
    ----------
    names : tuple of str or None
        One name, of what the output says, or two, what it isn't first.
    name : str
        What to call the file.

    Raises
    ------
    CheckpointError
        If there are more names.
    """
    if names is None:
        return class_table(("class 0", "class 1"))
    if len(names) > 2:
        raise CheckpointError(
            f"{name} has one output, which tells two classes apart, but {len(names)} names were given"
        )
    return class_table(names if len(names) == 2 else (f"not {names[0]}", names[0]))


def check_outputs(outputs: str | None, n: int, name: str) -> None:
    """Refuse outputs of which no probability of a set of classes can be made.

    Parameters
    ----------
    outputs : {"softmax", "sigmoid"} or None
        What is known of them.
    n : int
        How many there are.
    name : str
        What to call the network.

    Raises
    ------
    CheckpointError
    """
    if outputs == "sigmoid" and n > 1:
        raise CheckpointError(
            f"each of the {n} outputs of {name} is a sigmoid of its own, and their probabilities don't add up to 1, so "
            "that of a set of classes is no sum over them and no map here would mean what it says; only a softmax over "
            "at least two classes, or a single sigmoid, can be explained"
        )
    if outputs == "softmax" and n == 1:
        raise CheckpointError(
            f"the softmax of the one output of {name} is always 1; say --outputs sigmoid if it is one"
        )


def inside(parts: Parts) -> Parts:
    """Parts of a network as parts of the same network inside `OneOutput`, where its modules have longer names."""
    return replace(parts, taps=tuple(replace(tap, module=f"network.{tap.module}") for tap in parts.taps))
