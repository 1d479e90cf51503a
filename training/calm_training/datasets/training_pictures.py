"""Pictures of a set as inputs of the network, as they are or with the paper's random crops and flips.

What is drawn for a training picture depends on (seed, epoch, picture number) alone, so a resumed run sees exactly
what the uninterrupted one would have seen, with any number of workers and processes.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from calm_gui.model.info import InputSpec
from calm_gui.model.input import network_input
from calm_gui.model.picture import load_picture
from calm_training.datasets.picture_set import PictureSet

__all__ = ["TrainingPictures", "augmented_input"]

_RESIZED_TO = 256 / 224
"""The paper resizes to 256 before it crops 224."""


def augmented_input(pixels: NDArray[np.uint8], spec: InputSpec, generator: np.random.Generator) -> Tensor:
    """Training transform of the paper: brought to 256/224 of the size in the network's own way, random crop and flip.

    Parameters
    ----------
    pixels : ndarray (h,w,3) uint8
    spec : InputSpec
    generator : numpy.random.Generator

    Returns
    -------
    Tensor (3,size,size), float32
    """
    side = round(spec.size * _RESIZED_TO)
    larger = network_input(pixels, replace(spec, size=side))
    y, x = generator.integers(0, side - spec.size + 1, 2).tolist()
    crop = larger[:, y : y + spec.size, x : x + spec.size]
    return crop.flip(2) if generator.random() < 0.5 else crop


class TrainingPictures(Dataset[tuple[Tensor, int, int]]):
    """Inputs, labels and numbers of a set, for a `torch.utils.data.DataLoader`; it may be sent to other processes.

    Parameters
    ----------
    pictures : PictureSet
    spec : InputSpec
    seed : int or None
        Seed of the random crops and flips, None for pictures as the checkpoint will be given them.

    Attributes
    ----------
    epoch : int
        Goes into the random choice of crops and flips.
    """

    def __init__(self, pictures: PictureSet, spec: InputSpec, seed: int | None = None) -> None:
        self.pictures = pictures
        self.spec = spec
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.pictures.samples)

    def __getitem__(self, number: int) -> tuple[Tensor, int, int]:
        sample = self.pictures.samples[number]
        pixels = load_picture(sample.path).pixels
        if self.seed is None:
            return network_input(pixels, self.spec), sample.label, number
        generator = np.random.default_rng((self.seed, self.epoch, number))
        return augmented_input(pixels, self.spec, generator), sample.label, number
