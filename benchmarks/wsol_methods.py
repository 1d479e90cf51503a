"""A training step of each method of the paper's tables against one of CAM: whole ResNet50 at 28x28."""

import time
from collections.abc import Callable

from benchmarks.timing import Row, interleaved

__all__ = ["method_rows"]

BATCH = 2
CLASSES = 200
METHODS = {"has": 1.05, "cutmix": 1.05, "adl": 1.05, "acol": 1.1, "spg": 1.1}
"""Most that a step may take, times CAM's, or for ACoL and SPG times the ratio of their arithmetic."""


def step_of(name: str) -> Callable[[], float]:
    """A call that makes one training step as a run does, from pictures to moved weights, with its loss as a result."""
    import numpy as np
    import torch

    from calm_training.config import ModelConfig, OptimizerConfig
    from calm_training.methods import Batch, Step, make_methods, method_named
    from calm_training.methods.method import Objective
    from calm_training.network import make_network
    from calm_training.optimizer import make_optimizer
    from calm_training.trainer import Task

    torch.manual_seed(0)
    names = [name] if issubclass(method_named(name), Objective) else ["cam", name]
    objective, methods = make_methods({one: method_named(one).Settings() for one in names})
    network, fresh = make_network(ModelConfig(weights="none"), objective, CLASSES)
    network.to(memory_format=torch.channels_last).train()
    for method in methods:
        method.attach(network, network, "resnet50")
    task = Task(network, objective, 0.0)
    optimizer = make_optimizer(task, (*fresh, *objective.extra.parameters()), OptimizerConfig())
    inputs = torch.randn(BATCH, 3, 224, 224).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(CLASSES, (BATCH,))
    number = 0

    def step() -> float:
        nonlocal number
        batch = Batch(inputs, labels, labels)
        number += 1
        for method in methods:
            drawn = Step(np.random.default_rng(number))
            batch = method.change_batch(batch, drawn)
            method.begin_step(drawn)
        loss = task(batch)
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        for method in methods:
            method.end_step()
        return loss.item()

    return step


def arithmetic_of(name: str) -> float:
    """Floating-point operations of a step."""
    from torch.utils.flop_counter import FlopCounterMode

    step = step_of(name)
    with FlopCounterMode(display=False) as counter:
        step()
    return float(counter.get_total_flops())


def method_rows(repeat: int = 30) -> list[Row]:
    """Processor time of a step over CAM's, the two in turn, so that other programs disturb it little."""
    cam, base = step_of("cam"), arithmetic_of("cam")
    rows = []
    for name, limit in METHODS.items():
        arithmetic = arithmetic_of(name) / base
        ratio = interleaved(step_of(name), cam, repeat, time.process_time)
        most = limit * (arithmetic if arithmetic > limit else 1)
        note = f"arithmetic {arithmetic:.2f} times"
        rows.append(Row(f"training step, {name} over CAM, ResNet50 at 28x28", ratio, "times", most, True, note))
    return rows
