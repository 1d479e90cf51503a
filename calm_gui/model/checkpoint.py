"""Checkpoint files: one `.safetensors` with weights and everything needed to use them; see docs/formats.md."""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model.acol import AcolHead
from calm_gui.model.backbones import build_backbone, build_classifier, family_of, known_parts
from calm_gui.model.calm import CalmHead, CamHead, HeadNetwork
from calm_gui.model.choices import Method
from calm_gui.model.classifier import Classifier
from calm_gui.model.files import write_bytes
from calm_gui.model.info import CheckpointInfo, InputSpec, read_info

__all__ = [
    "CheckpointInfo",
    "InputSpec",
    "Method",
    "build_network",
    "fitted",
    "fitted_network",
    "load_weights",
    "read_checkpoint",
    "save_checkpoint",
]


def build_network(info: CheckpointInfo) -> HeadNetwork | Classifier:
    """A network of the described shape, with random weights."""
    if info.method == "classifier":
        whole = build_classifier(info.backbone, len(info.classes))
        parts = known_parts(whole)
        return Classifier(whole, parts.taps if parts else ())
    backbone = build_backbone(info.backbone, info.output_stride, info.dilated)
    n = len(info.classes)
    if info.method == "acol":
        return HeadNetwork(backbone, AcolHead(backbone.channels, n, **info.head))
    if info.saliency_activation is None:
        return HeadNetwork(backbone, CamHead(backbone.channels, n))
    return HeadNetwork(backbone, CalmHead(backbone.channels, n, info.saliency_activation, **info.head))


def fitted_network(info: CheckpointInfo, tensors: Mapping[str, Tensor], name: str) -> HeadNetwork | Classifier:
    """A network of the described shape with these weights.

    Whether they fit is found out before memory is given to the network, so a description of a huge network costs
    nothing.

    Parameters
    ----------
    info : CheckpointInfo
    tensors : mapping of name to Tensor
    name : str
        What to call the file in a message.

    Raises
    ------
    CheckpointError
        If there is no such network or the weights don't fit; as for `load_weights`.
    """
    network = fitted(lambda: build_network(info), tensors, name, info.backbone)
    if isinstance(network, Classifier):
        network.eval().look(info.input.size)
    return network


Network = TypeVar("Network", bound=nn.Module)


def without_weights(build: Callable[[], Network]) -> Network:
    """A network for its shapes alone: without memory for its weights where its family can be built so."""
    try:
        with torch.device("meta"):
            return build()
    except NotImplementedError:  # RegNets compute their widths with tensors
        return build()


def fitted(build: Callable[[], Network], tensors: Mapping[str, Tensor], name: str, what: str) -> Network:
    """A network of what `build` gives with these weights; `what` names it, the rest is as for `fitted_network`."""
    try:
        shape = without_weights(build)
    except CheckpointError:
        raise
    except Exception as error:  # timm's networks refuse strides and sizes with any type of error
        raise CheckpointError(f"{name} describes a network that can't be built ({what}: {error})") from error
    _check_fit(shape, tensors, name)
    if _is_all_in_state(shape):  # random weights, about to be replaced, take longer than the file's
        network = shape.to_empty(device="cpu")
        for key, tensor in network.state_dict().items():
            if key not in tensors:
                tensor.zero_()
    else:
        network = build()
    load_weights(network, tensors, name)
    return network


def _is_all_in_state(network: nn.Module) -> bool:
    """Whether a network has no tensors but those of its state."""
    return not any(
        module._non_persistent_buffers_set or any(isinstance(value, Tensor) for value in vars(module).values())
        for module in network.modules()
    )


def save_checkpoint(
    path: str | Path,
    network: HeadNetwork | Classifier,
    info: CheckpointInfo,
    dtype: torch.dtype = torch.float16,
    *,
    overwrite: bool = False,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write a checkpoint atomically.

    Parameters
    ----------
    path : str or Path
        Should end in ``.safetensors``.
    network : HeadNetwork or Classifier
    info : CheckpointInfo
    dtype : torch.dtype
        For floating-point tensors on disk.
    overwrite, inputs
        As in `calm_gui.model.files.check_free`.

    Raises
    ------
    ExportError
        If the file can't be written, or is there already.
    CheckpointError
        If a weight isn't finite in this precision, or the network is one that no file can name.
    """
    family_of(info.backbone, info.output_stride, info.dilated)  # what couldn't be opened again isn't written
    tensors: dict[str, Tensor] = {}
    for name, tensor in network.state_dict().items():
        stored = tensor.detach().cpu().to(dtype if tensor.is_floating_point() else tensor.dtype).contiguous()
        if not torch.isfinite(stored).all():
            raise CheckpointError(f"{name} isn't finite as {dtype}; the checkpoint wasn't written")
        tensors[name] = stored
    metadata = {"calm": json.dumps(info.to_json(), ensure_ascii=False, separators=(",", ":"))}
    # Not written by safetensors itself, which reports a full disk as an error of its own.
    write_bytes(path, save(tensors, metadata), overwrite=overwrite, inputs=inputs)


def read_checkpoint(path: str | Path) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    """Metadata and tensors (on the CPU, as stored) of a checkpoint of our own format.

    Raises
    ------
    CheckpointError
        With the likely cause, if the file is anything else.
    """
    path = Path(path)
    info = read_info(path)
    try:
        return info, load_file(str(path), device="cpu")
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path.name} can't be read as safetensors: {error}") from error


def load_weights(network: nn.Module, tensors: Mapping[str, Tensor], name: str) -> None:
    """Put tensors into a network, all of them or none.

    Parameters
    ----------
    network : torch.nn.Module
        Its floating-point parameters stay float32.
    tensors : mapping of name to Tensor
    name : str
        What to call the file in a message.

    Raises
    ------
    CheckpointError
        If tensors are missing, unexpected, misshapen or not finite; with counts and the first few names.
    """
    _check_fit(network, tensors, name)
    expected = network.state_dict()
    broken = [k for k, v in tensors.items() if v.is_floating_point() and not torch.isfinite(v).all()]
    if broken:
        raise CheckpointError(
            f"{len(broken)} tensors of {name} hold NaN or infinity ({', '.join(broken[:3])}); "
            "the training diverged or the file is damaged"
        )
    state = OrderedDict((k, tensors[k]) for k in expected if k in tensors)
    state._metadata = expected._metadata  # type: ignore[attr-defined]  # versions, which MNASNet insists on
    network.load_state_dict(state, strict=False)


def _check_fit(network: nn.Module, tensors: Mapping[str, Tensor], name: str) -> None:
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
