"""The axioms of the paper's sections 3.2 and 4.1, as numbers: completeness, sensitivity, implementation invariance.

Each object takes maps as arrays, whatever network or method they come from.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calm_gui.errors import DataError

__all__ = ["Completeness", "Invariance", "Sensitivity"]


class _Rows:
    """One row of numbers for each update."""

    columns: tuple[str, ...]

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all pictures."""
        self.rows: list[list[float]] = []

    @property
    def images(self) -> int:
        """Pictures so far."""
        return len(self.rows)

    def to_json(self) -> dict[str, Any]:
        """The rows so far."""
        return {"rows": self.rows}

    def add_json(self, state: dict[str, Any]) -> None:
        """Append the rows of `to_json`."""
        self.rows += [[float(value) for value in row] for row in state["rows"]]

    def _columns(self) -> NDArray[np.float64]:
        if not self.rows:
            raise DataError("an axiom can't be tested on no picture; count at least one")
        return np.array(self.rows, np.float64).T


class Completeness(_Rows):
    """Does the map sum to the function's value? (Paper, section 3.2: sum of s_z = p(y|x).)"""

    def update(self, score_map: ArrayLike, response: float) -> None:
        """Count one picture.

        Parameters
        ----------
        score_map : array_like (H,W)
            Attribution on the native grid.
        response : float
            p(y|x), greater than 0, computed without the map.
        """
        total = float(np.asarray(score_map, np.float64).sum())
        self.rows.append([total, float(response)])

    def compute(self) -> dict[str, Any]:
        """Relative errors |sum - p| / p.

        Returns
        -------
        dict
            ``{"median", "largest": relative errors, "sum", "response": means, "cases": n}``
        """
        total, response = self._columns()
        error = np.abs(total - response) / response
        return {
            "median": float(np.median(error)),
            "largest": float(error.max()),
            "sum": float(total.mean()),
            "response": float(response.mean()),
            "cases": self.images,
        }


class Sensitivity(_Rows):
    """Is the attribution of a part zero exactly where taking the part away changes nothing? (Section 3.2.)

    Parameters
    ----------
    tolerance : float
        A part's attribution counts as zero up to this share of the whole map's, its effect up to this share of
        p(y|x). 0 takes the axiom at its word.
    """

    def __init__(self, tolerance: float = 0.0) -> None:
        self.tolerance = tolerance
        super().__init__()

    def update(self, scores: ArrayLike, change: ArrayLike, response: float) -> None:
        """Count one picture.

        Parameters
        ----------
        scores : array_like (any shape)
            Attribution of each part, not negative.
        change : array_like (the same shape)
            p(y|x) before minus after the part was taken away.
        response : float
            p(y|x), greater than 0.

        Raises
        ------
        DataError
            If the shapes differ.
        """
        s, delta = np.asarray(scores, np.float64).ravel(), np.asarray(change, np.float64).ravel()
        if s.shape != delta.shape:
            raise DataError(f"{s.size} attributions can't be held against {delta.size} changes")
        attributed = s > self.tolerance * s.sum()
        matters = np.abs(delta) > self.tolerance * response
        self.rows.append(
            [
                float((matters & ~attributed).mean()),
                float((attributed & ~matters).mean()),
                _rank_correlation(s, np.abs(delta)),
                float(np.abs(s - delta).max() / response),
            ]
        )

    def compute(self) -> dict[str, Any]:
        """Means over pictures.

        Returns
        -------
        dict
            ``{"missed": share of parts that matter but have no attribution, "unfounded": share of parts with
            attribution that don't matter, "rank correlation": of attribution and size of the change (0 where either
            is constant), "difference": largest |s - change| / p of all pictures, "cases": n}``
        """
        missed, unfounded, correlation, difference = self._columns()
        return {
            "missed": float(missed.mean()),
            "unfounded": float(unfounded.mean()),
            "rank correlation": float(correlation.mean()),
            "difference": float(difference.max()),
            "cases": self.images,
        }


class Invariance(_Rows):
    """Does the map stay when the same function is written differently? (Section 3.2: all class scores plus c.)"""

    def update(self, score_map: ArrayLike, other_map: ArrayLike, response: float, other_response: float) -> None:
        """Count one picture under one rewriting.

        Parameters
        ----------
        score_map, other_map : array_like (H,W)
            Maps of the two writings.
        response, other_response : float
            Their p(y|x), which must agree for the comparison to mean anything.
        """
        s, other = np.asarray(score_map, np.float64), np.asarray(other_map, np.float64)
        largest = float(np.abs(s).max()) or 1.0
        self.rows.append([float(np.abs(s - other).max()) / largest, abs(response - other_response) / response])

    def compute(self) -> dict[str, Any]:
        """Largest changes of the map, relative to its largest value, and of the response.

        Returns
        -------
        dict
            ``{"median", "largest": change of the map, "response": largest relative change of p, "cases": n}``
        """
        change, response = self._columns()
        return {
            "median": float(np.median(change)),
            "largest": float(change.max()),
            "response": float(response.max()),
            "cases": self.images,
        }


def _rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's coefficient with mean ranks for ties; 0 where one of them is constant."""
    from scipy.stats import rankdata

    ranks_a, ranks_b = rankdata(a), rankdata(b)
    if np.ptp(ranks_a) == 0 or np.ptp(ranks_b) == 0:
        return 0.0
    return float(np.corrcoef(ranks_a, ranks_b)[0, 1])
