"""What stands beside a file as the Hugging Face hub lays it out: its description, and the index of its shards."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calm_gui.errors import CheckpointError
from calm_gui.model.files import read_bounded

__all__ = ["Beside", "beside", "shards"]

_MAX_BYTES = 50_000_000
_INDEX = ".safetensors.index.json"
_OTHER_POOLS = ("max", "avgmax", "catavgmax")
"""timm's poolings that it puts into a network where that is asked for alone; their tensors are the same."""


@dataclass(frozen=True)
class Beside:
    """What a ``config.json`` beside a checkpoint says.

    Attributes
    ----------
    architecture : str
        timm's name of the network; empty if none is said.
    input : mapping
        timm's ``pretrained_cfg``.
    classes : tuple of str or None
        ``label_names``.
    of_transformers : str
        The class of a network of the transformers library; empty for others.
    """

    architecture: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    of_transformers: str = ""


def beside(path: Path) -> Beside:
    """What a ``config.json`` beside a file says of it; nothing if there is none.

    Raises
    ------
    CheckpointError
        If it can't be read, or names a pooling that none of the networks has by itself.
    """
    config = path.parent / "config.json"
    if path.suffix not in (".safetensors", ".bin", ".json") or not config.is_file():
        return Beside()
    data = _json(config)
    if data.get("architectures") or data.get("model_type"):
        named = data.get("architectures") or [data.get("model_type")]
        return Beside(of_transformers=str(named[0] if isinstance(named, list) and named else named))
    if (pool := data.get("global_pool")) in _OTHER_POOLS:
        raise CheckpointError(
            f"{config.name} next to {path.name} says that the network pools by {pool}, which this program can't build; "
            "open it in a program of your own with calm_gui.from_module(network)"
        )
    said = data.get("pretrained_cfg")
    labels = data.get("label_names")
    return Beside(
        str(data.get("architecture", "")),
        said if isinstance(said, dict) else {},
        tuple(map(str, labels)) if isinstance(labels, list) else None,
    )


def shards(path: Path) -> list[Path]:
    """All files of a checkpoint in several: given by its index, or by one of them with the index beside it.

    Returns
    -------
    list of Path
        Empty if the file is whole.

    Raises
    ------
    CheckpointError
        If the index can't be read, or a file that it names is missing.
    """
    if path.name.endswith(_INDEX):
        index = path
    elif "-of-" in path.stem and path.suffix == ".safetensors":
        index = path.parent / (path.stem.rpartition("-of-")[0].rpartition("-")[0] + _INDEX)
        if not index.is_file():
            raise CheckpointError(
                f"{path.name} is one of several files; {index.name}, which lists them, isn't in the same folder"
            )
    else:
        return []
    files = _json(index).get("weight_map")
    if not isinstance(files, dict) or not files:
        raise CheckpointError(f"{index.name} lists no files of weights")
    found = [index.parent / Path(str(name)).name for name in dict.fromkeys(files.values())]
    if missing := [file.name for file in found if not file.is_file()]:
        raise CheckpointError(f"{index.name} lists {', '.join(missing[:3])}, not found in the same folder")
    return found


def _json(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(read_bounded(path, _MAX_BYTES, CheckpointError))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name} next to the checkpoint isn't JSON ({error})") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"{path.name} next to the checkpoint isn't a JSON object")
    return data
