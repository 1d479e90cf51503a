"""Opening checkpoint files of strangers: what kind of file it is, and its tensors, without running anything in it.

`.pth`, `.pt` and `.pth.tar` are pickles, and a pickle can run code. They are read through
``torch.load(weights_only=True)`` alone, with a few plain types allowed that honest files hold. There is no
other way in.
"""

import argparse
import io
import json
import types
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load as load_safetensors
from torch import Tensor

from calm_gui.errors import CheckpointError
from calm_gui.model.answers import Answers, AnswersNeeded
from calm_gui.model.files import read_bounded
from calm_gui.model.formats.hub import shards

__all__ = ["WEIGHT_SETS", "find_weights", "read_foreign"]

WEIGHT_SETS = ("state_dict", "model", "model_state_dict", "net", "network", "weights", "student", "module")
"""Keys under which training programs keep their weights."""

AVERAGED_SETS = ("state_dict_ema", "model_ema", "ema_model", "ema", "ema_state_dict", "averaged_model", "teacher")
"""Keys of the slow average of the weights; a teacher is its student's."""

_WRAPPERS = ("module", "_orig_mod", "model", "net", "network", "backbone")
"""What wrappers put before every name, in any nesting."""

_MOST = 0.8
"""Share of the tensors that must have a wrapper's name before theirs; the others are losses and the like."""

_SAVE_INSTEAD = "save the weights alone instead: torch.save(model.state_dict(), path)"

