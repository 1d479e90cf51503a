"""The classes of one split brought to those of another, by name."""

from dataclasses import replace

from calm_gui.core.classes import ClassInfo
from calm_gui.core.comparison import class_keys, class_positions
from calm_gui.errors import DataError
from calm_training.datasets.picture_set import PictureSet, Sample

__all__ = ["with_classes"]


def with_classes(pictures: PictureSet, trained: PictureSet, name: str) -> PictureSet:
    """The pictures of a split with their labels as indices into the classes of the training split.

    Each split numbers its own classes; one that lacks a class, or lists them in another order, numbers them otherwise.
    Classes are compared by wnid or name. One that a table gives by its number alone is that number, where training's
    are numbered too.

    Parameters
    ----------
    pictures, trained : PictureSet
        Of the split, and of training.
    name : str
        What the split is called in a message.

    Raises
    ------
    DataError
        If a picture's class isn't one of the training classes.
    """
    classes = trained.classes
    if pictures.classes is classes:
        return pictures
    positions = list(class_positions(classes, pictures.classes))
    for info in pictures.classes:
        made_up = info.name == f"class {info.index}"
        if not trained.numbered:
            continue  # its numbers are counted, and mean nothing in another split
        if pictures.numbered:  # the number is the class; a name that contradicts it is an error
            same = info.index < len(classes) and (made_up or _is_called(classes[info.index], info))
            positions[info.index] = info.index if same else None
        elif positions[info.index] is None and made_up and info.index < len(classes):
            positions[info.index] = info.index
    used = {sample.label for sample in pictures.samples}
    strange = [label for label in sorted(used) if positions[label] is None]
    if strange:
        keys = class_keys(pictures.classes)
        names = [keys[label] for label in strange]
        raise DataError(
            f"{len(names)} classes of the {name} pictures aren't trained ({', '.join(names[:5])}); training has "
            f"{len(classes)} classes ({', '.join(info.name for info in classes[:5])}, ...)"
        )
    samples = tuple(Sample(sample.path, positions[sample.label] or 0) for sample in pictures.samples)
    return replace(pictures, samples=samples, classes=classes)


def _is_called(trained: ClassInfo, found: ClassInfo) -> bool:
    return trained.name in (found.name, f"class {trained.index}")
