"""Writing files: whole or not at all, never over another file unasked, never over what they are made from."""

import os
import platform
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from calm_gui.errors import CalmError, ExportError

__all__ = [
    "atomic_path",
    "check_free",
    "content_hash",
    "put_aside",
    "read_bounded",
    "sha256_of",
    "write_bytes",
    "write_text",
]


def _umask_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


_PREFIX = ".calm-"
_swept: set[Path] = set()
"""Folders that were looked through for rests; a batch of thousands of files lists its folder once."""


def _own_prefix(pid: int) -> str:
    return f"{_PREFIX}{zlib.crc32(platform.node().encode()):08x}-{pid}-"


def _sweep(folder: Path) -> None:
    """Remove temporary files of this machine's processes that were killed while they were writing."""
    if folder in _swept or os.name != "posix":
        return
    _swept.add(folder)
    for rest in folder.glob(f"{_own_prefix(0).rsplit('-', 2)[0]}-*"):
        pid = rest.name.split("-")[2]
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            with suppress(OSError):
                rest.unlink()
        except (OSError, ValueError):
            continue  # another user's process, or not a file of ours


def check_free(path: str | Path, *, overwrite: bool = False, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a path that `atomic_path` would refuse because of what is there, before anything is computed.

    Parameters
    ----------
    path : str or Path
    overwrite : bool
        Whether an existing file may be replaced.
    inputs : iterable of str or Path
        Files that the new one is made from; those that don't exist don't matter.

    Raises
    ------
    ExportError
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise ExportError(f"{path} is a folder; choose a file name")
        for source in inputs if path.exists() else ():
            if Path(source).exists() and path.samefile(source):
                raise ExportError(f"{path} is what this is made from, so it isn't replaced; choose another name")
        if not overwrite and os.path.lexists(path):
            raise _taken(path)
    except (OSError, ValueError) as error:
        raise ExportError(f"{path} can't be written: {getattr(error, 'strerror', None) or error}") from error


def _taken(path: Path) -> ExportError:
    return ExportError(f"{path} already exists; choose another name, or allow overwriting")


@contextmanager
def atomic_path(path: str | Path, *, overwrite: bool = False, inputs: Iterable[str | Path] = ()) -> Iterator[Path]:
    """A temporary file beside `path` to write to; it takes `path`'s place when the block ends well.

    The file gets the umask's mode. After an exception nothing is left and an existing `path` is untouched; what a
    killed process left goes when another writes in that folder.

    Parameters
    ----------
    path : str or Path
    overwrite, inputs
        As in `check_free`.

    Raises
    ------
    ExportError
        If the folder doesn't exist, can't be written to, the disk is full, or for what `check_free` refuses.
    """
    path = Path(path)
    temporary: Path | None = None
    check_free(path, overwrite=overwrite, inputs=inputs)
    try:
        _sweep(path.parent)
        handle, name = tempfile.mkstemp(prefix=_own_prefix(os.getpid()), suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(_umask_mode())
        _place(temporary, path, overwrite)
        temporary = None
    except OSError as error:
        why = " ".join(str(error.strerror or error).split())
        raise ExportError(f"{path} can't be written: {why}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def _place(temporary: Path, path: Path, overwrite: bool) -> None:
    if not overwrite:
        try:
            os.link(temporary, path)  # unlike renaming, it fails where another process was faster
        except FileExistsError as error:
            raise _taken(path) from error
        except OSError:
            pass  # a file system without links: that the name was free at the beginning must do
        else:
            temporary.unlink()
            return
    temporary.replace(path)


def write_bytes(path: str | Path, data: bytes, *, overwrite: bool = False, inputs: Iterable[str | Path] = ()) -> None:
    """Write a file as `atomic_path` does."""
    with atomic_path(path, overwrite=overwrite, inputs=inputs) as temporary:
        temporary.write_bytes(data)


def write_text(path: str | Path, text: str, *, overwrite: bool = False, inputs: Iterable[str | Path] = ()) -> None:
    """Write text in UTF-8 as `atomic_path` does.

    A file name whose bytes aren't UTF-8 has characters that can't be encoded. They are written as escapes, which JSON
    reads as what they were.
    """
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"), overwrite=overwrite, inputs=inputs)


def put_aside(path: Path) -> Path | None:
    """Give a file that can't be used another name, so that it isn't written over; None where that can't be done.

    The new name ends in ``.damaged``, with a number where an earlier one is there.
    """
    names = (path.with_suffix(f".damaged{f'-{number}' if number > 1 else ''}") for number in range(1, 1000))
    try:
        aside = next(name for name in names if not os.path.lexists(name))
        path.rename(aside)
    except (OSError, StopIteration):
        return None
    return aside


def read_bounded(path: str | Path, most: int, error: type[CalmError], what: str = "files") -> bytes:
    """Bytes of a file that comes from anywhere.

    Parameters
    ----------
    path : str or Path
    most : int
        Bytes; larger files are refused before they are read.
    error : type of CalmError
        Raised for everything that can go wrong.
    what : str
        Plural noun for the message about the size.

    Raises
    ------
    CalmError
        Of the type asked for, if there is no such file, it can't be read, is too large, or is a folder, a device or a
        pipe, which could block or never end.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise error(f"{path.name} is a folder, not a file")
        if path.exists() and not path.is_file():
            raise error(f"{path} is a device or a pipe, not a file")
        size = path.stat().st_size
        if size > most:
            raise error(f"{path.name} is {size / 1e6:.0f} MB; {what} over {most / 1e6:.0f} MB are refused")
        return path.read_bytes()
    except FileNotFoundError as fault:
        raise error(f"there is no file {path}") from fault
    except OSError as fault:
        raise error(f"{path} can't be read: {fault.strerror or fault}") from fault
    except ValueError as fault:  # a zero byte in the name
        raise error(f"{str(path)!r} isn't a file name: {fault}") from fault


def sha256_of(path: str | Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    import hashlib  # off the start-up path, as OpenSSL with it

    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_hash(path: str | Path) -> str:
    """`sha256_of` a file, "unreadable" where it can't be read; a file that hasn't changed is hashed once."""
    try:
        found = Path(path).stat()
        return _content_hash(os.fspath(path), found.st_size, found.st_mtime_ns)
    except (OSError, ValueError):
        return "unreadable"


@lru_cache(maxsize=200_000)
def _content_hash(path: str, size: int, changed: int) -> str:
    return sha256_of(path)
