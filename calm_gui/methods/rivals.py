"""The score of a target beside those that Finer-CAM compares it with."""

import torch
from torch import Tensor, nn

from calm_gui.methods.score import Score

__all__ = ["Against", "Rivals"]


class Rivals(nn.Module):
    """log p(A|x), then log p(y|x) of every class outside A, (B,1+N).

    Parameters
    ----------
    score : Score
    """

    def __init__(self, score: nn.Module) -> None:
        super().__init__()
        assert isinstance(score, Score)
        self.score = score

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of inputs (B,3,h,w)."""
        log_p = self.score.log_probabilities(inputs)
        others = torch.ones(log_p.shape[1], dtype=torch.bool, device=log_p.device)
        others[self.score.target.to(log_p.device)] = False
        return torch.cat([self.score.of(log_p), log_p[:, others]], dim=1)


class Against(nn.Module):
    """log p(A|x), then log p(B|x), (B,2).

    Parameters
    ----------
    score : Score
        With a contrast.
    """

    def __init__(self, score: nn.Module) -> None:
        super().__init__()
        assert isinstance(score, Score) and score.contrast is not None
        self.score = score
        self.contrast = score.contrast

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of inputs (B,3,h,w)."""
        log_p = self.score.log_probabilities(inputs)
        against = torch.logsumexp(log_p[:, self.contrast.to(log_p.device)], dim=1, keepdim=True)
        return torch.cat([self.score.of(log_p), against], dim=1)
