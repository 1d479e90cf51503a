"""Hierarchies: directed acyclic graphs over classes. A node stands for a set, never for a sum of children."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.errors import HierarchyError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Hierarchy", "Node", "SupersetTable"]


@dataclass(frozen=True)
class Node:
    """One concept of a hierarchy.

    Attributes
    ----------
    key : str
        Identifies the node; the wnid in WordNet.
    name : str
    parents, children : tuple of str
        Keys, sorted.
    classes : ClassSet
        All classes at or below this node.
    depth : int
        Longest path from a root, in edges.
    class_index : int or None
        The class that this node itself is, if it is one.
    synonyms : tuple of str
    gloss : str
    """

    key: str
    name: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    classes: ClassSet
    depth: int
    class_index: int | None = None
    synonyms: tuple[str, ...] = ()
    gloss: str = ""

    def __repr__(self) -> str:
        return f"Node({self.key} {self.name}, {len(self.classes)} classes)"


@dataclass(frozen=True)
class _Entry:
    name: str
    parents: tuple[str, ...]
    class_index: int | None
    synonyms: tuple[str, ...] = ()
    gloss: str = ""
    children: list[str] = field(default_factory=list)


class Hierarchy(Mapping[str, Node]):
    """A directed acyclic graph over the classes of a checkpoint.

    Iterating gives keys from the roots down (parents before children).

    Parameters
    ----------
    nodes : mapping of key to dict
        ``{"name", "parents": [keys], "class"?: index, "synonyms"?, "gloss"?}``.
    n_classes : int
        Number of classes of the checkpoint.

    Raises
    ------
    HierarchyError
        For a cycle (named), an unknown parent, a class index out of range or given to two nodes.
    """

    def __init__(self, nodes: Mapping[str, Mapping[str, Any]], n_classes: int) -> None:
        entries = {
            key: _Entry(
                name=str(value.get("name", key)),
                parents=tuple(sorted(set(value.get("parents", ())))),
                class_index=value.get("class"),
                synonyms=tuple(value.get("synonyms", ())),
                gloss=str(value.get("gloss", "")),
            )
            for key, value in nodes.items()
        }
        self.n_classes = n_classes
        self._nodes = _link(entries, n_classes)
        self.by_class = {n.class_index: n.key for n in self._nodes.values() if n.class_index is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], classes: ClassTable) -> "Hierarchy":
        """Build from the JSON of `calm_resources/imagenet/hierarchy.json`; nodes whose key is a class's wnid are it."""
        nodes = {
            key: {**node, "class": info.index} if (info := classes.by_wnid(key)) else node
            for key, node in data["nodes"].items()
        }
        return cls(nodes, len(classes))

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form that `from_json` reads."""

        def entry(node: Node) -> dict[str, Any]:
            optional = {"class": node.class_index, "synonyms": list(node.synonyms), "gloss": node.gloss}
            return {
                "name": node.name,
                "parents": list(node.parents),
                **{k: v for k, v in optional.items() if v not in (None, [], "")},
            }

        return {"format": 1, "nodes": {key: entry(node) for key, node in self._nodes.items()}}

    def __getitem__(self, key: str) -> Node:
        return self._nodes[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    @cached_property
    def roots(self) -> tuple[Node, ...]:
        """Nodes without parents."""
        return tuple(node for node in self._nodes.values() if not node.parents)

    @cached_property
    def max_depth(self) -> int:
        """Depth of the deepest node."""
        return max(node.depth for node in self._nodes.values())

    def ancestors(self, key: str) -> frozenset[str]:
        """Keys of all nodes above `key`, without itself."""
        found: set[str] = set()
        todo = list(self[key].parents)
        while todo:
            parent = todo.pop()
            if parent not in found:
                found.add(parent)
                todo.extend(self[parent].parents)
        return frozenset(found)

    def paths_to_root(self, key: str) -> tuple[tuple[str, ...], ...]:
        """All paths from `key` (first) up to a root (last), sorted."""
        parents = self[key].parents
        if not parents:
            return ((key,),)
        return tuple(sorted((key, *path) for parent in parents for path in self.paths_to_root(parent)))

    def is_redundant(self, key: str) -> bool:
        """Whether the node only repeats the class set of its single child (a chain that a tree view folds)."""
        node = self[key]
        return len(node.children) == 1 and self[node.children[0]].classes == node.classes

    def cut(self, depth: int) -> tuple[Node, ...]:
        """The nodes at a depth, with the classes that end higher standing for themselves.

        Depth is the longest path from a root. A class that no node of that depth holds is represented by its
        own node. Nodes may overlap where the graph is not a tree.

        Parameters
        ----------
        depth : int
            From 0 (the root) to `max_depth`.

        Returns
        -------
        tuple of Node
            Sorted by key.
        """
        level = [node for node in self._nodes.values() if node.depth == depth and node.classes]
        covered = frozenset(i for node in level for i in node.classes)
        ends = [self[key] for index, key in self.by_class.items() if index not in covered]
        return tuple(sorted({node.key: node for node in (*level, *ends)}.values(), key=lambda node: node.key))

    @cached_property
    def incidence(self) -> "csr_matrix":
        """Sparse 0/1 matrix (nodes, classes) in iteration order; times p(y|x) it gives every p(node|x)."""
        from scipy.sparse import csr_matrix  # a tenth of a second, off the start-up path

        sizes = [len(node.classes) for node in self._nodes.values()]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.concatenate([node.classes.indices for node in self._nodes.values()])
        return csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(self), self.n_classes))

    def probabilities(self, class_probabilities: NDArray[np.floating[Any]]) -> dict[str, float]:
        """p(node|x) of every node.

        Parameters
        ----------
        class_probabilities : ndarray, (C,)

        Returns
        -------
        dict of key to float
        """
        values: NDArray[np.float64] = self.incidence @ np.asarray(class_probabilities, dtype=np.float64)
        return dict(zip(self._nodes, values.tolist(), strict=True))


class SupersetTable:
    """The superset of every class (paper, section 5.3 and supplement).

    A class's superset is everything below its most specific listed ancestor: the one fewest steps up, then the one
    with fewer classes, then the lower key (a minivan is a car, one step up, not a truck, three). A class without a
    listed ancestor stands alone.

    Parameters
    ----------
    hierarchy : Hierarchy or None
    keys : iterable of str
        The listed nodes; keys that the hierarchy lacks are ignored.
    """

    def __init__(self, hierarchy: Hierarchy | None, keys: Iterable[str] = ()) -> None:
        self.keys = frozenset(keys) & frozenset(hierarchy or ())
        self._node_of: dict[int, Node] = {}
        if hierarchy is None:
            return
        for key in hierarchy:
            index = hierarchy[key].class_index
            if index is not None and (node := _nearest_at_or_above(hierarchy, key, self.keys)):
                self._node_of[index] = node

    def __getitem__(self, index: int) -> ClassSet:
        """The superset of class `index`; the class alone where none is listed."""
        node = self._node_of.get(index)
        return node.classes if node else ClassSet([index])

    def node(self, index: int) -> Node | None:
        """The listed node whose classes are the superset of class `index`, or None."""
        return self._node_of.get(index)


def _nearest_at_or_above(hierarchy: Hierarchy, start: str, keys: frozenset[str]) -> Node | None:
    level = {start}
    while level:
        if found := level & keys:
            return min((hierarchy[key] for key in found), key=lambda node: (len(node.classes), node.key))
        level = {parent for key in level for parent in hierarchy[key].parents}
    return None


def _link(entries: Mapping[str, _Entry], n_classes: int) -> dict[str, Node]:
    for key, entry in entries.items():
        for parent in entry.parents:
            if parent not in entries:
                raise HierarchyError(f"node {key} ({entry.name}) has the parent {parent}, which doesn't exist")
            entries[parent].children.append(key)
    owners: dict[int, str] = {}
    for key, entry in entries.items():
        index = entry.class_index
        if index is None:
            continue
        if not 0 <= index < n_classes:
            raise HierarchyError(f"node {key} ({entry.name}) names class {index}, but there are {n_classes} classes")
        if owners.setdefault(index, key) != key:
            raise HierarchyError(f"nodes {owners[index]} and {key} both claim class {index}")
    try:
        order = tuple(TopologicalSorter({key: entry.parents for key, entry in entries.items()}).static_order())
    except CycleError as error:
        cycle = " -> ".join(str(key) for key in error.args[1])
        raise HierarchyError(f"the hierarchy has a cycle: {cycle}") from error

    depth: dict[str, int] = {}
    for key in order:
        depth[key] = max((depth[parent] + 1 for parent in entries[key].parents), default=0)
    below: dict[str, frozenset[int]] = {}
    for key in reversed(order):
        own = entries[key].class_index
        below[key] = frozenset(() if own is None else (own,)).union(*[below[c] for c in entries[key].children])
    return {
        key: Node(
            key=key,
            name=entries[key].name,
            parents=entries[key].parents,
            children=tuple(sorted(set(entries[key].children))),
            classes=ClassSet.of_valid(below[key]),
            depth=depth[key],
            class_index=entries[key].class_index,
            synonyms=entries[key].synonyms,
            gloss=entries[key].gloss,
        )
        for key in sorted(order, key=lambda k: (depth[k], k))
    }
