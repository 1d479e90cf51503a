"""Rows of child,parent and of parent,child: whichever way round, classes are the lower ends."""

import itertools
import random

import pytest

from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable
from calm_gui.errors import HierarchyError
from calm_gui.model.hierarchy_file import read_hierarchy, write_hierarchy

CLASSES = ClassTable(ClassInfo(i, name) for i, name in enumerate(("cat", "dog", "wolf", "car")))
ROWS = [("cat", "pet"), ("dog", "pet"), ("dog", "canine"), ("wolf", "canine"), ("pet", "animal"), ("canine", "animal")]
ROWS += [("animal", "all"), ("car", "all")]


def read(tmp_path, rows, header="", classes=CLASSES):
    (tmp_path / "h.csv").write_text(header + "\n".join(f"{a},{b}" for a, b in rows) + "\n")
    return read_hierarchy(tmp_path / "h.csv", classes)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_groups_hold_their_classes_whichever_way_round(tmp_path, turned, header, seed):
    rows = [(b, a) if turned else (a, b) for a, b in ROWS]
    random.Random(seed).shuffle(rows)
    hierarchy = read(tmp_path, rows, ("parent,child\n" if turned else "child,parent\n") if header else "")
    assert hierarchy["animal"].classes == ClassSet([0, 1, 2])
    assert hierarchy["canine"].classes == ClassSet([1, 2])
    assert hierarchy["all"].classes == ClassSet([0, 1, 2, 3])


@pytest.mark.parametrize("turned", [False, True])
def test_a_class_may_be_above_another(tmp_path, turned):
    classes = ClassTable(ClassInfo(i, name) for i, name in enumerate(("dog", "beagle", "cat")))
    rows = [("beagle", "dog"), ("dog", "animal"), ("cat", "animal")]
    hierarchy = read(tmp_path, [(b, a) if turned else (a, b) for a, b in rows], classes=classes)
    assert hierarchy["animal"].classes == ClassSet([0, 1, 2])


def test_a_header_is_believed(tmp_path):
    classes = ClassTable(ClassInfo(i, name) for i, name in enumerate("ab"))
    assert read(tmp_path, [("a", "b")], "parent,child\n", classes)["#0"].classes == ClassSet([0, 1])
    assert read(tmp_path, [("a", "b")], "child,parent\n", classes)["#1"].classes == ClassSet([0, 1])


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_a_hierarchy_that_was_saved_for_another_order_of_classes_groups_the_same_names(tmp_path, order):
    saved = read(tmp_path, ROWS)
    write_hierarchy(tmp_path / "h.json", saved)
    other = ClassTable(ClassInfo(i, CLASSES[j].name) for i, j in enumerate(order))
    found = read_hierarchy(tmp_path / "h.json", other)
    for key in ("pet", "canine", "animal", "all"):
        assert {other[i].name for i in found[key].classes} == {CLASSES[i].name for i in saved[key].classes}
    for i, info in enumerate(other):
        assert found[f"#{i}"].name == info.name and found[f"#{i}"].class_index == i


def test_a_hierarchy_of_other_classes_is_not_taken_by_its_numbers(tmp_path):
    write_hierarchy(tmp_path / "h.json", read(tmp_path, ROWS))
    three_of_them = ClassTable(ClassInfo(i, name) for i, name in enumerate(("dog", "wolf", "car", "tree")))
    with pytest.raises(HierarchyError, match="of other classes"):
        read_hierarchy(tmp_path / "h.json", three_of_them)
    other_words = ClassTable(ClassInfo(i, name) for i, name in enumerate(("chat", "chien", "loup", "auto")))
    assert read_hierarchy(tmp_path / "h.json", other_words)["canine"].classes == ClassSet([1, 2])


@pytest.mark.shared
def test_is_a_rows_of_wordnet(shared):
    classes = ClassTable(ClassInfo(i, f"n0000010{i}", f"n0000010{i}") for i in range(2))
    hierarchy = read_hierarchy(shared / "trials/inputs/is_a_diamond.txt", classes)
    assert hierarchy["n00000001"].classes == ClassSet([0, 1])
    assert hierarchy["n00000010"].classes == ClassSet([0])
