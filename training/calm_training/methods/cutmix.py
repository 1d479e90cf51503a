"""CutMix: a box of one picture is pasted into another, and their labels are mixed (Yun et al., ICCV 2019)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from calm_training.draws import Range, uniform
from calm_training.methods.method import Batch, Step, TrainingMethod
from calm_training.objectives import TopTarget
from calm_training.settings import Section, setting

__all__ = ["CutMix", "CutMixSettings", "cut_box"]


@dataclass(frozen=True)
class CutMixSettings(Section):
    """Of CutMix.

    Attributes
    ----------
    beta : float
        The share of the picture that stays is drawn from Beta(beta, beta).
    probability : float
        With which a batch is mixed at all.
    """

    section: ClassVar[str] = "methods.cutmix"

    beta: float = setting(1.0, above=0)
    probability: float = setting(1.0, above=0, high=1)


_SIZE = Range("1/Uniform(0, 2] - 1/2", lambda generator, _: max(1 / (2 - float(generator.uniform(0, 2))) - 0.5, 1e-3))
"""Of the WSOL benchmark's size prior; a beta of 0 isn't a distribution."""


class CutMix(TrainingMethod[CutMixSettings]):
    """Mixes the pictures of a batch and their labels, under any objective; one box for all of them."""

    name = "cutmix"
    title = "CutMix"
    Settings = CutMixSettings
    ranges: ClassVar[dict[str, Range]] = {"beta": _SIZE, "probability": uniform(0, 1)}
    changes_pictures = True

    def change_batch(self, batch: Batch, step: Step) -> Batch:
        """Each picture with a box of another one, both labels in the shares of their areas."""
        generator, (height, width) = step.generator, batch.inputs.shape[2:]
        if generator.random() >= self.settings.probability:
            return batch
        share = float(generator.beta(self.settings.beta, self.settings.beta))
        centre = int(generator.integers(height)), int(generator.integers(width))
        y0, x0, y1, x1 = cut_box((height, width), share, centre)
        others = step.own(generator.permutation(len(batch.inputs) * step.world))
        other = torch.from_numpy(np.ascontiguousarray(others)).to(batch.labels.device)
        inputs = batch.inputs.clone()
        inputs[:, :, y0:y1, x0:x1] = step.gather(batch.inputs[:, :, y0:y1, x0:x1])[other]
        stays = 1 - (y1 - y0) * (x1 - x0) / (height * width)
        classes = torch.stack([batch.labels, step.gather(batch.labels)[other]], 1)
        weights = torch.tensor([stays, 1 - stays], device=classes.device).expand(len(classes), 2)
        return replace(batch, inputs=inputs, target=TopTarget(classes, weights))


def cut_box(size: tuple[int, int], share: float, centre: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box that is pasted.

    Parameters
    ----------
    size : (int, int)
        Height and width of the pictures.
    share : float
        Of the picture that stays where nothing is clipped.
    centre : (int, int)
        Row and column of the box's centre.

    Returns
    -------
    y0, x0, y1, x1 : int
        The box has the picture's proportions, its sides the square root of 1 - share of the picture's, and is clipped
        at the edges.
    """
    lower, upper = [], []
    for side, middle in zip(size, centre, strict=True):
        half = int(side * np.sqrt(1 - share)) // 2
        lower.append(max(middle - half, 0))
        upper.append(min(middle + half, side))
    return lower[0], lower[1], upper[0], upper[1]
