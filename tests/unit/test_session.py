"""Session logic without Qt: store, expressions, persistence, annotation, ground truth, hierarchy files.

Long: the parts share the small hierarchy and ImageNet's classes, which take a while to load.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import calm_resources
from calm_gui.api import bundled_checkpoints, sample_pictures
from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable
from calm_gui.core.geometry import Box
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.core.readings import READINGS
from calm_gui.errors import ClassLookupError, DataError, ExportError, HierarchyError, SessionError
from calm_gui.methods import METHODS
from calm_gui.model.class_matching import match_classes, matched_hierarchy
from calm_gui.model.files import sha256_of
from calm_gui.model.hierarchy_file import read_hierarchy, write_hierarchy
from calm_gui.session.annotation import Annotation
from calm_gui.session.expression import Expression, Term, evaluate, shortest_expression, smallest_node
from calm_gui.session.jobs import Job
from calm_gui.session.limits import Limits
from calm_gui.session.pane import Pane
from calm_gui.session.persistence import load_session, save_session
from calm_gui.session.picture_files import pictures_in
from calm_gui.session.state import RegionShape, Selection, State, Threshold, View
from calm_gui.session.store import Store
from calm_gui.session.truth import GroundTruth, class_of_folder, read_truth
from calm_gui.session.workspace import Workspace

SHAPES = {
    "all": {"name": "all", "parents": []},
    "animal": {"name": "animal", "parents": ["all"]},
    "pet": {"name": "pet", "parents": ["all"]},
    "cat": {"name": "cat", "parents": ["animal", "pet"], "class": 0},
    "dog": {"name": "dog", "parents": ["animal", "pet"], "class": 1},
    "wolf": {"name": "wolf", "parents": ["animal"], "class": 2},
    "car": {"name": "car", "parents": ["all"], "class": 3},
}
CLASSES = ClassTable(ClassInfo(i, name) for i, name in enumerate(("cat", "dog", "wolf", "car")))


@pytest.fixture
def small() -> Hierarchy:
    return Hierarchy(SHAPES, 4)


@pytest.fixture(scope="module")
def imagenet() -> tuple[ClassTable, Hierarchy]:
    listed = json.loads(calm_resources.path("imagenet/classes.json").read_text("utf-8"))["classes"]
    classes = ClassTable(ClassInfo(c["index"], c["name"], c["wnid"]) for c in listed)
    data = json.loads(calm_resources.path("imagenet/hierarchy.json").read_text("utf-8"))
    return classes, Hierarchy.from_json(data, classes)


# Set algebra


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("+animal", {0, 1, 2}),
        ("+animal -dog", {0, 2}),
        ("+animal -pet", {2}),
        ("+animal -pet +car", {2, 3}),
        ("+car -all", set()),
        ("-animal +dog", {1}),
        ("", set()),
        ("+#3", {3}),
    ],
)
def test_terms_apply_from_left_to_right(small: Hierarchy, terms: str, expected: set[int]) -> None:
    expression = Expression(tuple(Term(word[1:], word[0]) for word in terms.split()))
    assert evaluate(expression, CLASSES, small) == ClassSet(expected)


def test_including_and_excluding_edit_terms() -> None:
    expression = Expression.of("animal").including("car").excluding("dog")
    assert [term.sign + term.key for term in expression.terms] == ["+animal", "+car", "-dog"]
    assert expression.including("dog").terms[-1] == Term("dog")
    assert Expression.of("animal", "car").excluding("car") == Expression.of("animal")
    assert not Expression.of("animal").excluding("animal")
    assert expression.without(1).terms == (Term("animal"), Term("dog", "-"))


def test_special_terms(small: Hierarchy) -> None:
    target = ClassSet([1])
    assert evaluate(Expression.of("@rest"), CLASSES, small, None, target) == ClassSet([0, 2, 3])
    assert evaluate(Expression.of("@siblings"), CLASSES, small, None, target) == ClassSet([0])
    with pytest.raises(ClassLookupError, match="unicorn"):
        evaluate(Expression.of("unicorn"), CLASSES, small)


def test_smallest_node_holds_the_set(small: Hierarchy) -> None:
    assert smallest_node(ClassSet([0, 1]), small) == "pet"
    assert smallest_node(ClassSet([0, 2]), small) == "animal"
    assert smallest_node(ClassSet([0, 3]), small) == "all"
    assert smallest_node(ClassSet(), small) is None


@pytest.mark.parametrize(
    ("wanted", "terms"),
    [
        ({0, 1}, "+pet"),
        ({0, 1, 3}, "+pet +#3"),
        ({0, 2, 3}, "+all -#1"),
        ({2}, "+#2"),
        (set(), ""),
        ({0, 2}, "+#0 +#2"),
    ],
)
def test_a_set_is_told_in_few_terms(small: Hierarchy, wanted: set[int], terms: str) -> None:
    told = shortest_expression(ClassSet(wanted), CLASSES, small)
    assert " ".join(term.sign + term.key for term in told.terms) == terms
    assert evaluate(told, CLASSES, small) == ClassSet(wanted)


def test_any_set_of_imagenet_is_told_exactly(imagenet: tuple[ClassTable, Hierarchy]) -> None:
    classes, hierarchy = imagenet
    random = np.random.default_rng(0)
    for size in (1, 2, 30, 500, 970, 1000):
        wanted = ClassSet(random.choice(1000, size, replace=False))
        assert evaluate(shortest_expression(wanted, classes, hierarchy), classes, hierarchy) == wanted
        assert evaluate(shortest_expression(wanted, classes, None), classes, None) == wanted
    dogs = hierarchy["n02084071"].classes
    assert len(shortest_expression(dogs.complement(1000), classes, hierarchy).terms) == 2


# Store


def test_store_tells_each_change_once_and_undoes_it() -> None:
    store = Store(State(Selection("a")))
    told: list[tuple[State, State]] = []
    store.observe(lambda old, new: told.append((old, new)))
    start = store.state
    store.update(selection=Selection("b"))
    store.update(selection=Selection("b"))
    assert len(told) == 1 and told[0] == (start, store.state)
    store.update(undoable=False, view=View(opacity=0.1))
    store.undo()
    assert store.state == start
    store.redo()
    assert store.state.selection.checkpoint == "b" and store.state.view.opacity == 0.1


def test_undo_goes_to_the_picture_whose_region_it_changes() -> None:
    box = RegionShape("region 1", "b.png", "box", ((0, 0), (4, 4)))
    store = Store(State(Selection("demo"), pictures=("a.png", "b.png", "c.png"), current=1))
    store.update(regions=(box,))
    store.update(undoable=False, current=2)
    store.update(view=View(opacity=0.1))
    store.undo()
    assert store.state.current == 2  # the opacity is that of every picture
    store.undo()
    assert (store.state.regions, store.state.current) == ((), 1)
    store.update(undoable=False, current=0)
    store.redo()
    assert (store.state.regions, store.state.current) == ((box,), 1)
    store.update(panes=(Pane(), Pane(picture="b.png")))
    store.update(undoable=False, current=2)
    store.update(regions=())
    store.undo()
    assert (store.state.regions, store.state.current) == ((box,), 2)  # the second pane shows it
    store.undo()
    store.update(undoable=False, current=0, pictures=("a.png",))
    store.undo()
    assert (store.state.regions, store.state.current) == ((), 0)


def test_pictures_are_not_undone() -> None:
    store = Store(State(Selection("a")))
    store.update(undoable=False, pictures=("x.jpg",), current=0)
    assert not store.can_undo
    store.update(panes=(Pane.of("saliency"),))
    store.undo()
    assert store.state.picture == "x.jpg"


class _Idle:
    """A runner whose worker never gets to anything."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        self.jobs.append(job)

    def cancel(self, token: object) -> None:
        pass

    def close(self) -> None:
        pass


