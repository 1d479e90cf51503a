"""Two lists compared: by name or content, never by position."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.comparison import (
    class_keys,
    class_named,
    class_positions,
    compare_lists,
    compare_values,
    contradiction,
    path_names,
    same_shape,
    say_changes,
    several_named,
)
from calm_gui.errors import DataError
from calm_gui.session.truth import GroundTruth, class_of_folder, read_truth

NAMES = st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=6)


def table(*names: str) -> ClassTable:
    return ClassTable(ClassInfo(i, name) for i, name in enumerate(names))


@given(NAMES, NAMES)
def test_a_difference_is_what_sets_and_orders_say(first, second):
    difference = compare_lists(first, second)
    assert set(difference.missing) == set(first) - set(second)
    assert set(difference.unknown) == set(second) - set(first)
    both = [name for name in first if name in second]
    assert difference.moved == (both != [name for name in second if name in first])
    assert bool(difference) == (first != second)
    assert bool(difference.sentence("train", "test")) == (first != second)


@given(NAMES, st.randoms())
def test_classes_in_another_order_are_mapped_by_name(names, random):
    other = list(names)
    random.shuffle(other)
    positions = class_positions(table(*names), table(*other))
    assert [names[p] for p in positions] == other


def test_classes_are_what_their_wnid_says_and_namesakes_stay_apart():
    cranes = [ClassInfo(0, "crane", "n02012849"), ClassInfo(1, "crane", "n03126707"), ClassInfo(2, "dog")]
    back = [ClassInfo(0, "Hund", None), ClassInfo(1, "Kran", "n03126707"), ClassInfo(2, "crane", "n02012849")]
    assert class_positions(cranes, back) == (None, 1, 0)
    assert len(set(class_keys([ClassInfo(0, "a"), ClassInfo(1, "a"), ClassInfo(2, "a")]))) == 3


@pytest.mark.parametrize(
    ("folder", "classes", "expected"),
    [
        ("2.5 mm", ("5 mm", "10 mm"), None),
        ("2.5 mm", ("5 mm", "2.5 mm"), "2.5 mm"),
        ("001.Black_footed", ("002.Laysan", "001.Black_footed"), "001.Black_footed"),
        ("001.Black_footed_Albatross", ("Laysan Albatross", "Black footed Albatross"), "Black footed Albatross"),
        ("turkey", ("Turkey", "turkey"), "turkey"),
        ("Turkey", ("Turkey", "turkey"), "Turkey"),
        ("TURKEY", ("Turkey", "turkey"), None),
        ("cote", ("côte", "cote"), "cote"),
        ("3", ("1", "3"), "3"),
    ],
)  # fmt: skip
def test_a_folder_names_its_class_and_no_other(folder, classes, expected):
    found = class_named(folder, table(*classes))
    assert (found.name if found else None) == expected
    assert class_of_folder(f"/data/{folder}/x.png", table(*classes)) == (found.index if found else None)


def test_values_differ_by_key():
    before = {"data": {"layout": "csv", "root": "x"}, "seed": 1, "gone": 2}
    now = {"data": {"layout": "folder", "root": "x"}, "seed": 1, "new": None}
    changes = compare_values(before, now)
    assert [change.key for change in changes] == ["data.layout", "gone", "new"]
    assert say_changes(changes[:2]) == "data.layout was csv, now folder; gone was 2, now nothing"
    assert compare_values(before, before) == ()


@given(st.dictionaries(st.text(max_size=2), st.dictionaries(st.text(max_size=2), st.integers()) | st.integers()))
def test_equal_mappings_have_no_changes_and_a_removed_key_is_one(mapping):
    assert compare_values(mapping, dict(mapping)) == ()
    for key in mapping:
        assert compare_values(mapping, {k: v for k, v in mapping.items() if k != key})


def test_a_table_may_name_a_picture_by_any_end_of_its_path(tmp_path, monkeypatch):
    picture = tmp_path.joinpath("a", "b", "c", "d", "e", "f", "p.png")
    picture.parent.mkdir(parents=True)
    picture.touch()
    monkeypatch.chdir(tmp_path / "a")
    deep = str(picture)
    parts = picture.parts
    spellings = [deep, *("/".join(parts[i:]) for i in range(1, len(parts))), "b\\c\\d\\e\\f\\p.png", "./f/p.png"]
    for name, given_as in itertools.product(spellings, (deep, "b/c/d/e/f/p.png", "./b/c/d/e/f/p.png")):
        (tmp_path / "t.csv").write_text(f"file,class\n{name},dog\n", "utf-8")
        truth = read_truth(tmp_path / "t.csv", table("cat", "dog"))
        assert truth.class_of(given_as) == 1, (name, given_as)
    for name in ("C:\\data\\p.png", "/elsewhere/f/p.png", "x/p.png", "ep.png"):
        (tmp_path / "t.csv").write_text(f"file,class\n{name},dog\n", "utf-8")
        truth = read_truth(tmp_path / "t.csv", table("cat", "dog"))
        assert truth.class_of(deep) is None
        assert "none of 1" in truth.coverage([deep])


def test_letters_written_in_two_ways_are_one_name():
    assert GroundTruth({"caf\u00e9.png": 1}).class_of("/x/cafe\u0301.png") == 1


def test_a_bare_name_of_two_pictures_is_told():
    pictures = ["/x/a/p.png", "/x/b/p.png", "/x/b/q.png"]
    assert several_named(["p.png", "q.png"], pictures) == {"p.png": pictures[:2]}
    truth = GroundTruth({"p.png": 0, "q.png": 0})
    assert not truth.covers_each(pictures) and "names 2 of them" in truth.coverage(pictures)
    assert GroundTruth({"a/p.png": 0, "b/p.png": 1, "q.png": 0}).covers_each(pictures)


def test_the_longest_name_wins():
    assert path_names("/x/b/p.png")[:3] == ("/x/b/p.png", "x/b/p.png", "b/p.png")
    assert GroundTruth({"p.png": 0, "b/p.png": 1}).class_of("/x/b/p.png") == 1


BIRDS = ClassTable([ClassInfo(0, "crane", "n02012849"), ClassInfo(1, "tench", "n01440764"), ClassInfo(2, "own kind")])


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        ("class_index,class", ["1,tench"], 1),
        ("class_index,class", ["1,Cyprinus"], 1),  # another word, maybe
        ("class_index,class", ["1,crane"], "says crane, but the checkpoint's class 1 is tench"),
        ("class_index,wnid", ["1,n02012849"], "says n02012849, but the checkpoint's class 1 is n01440764"),
        ("class_index,wnid", ["1,n99999999"], "says n99999999"),
        ("class_index,wnid", ["2,n99999999"], 2),  # the checkpoint doesn't know that class's
        ("class_index,wnid", ["2,n01440764"], "says n01440764, but the checkpoint's class 2 is own kind"),
        ("wnid,class", ["n01440764,crane"], 1),  # a name is less than an id
        ("wnid,class", ["n99999999,own kind"], 2),
        ("wnid,class", ["n99999999,tench"], "says n99999999"),
        ("class", ["tench", "tench"], 1),
        ("class", ["tench", "crane"], "line 3: another row says that p.png is of class 1, not 0"),
    ],
)
def test_what_a_table_says_twice_must_be_one_class(tmp_path, columns, rows, expected):
    (tmp_path / "t.csv").write_text(f"file,{columns}\n" + "".join(f"p.png,{row}\n" for row in rows), "utf-8")
    if isinstance(expected, int):
        assert read_truth(tmp_path / "t.csv", BIRDS).class_of("p.png") == expected
        return
    with pytest.raises(DataError, match=expected):
        read_truth(tmp_path / "t.csv", BIRDS)


@given(st.integers(50, 4000), st.integers(50, 4000), st.floats(0.1, 1))
def test_a_picture_and_its_smaller_copy_have_one_shape(width, height, scale):
    copy = round(width * scale), round(height * scale)
    assert same_shape(copy, (width, height)) and same_shape((width, height), (width, height))
    if width > 1.5 * height:
        assert not same_shape((height, width), (width, height))
        assert same_shape((224, 224), (width, height))  # squashed


def test_names_of_another_class_beside_a_number_are_a_contradiction():
    for said, expected in (("tench", ("tench", "own kind")), ("own kind", None), ("another word", None), ("", None)):
        assert contradiction(ClassInfo(2, said), BIRDS[2], BIRDS) == expected
