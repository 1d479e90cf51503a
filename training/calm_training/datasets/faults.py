"""What is wrong with the files of a data set, gathered and told at once."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from calm_gui.errors import DataError, PictureError
from calm_gui.model.picture import load_picture
from calm_training.datasets.picture_set import PictureSet, Sample

__all__ = ["bad_files", "without_bad_files", "without_faults"]

T = TypeVar("T")


def bad_files(samples: Sequence[Sample], workers: int = 0) -> list[tuple[Path, str]]:
    """Files that can't be opened as pictures, with the reason; every file is decoded, in parallel."""
    paths = [sample.path for sample in samples]
    if workers < 2 or len(paths) < 100:
        faults = [_fault(path) for path in paths]
    else:
        # Spawned, not forked: the caller may hold threads, as torch does.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            faults = list(pool.map(_fault, paths, chunksize=64))
    return [(path, fault) for path, fault in zip(paths, faults, strict=True) if fault]


def without_bad_files(pictures: PictureSet, bad: Iterable[tuple[Path, str]], allowed: float = 0.01) -> PictureSet:
    """The set without its bad files.

    Raises
    ------
    DataError
        If more than the share `allowed` of the files is bad.
    """
    reasons = dict(bad)
    if len(reasons) > allowed * len(pictures.samples):
        listed = "; ".join(f"{path.name}: {reason}" for path, reason in list(reasons.items())[:3])
        raise DataError(
            f"{len(reasons)} of {len(pictures.samples)} pictures can't be opened, more than {allowed:.0%} ({listed})"
        )
    return replace(pictures, samples=tuple(s for s in pictures.samples if s.path not in reasons))


def without_faults(pictures: list[T], faults: list[str], source: Path) -> list[T]:
    """The pictures that a table lists, if nothing is wrong with it.

    Raises
    ------
    DataError
        With all faults, at most ten of them listed, or if there are no pictures.
    """
    if faults:
        more = f" and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise DataError(f"{len(faults)} faults: " + "; ".join(faults[:10]) + more)
    if not pictures:
        raise DataError(f"{source} lists no pictures")
    return pictures


def _fault(path: Path) -> str:
    try:
        load_picture(path)
    except PictureError as error:
        return str(error)
    return ""
