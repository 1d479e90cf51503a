"""Batches and steps for tests of training methods, without a run."""

import numpy as np
import torch
from torch import Tensor

from calm_training.methods import Batch, Step


def close(found: Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=1e-6)


def batch_of(number: int = 4, size: tuple[int, int] = (24, 40), seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(number, 3, *size, generator=generator) + 0.5  # nowhere 0
    labels = torch.arange(number) % 3
    return Batch(inputs, labels, labels)


def step(seed: int = 0, **more: object) -> Step:
    return Step(np.random.default_rng(seed), **more)  # type: ignore[arg-type]
