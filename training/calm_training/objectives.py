"""Training objectives of CALM and CAM, in log space (the paper's section 4.1, supplement B).

Every function takes the raw outputs of the two branches, works in float32 whatever the precision around
it, and needs only the row of the true class where the target is a class index.

Notation: f (B,C,H,W) class branch, a (B,1,H,W) saliency branch, g = softmax of f over classes,
h = act(a) / sum of act(a), q = p(z|x,y) = g_y h / sum over z of g_y h.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from calm_gui.model.calm import Activation, log_saliency

__all__ = [
    "Reduction",
    "Target",
    "TopTarget",
    "calm_em",
    "calm_m_step",
    "calm_ml",
    "cam",
    "smoothed",
    "spread",
    "top_target",
]

Reduction = Literal["mean", "none"]


class TopTarget(NamedTuple):
    """A distribution over few of the classes, different ones for each picture.

    Attributes
    ----------
    classes : Tensor (B,K) int64
    weights : Tensor (B,K) float32
        Rows sum to 1.
    """

    classes: Tensor
    weights: Tensor


Target = Tensor | TopTarget
"""Class indices (B,) int64, a distribution over all classes (B,C) float, or one over few of them."""

CLASS_CHUNK = 64
"""Classes whose joint is held in memory at once where the target speaks of all of them."""


def calm_ml(
    f: Tensor,
    a: Tensor,
    target: Target,
    *,
    activation: Activation = "softplus",
    normaliser_gradient: bool = True,
    label_smoothing: float = 0.0,
    class_chunk: int = CLASS_CHUNK,
    reduction: Reduction = "mean",
) -> Tensor:
    """Marginal likelihood: -log of the sum over z of g_yz h_z (the paper's equation for CALM-ML).

    Parameters
    ----------
    f, a : Tensor
        Raw outputs of the class branch (B,C,H,W) and the saliency branch (B,1,H,W).
    target : Tensor or TopTarget
        Class indices (B,) int64, a distribution over classes (B,C), for example another classifier's, or over the
        few of them that have any weight.
    activation : {"relu", "softplus"}
        Activation of the saliency branch.
    normaliser_gradient : bool
        False holds the sum in h constant, as the released code does: the saliency gradient then never points
        down. The loss itself doesn't depend on it.
    label_smoothing : float
        Share of the target, in [0,1), that is spread evenly over all classes.
    class_chunk : int
        Classes held in memory at once for soft targets.
    reduction : {"mean", "none"}
        Mean over the batch, or one loss for each picture (B,).

    Returns
    -------
    Tensor
        Loss in nats, float32. It isn't finite where the saliency of a picture is zero everywhere.
    """

    def of_rows(log_joint: Tensor, _: Tensor) -> Tensor:
        return -log_joint.logsumexp(-1)

    return _objective(
        of_rows,
        (f, a),
        (f, a),
        target,
        activation=activation,
        normaliser_gradient=normaliser_gradient,
        label_smoothing=label_smoothing,
        class_chunk=class_chunk,
        reduction=reduction,
    )


def calm_em(
    f: Tensor,
    a: Tensor,
    target: Target,
    source: tuple[Tensor, Tensor] | None = None,
    *,
    activation: Activation = "softplus",
    normaliser_gradient: bool = True,
    label_smoothing: float = 0.0,
    class_chunk: int = CLASS_CHUNK,
    reduction: Reduction = "mean",
) -> Tensor:
    """Expectation-maximization: -sum over z of q'_z log(g_yz h_z), q' held constant (CALM-EM).

    With ``source=None`` (theta' = theta) the gradient is that of `calm_ml` (Fisher's identity); the loss
    is larger by the entropy of q. A different result needs a different theta'.

    Parameters
    ----------
    f, a, target
        As in `calm_ml`.
    source : pair of Tensor, optional
        (f', a') that the E-step takes q' from, of the shapes of f and a; no gradient flows into them.
    activation, normaliser_gradient, label_smoothing, class_chunk, reduction
        As in `calm_ml`.

    Returns
    -------
    Tensor
        Loss in nats. 0 log 0 counts as 0; the loss is infinite where q' is positive but h is 0, which only a
        ReLU saliency branch with a different theta' can give.
    """

    def of_rows(log_joint: Tensor, log_joint_source: Tensor) -> Tensor:
        q = log_joint_source.detach().softmax(-1)
        return -(q * torch.where(q > 0, log_joint, 0.0)).sum(-1)

    return _objective(
        of_rows,
        (f, a),
        (f, a) if source is None else source,
        target,
        activation=activation,
        normaliser_gradient=normaliser_gradient,
        label_smoothing=label_smoothing,
        class_chunk=class_chunk,
        reduction=reduction,
    )


def calm_m_step(
    f: Tensor,
    a: Tensor,
    target: TopTarget,
    posterior: Tensor,
    *,
    activation: Activation = "softplus",
    normaliser_gradient: bool = True,
    reduction: Reduction = "mean",
) -> Tensor:
    """The M-step of CALM-EM alone, the E-step's q'_yz = p'(z|x,y) given: -sum over z of q'_yz log(g_yz h_z).

    Parameters
    ----------
    f, a : Tensor
        As in `calm_ml`.
    target : TopTarget
        Classes (B,K) and their weights.
    posterior : Tensor (B,K,H,W)
        Of each of these classes; sums to 1 over H and W.
    activation, normaliser_gradient, reduction
        As in `calm_ml`.

    Returns
    -------
    Tensor
        Loss in nats, float32.
    """
    with torch.autocast(f.device.type, enabled=False):
        parts = _log_parts(f, a, activation, normaliser_gradient)
        q = posterior.float().flatten(2)

        def of_rows(log_joint: Tensor, _: Tensor) -> Tensor:
            return -(q * torch.where(q > 0, log_joint, 0.0)).sum(-1)

        loss = _few(of_rows, parts, (parts[0].detach(), parts[1].detach()), target)
        return loss.mean() if reduction == "mean" else loss


def cam(f: Tensor, target: Target, *, label_smoothing: float = 0.0, reduction: Reduction = "mean") -> Tensor:
    """Cross-entropy of the class maps' means, the classifier that CAM explains (the paper's section 3).

    Parameters
    ----------
    f : Tensor
        Class feature maps (B,C,H,W); the mean over H and W is the logit (supplement A).
    target : Tensor or TopTarget
        Class indices (B,), a distribution over classes (B,C), or one over few of them.
    label_smoothing : float
        Share of the target, in [0,1), that is spread evenly over all classes.
    reduction : {"mean", "none"}
        Mean over the batch, or one loss for each picture (B,).

    Returns
    -------
    Tensor
        Loss in nats, float32.
    """
    with torch.autocast(f.device.type, enabled=False):
        logits = f.mean((2, 3), dtype=torch.float32)
        if isinstance(target, TopTarget):
            target = spread(target, logits.shape[1])
        if target.is_floating_point():
            target = target.to(logits.dtype)
        return F.cross_entropy(logits, target, label_smoothing=label_smoothing, reduction=reduction)


def smoothed(labels: Tensor, classes: int, label_smoothing: float) -> Tensor:
    """Distribution over classes (B,C), float32, of class indices (B,) with a share spread over all classes."""
    target = torch.full((len(labels), classes), label_smoothing / classes, device=labels.device)
    return target.scatter_(1, labels[:, None], 1 - label_smoothing + label_smoothing / classes)


def top_target(probabilities: Tensor, number: int) -> TopTarget:
    """The `number` most probable classes of a distribution (B,C), their weights scaled to sum to 1."""
    weights, classes = probabilities.topk(number, dim=1)
    return TopTarget(classes, weights / weights.sum(1, keepdim=True))


def spread(target: TopTarget, classes: int) -> Tensor:
    """A distribution over few classes as one over all of them (B,C), float32."""
    zeros = torch.zeros(len(target.classes), classes, device=target.classes.device)
    return zeros.scatter_add_(1, target.classes, target.weights.float())


def _log_parts(f: Tensor, a: Tensor, activation: Activation, normaliser_gradient: bool) -> tuple[Tensor, Tensor]:
    """Flattened f (B,C,Z) and log h - logsumexp f (B,Z): their sum along C is the log of the joint."""
    f = f.float()
    log_h = log_saliency(a, activation, normaliser_gradient)
    return f.flatten(2), (log_h - f.logsumexp(1)).flatten(1)


def _objective(
    of_rows: Callable[[Tensor, Tensor], Tensor],
    branches: tuple[Tensor, Tensor],
    source: tuple[Tensor, Tensor],
    target: Target,
    *,
    activation: Activation,
    normaliser_gradient: bool,
    label_smoothing: float,
    class_chunk: int,
    reduction: Reduction,
) -> Tensor:
    """Mean under the target of a loss that is defined class by class.

    ``of_rows(log_joint, log_joint_source)`` maps rows (...,Z) of the two joints to losses (...).
    """
    if isinstance(target, TopTarget) and label_smoothing:
        classes = branches[0].shape[1]
        target = (1 - label_smoothing) * spread(target, classes) + label_smoothing / classes
    if isinstance(target, Tensor) and not target.is_floating_point():
        target = (
            smoothed(target, branches[0].shape[1], label_smoothing)
            if label_smoothing
            else TopTarget(target[:, None], torch.ones_like(target[:, None], dtype=torch.float32))
        )
    with torch.autocast(branches[0].device.type, enabled=False):
        parts = _log_parts(*branches, activation, normaliser_gradient)
        if source[0] is branches[0] and source[1] is branches[1]:
            parts_source = parts[0].detach(), parts[1].detach()
        else:
            with torch.no_grad():
                parts_source = _log_parts(*source, activation, normaliser_gradient)
        if isinstance(target, TopTarget):
            loss = _few(of_rows, parts, parts_source, target)
        else:
            loss = _all(of_rows, parts, parts_source, target.float(), class_chunk)
        return loss.mean() if reduction == "mean" else loss


def _few(
    of_rows: Callable[[Tensor, Tensor], Tensor],
    parts: tuple[Tensor, Tensor],
    parts_source: tuple[Tensor, Tensor],
    target: TopTarget,
) -> Tensor:
    """Sum of weight times loss over the few classes of the target; only their rows are ever looked at."""
    rows = target.classes[:, :, None].expand(-1, -1, parts[0].shape[2])
    log_joint, log_joint_source = (f.gather(1, rows) + rest[:, None] for f, rest in (parts, parts_source))
    return (target.weights * of_rows(log_joint, log_joint_source)).sum(1)


def _all(
    of_rows: Callable[[Tensor, Tensor], Tensor],
    parts: tuple[Tensor, Tensor],
    parts_source: tuple[Tensor, Tensor],
    target: Tensor,
    class_chunk: int,
) -> Tensor:
    """Sum over all classes of target times loss, chunk by chunk, each recomputed in the backward pass."""

    def of_chunk(f: Tensor, rest: Tensor, f_source: Tensor, rest_source: Tensor, weight: Tensor) -> Tensor:
        return (weight * of_rows(f + rest[:, None], f_source + rest_source[:, None])).sum(1)

    (f, rest), (f_source, rest_source) = parts, parts_source
    total = torch.zeros(len(f), device=f.device)
    for start in range(0, f.shape[1], class_chunk):
        rows = slice(start, start + class_chunk)
        arguments = (f[:, rows], rest, f_source[:, rows], rest_source, target[:, rows])
        total = total + checkpoint(of_chunk, *arguments, use_reentrant=False, preserve_rng_state=False)
    return total
