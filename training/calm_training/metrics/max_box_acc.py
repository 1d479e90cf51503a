"""MaxBoxAcc and MaxBoxAccV2: box accuracy of score maps (Choe et al. 2020; the paper's supplement D)."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calm_gui.errors import DataError
from calm_training.metrics.counts import Counts

__all__ = ["Contours", "MaxBoxAcc", "Mode", "best_iou", "best_iou_both", "scale_boxes"]

Mode = Literal["benchmark", "exact"]
Contours = Literal["all", "largest"]


class MaxBoxAcc(Counts):
    """Share of pictures with a box that fits, at the best threshold for the whole set.

    A map is cut at each threshold; every connected part gives a box; a picture is right at an IoU level if the
    best pair of a part's box and a true box reaches it. One threshold is chosen for all pictures, separately for
    each level. MaxBoxAccV2 is the mean over IoU 0.3, 0.5 and 0.7 with all contours; MaxBoxAcc is IoU 0.5 with
    the largest contour only.

    Parameters
    ----------
    iou : sequence of float
        IoU levels.
    thresholds : int
        Number of thresholds: i / thresholds, i = 0 .. thresholds - 1.
    contours : {"all", "largest"}
        Which parts count.
    mode : {"benchmark", "exact"}
        `benchmark` gives the numbers of the public benchmark (wsolevaluation) on the same maps, with its
        conventions: scores cut to 256 levels, thresholds relative to the largest level, outlines of holes,
        boxes one pixel too large to the right and below except at the edge. `exact` compares the float scores
        themselves with the thresholds (on where at least as large) and takes half-open boxes of the parts
        alone, so that a perfect box scores 1.

    Attributes
    ----------
    correct : ndarray (len(iou), thresholds) int64
        Pictures that are right at each threshold.
    images : int
        Pictures so far.
    """

    counted = ("correct",)

    def __init__(
        self,
        iou: Sequence[float] = (0.3, 0.5, 0.7),
        thresholds: int = 1000,
        contours: Contours = "all",
        mode: Mode = "benchmark",
    ) -> None:
        _check_choice("contours", contours, get_args(Contours))
        _check_choice("mode", mode, get_args(Mode))
        self.iou = tuple(iou)
        # np.arange and not i / n: the benchmark's thresholds to the last bit, which its cut to a level can see.
        self.thresholds = np.arange(0, 1, 1 / thresholds)[:thresholds]
        self.contours: Contours = contours
        self.mode: Mode = mode
        self.reset()

    def reset(self) -> None:
        """Forget all pictures."""
        self.correct = np.zeros((len(self.iou), len(self.thresholds)), np.int64)
        self.images = 0

    def update(self, score_map: ArrayLike, boxes: ArrayLike) -> None:
        """Count one picture.

        Parameters
        ----------
        score_map : array_like (H,W) float
            Scores in [0,1], already scaled the way the report says (usually min-max for each picture).
        boxes : array_like (N,4), N at least 1
            True boxes x0 y0 x1 y1 in pixels of the map; x1 and y1 are the last pixel in `benchmark`
            (see `scale_boxes`) and one past it in `exact`.

        Raises
        ------
        DataError
            If the map isn't two-dimensional with scores in [0,1], or there is no box.
        """
        self.count(best_iou(score_map, boxes, self.thresholds, self.contours, self.mode))

    def count(self, best: NDArray[np.float64]) -> None:
        """Count one picture by its `best_iou` at every threshold."""
        for level, correct in zip(self.iou, self.correct, strict=True):
            correct += best >= level
        self.images += 1

    def compute(self) -> dict[str, Any]:
        """Accuracies as fractions, and the lowest threshold that reaches each.

        Returns
        -------
        dict
            ``{"MaxBoxAccV2": mean over the IoU levels, "per_iou": {level: fraction},
            "threshold": {level: threshold}, "images": n}``

        Raises
        ------
        DataError
            If no picture was counted.
        """
        if not self.images:
            raise DataError("box accuracy of no picture is undefined; count at least one")
        fractions = self.correct / self.images
        best = fractions.argmax(1)
        return {
            "MaxBoxAccV2": float(fractions.max(1).mean()),
            "per_iou": {level: float(row.max()) for level, row in zip(self.iou, fractions, strict=True)},
            "threshold": {level: float(self.thresholds[i]) for level, i in zip(self.iou, best, strict=True)},
            "images": self.images,
        }


def best_iou(
    score_map: ArrayLike,
    boxes: ArrayLike,
    thresholds: NDArray[np.float64],
    contours: Contours = "all",
    mode: Mode = "benchmark",
) -> NDArray[np.float64]:
    """Best IoU of a part's box and a true box at every threshold.

    Parameters
    ----------
    score_map, boxes, contours, mode
        As in `MaxBoxAcc`.
    thresholds : ndarray (T,) float64
        Ascending.

    Returns
    -------
    ndarray (T,) float64

    Raises
    ------
    DataError
        If the map isn't two-dimensional with scores in [0,1], or there is no box.
    """
    from calm_training.metrics.components import best_iou_of_largest, best_iou_of_parts

    scores, true_boxes = np.asarray(score_map), np.asarray(boxes, np.float64).reshape(-1, 4)
    _check(scores, true_boxes)
    of_contours = best_iou_of_parts if contours == "all" else best_iou_of_largest
    if mode == "exact":
        return of_contours(_exact_ranks(scores, thresholds), len(thresholds), true_boxes, False)
    levels, step = _levels(scores, thresholds)
    return of_contours(levels, int(levels.max()) + 1, true_boxes, True)[step]


def best_iou_both(
    score_map: ArrayLike, boxes: ArrayLike, exact_boxes: ArrayLike, thresholds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`best_iou` of all contours as the benchmark has it and exactly, in little more time than one of them takes.

    Parameters
    ----------
    score_map, thresholds
        As in `best_iou`.
    boxes, exact_boxes : array_like (N,4)
        True boxes as each takes them.

    Returns
    -------
    (ndarray (T,), ndarray (T,)) float64

    Raises
    ------
    DataError
        As for `best_iou`.
    """
    from calm_training.metrics.components import best_iou_both_ways

    scores = np.asarray(score_map)
    both = [np.asarray(given, np.float64).reshape(-1, 4) for given in (boxes, exact_boxes)]
    for given in both:
        _check(scores, given)
    levels, step = _levels(scores, thresholds)
    steps = int(levels.max()) + 1, len(thresholds)
    benchmark, exact = best_iou_both_ways(levels, _exact_ranks(scores, thresholds), steps, *both)
    return benchmark[step], exact


