"""How far the probability of the predicted class can be believed: reliability table and expected calibration error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.errors import DataError

__all__ = ["Calibration", "deviations"]


class Calibration:
    """Accuracy against confidence in equal bins (Guo et al. 2017, section 2).

    The expected calibration error is the mean over pictures of the distance between their bin's accuracy and its
    mean confidence.

    Parameters
    ----------
    bins : int
        Number of bins of equal width over 0..1; a confidence on a border belongs to the bin below it.

    Attributes
    ----------
    rows : list of (float, int)
        Confidence of every picture so far, and 1 where it was right, else 0.
    """

    def __init__(self, bins: int = 15) -> None:
        self.bins = bins
        self.reset()

    def reset(self) -> None:
        """Forget all pictures."""
        self.rows: list[tuple[float, int]] = []

    @property
    def images(self) -> int:
        """Pictures so far."""
        return len(self.rows)

    def update(self, confidence: float, correct: bool) -> None:
        """Count one picture.

        Parameters
        ----------
        confidence : float
            p(y|x) of the predicted class, 0..1.
        correct : bool
            Whether that class is the true one.

        Raises
        ------
        DataError
            If the confidence is no probability.
        """
        # Sums of float32 can be a hair above 1.
        if not -1e-5 <= confidence <= 1 + 1e-5:
            raise DataError(f"a confidence lies between 0 and 1, not at {confidence:g}")
        self.rows.append((min(max(float(confidence), 0.0), 1.0), int(correct)))

    def to_json(self) -> dict[str, Any]:
        """The rows so far."""
        return {"rows": self.rows}

    def add_json(self, state: dict[str, Any]) -> None:
        """Append the rows of `to_json`."""
        self.rows += [(float(confidence), int(correct)) for confidence, correct in state["rows"]]

    def compute(self) -> dict[str, Any]:
        """Reliability table and error.

        Returns
        -------
        dict
            ``{"ECE": fraction, "accuracy": fraction, "confidence": mean, "bins": [{"low", "high", "images",
            "confidence", "accuracy"}], "images": n}``; empty bins are left out.

        Raises
        ------
        DataError
            If no picture was counted.
        """
        if not self.rows:
            raise DataError("calibration of no picture is undefined; count at least one")
        members: dict[int, list[tuple[float, int]]] = {}
        for confidence, correct in self.rows:
            # The first bin takes 0 too.
            number = next(i for i in range(self.bins) if confidence <= (i + 1) / self.bins)
            members.setdefault(number, []).append((confidence, correct))
        table = []
        for number, rows in sorted(members.items()):
            table.append(
                {
                    "low": number / self.bins,
                    "high": (number + 1) / self.bins,
                    "images": len(rows),
                    "confidence": sum(c for c, _ in rows) / len(rows),
                    "accuracy": sum(right for _, right in rows) / len(rows),
                }
            )
        error = sum(row["images"] * abs(row["accuracy"] - row["confidence"]) for row in table) / self.images
        return {
            "ECE": error,
            "accuracy": sum(right for _, right in self.rows) / self.images,
            "confidence": sum(c for c, _ in self.rows) / self.images,
            "bins": table,
            "images": self.images,
        }


def deviations(confidence: NDArray[np.float64], right: NDArray[np.float64], bins: int = 15) -> NDArray[np.float64]:
    """Confidence less correctness of every picture in its own bin, (n,bins), 0 in the others.

    The expected calibration error is the sum of the absolute values of their means.
    """
    edges = np.arange(1, bins + 1) / bins
    number = np.minimum(np.searchsorted(edges, confidence, side="left"), bins - 1)
    return np.asarray((confidence - right)[:, None] * (number[:, None] == np.arange(bins)))
