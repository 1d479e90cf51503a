"""What an attribution method is, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from calm_gui.core.explanation import Map
from calm_gui.core.geometry import Geometry
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

__all__ = ["Method", "MethodMap", "Tick"]

Tick = Callable[[], None]
"""Called at every forward pass: counts progress, and may raise to stop."""


class Method(Protocol):
    """An attribution method: from a scoring network and an input to one value for each place."""

    def __call__(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """Attribute the score of inputs (1,3,h,w) to places.

        Parameters
        ----------
        score : torch.nn.Module
            Maps inputs to log p(A|x), (B,1).
        backbone : torch.nn.Module
            The part of it that gives features.
        inputs : Tensor (1,3,h,w)

        Returns
        -------
        Tensor (h,w) or a coarser grid
        """


@dataclass(frozen=True, eq=False)
class MethodMap(Map):
    """The map of a method: scaled between its own extremes, as such maps have no unit (paper, section 5).

    Attributes
    ----------
    method : str
    """

    method: str = ""

    @property
    def method_name(self) -> str:
        """As in `calm_gui.methods.METHODS`."""
        from calm_gui.methods import METHODS

        return METHODS[self.method]

    @property
    def geometry(self) -> Geometry:
        """As the explanation's, with the map's own grid."""
        height, width = self.values.shape
        return replace(self.explanation.geometry, grid=(height, width))

    @property
    def signed(self) -> bool:
        """Never: what is below the middle isn't evidence against."""
        return False


def between_extremes(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Values moved to 0..1; all zero where there is no variation."""
    low, high = float(values.min()), float(values.max())
    scaled = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return scaled.astype(np.float32)
