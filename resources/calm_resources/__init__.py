"""Data that ships with calm-gui: checkpoints, pictures, class tables, WordNet. No code lives here."""

from pathlib import Path

__all__ = ["path"]


def path(name: str) -> Path:
    """Path of a bundled file or folder.

    Parameters
    ----------
    name : str
        Path below this package with forward slashes, for example ``"samples/credits.csv"``.

    Returns
    -------
    Path
        The file on disk. The wheel is always installed unpacked, so no temporary copy is made.

    Raises
    ------
    FileNotFoundError
        If nothing of that name is bundled.
    """
    found = Path(__file__).parent / name
    if not found.exists():
        raise FileNotFoundError(f"nothing called {name!r} is bundled with calm-gui")
    return found
