"""The layouts `ilsvrc` and `openimages`: the public WSOL benchmark's metadata beside the pictures."""

from collections.abc import Collection
from pathlib import Path

from calm_gui.errors import DataError
from calm_gui.model.class_names import class_table
from calm_training.datasets.layout import Layout
from calm_training.datasets.picture_set import PictureSet, Sample
from calm_training.datasets.text_table import text_lines, whole_number

__all__ = ["WSOL", "read_wsol", "wsol_splits"]


def wsol_splits(root: Path, _asked: Collection[str] = ()) -> tuple[str, ...]:
    """The folders below ``root/metadata``."""
    try:
        return tuple(sorted(entry.name for entry in (root / "metadata").iterdir() if entry.is_dir()))
    except OSError as error:
        raise DataError(f"{root / 'metadata'} can't be read: {error.strerror}") from error


def read_wsol(root: Path, split: str) -> PictureSet:
    """ILSVRC or OpenImages with the public benchmark's metadata: ``root/metadata/<split>`` and ``root/images``.

    ``image_ids.txt`` and ``class_labels.txt`` (id,label) list the pictures. Classes are named by number, except
    that 1,000 of them are ImageNet's.
    """
    folder = root / "metadata" / split
    labels: dict[str, int] = {}
    for number, line in text_lines(folder / "class_labels.txt"):
        image, _, label = line.rpartition(",")
        labels[image] = whole_number(label, folder / "class_labels.txt", number)
    ids = [line for _, line in text_lines(folder / "image_ids.txt")]
    missing = [image for image in ids if image not in labels]
    if missing:
        raise DataError(f"{folder / 'class_labels.txt'} has no row for {missing[0]} ({len(missing)} in all)")
    if not ids:
        raise DataError(f"{folder / 'image_ids.txt'} lists no pictures")
    count = max(labels.values()) + 1
    if count == 1000:
        from calm_gui.model.imagenet import imagenet_classes

        classes = imagenet_classes()
    else:
        classes = class_table(tuple(f"class {i}" for i in range(count)))
    return PictureSet(tuple(Sample(root / "images" / image, labels[image]) for image in ids), classes, numbered=True)


WSOL = Layout(wsol_splits, read_wsol)
