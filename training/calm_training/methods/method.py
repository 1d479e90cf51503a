"""What a training method is: hooks on the batch, the features, the heads and the loss of a run.

A run has exactly one `Objective`, which brings the heads and the loss, and any number of other methods beside it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from torch import Tensor, nn

from calm_gui.model.calm import Head, HeadNetwork
from calm_gui.model.choices import Activation, Method
from calm_training.draws import Range
from calm_training.objectives import Target
from calm_training.settings import Section

__all__ = ["Batch", "NoSettings", "Objective", "Step", "TrainingMethod"]


S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class Batch:
    """Pictures of one step in one process.

    Attributes
    ----------
    inputs : Tensor
        Network inputs (B,3,h,w), or what the frozen stages made of them (B,L,H,W).
    labels : Tensor (B,) int64
        Class indices.
    target : Tensor or TopTarget
        What the loss asks for: the labels, unless a method mixes them.
    size : (int, int) or None
        Height and width of the pictures, where the inputs are features.
    """

    inputs: Tensor
    labels: Tensor
    target: Target
    size: tuple[int, int] | None = None


@dataclass(frozen=True)
class Step:
    """One step, as far as it is alike in all processes that share it.

    Attributes
    ----------
    generator : numpy.random.Generator
        Seeded by the run's seed, the epoch, the step and the method: a resumed run draws the same again, and so do
        all processes.
    rank, world : int
        This process and the number of processes.
    gather : callable
        From this process's (B,...) to the whole step's (world B,...) in the order of its pictures; no gradient.
    total : callable
        Sum of a tensor over all processes; no gradient.
    """

    generator: np.random.Generator
    rank: int = 0
    world: int = 1
    gather: Callable[[Tensor], Tensor] = lambda values: values
    total: Callable[[Tensor], Tensor] = lambda values: values.detach()

    def own(self, whole: Any) -> Any:
        """What this process needs (B,...) of what was drawn for the whole step (world B,...)."""
        return whole[self.rank :: self.world]


@dataclass(frozen=True)
class NoSettings(Section):
    """A method that has none."""


class TrainingMethod(Generic[S]):
    """A training method of one run; a subclass overrides the hooks that it needs.

    Parameters
    ----------
    settings : Section
        Of the type `Settings`.

    Attributes
    ----------
    name : str
        In recipes, where ``[methods.<name>]`` switches it on.
    title : str
        As people call it.
    Settings : type
        Its settings, a `Section`.
    ranges : mapping
        What ``calm-train search`` draws some of its settings from, in that order.
    places : mapping
        Modules that it acts behind, by the names of the backbones that it can be combined with; empty where it acts on
        none, and goes with all.
    changes_pictures : bool
        Whether `change_batch` does anything: then the outputs of frozen stages can't be kept.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    Settings: ClassVar[type[Section]] = NoSettings
    ranges: ClassVar[Mapping[str, Range]] = {}
    places: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    changes_pictures: ClassVar[bool] = False

    def __init__(self, settings: S | None = None) -> None:
        self.settings: S = cast(S, self.Settings()) if settings is None else settings

    def attach(self, network: HeadNetwork, trained: HeadNetwork, backbone: str) -> None:
        """Take hold of the network before the first step, for example by hooks on the features of a stage.

        Parameters
        ----------
        network : HeadNetwork
            The whole one.
        trained : HeadNetwork
            The part of it behind the frozen stages, made of the same modules.
        backbone : str
            Name of the backbone.
        """

    def begin_epoch(self) -> None:
        """Called before the first step of an epoch, but not where a run goes on within one."""

    def begin_step(self, step: Step) -> None:
        """Called before each forward pass; the place to draw what the features need."""

    def change_batch(self, batch: Batch, step: Step) -> Batch:
        """Another batch of the same shapes, made of this one; its inputs are still pictures (B,3,h,w)."""
        return batch

    def end_step(self) -> None:
        """Called after the weights have moved."""

    def state_dict(self) -> dict[str, Any]:
        """What resuming needs beside the network's weights."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""


class Objective(TrainingMethod[S]):
    """A method that brings heads and loss.

    Attributes
    ----------
    reads_as : {"calm-em", "calm-ml", "cam", "acol"}
        ``method`` in the metadata of its checkpoints.
    extra : torch.nn.Module
        Layers that training needs and the checkpoint doesn't, made in `attach`; they learn at the head's rate.
    """

    reads_as: ClassVar[Method]

    def __init__(self, settings: S | None = None) -> None:
        super().__init__(settings)
        self.extra: nn.Module = nn.Identity()

    @property
    def saliency_activation(self) -> Activation | None:
        """Of its checkpoints; None where there is no saliency branch."""
        return None

    @property
    def head_options(self) -> dict[str, Any]:
        """What of its checkpoints' heads differs from the paper's, as `CheckpointInfo` names it."""
        return {}

    def stands_on(self, backbone: str) -> str:
        """Name of the variant of a backbone that the heads stand on; by default the backbone itself."""
        return backbone

    def make_head(self, channels: int, classes: int) -> Head:
        """The output layers, with random weights, on features (B,channels,H,W)."""
        raise NotImplementedError

    def outputs(self, trained: HeadNetwork, batch: Batch) -> Any:
        """What the loss is computed from: by default the raw outputs (f, a) of the network, (f, None) for CAM."""
        return trained(batch.inputs)

    def loss(self, outputs: Any, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
        """Mean loss of a batch in nats, a scalar in float32.

        Parameters
        ----------
        outputs
            What the hook of that name gave.
        batch : Batch
        label_smoothing : float
            Share of the target, in [0,1), that is spread evenly over all classes.
        """
        raise NotImplementedError

    def scores(self, outputs: tuple[Tensor, Tensor | None]) -> Tensor:
        """Scores (B,C) of the trained network's outputs in evaluation mode; the largest is the prediction."""
        raise NotImplementedError
