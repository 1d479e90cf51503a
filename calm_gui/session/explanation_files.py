"""Raw outputs f and a of explained pictures on disk, in float32, so that no network is needed a second time.

A float16 copy would be half as large, but its maps couldn't be proven to add up.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import secrets
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from calm_gui.errors import CalmError
from calm_gui.late import np
from calm_gui.model.files import read_bounded, write_text
from calm_gui.model.info import CheckpointInfo
from calm_gui.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Raw = tuple[NDArray[np.float32], NDArray[np.float32] | None]

__all__ = ["MOST_MEGABYTES", "ExplanationFiles", "explanation_folder", "explanation_key"]

MOST_MEGABYTES = 1000
"""How large the folder may become at first: 1,200 pictures of 1,000 classes on a grid of 14 x 14."""

_FORMAT = 1
_MAX_BYTES = 1_000_000_000
_SUFFIX = ".raw"
_DEVICES = "devices.json"
_log = logging.getLogger(__name__)


def explanation_folder() -> Path:
    """Where raw outputs are kept."""
    return Path(platformdirs.user_cache_dir("calm-gui", appauthor=False)) / "explanations"


@cache
def _program() -> tuple[str, ...]:
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return __version__, torch, platform.node(), platform.machine()


def explanation_key(
    picture: str, checkpoint: str, answers: Mapping[str, Any], info: CheckpointInfo, device: str
) -> str:
    """All that raw outputs depend on, as one name.

    Parameters
    ----------
    picture, checkpoint : str
        SHA-256 of the files.
    answers : mapping
        What was answered about the checkpoint.
    info : CheckpointInfo
        Its preprocessing counts, and what head it has.
    device : str
        Devices differ in the last bits.
    """
    import hashlib  # off the start-up path, as OpenSSL with it

    parts = [_FORMAT, picture, checkpoint, dict(answers), info.input.to_json(), info.head, info.method, device]
    return hashlib.sha256(json.dumps([*parts, *_program()], sort_keys=True, default=str).encode()).hexdigest()


class ExplanationFiles:
    """A folder that never grows over a size; what was used longest ago goes first.

    Several programs may use it at once. Whatever fails here costs time and nothing else: it is logged, not told.

    Parameters
    ----------
    folder : Path
    most_bytes : int
        0 keeps nothing and finds nothing.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_MEGABYTES * 1_000_000) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self._size: int | None = None
        self._refused = False

    def get(self, key: str) -> Raw | None:
        """Raw outputs f (C,H,W) and a (1,H,W) or None, float32; None where they aren't kept or are damaged."""
        path = self._path(key)
        if self.most_bytes <= 0 or not path.is_file():
            return None
        try:
            found = _from_bytes(read_bounded(path, _MAX_BYTES, CalmError))
            os.utime(path)
        except (CalmError, OSError) as error:
            _log.warning("%s can't be read: %s", path, error)
            return None
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("%s is damaged (%s) and is removed", path, error)
            self._remove(path)
            return None
        return found

    def keep(self, key: str, f: NDArray[np.float32], a: NDArray[np.float32] | None) -> None:
        """Keep raw outputs; older ones make room."""
        data = _to_bytes(f, a)
        if len(data) > self.most_bytes or self._refused:
            return
        path = self._path(key)
        temporary = path.with_name(f".{secrets.token_hex(8)}{_SUFFIX}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            before = path.stat().st_size if path.exists() else 0
            self._make_room(len(data) - before)
            try:  # not synced to the disk: a power cut costs at most a file that its checksum gives away
                temporary.write_bytes(data)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            self._size = self.size() if self._size is None else self._size + len(data) - before
        except OSError as error:
            self._refused = True  # a full disk or a folder that can't be written to; once is enough
            _log.warning("explanations couldn't be saved: %s", error)

    def size(self) -> int:
        """Bytes that the folder holds."""
        return sum(size for _, size, _ in self._files())

    def fit(self) -> None:
        """Remove what is more than the size that was set."""
        self._size = None
        self._make_room(0)

    def clear(self) -> None:
        """Remove all that is kept."""
        for _, _, path in self._files():
            self._remove(path)
        self._size = None

    # Which device was meant by which word, so that a kept explanation is found before torch can be asked

    def device_of(self, asked: str) -> str | None:
        """The device that a word such as ``auto`` stood for the last time; None where that isn't known."""
        found = self._devices().get(asked)
        return found if isinstance(found, str) else None

    def remember_device(self, asked: str, device: str) -> None:
        """Keep which device a word stands for."""
        known = self._devices()
        if self.most_bytes <= 0 or known.get(asked) == device:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.folder / _DEVICES, json.dumps({**known, asked: device}), overwrite=True)
        except (CalmError, OSError) as error:
            _log.warning("the device couldn't be saved: %s", error)

    def _devices(self) -> dict[str, Any]:
        path = self.folder / _DEVICES
        try:
            found = json.loads(read_bounded(path, 100_000, CalmError)) if path.is_file() else {}
        except (CalmError, OSError, ValueError, RecursionError) as error:
            _log.warning("%s can't be read: %s", path, error)
            return {}
        return found if isinstance(found, dict) else {}

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _files(self) -> list[tuple[float, int, Path]]:
        """Time of the last use, size and path of each file, the one used longest ago first."""
        found = []
        for path in self.folder.glob(f"*{_SUFFIX}") if self.folder.is_dir() else ():
            try:
                status = path.stat()
            except OSError:  # another program removed it
                continue
            found.append((status.st_mtime, status.st_size, path))
        return sorted(found)

    def _make_room(self, more: int) -> None:
        if self._size is not None and self._size + more <= self.most_bytes:
            return
        files = self._files()
        self._size = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self._size + more <= self.most_bytes:
                return
            self._remove(path)
            self._size -= size

    @staticmethod
    def _remove(path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s couldn't be removed: %s", path, error)


def _to_bytes(f: NDArray[np.float32], a: NDArray[np.float32] | None) -> bytes:
    """A line of JSON with the shapes and a checksum, then the numbers."""
    parts = [np.ascontiguousarray(values, "<f4") for values in (f, a) if values is not None]
    body = b"".join(part.tobytes() for part in parts)
    head = {"format": _FORMAT, "shapes": [part.shape for part in parts], "crc32": zlib.crc32(body)}
    return json.dumps(head).encode() + b"\n" + body


def _from_bytes(data: bytes) -> Raw:
    """What `_to_bytes` wrote; ValueError, KeyError or TypeError for anything else."""
    first, _, body = data.partition(b"\n")
    head = json.loads(first)
    if head["format"] != _FORMAT or head["crc32"] != zlib.crc32(body) or len(head["shapes"]) not in (1, 2):
        raise ValueError("the checksum differs")
    values, start = [], 0
    for shape in head["shapes"]:
        count = int(np.prod(shape))
        values.append(np.frombuffer(body, "<f4", count, start).astype(np.float32).reshape(shape))
        start += 4 * count
    return values[0], values[1] if len(values) == 2 else None
