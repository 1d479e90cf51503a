"""The parts of a whole classifier, and ways to look at and leave out its modules without changing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import Any

from torch import nn

from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.folding import twin
from calm_gui.model.tap import Tap

__all__ = ["Parts", "headless", "watched"]


@dataclass(frozen=True)
class Parts:
    """What is known of a classifier's parts.

    Attributes
    ----------
    backbone : Backbone or None
        Gives the features in front of the head; shares the network's tensors. None if they are no map.
    heads : tuple of torch.nn.Module
        Linear layers or 1x1 convolutions whose mean may be the logits of pooled features.
    taps : tuple of Tap
        Where methods may look at features, the last first.
    stride : int
        Input pixels per cell of the features.
    """

    backbone: Backbone | None
    heads: tuple[nn.Module, ...] = ()
    taps: tuple[Tap, ...] = ()
    stride: int = 32


@contextmanager
def watched(module: nn.Module) -> Iterator[list[Any]]:
    """What a module gives to this thread, in order."""
    own, seen = get_ident(), []

    def note(_: nn.Module, __: object, output: Any) -> None:
        if get_ident() == own:
            seen.append(output)

    handle = module.register_forward_hook(note)
    try:
        yield seen
    finally:
        handle.remove()


def headless(network: nn.Module, names: Iterable[str]) -> nn.Module:
    """A network with the same tensors, and nothing in the place of the modules of these names."""
    other = twin(network)
    for name in names:
        above, _, leaf = name.rpartition(".")
        setattr(other.get_submodule(above), leaf, nn.Identity())
    return other
