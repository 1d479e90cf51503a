"""Teaching a CALM network with context which place shows which class, by composites of pictures (docs/context.md)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from calm_gui.model.calm import CalmHead, HeadNetwork, log_saliency, to_power
from calm_gui.model.choices import Context
from calm_training.composing import MOST_PARTS, compose_features, compose_pixels, compose_targets, draw_layout, owners
from calm_training.objectives import TopTarget, calm_m_step
from calm_training.precision import fast_autocast

__all__ = ["PlacesSettings", "Source", "context_head", "pixel_composites", "teach_places"]

_CLASSES = 5
"""Classes of each picture of a composite; a picture alone has all of its target's."""

_ROWS = MOST_PARTS * _CLASSES


@dataclass(frozen=True)
class PlacesSettings:
    """How places are taught.

    Attributes
    ----------
    context : {"mean", "saliency"}
    class_factor, context_factor : float
        What the class branch is multiplied by to start W and V.
    saliency_power : float
        Where the power of h starts; it is learnt.
    composites : float
        Share of the samples that are composites; of these half are squeezed pictures, half put together from
        feature maps.
    squeezed : int
        Squeezed composites that are made once, before training.
    steps, batch : int
    learning_rate : float
        Of AdamW, rising for a tenth of the steps and falling to 0 as a cosine.
    saliency_factor : float
        Times the learning rate for the saliency branch and its power.
    sharpness : float
        Power of the target's weights before they are scaled to sum to 1.
    seed : int
    """

    context: Context = "mean"
    class_factor: float = 0.35
    context_factor: float = 0.9
    saliency_power: float = 1.2
    composites: float = 0.6
    squeezed: int = 1600
    steps: int = 240
    batch: int = 32
    learning_rate: float = 2e-4
    saliency_factor: float = 5.0
    sharpness: float = 1.1
    seed: int = 0


class Source(NamedTuple):
    """Features of single pictures or of composites, with their targets.

    Attributes
    ----------
    features : callable
        Features (n,L,H,W) of numbers.
    target : TopTarget
        Classes and weights (N,K).
    posterior : Tensor (N,K,H,W)
    """

    features: Callable[[np.ndarray], Tensor]
    target: TopTarget
    posterior: Tensor

    def part(self, numbers: np.ndarray, rows: int | None = None) -> tuple[TopTarget, Tensor]:
        """Targets and posteriors of some, of the first `rows` classes."""
        weights = self.target.weights[numbers, :rows]
        target = TopTarget(self.target.classes[numbers, :rows], weights / weights.sum(1, keepdim=True))
        return target, self.posterior[numbers, :rows].float()


def context_head(head: CalmHead, settings: PlacesSettings) -> CalmHead:
    """A head with context that starts from one without: W and V are its class branch times a factor each."""
    weight = head.class_branch.weight
    result = CalmHead(weight.shape[1], weight.shape[0], head.activation, settings.context, settings.saliency_power)
    assert result.context_branch is not None and result.class_branch.bias is not None
    with torch.no_grad():
        result.class_branch.weight.copy_(weight * settings.class_factor)
        result.context_branch.weight.copy_(weight * settings.context_factor)
        if head.class_branch.bias is not None:
            result.class_branch.bias.copy_(head.class_branch.bias)
        result.saliency_branch.load_state_dict(head.saliency_branch.state_dict())
    return result


def pixel_composites(
    inputs: Callable[[Sequence[int]], Tensor], target: TopTarget, posterior: Tensor, settings: PlacesSettings
) -> tuple[Callable[[Sequence[int]], Tensor], TopTarget, Tensor]:
    """Squeezed composites: what gives the network inputs of their numbers, and their targets and posteriors."""
    generator = np.random.default_rng([settings.seed, 1])
    source, side = Source(lambda _: torch.empty(0), target, posterior), posterior.shape[-1]
    layouts, members, targets = [], [], []
    for _ in range(settings.squeezed):
        layout = draw_layout(generator, side)
        chosen = generator.choice(len(posterior), len(layout), replace=False)
        layouts.append(layout)
        members.append(chosen)
        targets.append(compose_targets(*source.part(chosen, _CLASSES), layout, side, squeezed=True, rows=_ROWS))
    classes, weights = (torch.stack([getattr(t, name) for t, _ in targets]) for name in ("classes", "weights"))

    def composed(numbers: Sequence[int]) -> Tensor:
        pictures = [compose_pixels(inputs(members[i].tolist()), layouts[i], side) for i in numbers]
        return torch.stack(pictures).contiguous(memory_format=torch.channels_last)

    return composed, TopTarget(classes, weights), torch.stack([q for _, q in targets]).half()


