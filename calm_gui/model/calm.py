"""The output layers: CALM's two branches, CAM's one, and their logarithms (paper, sections 3 and 4.1)."""

from typing import get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.errors import NumericalError
from calm_gui.model.acol import AcolHead
from calm_gui.model.info import Activation

__all__ = [
    "Activation",
    "CalmHead",
    "CamHead",
    "Head",
    "HeadNetwork",
    "check_raw_outputs",
    "log_class_probabilities",
    "log_conditional",
    "log_saliency",
]

_SOFTPLUS_IS_EXP = -15.0
"""Below this, softplus(a) = exp(a) to float32 precision, so that its logarithm is a itself."""


class CalmHead(nn.Module):
    """Class branch and saliency branch, each a 1x1 convolution (paper, figure 2a and supplement C).

    Parameters
    ----------
    channels : int
        Channels of the backbone's feature map.
    classes : int
        Number of classes C.
    activation : {"softplus", "relu"}
        What makes the saliency branch positive: softplus in the paper's text, ReLU in its supplement and code.

    Attributes
    ----------
    class_branch, saliency_branch : torch.nn.Conv2d
    activation : str
    """

    def __init__(self, channels: int, classes: int, activation: Activation = "softplus") -> None:
        super().__init__()
        if activation not in get_args(Activation):
            raise ValueError(f"saliency activation must be one of {get_args(Activation)}, not {activation!r}")
        self.activation: Activation = activation
        self.class_branch = nn.Conv2d(channels, classes, kernel_size=1)
        self.saliency_branch = nn.Conv2d(channels, 1, kernel_size=1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Raw outputs f (B,C,H,W) and a (B,1,H,W), float32 whatever the backbone's precision."""
        with torch.autocast(features.device.type, enabled=False):
            features = features.float()
            return self.class_branch(features), self.saliency_branch(features)


class CamHead(nn.Module):
    """Class branch alone; the class scores are its spatial mean (paper, equation 1)."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.class_branch = nn.Conv2d(channels, classes, kernel_size=1)

    def forward(self, features: Tensor) -> tuple[Tensor, None]:
        """Raw class scores f (B,C,H,W), float32, and None in the saliency branch's place."""
        with torch.autocast(features.device.type, enabled=False):
            return self.class_branch(features.float()), None


Head = CalmHead | CamHead | AcolHead
"""Output layers: features (B,L,H,W) to raw outputs (f, a), or (f, None)."""


class HeadNetwork(nn.Module):
    """A backbone and a head; calling it gives the raw outputs (f, a), or (f, None) for CAM.

    Parameters
    ----------
    backbone : torch.nn.Module
        Maps pictures (B,3,h,w) to features (B,L,H,W).
    head : CalmHead, CamHead or AcolHead
    """

    def __init__(self, backbone: nn.Module, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor | None]:
        """Raw outputs of pictures (B,3,h,w)."""
        outputs: tuple[Tensor, Tensor | None] = self.head(self.backbone(pictures))
        return outputs


def log_conditional(f: Tensor) -> Tensor:
    """Logarithm of g = p(y|x,z): log-softmax over classes at each location.

    Parameters
    ----------
    f : Tensor, (B,C,H,W)

    Returns
    -------
    Tensor, (B,C,H,W), float32
    """
    return functional.log_softmax(f.float(), dim=1)


def log_saliency(a: Tensor, activation: Activation, normaliser_gradient: bool = True) -> Tensor:
    """Logarithm of h = p(z|x) = act(a) / sum of act(a) (paper, section 4.1).

    Parameters
    ----------
    a : Tensor, (B,1,H,W)
        Raw saliency branch.
    activation : {"softplus", "relu"}
    normaliser_gradient : bool
        Whether the gradient flows through the sum. The released code holds the sum constant, so that its
        saliency gradient never points down.

    Returns
    -------
    Tensor, (B,H,W), float32
        Minus infinity, with gradient zero, where ReLU is zero; minus infinity everywhere where it is zero
        everywhere (`check_raw_outputs` turns that into words).
    """
    a = a.float().squeeze(1)
    if activation == "relu":
        on = a > 0
        log_s = torch.where(on, torch.where(on, a, 1.0).log(), -torch.inf)
        log_sum = torch.where(on, a, 0.0).sum(dim=(-2, -1), keepdim=True).clamp_min(torch.finfo(a.dtype).tiny).log()
    else:
        tail = a < _SOFTPLUS_IS_EXP
        log_s = torch.where(tail, a, functional.softplus(torch.where(tail, 0.0, a)).log())
        log_sum = torch.logsumexp(log_s, dim=(-2, -1), keepdim=True)
    return log_s - (log_sum if normaliser_gradient else log_sum.detach())


def log_class_probabilities(f: Tensor, a: Tensor | None, activation: Activation | None) -> Tensor:
    """log p(y|x): the sum of the joint over locations, or for CAM the softmax of the mean scores.

    Parameters
    ----------
    f : Tensor, (B,C,H,W)
    a : Tensor, (B,1,H,W), or None for CAM
    activation : {"softplus", "relu"} or None

    Returns
    -------
    Tensor, (B,C), float32
    """
    if a is None or activation is None:
        return functional.log_softmax(f.float().mean(dim=(2, 3)), dim=1)
    return torch.logsumexp(log_conditional(f) + log_saliency(a, activation)[:, None], dim=(2, 3))


def check_raw_outputs(f: Tensor, a: Tensor | None, activation: Activation | None) -> None:
    """Refuse raw outputs that no probability can be made of.

    Parameters
    ----------
    f : Tensor, (B,C,H,W)
    a : Tensor, (B,1,H,W), or None for CAM
    activation : {"softplus", "relu"} or None

    Raises
    ------
    NumericalError
        If a value is NaN or infinite, or the saliency branch is zero everywhere for one of the pictures.
    """
    if not torch.isfinite(f).all():
        raise NumericalError(
            "the class branch gave NaN or infinity; the checkpoint's weights are broken or overflow at this precision"
        )
    if a is None:
        return
    if not torch.isfinite(a).all():
        raise NumericalError(
            "the saliency branch gave NaN or infinity; the checkpoint's weights are broken "
            "or overflow at this precision"
        )
    if activation == "relu" and (a.amax(dim=(-3, -2, -1)) <= 0).any():
        raise NumericalError(
            "the saliency branch is zero everywhere (ReLU of negative values only), so p(z|x) is undefined; "
            "the checkpoint's saliency branch is dead or was trained with softplus"
        )
