"""Networks of others as they are: whole, or as features and a class branch where these give the same logits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import get_ident
from typing import Any

import torch
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones.parts import Parts
from calm_gui.model.calm import CamHead, HeadNetwork
from calm_gui.model.tap import Layout, Tap, opened

__all__ = ["Classifier", "class_branches", "difference", "logits_of", "noise", "split"]

TOLERANCE = 1e-4
"""Largest difference of logits, relative to their range, that rounding explains."""


class Classifier(nn.Module):
    """A network of others, whole; calling it gives its logits (B,C,1,1), and None in the saliency branch's place.

    Parameters
    ----------
    network : torch.nn.Module
        Maps pictures (B,3,h,w) to logits (B,C).
    taps : tuple of Tap
        Where its features may be, the last first. The first that the logits depend on place by place is taken.

    Attributes
    ----------
    backbone : torch.nn.Module
        The features (B,L,H,W) pass through it, so that methods can look at them.
    """

    def __init__(self, network: nn.Module, taps: Sequence[Tap] = ()) -> None:
        super().__init__()
        self.network = network
        self.backbone: nn.Module = nn.Identity()
        self.taps = tuple(taps)
        self.tap: Tap | None = None
        self.grid = (1, 1)

    def look(self, size: int) -> None:
        """Choose the tap, and learn its grid, by a try on noise of a side."""
        inputs = noise(self.network, size, 1)
        for tap in self.taps:
            self.tap = tap
            seen: list[Tensor] = []
            with torch.enable_grad(), self._tapped(seen.append):
                logits = logits_of(self.network(inputs.clone().requires_grad_(True)))
            if not seen or min(seen[0].shape[2:]) < 1 or math.prod(seen[0].shape[2:]) < 2:
                continue
            (slope,) = torch.autograd.grad(logits.square().sum(), seen[0], allow_unused=True)
            if slope is not None and bool(slope.abs().max() > 0):  # behind a last block only the class token counts
                self.grid = (int(seen[0].shape[2]), int(seen[0].shape[3]))
                return
        self.tap = None

    @contextmanager
    def _tapped(self, seen: Callable[[Tensor], object] = lambda _: None) -> Iterator[None]:
        """Let this thread's features go through `backbone`."""
        tap, own = self.tap, get_ident()
        if tap is None:
            yield
            return
        size: list[tuple[int, int]] = []

        def note_size(_: nn.Module, arguments: tuple[Any, ...]) -> None:
            if get_ident() == own and arguments:
                size[:] = [(int(arguments[0].shape[-2]), int(arguments[0].shape[-1]))]

        def through(_: nn.Module, __: object, output: Any) -> Any:
            layout: Layout | None = tap.layout(output, size[0]) if get_ident() == own else None
            if layout is None:
                return None
            spread, closed = opened(output, layout, size[0])
            spread = self.backbone(spread)
            seen(spread)
            return closed(spread)

        first = self.network.register_forward_pre_hook(note_size)
        second = self.network.get_submodule(tap.module).register_forward_hook(through)
        try:
            yield
        finally:
            first.remove()
            second.remove()

    def forward(self, pictures: Tensor) -> tuple[Tensor, None]:
        """Logits (B,C,1,1) of pictures (B,3,h,w), float32."""
        if torch.is_grad_enabled():
            with self._tapped():
                logits = logits_of(self.network(pictures))
        else:
            logits = logits_of(self.network(pictures))
        return logits.float()[:, :, None, None], None


def logits_of(output: Any) -> Tensor:
    """The logits in what a network gave: a tensor, or something that names them.

    Raises
    ------
    CheckpointError
        If there are none.
    """
    if not isinstance(output, Tensor):
        named = output.get("logits") if isinstance(output, dict) else getattr(output, "logits", None)
        output = named if named is not None else output[0] if isinstance(output, (tuple, list)) and output else output
    if not isinstance(output, Tensor) or output.ndim != 2:
        shape = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise CheckpointError(f"the network gives {shape}, not logits of the shape (pictures, classes)")
    return output


def noise(network: nn.Module, size: int, count: int = 2) -> Tensor:
    """The same noise (count,3,size,size) at every call, where the network's parameters are."""
    parameter = next(network.parameters(), torch.zeros(()))
    made = torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(0))
    return made.to(parameter.device, parameter.dtype)


