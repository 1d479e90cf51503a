"""Class activation maps by the library torchcam, at the last features (``pip install calm-gui[methods]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["class_activation"]


def class_activation(
    extractor: type[Any], score: nn.Module, backbone: nn.Module, inputs: Tensor, **more: Any
) -> Tensor:
    """The map of one of torchcam's extractors, (h,w), as it is before it is normalised.

    Parameters
    ----------
    extractor : type
        Of `torchcam.methods`.
    score : torch.nn.Module
        Gives the score to explain in its first column.
    backbone : torch.nn.Module
        The layer that is hooked.
    inputs : Tensor (1,3,h,w)
    more
        Settings of the extractor.
    """
    with extractor(score, target_layer=backbone, input_shape=tuple(inputs.shape[1:]), **more) as hooked:
        scores = score(inputs)
        found: Tensor = hooked(0, scores, normalized=False)[0][0]
    return found
