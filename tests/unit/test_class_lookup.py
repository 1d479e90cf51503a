"""Whatever is an index, a mask or several of them names a class set; anything else ends in a sentence."""

import numpy as np
import pytest
import torch
from synthetic import CLASSES, HIERARCHY

from calm_gui.core.classes import ClassSet
from calm_gui.core.lookup import resolve
from calm_gui.errors import ClassLookupError

MASK = [False, True, False, True, False, False]


@pytest.mark.parametrize(
    "what",
    [
        *(kind(3) for kind in (int, np.int8, np.uint8, np.int64, np.intp, np.array)),
        *(torch.tensor(3), torch.tensor(3, dtype=torch.uint8), np.array([0, 1, 2, 9, 3]).argmax()),
        *([3], (3,), {3}, range(3, 4), (i for i in [3]), np.array([3]), torch.tensor([3]), ClassSet([3])),
        torch.tensor([0.0, 1, 2, 9, 3]).argmax(),
    ],
    ids=lambda what: repr(what).split(" at 0x")[0],
)
def test_one_class_however_it_is_written(what):
    assert resolve(what, CLASSES, HIERARCHY) == ClassSet([3])


@pytest.mark.parametrize("mask", [np.array(MASK), torch.tensor(MASK)], ids=["numpy", "torch"])
def test_a_mask_over_the_classes(mask):
    assert resolve(mask, CLASSES, HIERARCHY) == ClassSet([1, 3])


@pytest.mark.parametrize(
    "what",
    [
        *(
            True,
            False,
            np.True_,
            1.0,
            np.float64(1),
            torch.tensor(1.0),
            np.array(1.5),
            None,
            pytest.param(object(), id="object"),
            1j,
        ),
        *(np.array([True, False]), torch.tensor([True]), np.array([[True] * 6]), np.array(True), torch.tensor(True)),
        *([1, None], [True], [1.5], np.array([0.5, 0.5]), 6, -1, np.int64(6), torch.tensor(-1), 10**30, [10**30]),
        *("nothing like it", "²", b"dog", [b"dog"]),
    ],
    ids=lambda what: repr(what).split(" at 0x")[0],
)
def test_what_names_no_class_ends_in_a_sentence(what):
    with pytest.raises(ClassLookupError):
        resolve(what, CLASSES, HIERARCHY)
