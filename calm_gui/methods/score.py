"""The score that methods attribute: log p(A|x)."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from calm_gui.core.classes import ClassSet
from calm_gui.model.calm import HeadNetwork, log_class_probabilities
from calm_gui.model.choices import Activation

__all__ = ["Score"]


class Score(nn.Module):
    """log p(A|x) of a network, (B,1), telling each pass.

    Parameters
    ----------
    network : HeadNetwork
    activation : {"softplus", "relu"} or None
        None for CAM.
    target : ClassSet
        A.
    tick : callable
        Gets the number of each pass, from 1 on.
    contrast : ClassSet, optional
        B.

    Attributes
    ----------
    target : Tensor
        Indices of A.
    contrast : Tensor or None
        Indices of B.
    """

    def __init__(
        self,
        network: HeadNetwork,
        activation: Activation | None,
        target: ClassSet,
        tick: Callable[[int], None],
        contrast: ClassSet | None = None,
    ) -> None:
        super().__init__()
        self.network = network
        self._activation = activation
        self.target = torch.from_numpy(target.indices.copy())
        self.contrast = None if contrast is None else torch.from_numpy(contrast.indices.copy())
        self._tick = tick
        self._passes = 0

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of inputs (B,3,h,w)."""
        return self.of(self.log_probabilities(inputs))

    def log_probabilities(self, inputs: Tensor) -> Tensor:
        """log p(y|x) of every class, (B,C)."""
        self._passes += 1
        self._tick(self._passes)
        return self.log_probabilities_of(*self.network(inputs))

    def log_probabilities_of(self, f: Tensor, a: Tensor | None) -> Tensor:
        """The same of raw outputs."""
        return log_class_probabilities(f, a, self._activation)

    def of(self, log_p: Tensor) -> Tensor:
        """log p(A|x), (B,1), of log p(y|x)."""
        return torch.logsumexp(log_p[:, self.target.to(log_p.device)], dim=1, keepdim=True)
