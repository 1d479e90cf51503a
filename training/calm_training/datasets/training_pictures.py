"""Pictures of a set as inputs of the network, with the paper's transforms.

The transforms of a training picture depend on (seed, epoch, picture number) alone, so a resumed run sees exactly
what the uninterrupted one would have seen, with any number of workers and processes.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset

from calm_gui.model.info import InputSpec
from calm_gui.model.picture import load_picture
from calm_training.datasets.picture_set import PictureSet

__all__ = ["TrainingPictures", "network_input", "training_input"]

_RESIZED_TO = 256 / 224
"""The paper resizes to 256 before it crops 224."""


def network_input(pixels: NDArray[np.uint8], spec: InputSpec) -> Tensor:
    """Test transform of the paper: squash to size x size, (3,size,size) float32 normalised."""
    resized = Image.fromarray(pixels).resize((spec.size, spec.size), Image.Resampling.BILINEAR)
    return _normalised(np.asarray(resized), spec)


def training_input(pixels: NDArray[np.uint8], spec: InputSpec, generator: np.random.Generator) -> Tensor:
    """Training transform of the paper: squash to 256/224 of the size, random crop, random flip."""
    side = round(spec.size * _RESIZED_TO)
    resized = np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR))
    y, x = generator.integers(0, side - spec.size + 1, 2)
    crop = resized[y : y + spec.size, x : x + spec.size]
    return _normalised(crop[:, ::-1] if generator.random() < 0.5 else crop, spec)


class TrainingPictures(Dataset[tuple[Tensor, int, int]]):
    """Inputs, labels and numbers of a set, for a `torch.utils.data.DataLoader`; it may be sent to other processes.

    Parameters
    ----------
    pictures : PictureSet
    spec : InputSpec
    seed : int or None
        Seed of the training transform, None for the test transform.

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
        return training_input(pixels, self.spec, generator), sample.label, number


def _normalised(pixels: NDArray[np.uint8], spec: InputSpec) -> Tensor:
    values = (pixels.astype(np.float32) / 255 - np.array(spec.mean, np.float32)) / np.array(spec.std, np.float32)
    return torch.from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1)))