def class_branches(network: nn.Module, heads: Sequence[nn.Module], channels: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Weights (C,L) and biases (C,) that may be a network's class branch; which of them is, a try must show.

    Candidates are the heads' mean alone, and behind each one-dimensional batch normalisation of as many channels,
    which scales and shifts each channel alone, at every place as behind pooling.
    """
    layers = [layer for head in heads for layer in head.modules() if isinstance(layer, (nn.Linear, nn.Conv2d))]
    layers = [layer for layer in layers if layer.weight.flatten(1).shape[1] == channels]
    if not layers or len({layer.weight.shape[0] for layer in layers}) > 1:
        return
    weights = [layer.weight.detach().flatten(1).float() for layer in layers]
    biases = [
        torch.zeros(len(weight)).to(weight) if layer.bias is None else layer.bias.detach().float()
        for layer, weight in zip(layers, weights, strict=True)
    ]
    yield torch.stack(weights).mean(0), torch.stack(biases).mean(0)
    norms = [m for m in network.modules() if isinstance(m, nn.BatchNorm1d) and m.num_features == channels]
    if len(norms) == len(layers):
        folded = [_behind(*pair) for pair in zip(norms, weights, biases, strict=True)]
        yield torch.stack([w for w, _ in folded]).mean(0), torch.stack([b for _, b in folded]).mean(0)


def _behind(norm: nn.BatchNorm1d, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """A linear layer and the batch normalisation in front of it as one."""
    assert norm.running_mean is not None and norm.running_var is not None
    scale = (norm.running_var + norm.eps).rsqrt()
    scale = scale if norm.weight is None else scale * norm.weight.detach()
    shift = -norm.running_mean * scale + (0 if norm.bias is None else norm.bias.detach())
    return weight * scale, bias + weight @ shift


def difference(own: Tensor, other: Tensor) -> float:
    """Largest difference of logits (B,C), relative to the range of a network's own; NaN if that isn't finite."""
    span = float((own.amax(1) - own.amin(1)).max())
    return float((own - other).abs().max()) / max(span, 1e-6 * max(1.0, float(own.abs().max())))


def split(network: nn.Module, parts: Parts, size: int, name: str, insist: bool = False) -> HeadNetwork | Classifier:
    """A network as features and class branch where together they give its own logits, else whole.

    Both are tried on noise. Class scores at each place are shown only if their mean is the network's logits.

    Parameters
    ----------
    network : torch.nn.Module
        In evaluation mode.
    parts : Parts
    size : int
        Side of its input.
    name : str
        What to call it in messages.
    insist : bool
        Whether the parts must agree.

    Raises
    ------
    CheckpointError
        If the network doesn't run, gives no logits, or the parts that must agree don't.
    """
    inputs = noise(network, size)
    try:
        with torch.inference_mode():
            own = logits_of(network(inputs)).float()
    except CheckpointError:
        raise
    except Exception as error:  # networks of others refuse inputs with any type of error
        raise CheckpointError(f"{name} can't take pictures of {size} x {size} pixels: {error}") from error
    if not torch.isfinite(own).all():
        raise CheckpointError(f"{name} gives NaN or infinity; its weights are broken")
    least = math.inf
    backbone = parts.backbone
    if backbone is not None and parts.heads:
        try:
            with torch.inference_mode():
                pooled = backbone(inputs).float().mean((2, 3))
        except CheckpointError:
            if insist:
                raise
            parts, pooled = replace(parts, heads=()), own
        for weight, bias in class_branches(network, parts.heads, pooled.shape[1]):
            if weight.shape[0] == 1 and own.shape[1] == 2:  # one output, read as a sigmoid
                weight, bias = (torch.cat((torch.zeros_like(one), one)) for one in (weight, bias))
            if weight.shape[0] != own.shape[1]:
                continue
            apart = difference(own, pooled @ weight.T + bias)
            if apart <= TOLERANCE:
                return HeadNetwork(backbone, _cam_head(weight, bias))
            least = min(least, apart)
    if insist:
        raise CheckpointError(
            f"features and head of {name}, put together, differ from its own output by {least:.2g} of its range, so "
            "its head is more than average pooling and one linear layer; leave CAM and head out to see its own "
            "probabilities and other methods, or make it a CALM with calm-train adapt"
        )
    whole = Classifier(network, parts.taps)
    whole.look(size)
    return whole


def _cam_head(weight: Tensor, bias: Tensor) -> CamHead:
    with torch.device("meta"):
        head = CamHead(weight.shape[1], weight.shape[0])
    head.class_branch.weight = nn.Parameter(weight[:, :, None, None].clone(), requires_grad=False)
    head.class_branch.bias = nn.Parameter(bias.clone(), requires_grad=False)
    return head