def teach_places(
    trained: HeadNetwork, singles: Source, squeezed: Source, settings: PlacesSettings, kept: Path | None = None
) -> list[float]:
    """Train the last stages and a head with context; batch statistics stay as they are.

    Parameters
    ----------
    trained : HeadNetwork
        What lies behind the features; its head has a context. The power that h ends with is left in it.
    singles, squeezed : Source
    settings : PlacesSettings
    kept : Path, optional
        File that keeps the state every 50 steps; training goes on from it.

    Returns
    -------
    list of float
        Mean loss of each tenth of the steps.
    """
    head = trained.head
    assert isinstance(head, CalmHead) and head.context_branch is not None
    power = nn.Parameter(torch.tensor(settings.saliency_power))
    saliency = [*head.saliency_branch.parameters(), power]
    rest = [*trained.backbone.parameters(), *head.class_branch.parameters(), *head.context_branch.parameters()]
    rates = [settings.learning_rate, settings.learning_rate * settings.saliency_factor]
    optimizer = torch.optim.AdamW([{"params": rest}, {"params": saliency}], weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rates, settings.steps, pct_start=0.1)
    losses: list[float] = []
    if kept is not None and kept.exists():
        state = torch.load(kept, weights_only=True)
        losses = state["losses"]
        with torch.no_grad():
            for parameter, value in zip([*rest, *saliency], state["parameters"], strict=True):
                parameter.copy_(value)
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
    for step in tqdm(range(len(losses), settings.steps), desc="places", unit="step", mininterval=20):
        features, target, posterior = _batch(singles, squeezed, settings, step)
        with fast_autocast():
            last = trained.backbone(features)
            f = head.class_branch(last)
        last = last.float()
        a = to_power(head.saliency_branch(last), power, head.activation)
        if settings.context == "mean":
            pooled = last.mean((2, 3), keepdim=True)
        else:
            pooled = torch.einsum("bchw,bhw->bc", last, log_saliency(a, head.activation).exp())[:, :, None, None]
        loss = calm_m_step(f.float() + head.context_branch(pooled), a, target, posterior)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if kept is not None and (step + 1) % 50 == 0:
            parameters = [p.detach() for p in (*rest, *saliency)]
            state = {"losses": losses, "parameters": parameters, "schedule": schedule.state_dict()}
            torch.save({**state, "optimizer": optimizer.state_dict()}, kept)
    head.saliency_power = power.item()
    return [round(float(np.mean(part)), 4) for part in np.array_split(losses, 10)]


def _batch(singles: Source, squeezed: Source, settings: PlacesSettings, step: int) -> tuple[Tensor, TopTarget, Tensor]:
    """Features, targets and posteriors of a step; the same for the same seed and step, so that a run can go on."""
    generator = np.random.default_rng([settings.seed, 2, step])
    parts = generator.binomial(settings.batch, settings.composites)
    of_pixels = parts // 2
    numbers = np.sort(generator.choice(len(singles.posterior), settings.batch - parts, replace=False))
    target, posterior = singles.part(numbers)
    padding = _ROWS - posterior.shape[1]
    items = [(singles.features(numbers), *_padded(target, posterior, padding))]
    if of_pixels:
        chosen = np.sort(generator.choice(len(squeezed.posterior), of_pixels, replace=False))
        items.append((squeezed.features(chosen), *squeezed.part(chosen)))
    for _ in range(parts - of_pixels):
        side = posterior.shape[-1]
        layout = draw_layout(generator, side)
        chosen = generator.choice(len(singles.posterior), len(layout), replace=False)
        features = compose_features(singles.features(chosen), owners(layout, side))
        one, q = compose_targets(*singles.part(chosen, _CLASSES), layout, side, squeezed=False, rows=_ROWS)
        items.append((features[None], TopTarget(one.classes[None], one.weights[None]), q[None]))
    weights = torch.cat([t.weights for _, t, _ in items]) ** settings.sharpness
    target = TopTarget(torch.cat([t.classes for _, t, _ in items]), weights / weights.sum(1, keepdim=True))
    features = torch.cat([f for f, _, _ in items]).contiguous(memory_format=torch.channels_last)
    return features, target, torch.cat([q for _, _, q in items])


def _padded(target: TopTarget, posterior: Tensor, rows: int) -> tuple[TopTarget, Tensor]:
    more = TopTarget(functional.pad(target.classes, (0, rows)), functional.pad(target.weights, (0, rows)))
    return more, functional.pad(posterior, (0, 0, 0, 0, 0, rows))
