"""What a map is to NumPy: an array, a term of sums and differences, cells above a threshold, boxes around them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from calm_gui.core.geometry import Box, Geometry
from calm_gui.core.threshold import CREDIBLE_MASS, ThresholdKind, component_boxes, credible_cells, threshold_cells
from calm_gui.errors import ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MapNumbers"]


class MapNumbers:
    """The part of `Map` that treats it as numbers.

    Attributes
    ----------
    values : ndarray (H,W), float32
    """

    values: NDArray[np.float32]

    @property
    def geometry(self) -> Geometry:
        """How the grid lies on the picture."""
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The values, (H,W), for NumPy: ``np.asarray(map)``, ``np.log(map)``."""
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    __array_priority__ = 100  # so that ``np.float64(2) * map`` is a map too

    def _combined(self, sign: str, first: Any, second: Any) -> Any:
        """What an operation makes of this map and something else; NotImplemented for what is no numbers."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Self:
        return self._combined("+", self, other)

    def __sub__(self, other: Any) -> Self:
        return self._combined("\N{MINUS SIGN}", self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._combined("\N{MINUS SIGN}", other, self)

    def __mul__(self, other: Any) -> Self:
        return self._combined("\N{MULTIPLICATION SIGN}", self, other)

    def __truediv__(self, other: Any) -> Self:
        return self._combined("/", self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._combined("/", other, self)

    def __neg__(self) -> Self:
        return self * -1

    __radd__, __rmul__ = __add__, __mul__

    def __gt__(self, other: Any) -> NDArray[np.bool_]:
        return self.values > np.asarray(other)

    def __ge__(self, other: Any) -> NDArray[np.bool_]:
        return self.values >= np.asarray(other)

    def __lt__(self, other: Any) -> NDArray[np.bool_]:
        return self.values < np.asarray(other)

    def __le__(self, other: Any) -> NDArray[np.bool_]:
        return self.values <= np.asarray(other)

    @cached_property
    def spread(self) -> float:
        """Share of the cells in the smallest set that holds 90 % of a map without negative values; 0 if all are 0."""
        return float(credible_cells(self.values, CREDIBLE_MASS).mean())

    def threshold(
        self, *, mass: float | None = None, tau: float | None = None, value: float | None = None
    ) -> NDArray[np.bool_]:
        """The cells of a threshold, judged by size whatever the sign.

        Parameters
        ----------
        mass : float
            The smallest set of cells that holds this share of the map, in (0, 1].
        tau : float
            Cells at least this far from the smallest value to the largest, in [0, 1] (the paper's threshold).
        value : float
            Cells of at least this value.

        Returns
        -------
        ndarray (H,W), bool

        Raises
        ------
        ReadingError
            Unless exactly one is given and makes sense, and the map is finite.
        """
        kinds: tuple[tuple[ThresholdKind, float | None], ...] = (("mass", mass), ("min-max", tau), ("value", value))
        given = [(kind, float(number)) for kind, number in kinds if number is not None]
        if len(given) != 1:
            raise ReadingError("a threshold is one of mass=SHARE, tau=SHARE and value=NUMBER")
        if tau is not None and not 0 <= tau <= 1:
            raise ReadingError(f"tau lies from 0 to 1, not at {tau:g}")
        cells = threshold_cells(self.values, *given[0])
        if cells is None:
            raise ReadingError("a map with NaN or infinity has no threshold")
        return cells

    def boxes(self, *, mass: float | None = None, tau: float | None = None, value: float | None = None) -> list[Box]:
        """Boxes around the connected cells of a threshold, in pixels of the upright picture, the largest part first.

        Parameters and errors as for `threshold`.
        """
        return component_boxes(self.threshold(mass=mass, tau=tau, value=value), self.geometry)
