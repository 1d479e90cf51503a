"""Whatever is an index, a mask or several of them names a class set; anything else ends in a sentence."""

import numpy as np
import pytest
import torch
from synthetic import CLASSES, HIERARCHY, calm_explanation

from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.lookup import resolve
from calm_gui.errors import CalmError, ClassLookupError

MASK = [False, True, False, True, False, False]


@pytest.mark.parametrize(
    "what",
    [
        *(kind(3) for kind in (int, np.int8, np.uint8, np.int64, np.intp, np.array)),
        *(torch.tensor(3), torch.tensor(3, dtype=torch.uint8), np.array([0, 1, 2, 9, 3]).argmax()),
        *([3], (3,), {3}, range(3, 4), (i for i in [3]), np.array([3]), torch.tensor([3]), ClassSet([3])),
        torch.tensor([0.0, 1, 2, 9, 3]).argmax(),
        *(CLASSES[3], [CLASSES[3]], (3, 0.5), (np.int64(3), np.float32(0.5)), [(3, 0.5)], [[3], {3}]),
        *(CLASSES[3].wnid, "3", [CLASSES[3].wnid, 3]),
        HIERARCHY[HIERARCHY.by_class[3]],
        ClassInfo(0, "another place", CLASSES[3].wnid),
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
        *("nothing like it", "²", b"dog", [b"dog"], (1, 2.5, 3), (True, 0.5), (1.5, 0.5)),
        ClassInfo(3, "of another checkpoint", "n99999999"),
    ],
    ids=lambda what: repr(what).split(" at 0x")[0],
)
def test_what_names_no_class_ends_in_a_sentence(what):
    with pytest.raises(ClassLookupError):
        resolve(what, CLASSES, HIERARCHY)


def test_rows_of_top_are_the_classes_that_they_name():
    assert resolve([(4, 0.5), (1, 0.25)], CLASSES, HIERARCHY) == ClassSet([1, 4])


def test_sets_take_classes_nodes_and_indices_beside_them():
    three, node = ClassSet([3]), HIERARCHY[HIERARCHY.by_class[3]]
    for four in (4, np.int64(4), torch.tensor(4), CLASSES[4], ClassSet([4]), [4], HIERARCHY[HIERARCHY.by_class[4]]):
        assert three | four == four | three == ClassSet([3, 4]), four
        assert ClassSet([3, 4]) - four == three and (ClassSet([3, 4]) & four) == ClassSet([4])
        assert node | four == ClassSet([3, 4]) and node - four == three
    assert [3, 4] - three == ClassSet([4]) and 3 - three == ClassSet() and 4 - node == ClassSet([4])
    for wrong in ("dog", True, 1.5, None, object()):
        with pytest.raises(ClassLookupError):
            _ = three | wrong


@pytest.mark.parametrize("name", ["beagle", "Beagle", "BEAGLE", ["beagle"], {"beagle", 1}])
def test_a_name_that_one_class_has(name):
    assert resolve(name, CLASSES, HIERARCHY) == resolve(name, CLASSES) == ClassSet([1])


def test_classes_are_found_by_what_they_are_called():
    info = CLASSES[1]
    for item in (1, -5, np.int64(1), torch.tensor(1), info.wnid, info.name, info.name.upper()):
        assert CLASSES[item] is info
    assert info.name in CLASSES and info.wnid in CLASSES and 1 in CLASSES and np.int64(1) in CLASSES and info in CLASSES
    for item in ("nobody", 6, -1, True, 3.0, None, ClassInfo(3, "x")):
        assert item not in CLASSES
    for item in ("nobody", 6, True, 3.0, None):
        with pytest.raises(ClassLookupError):
            CLASSES[item]
    assert list(CLASSES) == [CLASSES[i] for i in range(6)] and CLASSES[1:3] == (CLASSES[1], CLASSES[2])
    assert CLASSES.index(info) == 1
    twins = ClassTable([ClassInfo(0, "crane", "n1"), ClassInfo(1, "crane", "n2")])
    with pytest.raises(ClassLookupError, match=r"several classes.*crane \(n1\), crane \(n2\)"):
        twins["crane"]
    assert "crane" in twins and "\n" not in repr(twins)


def test_supersets_and_nodes_are_found_by_name():
    above, index = HIERARCHY["dog"], 1
    table = SupersetTable(HIERARCHY, [above.key], CLASSES)
    for item in (index, np.int64(index), CLASSES[index], CLASSES[index].name, HIERARCHY[HIERARCHY.by_class[index]]):
        assert table[item] == above.classes
    for item in ("nobody", 6, True, 1.5):
        with pytest.raises(ClassLookupError):
            table[item]
    assert HIERARCHY["Beagle"] is HIERARCHY["n02088364"]
    with pytest.raises(KeyError):
        HIERARCHY["nothing like it"]
    with pytest.raises(ClassLookupError, match="no node"):
        HIERARCHY["nothing like it"]
    assert HIERARCHY.get("nothing like it") is None and "beagle" not in HIERARCHY
    assert "\n" not in repr(HIERARCHY) + repr(table)


def test_a_hierarchy_of_other_classes_is_refused():
    shown = calm_explanation()
    with pytest.raises(CalmError, match="one of 2 classes, and there are"):
        shown.give_hierarchy(Hierarchy({"a": {"name": "a"}}, 2))
