"""ACoL's output layers: two class branches, the second looks where the first doesn't (Zhang et al., CVPR 2018)."""

import torch
from torch import Tensor, nn

from calm_gui.model.choices import ACOL_WIDTH

__all__ = ["AcolHead", "between_extremes", "erased", "fused_scores", "map_of"]


class AcolHead(nn.Module):
    """Two branches of two 3x3 convolutions and a 1x1 convolution; class scores of the first, places of both.

    Parameters
    ----------
    channels : int
        Channels of the features.
    classes : int
    threshold : float
        Places where the first branch's map, between its extremes, is at least this are hidden from the second.
    width : int
        Channels of both convolutions.

    Attributes
    ----------
    branch_a, branch_b : torch.nn.Sequential
    threshold : Tensor, scalar
        Lies in the checkpoint, as it is needed to look again.
    """

    threshold: Tensor

    def __init__(self, channels: int, classes: int, threshold: float = 0.7, width: int = ACOL_WIDTH) -> None:
        super().__init__()
        self.branch_a, self.branch_b = (_branch(channels, width, classes) for _ in range(2))
        self.register_buffer("threshold", torch.tensor(threshold))

    def both(self, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Class scores of both branches, each (B,C,H,W) float32, the second of features erased by the labels' maps.

        Parameters
        ----------
        features : Tensor (B,L,H,W)
        labels : Tensor (B,) int64
        """
        scores_a = self.branch_a(features).float()
        attention = between_extremes(map_of(scores_a, labels)).detach()
        return scores_a, self.branch_b(erased(features, attention, self.threshold)).float()

    def forward(self, features: Tensor) -> tuple[Tensor, None]:
        """Class scores (B,C,H,W), float32, whose mean is the first branch's logit and whose places are both branches'.

        The second branch sees features erased by the map of the class that the first one predicts.
        """
        scores_a = self.branch_a(features).float()
        predicted = scores_a.mean((2, 3)).argmax(1)
        attention = between_extremes(map_of(scores_a, predicted))
        return fused_scores(scores_a, self.branch_b(erased(features, attention, self.threshold)).float()), None


def map_of(scores: Tensor, labels: Tensor) -> Tensor:
    """Maps (B,1,H,W) of each picture's class, of class scores (B,C,H,W)."""
    return scores.gather(1, labels[:, None, None, None].expand(-1, 1, *scores.shape[2:]))


def between_extremes(maps: Tensor) -> Tensor:
    """Maps (...,H,W), each moved to 0..1; 0 where one doesn't vary."""
    low, high = maps.amin((-2, -1), keepdim=True), maps.amax((-2, -1), keepdim=True)
    varies = high > low
    return torch.where(varies, (maps - low) / torch.where(varies, high - low, 1.0), 0.0)


def erased(features: Tensor, attention: Tensor, threshold: Tensor | float) -> Tensor:
    """Features (B,L,H,W) where attention (B,1,H,W) is below the threshold, else 0."""
    return torch.where(attention < threshold, features, torch.zeros((), dtype=features.dtype, device=features.device))


def fused_scores(scores_a: Tensor, scores_b: Tensor) -> Tensor:
    """Class scores with the logits of the first branch and the map of both.

    Parameters
    ----------
    scores_a, scores_b : Tensor (B,C,H,W)

    Returns
    -------
    Tensor (B,C,H,W)
        Each class's mean is that of `scores_a`; between its extremes it is the larger of both branches' maps between
        theirs, as that is at least 0 and at most 1.
    """
    fused = torch.maximum(between_extremes(scores_a), between_extremes(scores_b))
    span = scores_a.amax((2, 3), keepdim=True) - scores_a.amin((2, 3), keepdim=True)
    logits = scores_a.mean((2, 3), keepdim=True)
    return logits + torch.where(span > 0, span, 1.0) * (fused - fused.mean((2, 3), keepdim=True))


class _WideConvolution(nn.Conv2d):
    """A convolution that stays out of the layout channels_last on a CPU, where so many channels take a third longer."""

    def forward(self, features: Tensor) -> Tensor:
        if features.device.type != "cpu":
            return super().forward(features)
        return self._conv_forward(features.contiguous(), self.weight.contiguous(), self.bias)


def _branch(channels: int, width: int, classes: int) -> nn.Sequential:
    return nn.Sequential(
        _WideConvolution(channels, width, 3, padding=1),
        nn.ReLU(inplace=True),
        _WideConvolution(width, width, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, classes, 1),
    )
