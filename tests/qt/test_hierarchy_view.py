"""The hierarchy as a tree: marks, folding, search, sort, mouse and keys."""

from time import perf_counter

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from calm_gui.core.classes import ClassSet
from calm_gui.core.hierarchy import Hierarchy, Node
from calm_gui.qt.classes.hierarchy_model import KEY_ROLE, NAME, PROBABILITY, PROBABILITY_ROLE, SIZE, HierarchyModel
from calm_gui.qt.classes.hierarchy_view import HierarchyView
from calm_gui.qt.classes.row_painter import letter_areas, mark_area, name_area
from calm_gui.qt.window.main_window import MainWindow
from calm_gui.session.expression import Expression, class_key
from tests.qt.painted import Painted

CANINE, DOG, AFGHAN = "n02083346", "n02084071", "n02088094"


def rows(model: HierarchyModel, parent: QModelIndex) -> list[QModelIndex]:
    return [model.index(row, 0, parent) for row in range(model.rowCount(parent))]


def everything(model: HierarchyModel) -> list[QModelIndex]:
    found, todo = [], rows(model, QModelIndex())
    while todo:
        index = todo.pop()
        found.append(index)
        todo.extend(rows(model, index))
    return found


def words(node: Node) -> str:
    return " ".join((node.name, *node.synonyms, node.key, node.gloss, str(node.class_index))).casefold()


def click(view: HierarchyView, key: str, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    index = view.nodes.places(key)[0]
    view.scrollTo(index)
    rect = view.visualRect(index.siblingAtColumn(NAME))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, modifier, name_area(rect).center())


@pytest.fixture
def hierarchy(window: MainWindow) -> Hierarchy:
    assert window.hub.scene.hierarchy is not None
    return window.hub.scene.hierarchy


@pytest.mark.parametrize("folded", [True, False])
def test_model_obeys_qt(qtbot: QtBot, hierarchy: Hierarchy, folded: bool) -> None:
    model = HierarchyModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning)
    model.set_hierarchy(hierarchy, folded)
    model.show(dict.fromkeys(hierarchy, 0.5), ClassSet([151]), ClassSet([281]))
    model.sort(SIZE, Qt.SortOrder.DescendingOrder)
    assert model.search("dog") > 50
    assert model.search("") == 0
    del tester


def test_unfolded_tree_holds_every_node_under_each_of_its_parents(hierarchy: Hierarchy) -> None:
    model = HierarchyModel()
    model.set_hierarchy(hierarchy, folded=False)
    keys = [index.data(KEY_ROLE) for index in everything(model)]
    assert set(keys) == set(hierarchy)
    several = [node for node in hierarchy.values() if len(node.parents) > 1]
    assert len(several) == 75
    for node in several:
        above = {model.parent(place).data(KEY_ROLE) for place in model.places(node.key)}
        assert above == set(node.parents)


def test_folding_hides_repeated_class_sets_and_loses_none(hierarchy: Hierarchy) -> None:
    model = HierarchyModel()
    model.set_hierarchy(hierarchy, folded=True)
    for index in everything(model):
        node = hierarchy[index.data(KEY_ROLE)]
        assert not hierarchy.is_redundant(node.key)
        above = model.parent(index)
        if above.isValid():
            assert (
                node.classes != hierarchy[above.data(KEY_ROLE)].classes
                or len(hierarchy[above.data(KEY_ROLE)].children) > 1
            )
    assert all(model.places(key) for key in hierarchy)


def test_marks_are_derived_from_the_set(window: MainWindow, hierarchy: Hierarchy) -> None:
    window.workspace.toggle(DOG)
    target = window.hub.scene.target
    model = window.panel("classes").tree.nodes
    for index in everything(model):
        node = hierarchy[index.data(KEY_ROLE)]
        common = node.classes & target
        expected = (
            Qt.CheckState.Unchecked
            if not common
            else Qt.CheckState.Checked
            if common == node.classes
            else Qt.CheckState.PartiallyChecked
        )
        assert index.data(Qt.ItemDataRole.CheckStateRole) == expected


