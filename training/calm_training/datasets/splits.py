"""What a run trains on, is chosen on and is tested on: three sets of pictures with the classes of the first."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calm_gui.errors import DataError
from calm_training.datasets.layouts import LAYOUTS
from calm_training.datasets.picture_set import VALIDATION_NAMES, PictureSet, Sample
from calm_training.datasets.split import split_by_hash

__all__ = ["Splits", "aligned", "read_splits"]

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
        Names of the splits. There needn't be one called ``test``.
    validation : str
        Likewise; where it is empty, a split called ``val``, ``valid`` or ``validation``, else a tenth of the training
        pictures.

    Raises
    ------
    DataError
        If a split is missing, pictures can't be read, a class isn't one of training's, or training has but one.
    """
    kind = LAYOUTS[layout]
    if not root.is_dir():
        raise DataError(f"there is no folder {root}")
    names = kind.splits(root)
    notes = []
    found_test: PictureSet | None = None
    if not names:
        whole = kind.read(root, "")
        found_test, trained = _divided(whole, TEST_SHARE)
        found_validation, trained = _divided(trained, VALIDATION_SHARE / (1 - TEST_SHARE))
        notes.append(
            f"{root} isn't divided: by the hash of their names, {len(found_test.samples)} pictures are for testing, "
            f"{len(found_validation.samples)} for validation, {len(trained.samples)} for training"
        )
    else:
        for name in (train, *filter(None, [validation]), *([test] if test != "test" else [])):
            if name not in names:
                raise DataError(f"{root} has no split {name!r}; it has {', '.join(names)}")
        trained = kind.read(root, train)
        if test in names:
            found_test = kind.read(root, test)
        chosen = validation or next((name for name in VALIDATION_NAMES if name in names and name != test), "")
        if chosen:
            found_validation = kind.read(root, chosen)
        else:
            found_validation, trained = _divided(trained, VALIDATION_SHARE)
            notes.append(
                f"{root} has no validation split: {len(found_validation.samples)} of the training pictures are kept "
                "apart for it, by the hash of their names"
            )
    if len(trained.classes) < 2:
        raise DataError(f"{root} has one class, {trained.classes[0].name}; there is nothing to tell apart")
    return Splits(
        trained,
        aligned(found_validation, trained, "validation"),
        None if found_test is None else aligned(found_test, trained, "test"),
        tuple(notes),
    )


def aligned(pictures: PictureSet, training: PictureSet, name: str) -> PictureSet:
    """A split with the training split's classes and their indices.

    Parameters
    ----------
    pictures, training : PictureSet
    name : str
        Of the split, for a message.

    Raises
    ------
    DataError
        If a class of a picture isn't one that is trained.
    """
    if pictures.classes is training.classes:
        return pictures
    index_of = {info.wnid or info.name: info.index for info in training.classes}
    unknown = []
    labels: dict[int, int] = {}
    for label in sorted({sample.label for sample in pictures.samples}):
        info = pictures.classes[label]
        own = info.wnid or info.name
        if not pictures.numbered:
            index = index_of.get(own, -1)
        elif label < len(training.classes) and _may_be_one(info.name, training.classes[label].name, label):
            index = label
        else:
            index = -1
        labels[label] = index
        unknown += [own] if index < 0 else []
    if unknown:
        raise DataError(
            f"{len(unknown)} classes of the {name} pictures aren't trained ({', '.join(unknown[:5])}); training has "
            f"{len(training.classes)} classes ({', '.join(info.name for info in training.classes[:5])}, ...)"
        )
    samples = tuple(Sample(sample.path, labels[sample.label]) for sample in pictures.samples)
    return replace(pictures, samples=samples, classes=training.classes)


def _may_be_one(first: str, second: str, label: int) -> bool:
    """Whether two names of a number may be of one class: equal, or one of them made up from the number."""
    return first == second or f"class {label}" in (first, second)


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
