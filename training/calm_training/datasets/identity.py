"""What a run was begun with: the classes and pictures of its splits, to be compared when it is resumed."""

import hashlib
from collections.abc import Mapping
from typing import Any

from calm_gui.core.comparison import class_keys, compare_lists, compare_values, say_changes
from calm_gui.errors import DataError
from calm_training.datasets.picture_set import PictureSet

__all__ = ["identity_of", "refuse_others"]


def identity_of(splits: Mapping[str, PictureSet]) -> dict[str, Any]:
    """Classes, numbers of pictures and a hash of their names and labels, for each split; plain values.

    Folders above a picture's own don't count, so that a data set may be moved.
    """
    return {
        name: {
            "classes": list(class_keys(pictures.classes)),
            "pictures": len(pictures.samples),
            "names": hashlib.sha256(
                "\n".join(f"{s.label} {s.path.parent.name}/{s.path.name}" for s in pictures.samples).encode(
                    errors="backslashreplace"
                )
            ).hexdigest(),
        }
        for name, pictures in splits.items()
    }


def refuse_others(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with other classes or pictures than a run was begun with.

    Parameters
    ----------
    before, now : mapping
        As `identity_of` gives them.

    Raises
    ------
    DataError
    """
    for split in now:
        then = before.get(split, {})
        if difference := compare_lists(then.get("classes", ()), now[split]["classes"]):
            raise DataError(
                f"the classes of {split} have changed since the run was begun "
                f"({difference.sentence('the run', 'the data')}); put them back, or start again with --overwrite"
            )
    if changes := compare_values(before, now):
        raise DataError(
            f"the pictures have changed since the run was begun ({say_changes(changes)}); put them back, or start "
            "again with --overwrite"
        )
