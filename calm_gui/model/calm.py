"""The output layers: CALM's two branches, CAM's one, and their logarithms (paper, sections 3 and 4.1).

What a CALM head may have beyond the paper's (context, a power of the saliency, a temperature; docs/context.md) is done
inside it: f and a as it gives them make g = softmax(f) and h = act(a) / sum of act(a), whatever the head.
"""

from typing import get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.errors import NumericalError
from calm_gui.model.acol import AcolHead
from calm_gui.model.choices import Activation, Context

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
    "to_power",
]

_SOFTPLUS_IS_EXP = -15.0
"""Below this, softplus(a) = exp(a) to float32 precision, so that its logarithm is a itself."""


class CalmHead(nn.Module):
    """Class branch and saliency branch, each a 1x1 convolution (paper, figure 2a and supplement C).

    With x_z the features at a place, s_z = act(w x_z + c) and h_z = s_z^power / sum of s^power, the outputs are

    - f_z = (W x_z + V x̄ + b) / temperature, where x̄ is the mean of the features over places, plain or weighted by h;
    - a_z with act(a_z) = s_z^power.

    Parameters
    ----------
    channels : int
        Channels L of the backbone's feature map.
    classes : int
        Number of classes C.
    activation : {"softplus", "relu"}
        What makes the saliency branch positive: softplus in the paper's text, ReLU in its supplement and code.
    context : {"none", "mean", "saliency"}
        What x̄ is; "none" leaves V x̄ out, as in the paper.
    saliency_power : float
        Above 0; 1 in the paper.
    temperature : float
        Above 0; 1 in the paper.

    Attributes
    ----------
    class_branch, saliency_branch : torch.nn.Conv2d
        W and b, w and c.
    context_branch : torch.nn.Conv2d or None
        V; it has no bias.
    activation, context, saliency_power, temperature
        As given. In training a power may be a tensor of no dimension.
    """

    def __init__(
        self,
        channels: int,
        classes: int,
        activation: Activation = "softplus",
        context: Context = "none",
        saliency_power: float = 1.0,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        for what, value, allowed in (
            ("saliency activation", activation, get_args(Activation)),
            ("context", context, get_args(Context)),
        ):
            if value not in allowed:
                raise ValueError(f"{what} must be one of {allowed}, not {value!r}")
        if not (saliency_power > 0 and temperature > 0):
            raise ValueError(f"saliency power and temperature must be above 0, not {saliency_power} and {temperature}")
        self.activation: Activation = activation
        self.context: Context = context
        self.saliency_power: float | Tensor = saliency_power
        self.temperature = temperature
        self.class_branch = nn.Conv2d(channels, classes, kernel_size=1)
        self.context_branch = None if context == "none" else nn.Conv2d(channels, classes, kernel_size=1, bias=False)
        self.saliency_branch = nn.Conv2d(channels, 1, kernel_size=1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """f (B,C,H,W) and a (B,1,H,W), float32 whatever the backbone's precision."""
        with torch.autocast(features.device.type, enabled=False):
            features = features.float()
            a = to_power(self.saliency_branch(features), self.saliency_power, self.activation)
            f: Tensor = self.class_branch(features)
            # In place, which the gradient doesn't mind: f is the largest array here.
            if self.context_branch is not None:
                f += self.context_branch(self._pooled(features, a))
            if self.temperature != 1:
                f /= self.temperature
            return f, a

    def _pooled(self, features: Tensor, a: Tensor) -> Tensor:
        """x̄, (B,L,1,1)."""
        if self.context == "mean":
            return features.mean((2, 3), keepdim=True)
        h = log_saliency(a, self.activation).exp()
        return torch.einsum("bchw,bhw->bc", features, h)[:, :, None, None]


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
        log_s = _log_softplus(a)
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


def to_power(a: Tensor, power: float | Tensor, activation: Activation) -> Tensor:
    """The a' whose activation is act(a)^power, so that what reads a' needn't know the power.

    Parameters
    ----------
    a : Tensor
        Raw saliency branch.
    power : float or Tensor
        Above 0; a 1 that is no tensor gives `a` itself.
    activation : {"softplus", "relu"}

    Returns
    -------
    Tensor, of the shape of `a`, float32
    """
    if not isinstance(power, Tensor) and power == 1:
        return a
    if activation == "relu":
        return torch.where(a > 0, torch.where(a > 0, a, 1.0) ** power, a)
    log_u = _log_softplus(a) * power
    u = log_u.clamp_min(_SOFTPLUS_IS_EXP).exp()
    # The inverse of softplus, log(e^u - 1); for large u it is u, for small u it is log u.
    return torch.where(log_u < _SOFTPLUS_IS_EXP, log_u, u + torch.log(-torch.expm1(-u)))


def _log_softplus(a: Tensor) -> Tensor:
    tail = a < _SOFTPLUS_IS_EXP
    return torch.where(tail, a, functional.softplus(torch.where(tail, 0.0, a)).log())


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
