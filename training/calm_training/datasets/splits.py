"""What a run trains on, is chosen on and is tested on: three sets of pictures with the classes of the first."""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calm_gui.errors import DataError
from calm_gui.render.naming import counted
from calm_training.datasets.layouts import LAYOUTS
from calm_training.datasets.picture_set import TEST_NAMES, VALIDATION_NAMES, PictureSet, Sample
from calm_training.datasets.same_classes import with_classes
from calm_training.datasets.split import split_by_hash

__all__ = ["Splits", "read_splits"]

TEST_SHARE = 0.2
"""Of an undivided set."""

VALIDATION_SHARE = 0.1
"""Of the training pictures, or of an undivided set."""


@dataclass(frozen=True)
class Splits:
    """The pictures of a run.

    Attributes
    ----------
    train, validation : PictureSet
    test : PictureSet or None
        None where there is none.
    notes : tuple of str
        Sentences on what was divided here.
    """

    train: PictureSet
    validation: PictureSet
    test: PictureSet | None
    notes: tuple[str, ...] = ()


def read_splits(layout: str, root: Path, train: str = "train", validation: str = "", test: str = "test") -> Splits:
    """Read the pictures of a run.

    What isn't divided is, class by class, by the hash of the file names: a split that never changes.

    Parameters
    ----------
    layout : str
        Key of `LAYOUTS`.
    root : Path
    train, test : str
        Names of the splits. There needn't be one called ``test``; one called ``testing`` is taken too, in any letters.
    validation : str
        Likewise; where it is empty, a split called ``val``, ``valid`` or ``validation`` in any letters, else a tenth of
        the training pictures.

    Raises
    ------
    DataError
        If a split is missing, pictures can't be read, a class isn't one of training's, or training has but one.
    """
    kind = LAYOUTS[layout]
    if not root.is_dir():
        raise DataError(f"there is no folder {root}")
    asked = [name for name, usual in ((train, "train"), (validation, ""), (test, "test")) if name != usual]
    names = kind.splits(root, asked)
    notes = []
    found_test: PictureSet | None = None
    if not names and asked:
        raise DataError(f"{root} has no split {asked[0]!r}; it isn't divided")
    if not names:
        whole = kind.read(root, "")
        found_test, trained = _divided(whole, TEST_SHARE)
        found_validation, trained = _divided(trained, VALIDATION_SHARE / (1 - TEST_SHARE))
        notes.append(
            f"{root} isn't divided: by the hash of their names, {len(found_test.samples)} pictures are for testing, "
            f"{len(found_validation.samples)} for validation, {len(trained.samples)} for training"
        )
    else:
        for name in (train, *asked):
            if name not in names:
                raise DataError(f"{root} has no split {name!r}; it has {', '.join(names)}")
        trained = kind.read(root, train)
        tested = test if test in names else _named_like(TEST_NAMES, names, [train, validation])
        if tested:
            found_test = kind.read(root, tested)
        chosen = validation or _named_like(VALIDATION_NAMES, names, [train, tested])
        if unused := sorted(set(names) - {train, tested, chosen}):
            notes.append(f"{root} also has {', '.join(unused)}, which no split takes")
        if chosen:
            found_validation = kind.read(root, chosen)
        else:
            found_validation, trained = _divided(trained, VALIDATION_SHARE)
            notes.append(
                f"{root} has no validation split: {len(found_validation.samples)} of the training pictures are kept "
                "apart for it, by the hash of their names"
            )
    for name, other in (("validation", found_validation), ("test", found_test)):
        if other is not None and (note := _overlap(trained, other, name)):
            notes.append(note)
    present = {sample.label for sample in trained.samples}
    if len(present) < 2:
        raise DataError(f"{root} has one class, {trained.classes[present.pop()].name}; there is nothing to distinguish")
    return Splits(
        trained,
        with_classes(found_validation, trained, "validation"),
        None if found_test is None else with_classes(found_test, trained, "test"),
        tuple(notes),
    )


def _named_like(usual: Sequence[str], names: Sequence[str], taken: Sequence[str]) -> str:
    """The split with the first of its usual names, in any letters, that isn't taken; empty if there is none."""
    left = {name.casefold(): name for name in reversed(names) if name not in taken}
    return next((left[name] for name in usual if name in left), "")


def _overlap(trained: PictureSet, other: PictureSet, name: str) -> str:
    """A sentence on the pictures of another split that are trained on; empty if there are none."""
    known = {os.path.normpath(sample.path) for sample in trained.samples}
    both = [sample.path for sample in other.samples if os.path.normpath(sample.path) in known]
    return f"{name} has {counted(len(both), 'picture')} that training has too, such as {both[0].name}" if both else ""


def _divided(pictures: PictureSet, share: float) -> tuple[PictureSet, PictureSet]:
    """A share of the pictures of each class, at least one where there are two, and the others."""
    of_class: dict[int, list[Sample]] = defaultdict(list)
    for sample in pictures.samples:
        of_class[sample.label].append(sample)
    taken, left = list[Sample](), list[Sample]()
    for samples in of_class.values():
        number = min(max(1, round(share * len(samples))), len(samples) - 1)
        first, second = split_by_hash(samples, number)
        taken += first
        left += second
    if not taken:
        raise DataError("there is one picture of each class, so that none can be kept apart from training")
    return replace(pictures, samples=_in_order(taken, pictures)), replace(pictures, samples=_in_order(left, pictures))


def _in_order(samples: Sequence[Sample], pictures: PictureSet) -> tuple[Sample, ...]:
    chosen = set(samples)
    return tuple(sample for sample in pictures.samples if sample in chosen)
