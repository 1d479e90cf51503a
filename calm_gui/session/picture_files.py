"""Which files are pictures, and by what key each is known."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from calm_gui.model.picture_folder import pictures_of

__all__ = ["file_key", "file_stamp", "pictures_in"]


def file_key(path: str | Path) -> str:
    """Absolute path of a file, by which it is known; links keep their names, but no file has two keys by ``..``."""
    path = Path(path).absolute()
    if ".." in path.parts:
        with suppress(OSError, RuntimeError, ValueError):  # a circle of links, a zero byte in the name
            return str(path.parent.resolve() / path.name)
    return str(path)


def file_stamp(path: str) -> tuple[int, int]:
    """What changes when a file is replaced: time and size; zeros where there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def pictures_in(paths: Iterable[str | Path]) -> list[str]:
    """Absolute paths of files, and of the pictures in folders, in order and each once.

    A folder that has no picture itself stands for those in its folders. Hidden files (such as the side files that
    macOS leaves) are passed over in folders.
    """
    found: dict[str, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            found.update(dict.fromkeys(map(file_key, pictures_of(path))))
        else:
            found[file_key(path)] = None
    return list(found)