def idle_workspace(tmp_path: Path) -> Workspace:
    """A workspace that explains nothing, with pictures a.jpg and b.jpg open."""
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(b"x")
    workspace = Workspace(str(tmp_path / "none.safetensors"), _Idle(), lambda *_: pytest.fail("loads"))
    workspace.open_pictures([tmp_path])
    return workspace


def test_a_picture_is_open_once_whatever_way_leads_to_it(tmp_path: Path) -> None:
    workspace = idle_workspace(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    (tmp_path / "c.jpg").symlink_to(tmp_path / "a.jpg")
    a, b, c = (str(tmp_path / name) for name in ("a.jpg", "b.jpg", "c.jpg"))
    detour = tmp_path / "in" / ".."
    assert pictures_in([a, detour / "a.jpg", tmp_path / "link" / ".." / "a.jpg", detour]) == [a, b, c]
    assert pictures_in([tmp_path / "c.jpg", a]) == [c, a]  # a link is a picture of its own name
    assert pictures_in([tmp_path / "gone" / ".." / "x\0.jpg"])  # to be complained about later
    workspace.open_pictures([detour], current=str(detour / "b.jpg"))
    assert workspace.state.picture == b
    workspace.open_checkpoint(detour / "x.safetensors")
    assert workspace.compute.loading == str(tmp_path / "x.safetensors")


def test_a_folder_without_pictures_stands_for_those_in_its_folders(tmp_path: Path) -> None:
    for name in ("set/b/2.jpg", "set/a/1.png", "set/a/deep/0.jpg", "set/.hidden/3.jpg", "flat/1.jpg", "flat/sub/2.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = [str(Path(key).relative_to(tmp_path)) for key in pictures_in([tmp_path / "set", tmp_path / "flat"])]
    assert found == ["set/a/1.png", "set/a/deep/0.jpg", "set/b/2.jpg", "flat/1.jpg"]


@pytest.mark.parametrize(
    ("kind", "points", "kept"),
    [
        ("box", ((10, 10), (10, 50)), False),
        ("box", ((10, 10), (50, 10)), False),
        ("box", ((50, 50), (10, 10)), True),
        ("polygon", ((0, 0), (5, 5)), False),
        ("polygon", ((1, 1), (9, 9), (1, 1), (9, 9)), False),
        ("polygon", ((0.1, 0.1), (0.2, 0.3), (0.3, 0.5), (0.7, 1.3)), False),
        ("polygon", ((5, 5), (5, 5), (5, 5)), False),
        ("polygon", ((0, 0), (9, 0), (0, 9)), True),
        ("polygon", ((0, 0), (9, 9), (9, 0), (0, 9)), True),  # its signed area is zero, its own is not
        ("brush", ((5, 5),), True),
    ],
)
def test_a_region_without_area_is_not_kept(
    tmp_path: Path, kind: str, points: tuple[tuple[float, float], ...], kept: bool
) -> None:
    workspace = idle_workspace(tmp_path)
    workspace.add_region(kind, points, 4.0)
    assert len(workspace.state.regions) == kept and workspace.store.can_undo == kept


# Persistence


def rich_state(folder: Path) -> State:
    pictures = []
    for name in ("a.jpg", "名前.jpg"):
        (folder / name).write_bytes(b"x")
        pictures.append(str(folder / name))
    return State(
        Selection(str(folder / "net.safetensors"), Expression((Term("animal"), Term("dog", "-")), "not dogs")),
        tuple(pictures),
        1,
        (Pane.of("conditional", "superset"), Pane.of("picture", picture=pictures[0])),
        1,
        View(opacity=0.25, threshold=Threshold("mass", 0.5), zoom=0.4, centre=(0.3, 0.6)),
        (RegionShape("head", pictures[1], "polygon", ((1, 2), (3, 4), (5, 0.5))),),
        (Expression.of("cat"),),
    )


def test_a_session_comes_back_as_it_was(tmp_path: Path) -> None:
    state = rich_state(tmp_path)
    save_session(tmp_path / "s.calm.json", state, ("Attribution · sum 0.5",), "The model gives 0.5.")
    saved = load_session(tmp_path / "s.calm.json")
    assert saved.state == state
    assert (saved.missing, saved.shown, saved.sentence) == ((), ("Attribution · sum 0.5",), "The model gives 0.5.")


def test_a_session_that_0_1_0_wrote_comes_back_as_it_was(tmp_path: Path) -> None:
    """The file was written by version 0.1.0 itself."""
    path, folder = tmp_path / "s.calm.json", tmp_path
    path.write_bytes(Path(__file__).with_name("session_0_1_0.json").read_bytes())
    pictures = tuple(str(folder / name) for name in ("a.jpg", "b.jpg"))
    for picture in pictures:
        Path(picture).write_bytes(Path(sample_pictures()[0]).read_bytes())
    saved, cam = load_session(path), str(bundled_checkpoints()["demo-cam"])
    dogs = Expression.of("n02084071")._replace(name="dogs")
    assert saved.state == State(
        Selection(
            cam,
            Expression((Term("n02084071"), Term("n02088094", "-")), "dogs but hounds"),
            Expression.of("n02123045"),
        ),
        pictures,
        1,
        (
            Pane.of("attribution", "superset"),
            Pane.of("conditional", "contrast"),
            Pane(METHODS["gradient"]),
            Pane.of("picture", picture=pictures[0]),
            Pane.of("cam", checkpoint=cam),
            Pane.of("winner"),
        ),
        2,
        View(
            *("viridis", "PuOr", 0.25, False),
            limits=(Limits("joint", 0.0, 0.0125), Limits("conditional", 0.0, 0.75)),
            spacing="log",
            relative=True,
            threshold=Threshold("mass", 0.5),
            mask=True,
            contour=False,
            boxes=True,
            native=True,
            ground_truth=False,
            depth=3,
            zoom=0.5,
            centre=(0.25, 0.75),
        ),
        (
            RegionShape("head", pictures[0], "box", ((1, 2), (30, 40.5))),
            RegionShape("ear", pictures[1], "polygon", ((1, 2), (3, 40), (50, 0.5))),
            RegionShape("nose", pictures[1], "brush", ((10, 10), (20, 20)), 6.0),
        ),
        (dogs,),
    )
    assert (saved.missing, saved.shown, saved.sentence) == ((), ("Attribution · sum 0.5",), "The model gives 0.5.")
    assert {reading.quantity for reading in (READINGS["attribution"], READINGS["conditional"])} == {
        limits.quantity for limits in saved.state.view.limits
    }  # so that the locked scales hold for maps


def test_a_session_of_the_former_demo_says_so_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calm_gui.session.persistence.FORMER_DEMO", "the hash of another file")
    state = rich_state(tmp_path)
    path = tmp_path / "s.calm.json"
    demo = str(bundled_checkpoints()["demo"].absolute())
    save_session(path, state._replace(selection=state.selection._replace(checkpoint=demo)))
    assert load_session(path).note == ""
    data = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**data, "calm_session": 1}), "utf-8")
    assert "made with the demo of calm-gui 0.1" in load_session(path).note
    assert load_session(path).note.count(". ") == 0
    monkeypatch.setattr("calm_gui.session.persistence.FORMER_DEMO", sha256_of(demo))
    assert load_session(path).note == ""  # while the bundled demo is the former one
    path.write_text(json.dumps({**data, "calm_session": 1, "checkpoint": "bundled:demo-cam"}), "utf-8")
    assert load_session(path).note == ""


