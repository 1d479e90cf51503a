"""The precision of a processor's forward passes, where a recipe leaves the choice to us."""

import torch

__all__ = ["fast_autocast"]


def fast_autocast() -> torch.autocast:
    """bfloat16 where the processor has instructions for it; elsewhere it is 16 times slower than float32, which stays.

    Measured on a server's processor with AVX2 alone: 130 ms a picture in float32, 2.1 s in bfloat16.
    """
    has_it = torch.backends.cpu.get_cpu_capability() not in ("DEFAULT", "NO AVX", "AVX2")
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=has_it)
