"""What an attribution method of others is, and what it gives."""

from __future__ import annotations

import copy
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from calm_gui.core.lookup import ClassSetLike, resolve
from calm_gui.core.map_kind import MapKind, Telling, missing_words
from calm_gui.core.maps import Map
from calm_gui.core.readings.cam import CAM, UNITS
from calm_gui.core.registry import Registry
from calm_gui.errors import NumericalError, ReadingError
from calm_gui.late import np
from calm_gui.methods.parameter import Number, Parameter, said_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from calm_gui.core.explanation import AnyExplanation

__all__ = ["BLUR", "METHODS", "Method", "Methods", "Tick"]

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
    source : str
        Whose it is, when it was published, and which library computes it.
    parameters : tuple of Parameter
        Numbers that a user may choose: ``METHODS["smoothgrad:samples=50"]``.
    settings : mapping
        The parameters' values, by their keys.
    """

    family = "method"
    formula = "between its extremes"
    question = "How much does this cell matter to the method? In a unit of its own; it is no probability."
    meaning = "how much each cell matters to the method, from least to most; no probability"
    unit = UNITS["min-max"]
    quantity = CAM.quantity  # both lie between their own extremes
    blurred: bool = False
    source: str = ""
    parameters: tuple[Parameter, ...] = ()
    _chosen: Mapping[str, Number] = {}
    _plain: Method | None = None

    @property
    def settings(self) -> dict[str, Number]:
        """Values of all parameters."""
        return {one.key: self._chosen.get(one.key, one.default) for one in self.parameters}

    @property
    def plain(self) -> Method:
        """The method with the defaults of all parameters."""
        return self._plain or self

    def having(self, settings: Mapping[str, str | Number]) -> Method:
        """The same method with other values of parameters; those left out have their defaults.

        Its key and its title say what differs from the defaults: ``smoothgrad:samples=50``, *SmoothGrad, 50 samples*.

        Raises
        ------
        ReadingError
            If there is no such parameter, or it can't have the value.
        """
        plain = self.plain
        known = {one.key: one for one in self.parameters}
        for key in settings:
            if key not in known:
                there = ", ".join(f"{one.key} ({one.default:g})" for one in self.parameters)
                has = f"it has {there}" if there else "it has none; leave it out"
                raise ReadingError(f"{plain.title} has no parameter {key!r}; {has}")
        values = {key: known[key].checked(value, plain.title) for key, value in settings.items()}
        other = {key: values[key] for key, one in known.items() if key in values and values[key] != one.default}
        if not other:
            return plain
        made = copy.copy(plain)
        made._chosen, made._plain = other, plain
        made.key = f"{plain.key}:{','.join(f'{key}={value!r}' for key, value in other.items())}"
        made.title = ", ".join([plain.title, *(known[key].words.format(f"{value:g}") for key, value in other.items())])
        return made

    def refusal(self, network: nn.Module) -> str:
        """Why a network has no such map, in a sentence; empty if it has."""
        return ""

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
        """How many forward passes `attribute` makes for inputs (1,3,h,w) and features of so many channels (0: unknown).

        0, the default, says that it isn't known; then progress has no end.
        """
        return 0

    def map(
        self,
        model: Any,
        picture: Any,
        target: ClassSetLike,
        tick: Tick = lambda number, of: None,
        explanation: AnyExplanation | None = None,
        contrast: ClassSetLike | None = None,
    ) -> Map:
        """The map for a class set.

        Parameters
        ----------
        model : calm_gui.model.loaded.LoadedModel
            Not changed; its parameters get no gradients.
        picture : path, PIL image, uint8 array or Picture
        target : class set, in any form that `AnyExplanation.class_set` takes
        tick : callable
            As `Tick`; an exception it raises ends the computation.
        explanation : Explanation or CamExplanation, optional
            The picture's, if it is at hand.
        contrast : class set, optional
            B, for a method that takes one.

        Returns
        -------
        Map
            Values 0..1, on the method's own grid.

        Raises
        ------
        ReadingError
            If a set that it takes is empty, or the network is none for this method.
        NumericalError
            If the result isn't finite.
        """
        import torch

        from calm_gui.methods.score import Score
        from calm_gui.model.picture import as_picture

        target = resolve(target, model.classes, model.hierarchy)
        if not target:
            raise ReadingError("a method needs a target that holds at least one class")
        against = None
        if self.takes_contrast and contrast is not None:
            against = resolve(contrast, model.classes, model.hierarchy)
        if self.takes_contrast and not against:
            raise ReadingError(f"{self.title} needs a contrast B that holds at least one class")
        if refusal := self.refusal(model.network):
            raise ReadingError(refusal)
        picture = as_picture(picture)
        explanation = explanation or model.explain(picture)
        inputs, _ = model.prepare(picture)
        total = self.passes(inputs, getattr(model.network.backbone, "channels", 0))
        score = Score(
            model.network, model.info.saliency_activation, target, lambda number: tick(number, total), against
        )
        with torch.enable_grad():
            inputs = inputs.to(model.device).requires_grad_(True)
            values = self.attribute(score, model.network.backbone, inputs).detach().float().cpu().numpy()
        if not np.isfinite(values).all():
            raise NumericalError(f"{self.title} gave NaN or infinity for this picture")
        if self.blurred:
            from scipy.ndimage import gaussian_filter

            values = gaussian_filter(values, BLUR)
        return Map(_between_extremes(values), self, explanation, target=target, contrast=against)

    @property
    def slug(self) -> str:
        """With hyphens, as in the names that people use."""
        return re.sub(r"[_:=,]+", "-", self.key)

    @property
    def details(self) -> dict[str, Any]:
        """Whose method it is, and the values of its parameters, as exports say it."""
        return {"source": self.source, "parameters": self.settings}

    def ends_in(self, unit: str) -> tuple[float, float]:
        """0 and 1."""
        return 0.0, 1.0

    def sentence(self, telling: Telling) -> str:
        """What the map is, and what it isn't."""
        settings = self.settings
        details = [self.source, *(one.words.format(f"{settings[one.key]:g}") for one in self.parameters)]
        bracket = f" ({'; '.join(filter(None, details))})" if any(details) else ""
        against = f" as opposed to {telling.contrast}" if self.takes_contrast else ""
        return (
            f"{self.plain.title}{bracket} for {telling.target}{against}, between its own extremes in this picture; "
            "the values are no probabilities and their sum means nothing."
        )


def _between_extremes(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Values moved to 0..1; all zero where there is no variation."""
    low, high = float(values.min()), float(values.max())
    scaled = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return scaled.astype(np.float32)


class Methods(Registry[Method]):
    """The methods by key; settings of their parameters may follow: ``smoothgrad:samples=50,noise=0.1``."""

    def __init__(self) -> None:
        super().__init__("method", ReadingError, missing_words, group="calm_gui.methods")
        self._with_settings: dict[str, Method] = {}

    def __getitem__(self, key: str) -> Method:
        name, colon, said = key.partition(":")
        method = super().__getitem__(name)
        return self.having(method, said_settings(said, method.title)) if colon else method

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key.partition(":")[0] if isinstance(key, str) else key)

    def having(self, method: Method, settings: Mapping[str, str | Number]) -> Method:
        """A method with settings; always the same object for the same ones, so that panes and caches know it again."""
        made = method.having(settings)
        return made if made is made.plain else self._with_settings.setdefault(made.key, made)

    def described(self, key: str, settings: Mapping[str, Number]) -> Method:
        """The method that an export's description names by its key and all of its parameters."""
        return self.having(self[key.partition(":")[0]], settings) if settings else self[key]


METHODS = Methods()
"""All methods of others, in the order of menus."""
