"""Rescaling the branches of a taught head: what class, context and saliency weigh against each other (docs/context.md).

Nothing is trained here. The factors were chosen on the pictures that settings are chosen on.
"""

from dataclasses import dataclass

import torch

from calm_gui.model.calm import CalmHead

__all__ = ["Rescaling", "rescale"]


@dataclass(frozen=True)
class Rescaling:
    """Factors on a head's branches.

    Attributes
    ----------
    class_factor, context_factor : float
        Times W and V: a place says more than the whole picture where the first is larger.
    saliency_factor, saliency_shift : float
        w x + c becomes factor (w x + c) + shift: softplus then falls to 0 off the object and is linear on it.
    saliency_power : float
        Power of h, instead of the one that was learnt.
    """

    class_factor: float = 1.25
    context_factor: float = 0.92
    saliency_factor: float = 4.0
    saliency_shift: float = -2.0
    saliency_power: float = 1.3


def rescale(head: CalmHead, rescaling: Rescaling) -> None:
    """Rescale a head with context in place.

    Parameters
    ----------
    head : CalmHead
    rescaling : Rescaling
    """
    assert head.context_branch is not None
    saliency = head.saliency_branch
    assert saliency.bias is not None
    with torch.no_grad():
        head.class_branch.weight *= rescaling.class_factor
        head.context_branch.weight *= rescaling.context_factor
        saliency.weight *= rescaling.saliency_factor
        saliency.bias.mul_(rescaling.saliency_factor).add_(rescaling.saliency_shift)
    head.saliency_power = rescaling.saliency_power