def _exact_ranks(scores: NDArray[Any], thresholds: NDArray[np.float64]) -> NDArray[np.int32]:
    """Number of thresholds that each score reaches."""
    return np.searchsorted(thresholds, scores.astype(np.float64), side="right").astype(np.int32)


def _levels(scores: NDArray[Any], thresholds: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Scores cut to 256 levels, and the level that each threshold is, relative to the largest."""
    levels = (scores * 255).astype(np.int32)
    return levels, (thresholds * levels.max()).astype(np.int32)


def scale_boxes(boxes: ArrayLike, size: tuple[int, int], map_size: tuple[int, int]) -> NDArray[np.int64]:
    """Bring boxes of a picture to a map as the benchmark does: x * map width / width, cut to an integer.

    Parameters
    ----------
    boxes : array_like (N,4)
        x0 y0 x1 y1 in pixels of the picture.
    size, map_size : (int, int)
        Width and height of the picture and of the map.

    Returns
    -------
    ndarray (N,4) int64
    """
    ratio = np.array(map_size, np.float64) / np.array(size, np.float64)
    return (np.asarray(boxes, np.float64).reshape(-1, 4) * np.tile(ratio, 2)).astype(np.int64)


def _check(scores: NDArray[Any], boxes: NDArray[np.float64]) -> None:
    if scores.ndim != 2 or not scores.size:
        raise DataError(f"a score map has two dimensions, not the shape {scores.shape}")
    if not (scores.min() >= 0 and scores.max() <= 1):
        raise DataError(
            f"a score map holds values from 0 to 1, not from {scores.min():g} to {scores.max():g}; scale it first"
        )
    if not len(boxes):
        raise DataError("a picture without a true box can't be scored; leave it out of the set")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
