"""The score that methods attribute: log p(A|x)."""

import torch
from torch import Tensor, nn

from calm_gui.core.classes import ClassSet
from calm_gui.methods.method import Tick
from calm_gui.model.calm import HeadNetwork, log_class_probabilities
from calm_gui.model.info import Activation

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
    """

    def __init__(self, network: HeadNetwork, activation: Activation | None, target: ClassSet, tick: Tick) -> None:
        super().__init__()
        self.network = network
        self._activation = activation
        self._target = torch.from_numpy(target.indices.copy())
        self._tick = tick

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of inputs (B,3,h,w)."""
        self._tick()
        f, a = self.network(inputs)
        log_p = log_class_probabilities(f, a, self._activation)
        return torch.logsumexp(log_p[:, self._target.to(f.device)], dim=1, keepdim=True)
