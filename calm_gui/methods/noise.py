"""Gradients of inputs under noise, through captum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from calm_gui.methods.parameter import Number, Parameter

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["BATCH", "NOISE", "SAMPLES", "noisy_gradients"]

SAMPLES = Parameter("samples", 16, 2, 10_000, "{} samples")
"""Noisy inputs."""

NOISE = Parameter("noise", 0.15, 0.0, 10.0, "noise of {} times the input's range")
"""The noise's standard deviation."""

BATCH = 2
"""Samples in a forward pass."""

_SEED = 0


def noisy_gradients(
    kind: Literal["smoothgrad", "vargrad"], score: nn.Module, inputs: Tensor, samples: Number, noise: Number
) -> Tensor:
    """Mean or variance of absolute gradients over noisy inputs (1,3,h,w), the largest of the channels, (h,w).

    The noise is the same at every call.
    """
    import torch
    from captum.attr import NoiseTunnel, Saliency

    spread = noise * float((inputs.max() - inputs.min()).detach())
    with torch.random.fork_rng(devices=[inputs.device] if inputs.device.type == "cuda" else []):
        torch.manual_seed(_SEED)
        found = NoiseTunnel(Saliency(score)).attribute(
            inputs,
            target=0,
            nt_type=kind,
            nt_samples=int(samples),
            nt_samples_batch_size=BATCH,
            stdevs=spread,
            abs=True,
        )
    return found[0].amax(dim=0)
