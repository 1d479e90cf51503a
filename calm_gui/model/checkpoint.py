"""Checkpoint files: one `.safetensors` that holds weights and everything needed to use them (DESIGN.md, section 4)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.errors import CheckpointError, HierarchyError
from calm_gui.model.backbones import build_backbone
from calm_gui.model.calm import Activation, CalmHead, CamHead, HeadNetwork
from calm_gui.model.files import atomic_path
from calm_gui.model.preprocess import InputSpec

__all__ = ["FORMAT", "CheckpointInfo", "Method", "build_network", "load_weights", "read_checkpoint", "save_checkpoint"]

FORMAT = 1
"""Version of the metadata that this program writes, and the newest that it reads."""

Method = Literal["calm-em", "calm-ml", "cam"]


@dataclass(frozen=True)
class CheckpointInfo:
    """What a checkpoint says of itself (metadata key ``calm``).

    Attributes
    ----------
    method : {"calm-em", "calm-ml", "cam"}
    backbone : str
        As `build_backbone` takes it.
    output_stride : int
    dilated : bool
    saliency_activation : {"softplus", "relu"} or None
        None for CAM.
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

    @property
    def is_cam(self) -> bool:
        """Whether this is a CAM checkpoint."""
        return self.method == "cam"

    @property
    def superset_table(self) -> SupersetTable:
        """The superset of every class."""
        return SupersetTable(self.hierarchy, self.supersets)

    def to_json(self) -> dict[str, Any]:
        """The metadata, JSON-ready."""
        return {
            "format": FORMAT,
            "method": self.method,
            "backbone": self.backbone,
            "output_stride": self.output_stride,
            "dilated": self.dilated,
            "saliency_activation": self.saliency_activation,
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
            activation = None if data["method"] == "cam" else data["saliency_activation"]
            if activation not in (None, *get_args(Activation)):
                raise CheckpointError(f"unknown saliency activation {activation!r}")
            classes = ClassTable(
                ClassInfo(i, str(c["name"]), c.get("wnid"), tuple(c.get("synonyms", ())), str(c.get("gloss", "")))
                for i, c in enumerate(data["classes"])
            )
            return cls(
                method=data["method"],
                backbone=str(data["backbone"]),
                output_stride=int(data["output_stride"]),
                dilated=bool(data.get("dilated", False)),
                saliency_activation=activation,
                input=InputSpec.from_json(data["input"]),
                classes=classes,
                hierarchy=Hierarchy.from_json(data["hierarchy"], classes) if data.get("hierarchy") else None,
                supersets=tuple(data.get("supersets", ())),
                training=dict(data.get("training", {})),
                licence=str(data.get("licence", "")),
                assumed=tuple(data.get("assumed", ())),
            )
        except HierarchyError as error:
            raise CheckpointError(f"the checkpoint's hierarchy can't be used: {error}") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"the checkpoint's metadata can't be read: {error!r}") from error

    def with_training(self, **training: Any) -> "CheckpointInfo":
        """A copy with further entries in `training`."""
        return replace(self, training={**self.training, **training})


def build_network(info: CheckpointInfo) -> HeadNetwork:
    """A network of the described shape, with random weights."""
    backbone = build_backbone(info.backbone, info.output_stride, info.dilated)
    n = len(info.classes)
    if info.saliency_activation is None:
        return HeadNetwork(backbone, CamHead(backbone.channels, n))
    return HeadNetwork(backbone, CalmHead(backbone.channels, n, info.saliency_activation))


def save_checkpoint(
    path: str | Path, network: HeadNetwork, info: CheckpointInfo, dtype: torch.dtype = torch.float16
) -> None:
    """Write a checkpoint atomically.

    Parameters
    ----------
    path : str or Path
        Should end in ``.safetensors``.
    network : HeadNetwork
    info : CheckpointInfo
    dtype : torch.dtype
        For floating-point tensors on disk.

    Raises
    ------
    ExportError
        If the file can't be written.
    CheckpointError
        If a weight isn't finite in this precision.
    """
    tensors: dict[str, Tensor] = {}
    for name, tensor in network.state_dict().items():
        stored = tensor.detach().cpu().to(dtype if tensor.is_floating_point() else tensor.dtype).contiguous()
        if not torch.isfinite(stored).all():
            raise CheckpointError(f"{name} isn't finite as {dtype}; the checkpoint wasn't written")
        tensors[name] = stored
    metadata = {"calm": json.dumps(info.to_json(), ensure_ascii=False, separators=(",", ":"))}
    with atomic_path(path) as temporary:
        save_file(tensors, str(temporary), metadata)


def read_checkpoint(path: str | Path) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    """Metadata and tensors (on the CPU, as stored) of a checkpoint of our own format.

    Raises
    ------
    CheckpointError
        With the likely cause, if the file is anything else.
    """
    path = Path(path)
    try:
        with safe_open(str(path), framework="pt", device="cpu") as file:
            text = (file.metadata() or {}).get("calm")
            if text is None:
                raise CheckpointError(
                    f"{path.name} is a safetensors file without calm metadata, so what its weights are isn't known"
                )
            info = CheckpointInfo.from_json(_parse(text, path))
            return info, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no file {path}") from error
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path.name} can't be read as safetensors: {error}") from error


def _parse(text: str, path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise CheckpointError(f"the calm metadata of {path.name} isn't JSON ({error})") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"the calm metadata of {path.name} isn't a JSON object")
    return data


def load_weights(network: HeadNetwork, tensors: Mapping[str, Tensor], name: str) -> None:
    """Put tensors into a network, all of them or none.

    Parameters
    ----------
    network : HeadNetwork
        Its floating-point parameters stay float32.
    tensors : mapping of name to Tensor
    name : str
        What to call the file in a message.

    Raises
    ------
    CheckpointError
        If tensors are missing, unexpected, misshapen or not finite; with counts and the first few names.
    """
    expected = network.state_dict()
    # Old files lack BatchNorm's counters of batches, which inference never reads.
    missing = [k for k in expected if k not in tensors and not k.endswith("num_batches_tracked")]
    unexpected = [k for k in tensors if k not in expected]
    misshapen = [
        f"{k} is {tuple(tensors[k].shape)} instead of {tuple(expected[k].shape)}"
        for k in expected
        if k in tensors and tensors[k].shape != expected[k].shape
    ]
    faults = [
        f"{len(keys)} {what} ({', '.join(keys[:3])}{', …' if len(keys) > 3 else ''})"
        for what, keys in (("missing", missing), ("unexpected", unexpected), ("of the wrong shape", misshapen))
        if keys
    ]
    if faults:
        raise CheckpointError(
            f"the weights of {name} don't fit the network it describes: of {len(expected)} tensors " + "; ".join(faults)
        )
    broken = [k for k, v in tensors.items() if v.is_floating_point() and not torch.isfinite(v).all()]
    if broken:
        raise CheckpointError(
            f"{len(broken)} tensors of {name} hold NaN or infinity ({', '.join(broken[:3])}); "
            "the training diverged or the file is damaged"
        )
    network.load_state_dict({k: tensors[k] for k in expected if k in tensors}, strict=False)