def test_a_tick_beside_everything_else_takes_no_longer_than_another(window: MainWindow, hierarchy: Hierarchy) -> None:
    workspace = window.workspace
    workspace.set_target(Expression.of("@rest"))
    before, dogs = window.hub.scene.target, hierarchy[DOG].classes
    assert len(before) == 999 and not dogs <= before  # all but the Afghan hound
    start = perf_counter()
    workspace.toggle(DOG)
    assert perf_counter() - start < 1.0  # it took two minutes when 1,000 classes became 1,000 terms
    assert window.hub.scene.target == before | dogs
    assert len(workspace.state.selection.target.terms) < 5
    workspace.toggle(DOG)
    assert window.hub.scene.target == before - dogs


def test_a_set_of_many_terms_is_told_in_few_words(window: MainWindow) -> None:
    classes = window.hub.scene.classes
    start = perf_counter()
    window.workspace.set_target(Expression.of(*(class_key(index, classes) for index in range(0, 1000, 2))))
    assert perf_counter() - start < 1.0
    assert window.hub.scene.name(window.workspace.state.selection.target).endswith("and 494 more")
    assert window.hub.scene.target == ClassSet(range(0, 1000, 2))


def test_unticking_takes_all_of_a_node_whatever_else_holds_it(window: MainWindow, hierarchy: Hierarchy) -> None:
    node = next(node for node in hierarchy.values() if len(node.parents) == 2 and len(node.classes) == 1)
    first, second = node.parents
    window.workspace.set_target(Expression.of(first, second))
    window.workspace.toggle(first)
    assert not window.hub.scene.target & hierarchy[first].classes
    window.workspace.toggle(first)
    assert window.hub.scene.target == hierarchy[first].classes | hierarchy[second].classes


def test_probabilities_are_those_of_the_class_sets(window: MainWindow, hierarchy: Hierarchy) -> None:
    p = window.hub.scene.class_probabilities
    assert p is not None
    for index in everything(window.panel("classes").tree.nodes)[:400]:
        node = hierarchy[index.data(KEY_ROLE)]
        assert index.data(PROBABILITY_ROLE) == pytest.approx(p[node.classes.indices].sum(), rel=1e-9)


def test_click_ctrl_click_and_the_b_that_a_row_offers(window: MainWindow, hierarchy: Hierarchy) -> None:
    tree = window.panel("classes").tree
    tree.reveal(AFGHAN)
    click(tree, CANINE)
    assert window.hub.scene.target == hierarchy[CANINE].classes
    click(tree, DOG, Qt.KeyboardModifier.ControlModifier)
    assert window.hub.scene.target == hierarchy[CANINE].classes - hierarchy[DOG].classes
    (index,) = tree.nodes.places(DOG)[:1]
    row = tree.visualRect(index)
    offered = letter_areas(tree.header().sectionSize(NAME), row)
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=offered["B"].center())
    assert window.hub.scene.contrast == hierarchy[DOG].classes
    assert tree.nodes.row(index).mark.letter == "B"
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=offered["A"].center())
    assert window.hub.scene.target == hierarchy[DOG].classes
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=mark_area(row).center())
    assert not window.hub.scene.target & hierarchy[DOG].classes


