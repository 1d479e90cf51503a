"""The folder that --out names: made, and taken away again if nothing was written."""

import os
from pathlib import Path

from calm_gui.errors import ExportError

__all__ = ["made_folder", "missing_folders"]


def missing_folders(out: str | None) -> list[Path]:
    """Folders that are made if `out` is, deepest first."""
    try:
        return [folder for folder in (Path(out), *Path(out).parents) if not folder.exists()] if out else []
    except (OSError, ValueError):
        return []  # making them will say what is wrong


def made_folder(name: str) -> Path:
    """The folder of a name, which can be written to.

    Raises
    ------
    ExportError
        If it can't be.
    """
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"the folder {folder} can't be made: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise ExportError(f"the folder {folder} can't be written to; choose another with --out")
    return folder
