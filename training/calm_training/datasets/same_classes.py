"""The classes of one split brought to those of another, by name."""

from calm_gui.core.classes import ClassTable
from calm_gui.core.comparison import class_keys, class_positions, compare_lists
from calm_gui.errors import DataError
from calm_training.datasets.picture_set import PictureSet, Sample

__all__ = ["with_classes"]


def with_classes(pictures: PictureSet, classes: ClassTable, name: str) -> PictureSet:
    """The pictures of a split with their labels as indices into the classes of the training split.

    Each split numbers its own classes; one that lacks a class, or lists them in another order, numbers them otherwise.
    Classes are compared by wnid or name. One that a table gives by its number alone is that number.

    Parameters
    ----------
    pictures : PictureSet
    classes : ClassTable
        Of the training split.
    name : str
        What the split is called in a message.

    Raises
    ------
    DataError
        If a picture's class isn't one of the training classes.
    """
    positions = list(class_positions(classes, pictures.classes))
    for info in pictures.classes:
        if positions[info.index] is None and info.name == f"class {info.index}" and info.index < len(classes):
            positions[info.index] = info.index
    used = {sample.label for sample in pictures.samples}
    strange = [label for label in sorted(used) if positions[label] is None]
    if strange:
        keys = class_keys(pictures.classes)
        difference = compare_lists(class_keys(classes), [keys[label] for label in sorted(used)])
        raise DataError(
            f"the classes of {name} and of the training pictures differ: {difference.sentence('training', name)}; "
            "a class that was never trained can't be tested"
        )
    samples = tuple(Sample(sample.path, positions[sample.label] or 0) for sample in pictures.samples)
    return PictureSet(samples, classes)