def test_a_moved_folder_still_opens(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    state = rich_state(tmp_path / "old")
    save_session(tmp_path / "old" / "s.calm.json", state)
    (tmp_path / "old").rename(tmp_path / "new")
    saved = load_session(tmp_path / "new" / "s.calm.json")
    assert saved.missing == ()
    assert saved.state.picture == str(tmp_path / "new" / "名前.jpg")


def test_lost_pictures_are_named(tmp_path: Path) -> None:
    save_session(tmp_path / "s.calm.json", rich_state(tmp_path))
    (tmp_path / "a.jpg").unlink()
    saved = load_session(tmp_path / "s.calm.json")
    assert saved.missing == ("a.jpg",)
    assert len(saved.state.pictures) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "isn't a session"),
        ("[]", "isn't a calm-gui session"),
        ("{}", "isn't a calm-gui session"),
        ('{"calm_session": 99}', "update calm-gui"),
        ('{"calm_session": 1}', "invalid value"),
        ("[" * 100_000, "isn't a session"),
        ("\x80\x04K\x01.", "isn't"),
    ],
)
def test_what_is_no_session_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "s.calm.json"
    path.write_text(text, "latin-1")
    with pytest.raises(SessionError, match=words):
        load_session(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("panes", []),
        ("panes", [{"reading": "nonsense", "about": "target"}]),
        ("pictures", 3),
        ("view", {"opacity": 7}),
        ("view", {"sequential": "jet"}),
        ("view", {"opacity": "__import__('os')"}),
        ("regions", [{"name": "r", "picture": "a.jpg", "kind": "box", "points": [[1, 2]]}]),
        ("target", {"terms": [["*", "dog"]]}),
    ],
)
def test_values_that_make_no_sense_are_refused(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "s.calm.json"
    save_session(path, rich_state(tmp_path))
    data = json.loads(path.read_text("utf-8"))
    data[key] = value
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(SessionError, match="invalid value"):
        load_session(path)


def test_saving_where_one_cannot_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ExportError):
        save_session(tmp_path / "no" / "s.calm.json", State(Selection("a")))
    assert list(tmp_path.iterdir()) == []


