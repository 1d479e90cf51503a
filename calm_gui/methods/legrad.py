"""LeGrad."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from calm_gui.methods.method import METHODS, Method

if TYPE_CHECKING:
    from torch import Tensor, nn

    from calm_gui.methods.score import Score
    from calm_gui.methods.vit import Seen, VisionTransformer


class LeGrad(Method):
    """LeGrad (Bousselham et al. 2025) over all blocks of a vision transformer of torchvision or timm.

    Each block's tokens are scored as if they were the last ones: their mean goes through the network's own last
    normalisation and head. The gradient of that score by the block's attention (heads, N, N), where it is positive, is
    averaged over heads and over the tokens that attend; what is attended to is left, and averaged over the blocks.
    """

    key = "legrad"
    title = "LeGrad"
    source = "Bousselham et al. 2025, written here from its definition"

    def refusal(self, network: nn.Module) -> str:
        """Networks without the usual attention have none."""
        from calm_gui.methods.vit import find_vit

        if find_vit(network):
            return ""
        return "LeGrad needs a vision transformer of torchvision or timm (ViT, DeiT), which this network isn't"

    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """As `Method.attribute`."""
        import torch

        from calm_gui.methods.score import Score
        from calm_gui.methods.vit import find_vit, watched_blocks

        assert isinstance(score, Score)
        vit = find_vit(score.network)
        assert vit is not None  # others are refused before
        with watched_blocks(vit) as seen:
            score(inputs)
        grid = _grid(inputs, len(seen[0].tokens) - vit.prefix)
        found = []
        for one in seen:
            value = score.of(_log_probabilities(score, vit, one.tokens, grid))
            (slope,) = torch.autograd.grad(value.sum(), one.mixed, retain_graph=True)
            found.append(_attended(one, slope[0])[vit.prefix :])
        return torch.stack(found).mean(0).reshape(grid)

    def passes(self, inputs: Tensor, channels: int) -> int:
        """As `Method.passes`."""
        return 1


def _grid(inputs: Tensor, places: int) -> tuple[int, int]:
    """Rows and columns of the tokens of an input (1,3,h,w)."""
    height, width = int(inputs.shape[2]), int(inputs.shape[3])
    rows = round(math.sqrt(places * height / width))
    return rows, places // rows


def _log_probabilities(score: Score, vit: VisionTransformer, tokens: Tensor, grid: tuple[int, int]) -> Tensor:
    """log p(y|x), (1,C), that the network's own end makes of a block's tokens (N,L)."""
    from calm_gui.model.calm import HeadNetwork

    if isinstance(score.network, HeadNetwork):
        places = vit.normed(tokens)[vit.prefix :].T.reshape(1, -1, *grid)
        return score.log_probabilities_of(*score.network.head(places))
    return score.log_probabilities_of(vit.logits(tokens.mean(0, keepdim=True)).float()[:, :, None, None], None)


def _attended(one: Seen, slope: Tensor) -> Tensor:
    """Mean over heads and attending tokens of the positive gradients by attention, for each token attended to, (N,).

    With O = A V, the derivative of a score by A_ij of a head is the product of dscore/dO_i with V_j.
    """
    by_mixed = slope if one.to_mixed is None else slope @ one.to_mixed
    queries = by_mixed.unflatten(-1, (one.heads, -1)).transpose(0, 1)
    keys = one.values.unflatten(-1, (one.heads, -1)).transpose(0, 1)
    return (queries @ keys.transpose(1, 2)).clamp(min=0).mean((0, 1))


METHODS.register(LeGrad())
