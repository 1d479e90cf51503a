"""Class sets, hierarchies, geometry, regions and thresholds."""

import json

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from synthetic import calm_explanation
from torch.nn import functional

from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable
from calm_gui.core.geometry import Box, Geometry, interpolate
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.core.region import Region, region_from_box, region_from_polygon
from calm_gui.core.threshold import component_boxes, credible_cells, credible_level, min_max_level, threshold_cells
from calm_gui.errors import ClassLookupError, HierarchyError, ReadingError
from calm_resources import path as resource


def bundled(name: str) -> dict:
    return json.loads(resource(f"imagenet/{name}.json").read_text(encoding="utf-8"))


INDICES = st.frozensets(st.integers(0, 30))
SIDE = st.integers(1, 40)


# Class sets


@given(a=INDICES, b=INDICES, c=INDICES)
def test_set_algebra(a, b, c):
    x, y, z = ClassSet(a), ClassSet(b), ClassSet(c)
    assert set(x | y) == a | b and set(x & y) == a & b and set(x - y) == a - b
    assert x & (y | z) == (x & y) | (x & z) and x - (y | z) == (x - y) & (x - z)
    assert (x <= y) == (a <= b) and (x == y) == (a == b)
    assert hash(ClassSet(sorted(a))) == hash(ClassSet(sorted(a, reverse=True)))
    assert x.complement(31) == ClassSet(range(31)) - x and list(x) == sorted(a)
    assert x.indices.tolist() == sorted(a) and len(x) == len(a)


def test_a_class_is_its_index():
    with pytest.raises(ClassLookupError):
        ClassSet([-1])
    with pytest.raises(ClassLookupError, match="position"):
        ClassTable([ClassInfo(1, "a")])
    with pytest.raises(ValueError):
        ClassSet([1, 2]).indices[0] = 5


# Hierarchy


@pytest.fixture(scope="module")
def imagenet() -> tuple[ClassTable, Hierarchy]:
    classes = ClassTable(
        ClassInfo(i, entry["name"], entry["wnid"], tuple(entry.get("synonyms", ())))
        for i, entry in enumerate(bundled("classes")["classes"])
    )
    return classes, Hierarchy.from_json(bundled("hierarchy"), classes)


def test_imagenets_graph(imagenet):
    classes, hierarchy = imagenet
    assert len(hierarchy) == 1860 and sum(len(node.parents) > 1 for node in hierarchy.values()) == 75
    assert hierarchy.roots[0].classes == classes.all and len(hierarchy.roots) == 1
    assert len(hierarchy["n02084071"].classes) == 118 and hierarchy["n02084071"].name == "dog"
    assert len(hierarchy["n02083346"].classes) == 130  # canine
    for node in hierarchy.values():
        union = ClassSet(i for child in node.children for i in hierarchy[child].classes)
        own = ClassSet([] if node.class_index is None else [node.class_index])
        assert node.classes == union | own
        assert all(hierarchy[parent].depth < node.depth for parent in node.parents)
        if node.parents:
            assert node.depth == 1 + max(hierarchy[parent].depth for parent in node.parents)


def test_adding_children_would_count_twice(imagenet):
    _, hierarchy = imagenet
    p = np.full(1000, 1 / 1000)
    by_node = hierarchy.probabilities(p)
    assert by_node[hierarchy.roots[0].key] == pytest.approx(1)
    twice = [n for n in hierarchy.values() if sum(by_node[c] for c in n.children) > by_node[n.key] + 1e-9]
    assert twice and all(by_node[n.key] == pytest.approx(len(n.classes) / 1000) for n in twice)


def test_cuts_hold_every_class(imagenet):
    classes, hierarchy = imagenet
    for depth in range(hierarchy.max_depth + 1):
        cut = hierarchy.cut(depth)
        assert ClassSet(i for node in cut for i in node.classes) == classes.all
        assert [node.key for node in cut] == sorted({node.key for node in cut})


def test_namesakes_are_found_and_told_apart(imagenet):
    classes, _ = imagenet
    assert [info.index for info in classes.find("crane")][:2] == [134, 517]
    assert [info.index for info in classes.named("maillot")] == [638, 639]
    assert len({info.label for info in classes}) == 1000