_PICKLES = (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_MAX_BYTES = 20_000_000_000


def read_foreign(path: str | Path) -> Mapping[str, Any]:
    """The dictionary in a checkpoint file that isn't of our own format.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    mapping
        Of names to tensors, or of keys such as ``state_dict`` to these.

    Raises
    ------
    CheckpointError
        With the likely cause and the file's size, if the file is anything else or would run code.
    """
    path = Path(path)
    if several := shards(path):
        whole: dict[str, Any] = {}
        for part in several:
            whole |= read_foreign_file(part)["state_dict"]
        return {"state_dict": whole}
    return read_foreign_file(path)


def read_foreign_file(path: Path) -> Mapping[str, Any]:
    """As `read_foreign`, of one file."""
    data = read_bounded(path, _MAX_BYTES, CheckpointError, "checkpoints")
    what = f"{path.name} ({_size(len(data))})"
    if cause := _not_a_checkpoint(data):
        raise CheckpointError(f"{what} {cause}")
    if path.suffix == ".safetensors":
        return _safetensors(data, what)
    return _pickled(data, what)


def _size(size: int) -> str:
    return f"{size} bytes" if size < 10_000 else f"{size / 1e6:.1f} MB"


def _not_a_checkpoint(data: bytes) -> str:
    """What a file is that can't be a checkpoint, from its first bytes; empty if it may be one."""
    start = data[:1024].lstrip().lower()
    if not data:
        return "is empty; was the download complete?"
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "is a web page, not a checkpoint; download the file by hand"
    if data.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the weights; run git lfs pull, or download the file itself"
    if data.startswith(b"PK"):
        return _not_a_torch_archive(data)
    if data[257:262] == b"ustar":
        return "is a tar archive; unpack it and open the checkpoint inside"
    return ""


def _not_a_torch_archive(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, UnicodeError, OSError):
        return "is incomplete: the end of the archive is missing, so download or copy it again"
    if any(name.endswith("constants.pkl") for name in names) or any("/code/" in name for name in names):
        return f"is a TorchScript program, which holds code; {_SAVE_INSTEAD}"
    if not any(name.endswith("data.pkl") for name in names):
        return "is a zip archive without weights; unpack it and open the checkpoint inside"
    return ""


def _safetensors(data: bytes, what: str) -> Mapping[str, Any]:
    try:
        weights = load_safetensors(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return {**header.get("__metadata__", {}), "state_dict": weights}
    except Exception as error:  # types that torch lacks, sizes that overflow, names that aren't UTF-8
        if "header" in str(error).lower():
            cause = "isn't a safetensors file, or its first bytes are damaged"
        else:
            cause = "is incomplete or damaged; download or copy it again"
        raise CheckpointError(f"{what} {cause}{_in_brackets(str(error))}") from error


def _allowed() -> list[Any]:
    """Plain types that honest checkpoints hold beside tensors: arguments, and numbers of NumPy."""
    scalar = np._core.multiarray.scalar  # type: ignore[attr-defined]
    reconstruct = np._core.multiarray._reconstruct  # type: ignore[attr-defined]
    return [
        argparse.Namespace,
        types.SimpleNamespace,
        (OrderedDict, "munch.Munch"),
        *(
            (function, f"numpy.{core}.multiarray.{function.__name__}")
            for core in ("core", "_core")
            for function in (scalar, reconstruct)
        ),
        *(np.dtype, np.ndarray),
        *(type(np.dtype(kind)) for kind in "?bBhHiIlLqQefd"),
    ]


def _pickled(data: bytes, what: str) -> Mapping[str, Any]:
    if not data.startswith(_PICKLES):
        raise CheckpointError(f"{what} is of an unknown format; checkpoints are .safetensors, or .pth made by PyTorch")
    try:
        with torch.serialization.safe_globals(_allowed()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickle protocols
            loaded = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # torch and pickle raise anything for damaged files, some without a word
        raise CheckpointError(f"{what} {_why_not(error)}") from error
    if not isinstance(loaded, Mapping):
        kind = type(loaded).__name__
        raise CheckpointError(f"{what} holds a {kind}, not a dictionary of weights")
    return loaded


def _why_not(error: Exception) -> str:
    text = str(error)
    if (
        "Unsupported global" in text
        or "GLOBAL" in text
        or "Unsupported operand" in text
        or "weights_only" in text.lower()
    ):
        named = text.split("GLOBAL ")[-1].split(" ")[0] if "GLOBAL " in text else ""
        what = f" ({named})" if named else ""
        return f"holds code or a whole pickled model{what}, which is never run; {_SAVE_INSTEAD}"
    return f"is incomplete or damaged{_in_brackets(text)}; download or copy it again"


def _in_brackets(reason: str) -> str:
    return f" ({reason})" if reason else ""


def find_weights(loaded: Mapping[str, Any], name: str, averaged: bool | None = None) -> tuple[dict[str, Tensor], str]:
    """The weights in a loaded dictionary, without the prefixes that wrappers put before names.

    Parameters
    ----------
    loaded : mapping
    name : str
        What to call the file.
    averaged : bool, optional
        Which to take where the file holds the weights and their slow average; without it, two sets are an error
        that names both.

    Returns
    -------
    dict of name to Tensor, and the key under which they stood (empty for the file itself)

    Raises
    ------
    AnswersNeeded
        If there are two sets and no choice.
    CheckpointError
        If there are no weights, or the one asked for isn't there.
    """
    sets = {key: loaded[key] for key in (*WEIGHT_SETS, *AVERAGED_SETS) if _is_weights(loaded.get(key))}
    if not sets and _is_weights(loaded):
        sets = {"": loaded}
    if len(sets) == 1:
        sets = _prefixed_sets(*next(iter(sets.items())))
    plain = [key for key in sets if key.rpartition(".")[2] not in AVERAGED_SETS]
    slow = [key for key in sets if key not in plain]
    if plain and slow and averaged is None:
        raise AnswersNeeded(
            f"{name} contains two sets of weights, {plain[0]} and their average {slow[0]}; "
            "say which: averaged=False or averaged=True",
            Answers(averaged=True),
            ("averaged",),
        )
    if averaged and not slow:
        raise CheckpointError(f"{name} holds no average of its weights (averaged=True)")
    if averaged is False and slow and not plain:
        raise CheckpointError(f"{name} holds nothing but the average of its weights (averaged=False)")
    chosen = slow if slow and (averaged or not plain) else plain
    if chosen:
        return _without_prefixes(sets[chosen[0]]), chosen[0]
    keys = ", ".join(map(str, list(loaded)[:6])) or "nothing"
    raise CheckpointError(f"{name} holds no weights that are known by name; it holds {keys}")


def _prefixed_sets(key: str, weights: Mapping[str, Tensor]) -> dict[str, Mapping[str, Tensor]]:
    """The set, or the two that a training program kept in one under names before their own, as Lightning does."""
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in weights.items():
        first, _, rest = name.partition(".")
        if rest:
            parts.setdefault(first, {})[rest] = tensor
    averaged = [first for first in parts if first in AVERAGED_SETS]
    own = [first for first in parts if first in (*WEIGHT_SETS, *_WRAPPERS) and first not in AVERAGED_SETS]
    if not averaged or not own:
        return {key: weights}
    before = f"{key}." if key else ""
    return {before + own[0]: parts[own[0]], before + averaged[0]: parts[averaged[0]]}


def _is_weights(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(k, str) and isinstance(v, Tensor) for k, v in value.items())
    )


def _without_prefixes(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors under their own names: what wrappers put before all of them goes, and what has none of it goes too."""
    # A compiled part stands in the middle of a name; the average of torchvision's own script counts its steps.
    stripped = {name.replace("._orig_mod.", "."): tensor for name, tensor in weights.items() if name != "n_averaged"}
    while True:
        for always in ("module.", "_orig_mod."):  # some tensors may lack these
            stripped = {name.removeprefix(always): tensor for name, tensor in stripped.items()}
        for wrapper in (*_WRAPPERS, *AVERAGED_SETS, "student"):
            inside = {n.removeprefix(f"{wrapper}."): t for n, t in stripped.items() if n.startswith(f"{wrapper}.")}
            if inside and len(inside) >= _MOST * len(stripped):
                heads = {n: t for n, t in stripped.items() if n.startswith(_HEADS)} if wrapper == "backbone" else {}
                stripped = {**inside, **heads}
                break
        else:
            if not any(name.startswith(("module.", "_orig_mod.")) for name in stripped):
                return stripped


_HEADS = ("fc.", "head.", "classifier.", "conv_last.", "attention.")
"""Heads that stand beside a backbone, not in it."""