# Annotation


def test_annotation_walks_breadth_first_and_skips_below_hom(small: Hierarchy) -> None:
    annotation = Annotation(small)
    asked = []
    while node := annotation.current:
        asked.append(node.key)
        annotation.mark(node.key, "hom" if node.key == "pet" else "het")
    assert asked == ["all", "animal", "pet"]
    assert annotation.supersets == ("pet",)
    assert annotation.progress.settled == 4
    assert annotation.undo() == "pet"
    assert annotation.current == small["pet"]


def test_annotation_saves_and_loads(small: Hierarchy, tmp_path: Path) -> None:
    annotation = Annotation(small)
    annotation.mark("all", "het")
    annotation.mark("animal", "hom")
    annotation.save(tmp_path / "a.json")
    again = Annotation.load(tmp_path / "a.json", small)
    assert again.marks == annotation.marks and again.progress == annotation.progress
    assert again.undo() == "animal"
    (tmp_path / "b.json").write_text('{"marks": {"unicorn": "hom"}}')
    with pytest.raises(DataError, match="unicorn"):
        Annotation.load(tmp_path / "b.json", small)
    (tmp_path / "c.json").write_text('{"marks": {"all": "maybe"}}')
    with pytest.raises(DataError, match="hom or het"):
        Annotation.load(tmp_path / "c.json", small)