def test_supersets(imagenet):
    classes, hierarchy = imagenet
    table = SupersetTable(hierarchy, [row["wnid"] for row in bundled("supersets")["rows"]])
    assert sum(table.node(i) is not None for i in range(1000)) == 702
    for index in range(1000):
        assert index in table[index]
    minivan = classes.named("minivan")[0].index
    assert table.node(minivan).name == "car"
    assert SupersetTable(None)[3] == ClassSet([3])


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ({"a": {"parents": ["b"]}, "b": {"parents": ["a"]}}, "cycle"),
        ({"a": {"parents": ["a"]}}, "cycle"),
        ({"a": {"parents": ["gone"]}}, "gone"),
        ({"a": {"class": 9}}, "class 9"),
        ({"a": {"class": 0}, "b": {"class": 0}}, "both claim"),
    ],
)
def test_broken_hierarchies_are_refused(nodes, said):
    with pytest.raises(HierarchyError, match=said):
        Hierarchy(nodes, 2)


def test_a_hierarchy_too_deep_to_follow_is_refused():
    chain = {f"k{i:04}": {"parents": [f"k{i - 1:04}"] if i else []} for i in range(1500)}
    with pytest.raises(HierarchyError, match="1499 steps deep; 200 are the most"):
        Hierarchy(chain, 3)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 14))
def test_any_acyclic_graph(data, n):
    parents = {i: data.draw(st.frozensets(st.integers(0, i - 1), max_size=3)) if i else frozenset() for i in range(n)}
    nodes = {f"k{i:02}": {"name": "x", "parents": [f"k{p:02}" for p in parents[i]], "class": i} for i in range(n)}
    for inner in data.draw(st.frozensets(st.integers(0, n - 1))):
        del nodes[f"k{inner:02}"]["class"]
    hierarchy = Hierarchy(nodes, n)

    def above(i: int) -> set[int]:
        return {i}.union(*(above(p) for p in parents[i]))

    for i in range(n):
        assert {int(k[1:]) for k in hierarchy.ancestors(f"k{i:02}")} == above(i) - {i}
        below = {j for j in range(n) if i in above(j) and "class" in nodes[f"k{j:02}"]}
        assert set(hierarchy[f"k{i:02}"].classes) == below
    table = ClassTable(ClassInfo(i, "x", f"k{i:02}" if "class" in nodes[f"k{i:02}"] else None) for i in range(n))
    again = Hierarchy.from_json(hierarchy.to_json(), table)
    assert list(again.items()) == list(hierarchy.items())
    shuffled = data.draw(st.permutations(list(nodes.items())))
    assert list(Hierarchy(dict(shuffled), n).items()) == list(hierarchy.items())
    some = data.draw(st.frozensets(st.sampled_from(sorted(nodes))))
    assert hierarchy.with_ancestors(some) == some.union(*(hierarchy.ancestors(key) for key in some))
    for key, node in hierarchy.items():
        repeats = len(node.children) == 1 and hierarchy[node.children[0]].classes == node.classes
        assert hierarchy.is_redundant(key) == repeats


# Geometry


