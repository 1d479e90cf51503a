"""Where a dialog that asks for a file or folder begins: one rule for opening and saving."""

from pathlib import Path
from typing import Literal

import platformdirs

import calm_resources
from calm_gui.qt.settings import Settings

__all__ = ["FolderKind", "remember_folder", "start_folder"]

FolderKind = Literal[
    "pictures", "checkpoint", "session", "truth", "hierarchy", "annotation", "export", "batch", "report"
]


def start_folder(settings: Settings, kind: FolderKind, picture: str | None) -> str:
    """The folder that was last used for this kind of file, else for pictures, else the open picture's, else home.

    Folders that are gone, and those of the program itself, don't count.
    """
    for key in (_key(kind), _key("pictures")):
        if (last := settings.text(key)) and Path(last).is_dir():
            return last
    if picture and (folder := Path(picture).parent).is_dir() and not _our_own(folder):
        return str(folder)
    return str(Path.home())


def remember_folder(settings: Settings, kind: FolderKind, path: str | Path) -> None:
    """Begin there the next time: in a folder, or where a file is."""
    chosen = Path(path)
    folder = chosen if chosen.is_dir() else chosen.parent
    if not _our_own(folder):
        settings.set(_key(kind), str(folder))


def _key(kind: FolderKind) -> str:
    return "folder" if kind == "pictures" else f"{kind} folder"


def _our_own(folder: Path) -> bool:
    """Whether a folder is the program's: that of the samples, checkpoints and pasted pictures."""
    own = (calm_resources.path("."), Path(platformdirs.user_data_dir("calm-gui", appauthor=False)))
    return any(folder.resolve().is_relative_to(one.resolve()) for one in own)