def test_annotation_of_imagenet_starts_from_the_papers_table(imagenet: tuple[ClassTable, Hierarchy]) -> None:
    rows = json.loads(calm_resources.path("imagenet/supersets.json").read_text("utf-8"))["rows"]
    annotation = Annotation(imagenet[1], tuple(row["wnid"] for row in rows))
    assert set(annotation.supersets) == {row["wnid"] for row in rows}
    assert annotation.progress.settled >= 702


# Ground truth


def test_truth_from_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "file,class,boxes\na.jpg,dog,1 2 3 4;5 6 7 8\nsub/a.jpg,cat,\nb.jpg,,0 0 9 9\nb.jpg,,0 0 9 9\n", "utf-8"
    )
    truth = read_truth(tmp_path / "t.csv", CLASSES)
    assert truth.class_of("/x/a.jpg") == 1
    assert truth.class_of("/x/sub/a.jpg") == 0
    assert truth.boxes_of("/x/a.jpg") == (Box(1, 2, 3, 4), Box(5, 6, 7, 8))
    assert truth.boxes_of("/x/b.jpg") == (Box(0, 0, 9, 9),)
    assert GroundTruth().class_of("a.jpg") is None
    assert truth.coverage(["/x/a.jpg", "/y/b.jpg", "/x/c.jpg"]) == "the table has ground truth for 2 of 3 pictures"
    said = truth.coverage(["/x/c.jpg"])
    assert "none of 1" in said and "names a.jpg" in said and said.endswith("c.jpg")
    (tmp_path / "t.csv").write_text("file,wnid,class\na.jpg,n99999999,dog\n", "utf-8")
    assert read_truth(tmp_path / "t.csv", CLASSES).class_of("a.jpg") == 1


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("name,class\na.jpg,dog\n", "column 'file'"),
        ("file,colour\na.jpg,red\n", "neither classes"),
        ("file,class\na.jpg,unicorn\n", "line 2.*unicorn"),
        ("file,class_index\na.jpg,9\n", "line 2.*no class 9"),
        ("file,wnid,boxes\na.jpg,,\nb.jpg,n99999999,1 2 3 4\n", "line 3.*no class with the wnid 'n99999999'"),
        ("file,boxes\na.jpg,1 2 3\n", "line 2.*isn't a box"),
        ("file,boxes\na.jpg,5 5 1 9\n", "line 2.*reversed"),
        ("file,class\n,dog\n", "line 2.*missing"),
    ],
)
def test_faulty_tables_are_told_by_line(tmp_path: Path, table: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(table, "utf-8")
    with pytest.raises(DataError, match=words):
        read_truth(tmp_path / "t.csv", CLASSES)


@pytest.mark.parametrize(("folder", "index"), [("dog", 1), ("002.Dog", 1), ("DOG", 1), ("unicorn", None)])
def test_class_of_a_folder(folder: str, index: int | None) -> None:
    assert class_of_folder(f"/data/{folder}/x.jpg", CLASSES) == index


# Hierarchy files


def test_hierarchy_from_rows_and_back_through_json(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(
        "child,parent\ncat,pet\ndog,pet\n# comment\nwolf,animal\npet,animal\ncar,thing\n", "utf-8"
    )
    hierarchy = read_hierarchy(tmp_path / "h.csv", CLASSES)
    assert hierarchy["animal"].classes == ClassSet([0, 1, 2])
    write_hierarchy(tmp_path / "h.json", hierarchy)
    again = read_hierarchy(tmp_path / "h.json", CLASSES)
    assert {k: n.classes for k, n in again.items()} == {k: n.classes for k, n in hierarchy.items()}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat,pet\npet,animal\nanimal,pet\ndog,pet\nwolf,pet\ncar,pet\n", "lines? 2, 3.*cycle"),
        ("cat,pet\ndog,pet\n", "leaves out 2 of 4"),
        ("cat,pet,zoo\n", "line 1.*3 values"),
        ("cat,cat\n", "line 1.*own parent"),
        ("99,pet\n", "line 1.*no class 99"),
        ("", "no rows"),
        ("{", "isn't valid JSON"),
        ('{"nodes": {"a": {"parents": "b"}}}', "list of keys"),
        ('{"nodes": {"a": {"parents": ["b"]}}}', "doesn't exist"),
    ],
)
def test_faulty_hierarchies_are_told_by_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "h.csv").write_text(text, "utf-8")
    with pytest.raises(HierarchyError, match=words):
        read_hierarchy(tmp_path / "h.csv", CLASSES)


def test_names_without_wnids_find_their_nouns() -> None:
    birds = ClassTable(ClassInfo(i, n) for i, n in enumerate(("001.Laysan_Albatross", "Cardinal", "Qwxyz")))
    matches = match_classes(birds, below="n01503061")
    hierarchy = matched_hierarchy(birds, matches)
    assert hierarchy["n01503061"].classes == ClassSet([0, 1])
    assert matches[2] is None
    assert hierarchy["n00001740"].classes == ClassSet([0, 1, 2])
