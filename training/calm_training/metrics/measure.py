"""What a measure of maps is: one number for one map of one picture, or what a set's number is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calm_gui.core.registry import Registry
from calm_gui.errors import DataError

__all__ = ["MEASURES", "Case", "Measure", "Need"]

Need = Literal["region", "distribution", "joint", "network", "parts", "quantus"]
"""What a measure needs of a case beyond the map: the object's region; values that are probabilities of places; values
that are p(A,z|x); the network; maps of a class set and of its parts; the Quantus library."""


@dataclass(frozen=True, eq=False)
class Case:
    """One map of one picture, with what it is held against.

    Attributes
    ----------
    native : ndarray (h,w) float32
        The map's values as they are, on its own grid.
    enlarged : ndarray (H,W) float32
        The same at the input's size (bilinear, half-pixel centres).
    scores : ndarray (H,W) float32
        The same scaled to 0..1 in this picture.
    inside : ndarray (H,W) bool or None
        Where the object is; None where the data doesn't say.
    known : ndarray (H,W) bool or None
        Where the data says whether the object is there; None where `inside` is.
    picture : ndarray (3,H,W) float32
        The network's input as RGB in 0..1.
    mean_colour : ndarray (3,) float32
        The colour that is 0 to the network.
    predict : callable
        p(A|x), (B,), of pictures (B,3,H,W) like `picture`.
    remap : callable
        The map, on its own grid, of another picture like `picture`.
    rebuilt : callable
        The map, on its own grid, of the same picture after the weights of a share of the network's layers, counted
        from the output, were drawn anew.
    parts : callable
        The map of the superset of A, and those of disjoint class sets whose union it is; an empty list where the
        superset is the class alone.
    seed : int
        Of the picture's content, for what is random.
    """

    native: NDArray[np.float32]
    enlarged: NDArray[np.float32]
    scores: NDArray[np.float32]
    inside: NDArray[np.bool_] | None = None
    known: NDArray[np.bool_] | None = None
    picture: NDArray[np.float32] | None = None
    mean_colour: NDArray[np.float32] | None = None
    predict: Callable[[NDArray[np.float32]], NDArray[np.float64]] | None = None
    remap: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None
    rebuilt: Callable[[float], NDArray[np.float32]] | None = None
    parts: Callable[[], tuple[NDArray[np.float32], list[NDArray[np.float32]]]] | None = None
    seed: int = 0

    @property
    def region(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """`inside` and `known`.

        Raises
        ------
        DataError
            If there is no region.
        """
        if self.inside is None:
            raise DataError("this measure needs boxes or masks, and the data has none")
        return self.inside, np.ones_like(self.inside) if self.known is None else self.known


class Measure(ABC):
    """A measure of maps.

    To add one: a class with these attributes and methods in a file of its own, and ``MEASURES.register(...)``, or an
    entry point of the group ``calm_training.measures`` that names an object of it.

    Attributes
    ----------
    key : str
        On command lines and in files.
    title : str
        For people.
    source : str
        Where it was proposed.
    meaning : str
        What the number is, in a few words.
    better : str
        "higher", "lower", or empty where neither is.
    needs : tuple of Need
    many_passes : bool
        Whether it runs the network many times a picture, so that it is measured only if it is asked for.
    """

    key: str = ""
    title: str = ""
    source: str = ""
    meaning: str = ""
    better: Literal["higher", "lower", ""] = ""
    needs: tuple[Need, ...] = ()
    many_passes: bool = False

    @abstractmethod
    def score(self, case: Case) -> float | list[float]:
        """The number of one map of one picture, or a list that `figure` makes one of; NaN where it is undefined."""

    def deviations(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Where the figure is the mean distance of means from 0: of what, (n,k); else None."""
        return None

    def figure(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The set's number from those of its pictures: their mean, unless a measure says otherwise.

        Parameters
        ----------
        scores : ndarray (..., n) or (..., n, k)
            Scores of n pictures, for each of any number of resamples.

        Returns
        -------
        ndarray (...)
            Pictures whose score is NaN don't count; NaN where none counts.
        """
        known = np.isfinite(scores)
        counted = known.sum(-1)
        total = np.where(known, scores, 0.0).sum(-1)
        return np.asarray(np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0))


def _lacking(measure: Measure) -> str:
    words = ("key", "title", "source", "meaning")
    return ", ".join(f"its {word}" for word in words if not getattr(measure, word))


MEASURES: Registry[Measure] = Registry("measure", DataError, _lacking, group="calm_training.measures")
"""All measures of maps, in the order of tables."""