def test_keys_choose_and_add(window: MainWindow, hierarchy: Hierarchy) -> None:
    tree = window.panel("classes").tree
    tree.reveal(CANINE)
    QTest.keyClick(tree, Qt.Key.Key_Return)
    assert window.hub.scene.target == hierarchy[CANINE].classes
    QTest.keyClick(tree, Qt.Key.Key_Space)
    assert not window.hub.scene.target
    QTest.keyClick(tree, Qt.Key.Key_Space)
    assert window.hub.scene.target == hierarchy[CANINE].classes
    QTest.keyClick(tree, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert window.hub.scene.contrast == hierarchy[CANINE].classes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("crane", {"n02012849", "n03126707"}),
        ("n02084071", {"n02084071"}),
        ("151", {"n02085620"}),
        ("Tinca tinca", {"n01440764"}),
        ("CANINE", {CANINE}),
    ],
)
def test_search_finds_by_name_synonym_wnid_and_index(hierarchy: Hierarchy, text: str, expected: set[str]) -> None:
    model = HierarchyModel()
    model.set_hierarchy(hierarchy)
    model.search(text)
    shown = {index.data(KEY_ROLE) for index in everything(model)}
    assert expected <= shown
    for key in shown:
        above_another = any(key in hierarchy.ancestors(other) for other in shown)
        assert above_another or any(text.casefold() in words(hierarchy[k]) for k in (key, *hierarchy.ancestors(key)))


@pytest.mark.parametrize("folded", [True, False])
def test_places_are_those_of_the_whole_tree_whatever_was_open_or_searched(hierarchy: Hierarchy, folded: bool) -> None:
    model = HierarchyModel()
    model.set_hierarchy(hierarchy, folded)
    first = {key: len(model.places(key)) for key in reversed(tuple(hierarchy))}  # before anything else was asked
    for text in ("", "terrier", "n02", "zzzz", "dog", ""):
        model.search(text)
        found: dict[str, int] = {}
        for index in everything(model):
            assert model.places(index.data(KEY_ROLE)).count(index) == 1
            for key in index.internalPointer().chain:
                found[key] = found.get(key, 0) + 1
        assert {key: len(model.places(key)) for key in hierarchy} == {key: found.get(key, 0) for key in hierarchy}
    assert found == first


def test_search_for_nothing_known_shows_nothing(hierarchy: Hierarchy) -> None:
    model = HierarchyModel()
    model.set_hierarchy(hierarchy)
    assert model.search("zzzz no such thing") == 0
    assert model.rowCount() == 0


@pytest.mark.parametrize(
    ("column", "role"),
    [(NAME, Qt.ItemDataRole.DisplayRole), (SIZE, Qt.ItemDataRole.DisplayRole), (PROBABILITY, PROBABILITY_ROLE)],
)
def test_sorting_orders_siblings_and_keeps_what_is_open(window: MainWindow, column: int, role: int) -> None:
    tree = window.panel("classes").tree
    tree.reveal(AFGHAN)
    tree.sortByColumn(column, Qt.SortOrder.DescendingOrder)
    assert tree.currentIndex().data(KEY_ROLE) == AFGHAN
    assert tree.isExpanded(tree.nodes.parent(tree.currentIndex()))
    for index in [QModelIndex(), *tree.nodes.places(DOG)]:
        values = [child.siblingAtColumn(column).data(role) for child in rows(tree.nodes, index)]
        values = [v.casefold() if isinstance(v, str) else v for v in values]
        assert values == sorted(values, reverse=True)
    tree.sortByColumn(NAME, Qt.SortOrder.AscendingOrder)


def test_the_current_row_and_the_one_under_the_mouse_have_grounds_of_their_own(window: MainWindow) -> None:
    view = window.panel("classes").tree
    QTest.mouseMove(window.ledger)
    view.reveal(AFGHAN)
    current = view.currentIndex()
    one, other = view.indexBelow(current), view.indexBelow(view.indexBelow(current))

    def ground(index: QModelIndex) -> str:
        rect = view.visualRect(index.siblingAtColumn(NAME))
        return view.viewport().grab().toImage().pixelColor(rect.right() - 1, rect.top() + 1).name()

    plain = ground(other)
    assert ground(one) == plain != ground(current)
    QTest.mouseMove(view.viewport(), view.visualRect(one).center())
    assert ground(one) not in (plain, ground(current)) and ground(other) == plain
    QTest.mouseMove(view.viewport(), view.visualRect(other).center())
    assert ground(one) == plain != ground(other)
    at = view.visualRect(other).center()
    view.verticalScrollBar().setValue(view.verticalScrollBar().value() + 1)  # rows move below a mouse that rests
    QTest.qWait(50)
    assert view.indexAt(at) != other
    assert ground(other) == plain != ground(view.indexAt(at))
    QTest.mouseMove(window.ledger)
    assert ground(view.indexAt(at)) == plain


