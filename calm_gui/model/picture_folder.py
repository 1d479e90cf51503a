"""Which files of a folder are the user's pictures."""

from pathlib import Path

from calm_gui.model.picture_suffixes import PICTURE_SUFFIXES

__all__ = ["is_hidden", "pictures_below", "pictures_of"]

_OF_SYSTEMS = frozenset({"__macosx", "@eadir", "@recycle", "#recycle", "#snapshot", "$recycle.bin", "lost+found"})
"""Folders that archives and file servers put beside a user's own, in lower case."""


def is_hidden(name: str) -> bool:
    """Whether a file or folder is none of the user's: hidden, or put beside it by a system."""
    return name.startswith(".") or name.casefold() in _OF_SYSTEMS


def pictures_below(folder: Path) -> list[Path]:
    """Pictures in a folder and in the folders in it, by their extensions, in order; hidden ones are passed over."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if _is_picture(path) and not any(map(is_hidden, path.relative_to(folder).parts))
    ]


def pictures_of(folder: Path) -> list[Path]:
    """Pictures in a folder, or, where it has none itself, in the folders in it, such as one for each class.

    Raises
    ------
    OSError
        If the folder can't be read.
    """
    inside = sorted(path for path in folder.iterdir() if _is_picture(path) and not is_hidden(path.name))
    return inside or pictures_below(folder)


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in PICTURE_SUFFIXES and not path.is_dir()
