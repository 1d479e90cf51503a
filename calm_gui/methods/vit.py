"""The inside of a vision transformer of torchvision or timm: its blocks, their attention, and what follows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Seen", "VisionTransformer", "find_vit", "watched_blocks"]


@dataclass
class Seen:
    """What passed through a block.

    Attributes
    ----------
    heads : int
    values : Tensor (N,D)
        V of its attention, all heads side by side.
    mixed : Tensor (N,D)
        Something whose gradient `to_mixed` turns into that of the attention's A V.
    to_mixed : Tensor or None
        Weights (D',D) of the linear layer between A V and `mixed`; None where `mixed` is A V itself.
    tokens : Tensor (N,L)
        What the block gave.
    """

    heads: int
    values: Tensor = field(default_factory=lambda: torch.empty(0))
    mixed: Tensor = field(default_factory=lambda: torch.empty(0))
    to_mixed: Tensor | None = None
    tokens: Tensor = field(default_factory=lambda: torch.empty(0))


class VisionTransformer:
    """A vision transformer's parts, the same for both libraries.

    Parameters
    ----------
    network : torch.nn.Module
        Of the class ``VisionTransformer`` of torchvision or timm.

    Attributes
    ----------
    blocks : list of torch.nn.Module
    prefix : int
        Tokens before those of places.
    """

    def __init__(self, network: Any) -> None:
        self.of_torchvision = type(network).__module__.startswith("torchvision.")
        self.network = network
        self.blocks: list[Any] = list(network.encoder.layers if self.of_torchvision else network.blocks)
        self.prefix = 1 if self.of_torchvision else int(network.num_prefix_tokens)

    @property
    def usual(self) -> bool:
        """Whether every block has the usual attention, softmax(Q K') V for all tokens, behind which a layer mixes."""
        if self.of_torchvision:
            return all(type(block.self_attention) is nn.MultiheadAttention for block in self.blocks)
        from timm.layers import Attention

        if getattr(self.network, "attn_pool", None) is not None:
            return False
        return all(type(getattr(block, "attn", None)) is Attention and block.attn.gate is None for block in self.blocks)

    def normed(self, tokens: Tensor) -> Tensor:
        """Tokens (...,L) behind the normalisation that follows the last block."""
        found: Tensor = (self.network.encoder.ln if self.of_torchvision else self.network.norm)(tokens)
        return found

    def logits(self, pooled: Tensor) -> Tensor:
        """Logits (B,C) of one pooled token (B,L), as it is behind a block."""
        if self.of_torchvision:
            found: Tensor = self.network.heads(self.normed(pooled))
        else:
            found = self.network.head(self.network.fc_norm(self.normed(pooled)))
        return found


def find_vit(network: nn.Module) -> VisionTransformer | None:
    """The vision transformer in a network; None if there is none whose attention is the usual one."""
    for module in network.modules():
        home = type(module).__module__
        if type(module).__name__ == "VisionTransformer" and home.startswith(("torchvision.", "timm.")):
            found = VisionTransformer(module)
            return found if found.blocks and found.usual else None
    return None


@contextmanager
def watched_blocks(vit: VisionTransformer) -> Iterator[list[Seen]]:
    """Keep what passes through each block of the first picture of the next forward pass."""
    seen, hooks = [], []
    for block in vit.blocks:
        attention = block.self_attention if vit.of_torchvision else block.attn
        one = Seen(int(attention.num_heads))
        seen.append(one)
        hooks += _of_torchvision(attention, one) if vit.of_torchvision else _of_timm(attention, one)
        hooks.append(block.register_forward_hook(_keep_tokens(one)))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _keep_tokens(one: Seen) -> Any:
    def keep(_: nn.Module, __: object, output: Tensor) -> None:
        one.tokens = output[0]

    return keep


def _of_torchvision(attention: Any, one: Seen) -> list[Any]:
    """torchvision's attention mixes within one function: its input gives V, its output is A V through a layer."""

    def keep(_: nn.Module, arguments: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        width = attention.embed_dim
        bias = None if attention.in_proj_bias is None else attention.in_proj_bias[2 * width :]
        one.values = functional.linear(arguments[2][0], attention.in_proj_weight[2 * width :], bias).detach()
        one.mixed, one.to_mixed = output[0], attention.out_proj.weight
        return output

    return [attention.register_forward_hook(keep)]


def _of_timm(attention: Any, one: Seen) -> list[Any]:
    """timm's attention has layers of its own for Q, K, V, and for what follows A V."""
    after = attention.proj if isinstance(attention.norm, nn.Identity) else attention.norm

    def keep_values(_: nn.Module, __: object, output: Tensor) -> None:
        one.values = output[0].chunk(3, dim=-1)[2].detach()

    def keep_mixed(_: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        one.mixed = arguments[0]

    return [attention.qkv.register_forward_hook(keep_values), after.register_forward_pre_hook(keep_mixed)]
