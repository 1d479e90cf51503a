"""What a checkpoint says of itself, without its weights: readable before torch is loaded."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, get_args

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.geometry import Resize
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.errors import CheckpointError, HierarchyError, why_unreadable
from calm_gui.model.choices import ACOL_WIDTH, CAM_METHODS, Activation, Context, Interpolation, Method

__all__ = [
    "FORMAT",
    "OWN_NETWORK",
    "CheckpointInfo",
    "InputSpec",
    "is_ours",
    "read_info",
]

OWN_NETWORK = "module:"
"""What the backbones of networks begin with that a program made itself."""

_MOST_HEADER = 100_000_000
"""Bytes; safetensors reads no more either."""

FORMAT = 2
"""The newest version of the metadata that this program reads. Files are written as 2 only where the head is more than
the paper's, or is a classifier's own: calm-gui 0.1 would open the first as 1 too, but show other numbers."""


@dataclass(frozen=True)
class InputSpec:
    """How pictures are brought to the network (checkpoint metadata key ``input``).

    Attributes
    ----------
    size : int
        Side of the square input in pixels.
    resize : {"squash", "crop", "pad"}
    interpolation : {"bilinear", "bicubic"}
    mean, std : (float, float, float)
        Of RGB in 0..1: what is taken away, then divided by.
    """

    size: int = 224
    resize: Resize = "squash"
    interpolation: Interpolation = "bilinear"
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "InputSpec":
        """Read the metadata; unknown values are a `CheckpointError`."""
        try:
            spec = cls(
                size=int(data["size"]),
                resize=data.get("resize", "squash"),
                interpolation=data.get("interpolation", "bilinear"),
                mean=tuple(float(v) for v in data["mean"]),  # type: ignore[arg-type]
                std=tuple(float(v) for v in data["std"]),  # type: ignore[arg-type]
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CheckpointError(
                f"the checkpoint's input description can't be read: {why_unreadable(error)}"
            ) from error
        if (
            not 16 <= spec.size <= 4096
            or spec.resize not in get_args(Resize)
            or spec.interpolation not in get_args(Interpolation)
            or len(spec.mean) != 3
            or len(spec.std) != 3
            or min(spec.std) <= 0
        ):
            raise CheckpointError(f"the checkpoint's input description makes no sense: {str(data)[:200]}")
        return spec

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)


@dataclass(frozen=True)
class CheckpointInfo:
    """What a checkpoint says of itself (metadata key ``calm``).

    Attributes
    ----------
    method : {"calm-em", "calm-ml", "cam", "acol", "classifier"}
    backbone : str
        As `build_backbone` takes it.
    output_stride : int
    dilated : bool
    saliency_activation : {"softplus", "relu"} or None
        None for CAM and classifiers.
    input : InputSpec
    classes : ClassTable
    hierarchy : Hierarchy or None
    supersets : tuple of str
        Nodes of the hierarchy that are listed as supersets.
    training : dict
        Recipe, data, epochs, metrics, seed, versions; shown, not interpreted.
    licence : str
    assumed : tuple of str
        What the file didn't say and was answered by the user; goes into every export.
    context : {"none", "mean", "saliency"}
        What the class branch sees beside a place, as `CalmHead` takes it; so are the next two.
    saliency_power, temperature : float
    width : int
        Of ACoL's branches, as `AcolHead` takes it.
    """

    method: Method
    backbone: str
    output_stride: int
    classes: ClassTable
    dilated: bool = False
    saliency_activation: Activation | None = "softplus"
    input: InputSpec = field(default_factory=InputSpec)
    hierarchy: Hierarchy | None = None
    supersets: tuple[str, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    assumed: tuple[str, ...] = ()
    context: Context = "none"
    saliency_power: float = 1.0
    temperature: float = 1.0
    width: int = ACOL_WIDTH

    @property
    def head(self) -> dict[str, Any]:
        """What of context, saliency power, temperature and width differs from the papers' heads."""
        return {name: value for name, plain in _PLAIN_HEAD.items() if (value := getattr(self, name)) != plain}

    @property
    def calibrated_on(self) -> str:
        """The pictures that the temperature was fitted on, in words; empty if p isn't calibrated."""
        return str(self.training.get("calibrated on", ""))

    @property
    def is_cam(self) -> bool:
        """Whether this is a CAM checkpoint: class scores at each place, and no saliency branch."""
        return self.method in CAM_METHODS

    @property
    def map_name(self) -> str:
        """What the map of class scores is called: CAM, unless it was trained by another method."""
        return str(self.training.get("map", "")) or "CAM"

    @property
    def is_own_network(self) -> bool:
        """Whether the network was built by the caller's program, which alone can build it again."""
        return self.backbone.startswith(OWN_NETWORK)

    @property
    def is_calm(self) -> bool:
        """Whether this is a CALM checkpoint, with p(y,z|x)."""
        return self.saliency_activation is not None

    @property
    def is_plain(self) -> bool:
        """Whether this is a plain classifier in a file, of which ``calm-train adapt`` can make a CALM."""
        return self.method in ("cam", "classifier") and not self.is_own_network

    @property
    def superset_table(self) -> SupersetTable:
        """The superset of every class."""
        return SupersetTable(self.hierarchy, self.supersets, self.classes)

    def to_json(self) -> dict[str, Any]:
        """The metadata, JSON-ready."""
        return {
            "format": 2 if self.head or self.method == "classifier" else 1,
            "method": self.method,
            "backbone": self.backbone,
            "output_stride": self.output_stride,
            "dilated": self.dilated,
            "saliency_activation": self.saliency_activation,
            **self.head,
            "input": self.input.to_json(),
            "classes": [
                {"name": c.name, **({"wnid": c.wnid} if c.wnid else {})}
                | ({"synonyms": list(c.synonyms)} if c.synonyms else {})
                | ({"gloss": c.gloss} if c.gloss else {})
                for c in self.classes
            ],
            **({"hierarchy": self.hierarchy.to_json()} if self.hierarchy else {}),
            **({"supersets": list(self.supersets)} if self.supersets else {}),
            "training": dict(self.training),
            "licence": self.licence,
            **({"assumed": list(self.assumed)} if self.assumed else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "CheckpointInfo":
        """Read the metadata.

        Raises
        ------
        CheckpointError
            If the format is newer than this program, a key is missing or a value makes no sense.
        """
        version = data.get("format")
        if not isinstance(version, int):
            raise CheckpointError("the checkpoint's metadata has no format number")
        if version > FORMAT:
            raise CheckpointError(
                f"the checkpoint has format {version}, this program reads up to {FORMAT}; update calm-gui"
            )
        try:
            if data["method"] not in get_args(Method):
                raise CheckpointError(f"unknown method {data['method']!r}; known are {', '.join(get_args(Method))}")
            activation = data["saliency_activation"] if data["method"].startswith("calm") else None
            if activation not in (None, *get_args(Activation)):
                raise CheckpointError(f"unknown saliency activation {activation!r}")
            classes = ClassTable(
                ClassInfo(i, str(c["name"]), c.get("wnid"), tuple(c.get("synonyms", ())), str(c.get("gloss", "")))
                for i, c in enumerate(data["classes"])
            )
            return cls(
                method=data["method"],
                backbone=str(data["backbone"]),
                output_stride=_positive(data["output_stride"]),
                dilated=bool(data.get("dilated", False)),
                saliency_activation=activation,
                input=InputSpec.from_json(data["input"]),
                classes=classes,
                hierarchy=Hierarchy.from_json(data["hierarchy"], classes) if data.get("hierarchy") else None,
                supersets=tuple(data.get("supersets", ())),
                training=dict(data.get("training", {})),
                licence=str(data.get("licence", "")),
                assumed=tuple(data.get("assumed", ())),
                **_read_head(data),
            )
        except HierarchyError as error:
            raise CheckpointError(f"the checkpoint's hierarchy can't be used: {error}") from error
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint's metadata can't be read: {why_unreadable(error)}") from error

    def with_training(self, **training: Any) -> "CheckpointInfo":
        """A copy with further entries in `training`."""
        return replace(self, training={**self.training, **training})


_PLAIN_HEAD: Mapping[str, Any] = {
    "context": "none",
    "saliency_power": 1.0,
    "temperature": 1.0,
    "width": ACOL_WIDTH,
}


def _positive(value: Any) -> int:
    if int(value) < 1:
        raise ValueError(f"an output stride of {value} makes no grid")
    return int(value)


def _read_head(data: Mapping[str, Any]) -> dict[str, Any]:
    """Context, saliency power, temperature and width of the metadata, checked."""
    head = {name: type(plain)(data.get(name, plain)) for name, plain in _PLAIN_HEAD.items()}
    if head["context"] not in get_args(Context):
        raise CheckpointError(f"unknown context {head['context']!r}; known are {', '.join(get_args(Context))}")
    for name in ("saliency_power", "temperature"):
        if not 0 < head[name] < float("inf"):
            raise CheckpointError(f"the checkpoint's {name} must be a number above 0, not {head[name]}")
    if head["width"] < 1:
        raise CheckpointError(f"the checkpoint's width must be at least 1, not {head['width']}")
    if data["method"] != "acol" and head["width"] != ACOL_WIDTH:
        raise CheckpointError(f"a checkpoint of {data['method']} has no width; that is of ACoL's branches")
    if not data["method"].startswith("calm") and head != {**_PLAIN_HEAD, "width": head["width"]}:
        raise CheckpointError("a checkpoint without a saliency branch has no context, saliency power or temperature")
    return head


def is_ours(path: str | Path) -> bool:
    """Whether a file is a checkpoint of our own format, from its metadata; False for any file that isn't."""
    if not Path(path).is_file():  # a pipe or a device would block
        return False
    try:
        return "calm" in _library_metadata(Path(path))
    except CheckpointError:
        return False


def read_info(path: str | Path) -> CheckpointInfo:
    """Metadata of a checkpoint of our own format; an unchanged file gives the same object again.

    Raises
    ------
    CheckpointError
        With the likely cause, if the file is anything else.
    """
    path = Path(path)
    try:
        status = path.stat()
    except OSError as error:
        raise CheckpointError(f"there is no file {path}") from error
    if not (S_ISREG(status.st_mode) or S_ISDIR(status.st_mode)):  # a pipe or a device would block
        raise CheckpointError(f"{path.name} can't be read as safetensors: it isn't a file")
    return _read_info(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read_info(path: Path, _modified: int, _size: int) -> CheckpointInfo:
    text = _plain_text(path)
    if text is None:
        text = _library_metadata(path).get("calm")
    if text is None:
        raise CheckpointError(
            f"{path.name} is a safetensors file without calm metadata, so what its weights are isn't known"
        )
    return CheckpointInfo.from_json(_parse(text, path))


def _plain_text(path: Path) -> str | None:
    """The calm metadata, read from the file's header alone; None where anything is odd, for safetensors to judge.

    The header is eight bytes that give the length of the JSON behind them (https://github.com/huggingface/safetensors).
    The library imports NumPy to read it, which the window's first frame would wait for (docs/decisions/0007).
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > min(size - 8, _MOST_HEADER):
                return None
            header = json.loads(file.read(length).decode())
        metadata = header.pop("__metadata__")
        end = max(tensor["data_offsets"][1] for tensor in header.values())
        is_whole = 8 + length + end == size
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError, IndexError):
        return None
    return metadata.get("calm") if is_whole and all(isinstance(value, str) for value in metadata.values()) else None


def _library_metadata(path: Path) -> dict[str, str]:
    """All metadata as safetensors reads it; errors as for `read_info`."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            return file.metadata() or {}
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no file {path}") from error
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path.name} can't be read as safetensors: {error}") from error


def _parse(text: str, path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"the calm metadata of {path.name} isn't JSON ({error})") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"the calm metadata of {path.name} isn't a JSON object")
    return data
