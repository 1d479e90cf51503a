"""The layout `cub`: CUB-200-2011 as it is published."""

from pathlib import Path

from calm_gui.errors import DataError
from calm_gui.model.class_names import class_table
from calm_training.datasets.layout import Layout
from calm_training.datasets.picture_set import PictureSet, Sample
from calm_training.datasets.text_table import text_lines

__all__ = ["CUB", "read_cub"]


def read_cub(root: Path, split: str) -> PictureSet:
    """CUB-200-2011's ``train`` or ``test``; classes that have no picture are left out, the rest keep their order."""
    tables = [_numbered(root / name) for name in ("images.txt", "image_class_labels.txt", "train_test_split.txt")]
    files, classes_of, training = tables
    names = _numbered(root / "classes.txt")
    for table, of in (("image_class_labels.txt", classes_of), ("train_test_split.txt", training)):
        if missing := files.keys() - of.keys():
            raise DataError(f"{root / table} has no row for picture {min(missing)} ({len(missing)} in all)")
    present = sorted({int(c) for c in classes_of.values()})
    index = {number: i for i, number in enumerate(present)}
    wanted = "1" if split == "train" else "0"
    samples = [
        Sample(root / "images" / file, index[int(classes_of[key])])
        for key, file in files.items()
        if training[key] == wanted
    ]
    return PictureSet(tuple(samples), class_table(tuple(names[str(number)] for number in present)))


CUB = Layout(lambda *_: ("train", "test"), read_cub)


def _numbered(path: Path) -> dict[str, str]:
    """Rows ``number value`` of a CUB text file."""
    rows = {}
    for number, line in text_lines(path):
        columns = line.split()
        if len(columns) != 2:
            raise DataError(f"{path}, line {number}: two columns expected, {len(columns)} found")
        rows[columns[0]] = columns[1]
    return rows
