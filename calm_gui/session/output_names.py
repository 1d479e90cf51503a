"""Names of output files that never collide."""

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

__all__ = ["free_name", "names_of_inputs", "output_names"]


def output_names(paths: Sequence[str]) -> dict[str, str]:
    """A name for each picture's files: its stem, numbered where several pictures share it (case aside).

    Parameters
    ----------
    paths : sequence of str
        All pictures of a batch, so that every shard gives the same names.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for path in paths:
        # Room for reading, class and extension within the 255 bytes that file systems allow.
        stem = Path(path).stem.encode(errors="surrogateescape").decode(errors="replace").replace("\ufffd", "_")
        stem = stem.encode()[:100].decode(errors="ignore") or "picture"
        name, number = stem, 2
        while name.casefold() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.casefold())
        names[path] = name
    return names


def free_name(name: str, folder: Path, overwrite: bool = False, taken: Collection[str] = ()) -> str:
    """`name`, with a number before its extension where it isn't free.

    Parameters
    ----------
    name : str
    folder : Path
    overwrite : bool
        Whether a file that is in the folder may be replaced.
    taken : collection of str
        Case-folded names that are never free: what has just been written is not to be replaced by its neighbour.
    """
    stem, dot, suffix = name.rpartition(".")
    candidate, number = name, 2
    while candidate.casefold() in taken or (not overwrite and os.path.lexists(folder / candidate)):
        candidate, number = f"{stem}-{number}{dot}{suffix}", number + 1
    return candidate


def names_of_inputs(inputs: Iterable[str | Path], folder: Path) -> set[str]:
    """Case-folded names of those inputs that lie in a folder, which are never free there (`free_name`).

    Parameters
    ----------
    inputs : iterable of str or Path
        Files that results are made from, by any spelling of their paths.
    folder : Path
    """
    there, parents, names = os.path.realpath(folder), dict[Path, str](), set[str]()
    for each in map(Path, inputs):
        for path in (each, Path(os.path.realpath(each))) if each.is_symlink() else (each,):
            if path.parent not in parents:
                parents[path.parent] = os.path.realpath(path.parent)
            if parents[path.parent] == there:
                names.add(path.name.casefold())
    return names
