"""Optimizer and learning rate of a run."""

import math
from collections.abc import Collection

import torch
from torch import nn

from calm_training.config import OptimizerConfig

__all__ = ["learning_rate_factor", "make_optimizer"]


def make_optimizer(
    trained: nn.Module, fresh: Collection[nn.Parameter], settings: OptimizerConfig
) -> torch.optim.Optimizer:
    """Optimizer over the parameters that need a gradient.

    Parameters
    ----------
    trained : torch.nn.Module
    fresh : collection of torch.nn.Parameter
        Those at ``head_factor`` times the learning rate.
    settings : OptimizerConfig
    """
    known = {id(parameter) for parameter in fresh}
    parameters = [parameter for parameter in trained.parameters() if parameter.requires_grad]
    head = [parameter for parameter in parameters if id(parameter) in known]
    rest = [parameter for parameter in parameters if id(parameter) not in known]
    rate = settings.learning_rate
    groups = [{"params": rest, "lr": rate}, {"params": head, "lr": rate * settings.head_factor}]
    groups = [{**g, "initial_lr": g["lr"]} for g in groups if g["params"]]
    if settings.name == "adamw":
        return torch.optim.AdamW(groups, weight_decay=settings.weight_decay)
    return torch.optim.SGD(
        groups, momentum=settings.momentum, nesterov=settings.nesterov, weight_decay=settings.weight_decay
    )


def learning_rate_factor(settings: OptimizerConfig, step: int, steps_per_epoch: int) -> float:
    """What the initial learning rates are multiplied by at a step, counted from the beginning of the run."""
    if settings.schedule == "step":
        return float(settings.decay ** (step // steps_per_epoch // settings.step_epochs))
    if settings.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * step / (steps_per_epoch * settings.epochs)))
    return 1.0