@settings(max_examples=200, deadline=None)
@given(
    picture=st.tuples(st.integers(1, 3000), st.integers(1, 3000)),
    size=st.tuples(st.integers(16, 512), st.integers(16, 512)),
    grid=st.tuples(st.integers(1, 64), st.integers(1, 64)),
    resize=st.sampled_from(["squash", "crop", "pad"]),
    point=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_geometry_leads_there_and_back(picture, size, grid, resize, point):
    geometry = Geometry.fit(picture, size, grid, resize)
    x, y = point[0] * picture[0], point[1] * picture[1]
    assert geometry.from_grid(*geometry.to_grid(x, y)) == pytest.approx((x, y), rel=1e-9, abs=1e-6)
    seen = geometry.seen
    corners = geometry.to_grid(np.array([seen.x0, seen.x1]), np.array([seen.y0, seen.y1]))
    for values, cells in zip(corners, (grid[1], grid[0]), strict=True):
        assert values.min() >= -1e-6 and values.max() <= cells + 1e-6
    if resize != "crop":
        assert geometry.sees_all
    if resize != "pad":  # what was seen fills the input
        assert corners[0] == pytest.approx([0, grid[1]], abs=1e-6) and corners[1] == pytest.approx(
            [0, grid[0]], abs=1e-6
        )
    if resize != "squash":
        assert geometry.scale[0] == geometry.scale[1]
    middle = geometry.to_grid(picture[0] / 2, picture[1] / 2)
    assert middle == pytest.approx((grid[1] / 2, grid[0] / 2), abs=1e-6)


def test_a_square_crop_sees_all():
    for side in range(1, 1200):
        assert Geometry.fit((side, side), (224, 224), (7, 7), "crop").sees_all


@pytest.mark.parametrize("resize", ["squash", "crop", "pad"])
@pytest.mark.parametrize("picture", [(400, 90), (90, 400), (1, 50)])
def test_every_seen_pixel_has_a_cell(resize, picture):
    geometry = Geometry.fit(picture, (224, 224), (7, 5), resize)
    for x in np.linspace(0.5, picture[0] - 0.5, 9):
        for y in np.linspace(0.5, picture[1] - 0.5, 9):
            cell = geometry.cell_at(x, y)
            inside = geometry.seen.x0 <= x < geometry.seen.x1 and geometry.seen.y0 <= y < geometry.seen.y1
            assert (cell is not None) == inside
            if cell is not None:
                box = geometry.cell_box(*cell)
                assert box.x0 - 1e-9 <= x <= box.x1 + 1e-9 and box.y0 - 1e-9 <= y <= box.y1 + 1e-9


@settings(max_examples=80, deadline=None)
@given(
    values=hnp.arrays(np.float32, st.tuples(SIDE, SIDE), elements=st.floats(-4, 4, width=32)),
    size=st.tuples(st.integers(1, 90), st.integers(1, 90)),
)
def test_upsampling_is_torchs_bilinear(values, size):
    height, width = values.shape
    columns = (np.arange(size[1]) + 0.5) * width / size[1]
    rows = (np.arange(size[0]) + 0.5) * height / size[0]
    expected = functional.interpolate(torch.tensor(values)[None, None], size, mode="bilinear", align_corners=False)
    np.testing.assert_allclose(interpolate(values, columns, rows), expected[0, 0].numpy(), atol=2e-5)
    nearest = functional.interpolate(torch.tensor(values)[None, None], size, mode="nearest-exact")
    apart = (np.abs(columns - np.round(columns)) > 1e-4)[None, :] & (np.abs(rows - np.round(rows)) > 1e-4)[:, None]
    mine = interpolate(values, columns, rows, nearest=True)
    assert np.array_equal(mine[apart], nearest[0, 0].numpy()[apart])


@pytest.mark.parametrize("resize", ["squash", "crop", "pad"])
def test_a_map_over_the_picture_is_nan_only_where_nothing_was_seen(resize):
    explanation = calm_explanation((7, 7), resize=resize, picture=np.zeros((60, 150, 3), np.uint8))
    shown = explanation.attribution(0)
    smooth, cells = shown.upsampled(), shown.upsampled(nearest=True)
    assert smooth.shape == cells.shape == (60, 150) and shown.upsampled((30, 20)).shape == (30, 20)
    seen = explanation.geometry.seen
    x, y = np.arange(150) + 0.5, np.arange(60) + 0.5
    outside = ~((y >= seen.y0) & (y < seen.y1))[:, None] | ~((x >= seen.x0) & (x < seen.x1))[None, :]
    assert np.array_equal(np.isnan(smooth), outside) and np.array_equal(np.isnan(cells), outside)
    for i, j in ((30, 75), (10, 60), (50, 90)):
        row, column = explanation.geometry.cell_at(j + 0.5, i + 0.5)
        assert cells[i, j] == shown.values[row, column]


# Regions


@settings(max_examples=60, deadline=None)
@given(
    corners=st.tuples(*(st.floats(-20, 170) for _ in range(4))),
    resize=st.sampled_from(["squash", "crop", "pad"]),
)
def test_a_boxs_weights_are_the_area_it_covers(corners, resize):
    geometry = Geometry.fit((150, 60), (224, 224), (6, 9), resize)
    region = region_from_box(geometry, Box(*corners))
    seen = geometry.seen
    width = np.ptp(np.clip(corners[::2], seen.x0, seen.x1))
    height = np.ptp(np.clip(corners[1::2], seen.y0, seen.y1))
    cell = geometry.cell_box(0, 0)
    assert region.cells == pytest.approx(width * height / (cell.width * cell.height), abs=1e-6)
    assert (region.complement().weights + region.weights == 1).all()
    flipped = region_from_box(geometry, Box(corners[2], corners[3], corners[0], corners[1]))
    assert np.array_equal(flipped.weights, region.weights)


def test_a_rectangle_drawn_as_a_lasso_is_the_rectangle():
    geometry = Geometry.fit((200, 100), (224, 224), (8, 8), "squash")
    box = region_from_box(geometry, Box(30, 20, 120, 77))
    lasso = region_from_polygon(geometry, [(30, 20), (120, 20), (120, 77), (30, 77)])
    assert np.abs(box.weights - lasso.weights).max() < 0.07 and lasso.cells == pytest.approx(box.cells, rel=0.03)
    with pytest.raises(ReadingError, match="three points"):
        region_from_polygon(geometry, [(0, 0), (1, 1)])


def test_a_triangle_covers_half():
    geometry = Geometry.fit((100, 100), (224, 224), (10, 10), "squash")
    assert region_from_polygon(geometry, [(0, 0), (100, 0), (0, 100)]).cells == pytest.approx(50, rel=0.01)


def test_weights_outside_zero_to_one_are_refused():
    for weights in (np.full((2, 2), 1.5), np.full((2, 2), np.nan), np.zeros(4)):
        with pytest.raises(ReadingError):
            Region(weights)


# Thresholds


@settings(max_examples=100, deadline=None)
@given(
    values=hnp.arrays(np.float32, (4, 5), elements=st.floats(0, 1, width=32)),
    mass=st.floats(0.01, 1.0),
)
def test_credible_cells_are_the_smallest_set_with_that_mass(values, mass):
    assume(values.sum() > 1e-6)
    cells = credible_cells(values, mass)
    exact = values.astype(float)
    total = exact.sum()
    assert exact[cells].sum() >= mass * total * (1 - 1e-9)
    # Taking any whole group of equal cells away leaves too little.
    lowest = exact[cells].min()
    assert exact[cells & (exact > lowest)].sum() < mass * total
    assert not cells[exact == 0].any() and exact[~cells].max(initial=0) <= lowest


def test_thresholds_in_words_and_numbers():
    values = np.array([[0.0, 0.1], [0.4, 0.5]])
    assert credible_level(values, 0.9) == 0.4 and credible_level(values * 0, 0.5) == float("inf")
    assert min_max_level(values, 0.5) == 0.25
    assert not credible_cells(values * 0, 0.9).any()
    for bad in (0.0, 1.1):
        with pytest.raises(ReadingError, match="credible mass"):
            credible_level(values, bad)
    with pytest.raises(ReadingError, match="negative"):
        credible_level(-values, 0.5)
    signed = np.array([[-0.5, 0.1], [0.4, 0.0]])
    assert np.array_equal(threshold_cells(signed, "mass", 0.9), [[True, False], [True, False]])
    assert np.array_equal(threshold_cells(signed, "value", 0.3), [[True, False], [True, False]])
    assert threshold_cells(signed, "none", 0.3) is None
    assert threshold_cells(np.array([[np.nan, 1.0]]), "mass", 0.9) is None


def test_boxes_around_parts():
    mask = np.zeros((6, 8), bool)
    mask[1, 1] = mask[2, 2] = mask[2, 3] = True  # touches at a corner: one part
    mask[5, 7] = True
    geometry = Geometry.fit((160, 60), (224, 224), (6, 8), "squash")
    assert component_boxes(mask) == [Box(1, 1, 4, 3), Box(7, 5, 8, 6)]
    boxes = component_boxes(mask, geometry)
    assert (boxes[0].x0, boxes[0].y0, boxes[0].x1, boxes[0].y1) == pytest.approx((20, 10, 80, 30))
    assert component_boxes(mask & False) == []
