"""What an attribution method of others is, and what it gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from calm_gui.core.classes import ClassSet
from calm_gui.core.maps import Map, MapKind, Telling, missing_words
from calm_gui.core.readings.cam import CAM, UNITS
from calm_gui.core.registry import Registry
from calm_gui.errors import NumericalError, ReadingError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from calm_gui.core.explanation import AnyExplanation

__all__ = ["BLUR", "METHODS", "Method", "Tick"]

Tick = Callable[[int, int], None]
"""Called at every forward pass with its number and how many there will be (0 if unknown); may raise to stop."""

BLUR = 5.0
"""Standard deviation of the Gaussian over maps of input gradients, in input pixels."""


class Method(MapKind):
    """An attribution method: from a scoring network and an input to one value for each place.

    To add one: a class with these attributes and methods in a file of its own, and ``METHODS.register(...)``, or an
    entry point of the group ``calm_gui.methods`` that names an object of it.

    Attributes
    ----------
    blurred : bool
        Whether its maps are blurred, as those of input gradients are in the paper's section 5.1 (following the WSOL
        benchmark).
    """

    family = "method"
    formula = "between its extremes"
    question = "What matters to this method here, in units that no probability has."
    meaning = "what matters to the method, from its least to its most; no probability"
    unit = UNITS["min-max"]
    quantity = CAM.quantity  # both lie between their own extremes
    blurred: bool = False

    @abstractmethod
    def attribute(self, score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
        """Attribute the score of inputs to places.

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

    def passes(self, inputs: Tensor, channels: int) -> int:
        """How many forward passes `attribute` makes for inputs (1,3,h,w) and features of so many channels.

        0, the default, says that it isn't known; then progress has no end.
        """
        return 0

    def map(
        self,
        model: Any,
        picture: Any,
        target: ClassSet,
        tick: Tick = lambda number, of: None,
        explanation: AnyExplanation | None = None,
    ) -> Map:
        """The map for a class set.

        Parameters
        ----------
        model : calm_gui.model.loaded.LoadedModel
            Not changed; its parameters get no gradients.
        picture : path, PIL image, uint8 array or Picture
        target : ClassSet
        tick : callable
            As `Tick`; an exception it raises ends the computation.
        explanation : Explanation or CamExplanation, optional
            The picture's, if it is at hand.

        Returns
        -------
        Map
            Values 0..1, on the method's own grid.

        Raises
        ------
        ReadingError
            If the set is empty.
        NumericalError
            If the result isn't finite.
        """
        import torch

        from calm_gui.methods.score import Score
        from calm_gui.model.picture import as_picture

        if not target:
            raise ReadingError("a method needs a target that holds at least one class")
        picture = as_picture(picture)
        explanation = explanation or model.explain(picture)
        inputs, _ = model.prepare(picture)
        total = self.passes(inputs, model.network.backbone.channels)
        score = Score(model.network, model.info.saliency_activation, target, lambda number: tick(number, total))
        with torch.enable_grad():
            inputs = inputs.to(model.device).requires_grad_(True)
            values = self.attribute(score, model.network.backbone, inputs).detach().float().cpu().numpy()
        if not np.isfinite(values).all():
            raise NumericalError(f"{self.title} gave NaN or infinity for this picture")
        if self.blurred:
            from scipy.ndimage import gaussian_filter

            values = gaussian_filter(values, BLUR)
        return Map(_between_extremes(values), self, explanation, target=target)

    @property
    def slug(self) -> str:
        """With hyphens, as in the names that people use."""
        return self.key.replace("_", "-")

    def ends_in(self, unit: str) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    def sentence(self, telling: Telling) -> str:
        """What the map is, and what it isn't."""
        return (
            f"{self.title} for {telling.target}, between its own extremes in this picture; "
            "the values are no probabilities and their sum means nothing."
        )


def _between_extremes(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Values moved to 0..1; all zero where there is no variation."""
    low, high = float(values.min()), float(values.max())
    scaled = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return scaled.astype(np.float32)


METHODS: Registry[Method] = Registry("method", ReadingError, missing_words, group="calm_gui.methods")
"""All methods of others, in the order of menus."""