def test_the_list_of_classes_shows_the_row_under_the_mouse(window: MainWindow) -> None:
    view = window.panel("classes").predicted
    window.panel("classes").show_page(view)
    QTest.mouseMove(window.ledger)
    QTest.qWait(50)

    def ground(row: int) -> str:
        rect = view.visualRect(view.model().index(row, NAME))
        return view.viewport().grab().toImage().pixelColor(rect.right() - 1, rect.top() + 1).name()

    plain = ground(5)
    QTest.mouseMove(view.viewport(), view.visualRect(view.model().index(5, NAME)).center())
    assert ground(5) != plain == ground(6)
    QTest.mouseMove(window.ledger)
    assert ground(5) == plain
    window.panel("classes").show_page(window.panel("classes").tree)


def test_the_narrowest_window_shows_names_of_deep_rows_and_whole_numbers(window: MainWindow) -> None:
    view = window.panel("classes").tree
    window.resize(760, 520)
    window.docks.open("classes")
    view.reveal(AFGHAN)
    QApplication.processEvents()
    try:
        index = view.currentIndex()
        assert name_area(view.visualRect(index.siblingAtColumn(NAME))).width() >= 24
        room = view.header().sectionSize(PROBABILITY)
        assert room >= view.fontMetrics().horizontalAdvance("0.357") + 8
        heading = view.nodes.headerData(PROBABILITY, Qt.Orientation.Horizontal)
        assert view.fontMetrics().horizontalAdvance(heading) + 8 <= room
    finally:
        window.resize(1280, 820)


def test_nothing_of_a_name_is_painted_beside_its_column(window: MainWindow) -> None:
    view = window.panel("classes").tree
    view.set_folded(False)
    view.reveal("n02095889")  # Sealyham terrier, eighteen steps below the root
    room, widest = view.header().sectionSize(PROBABILITY), view.header().sectionSize(NAME) - 60
    view.header().resizeSection(PROBABILITY, room + widest)
    QTest.qWait(50)
    index = view.currentIndex()
    name, number = view.visualRect(index), view.visualRect(index.siblingAtColumn(PROBABILITY))
    assert name.width() <= 0
    image = view.viewport().grab().toImage()
    row = {image.pixelColor(x, number.center().y() - 6).name() for x in range(number.left() - 20, number.left())}
    assert len(row) == 1
    view.header().resizeSection(PROBABILITY, room)
    view.set_folded(True)


def test_only_rows_whose_mark_changes_are_painted_in_the_list_of_classes(window: MainWindow) -> None:
    view = window.panel("classes").predicted
    window.panel("classes").show_page(view)
    first, other, second = (view.model().index(row, NAME) for row in range(3))
    window.workspace.set_contrast(Expression.of("@rest"))
    window.workspace.set_target(Expression.of(first.data(KEY_ROLE)))
    QTest.qWait(50)  # the list, which has just come into sight, is painted whole
    painted = Painted(view.viewport())
    window.workspace.set_target(Expression.of(second.data(KEY_ROLE)))
    QApplication.processEvents()
    seen = [painted.region.contains(mark_area(view.visualRect(index)).center()) for index in (first, other, second)]
    assert seen == [True, False, True]
    marks = [index.data(Qt.ItemDataRole.CheckStateRole) for index in (first, second)]
    assert marks == [Qt.CheckState.Unchecked, Qt.CheckState.Checked]
    window.panel("classes").show_page(window.panel("classes").tree)
