"""Gradients of inputs under noise, through captum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["BATCH", "SAMPLES", "noisy_gradients"]

SAMPLES = 16
"""Noisy inputs."""

BATCH = 2
"""Of them in a forward pass."""

_SHARE = 0.15
"""Of the input's range: the noise's standard deviation."""
_SEED = 0


def noisy_gradients(kind: Literal["smoothgrad", "vargrad"], score: nn.Module, inputs: Tensor) -> Tensor:
    """Mean or variance of absolute gradients over noisy inputs (1,3,h,w), the largest of the channels, (h,w).

    The noise is the same at every call.
    """
    import torch
    from captum.attr import NoiseTunnel, Saliency

    spread = _SHARE * float((inputs.max() - inputs.min()).detach())
    with torch.random.fork_rng(devices=[inputs.device] if inputs.device.type == "cuda" else []):
        torch.manual_seed(_SEED)
        found = NoiseTunnel(Saliency(score)).attribute(
            inputs, target=0, nt_type=kind, nt_samples=SAMPLES, nt_samples_batch_size=BATCH, stdevs=spread, abs=True
        )
    return found[0].amax(dim=0)
