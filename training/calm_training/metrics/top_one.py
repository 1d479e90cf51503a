"""Top-1 accuracy."""

import numpy as np

from calm_gui.errors import DataError
from calm_training.metrics.counts import Counts

__all__ = ["TopOne"]


class TopOne(Counts):
    """Share of pictures whose predicted class is the true one."""

    counted = ("correct",)

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all pictures."""
        self.correct = np.zeros(1, np.int64)
        self.images = 0

    def update(self, predicted: int, label: int) -> None:
        """Count one picture."""
        self.correct += predicted == label
        self.images += 1

    def compute(self) -> float:
        """Accuracy as a fraction.

        Raises
        ------
        DataError
            If no picture was counted.
        """
        if not self.images:
            raise DataError("accuracy on no picture is undefined; count at least one")
        return int(self.correct[0]) / self.images
