"""Hierarchies: directed acyclic graphs over classes. A node stands for a set, never for a sum of children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable, fold_text
from calm_gui.errors import ClassLookupError, HierarchyError
from calm_gui.late import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEEPEST = 200
"""Steps from a root; WordNet has 19. What follows paths calls itself once for each step."""

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

    def __or__(self, other: Any) -> ClassSet:
        return self.classes | other

    def __and__(self, other: Any) -> ClassSet:
        return self.classes & other

    def __sub__(self, other: Any) -> ClassSet:
        return self.classes - other

    def __rsub__(self, other: Any) -> ClassSet:
        return other - self.classes

    __ror__, __rand__ = __or__, __and__


class _NoSuchNodeError(ClassLookupError, KeyError):
    """Raised for a key that a hierarchy lacks; mappings expect a KeyError."""


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
        For a cycle (named), an unknown parent, a class index out of range or given to two nodes, or too many levels.
    """

    def __init__(self, nodes: Mapping[str, Mapping[str, Any]], n_classes: int) -> None:
        self.n_classes = n_classes
        self._texts = {
            key: (str(node.get("name", key)), tuple(node.get("synonyms", ())), str(node.get("gloss", "")))
            for key, node in nodes.items()
        }
        self._parents = {key: tuple(sorted(set(node.get("parents", ())))) for key, node in nodes.items()}
        self._children = self._linked()
        self._own = {key: node["class"] for key, node in nodes.items() if node.get("class") is not None}
        self.by_class = self._owners()
        order = self._parents_first()
        self._depth: dict[str, int] = {}
        for key in order:
            self._depth[key] = 1 + max([self._depth[parent] for parent in self._parents[key]], default=-1)
        if self._depth and max(self._depth.values()) > _DEEPEST:
            raise HierarchyError(f"the hierarchy is {max(self._depth.values())} steps deep; {_DEEPEST} are the most")
        self._below: dict[str, frozenset[int]] = {}
        for key in reversed(order):
            sets = [self._below[child] for child in self._children[key]]
            if key in self._own:
                sets.append(frozenset((self._own[key],)))
            self._below[key] = sets[0] if len(sets) == 1 else frozenset().union(*sets)
        self._order = tuple(sorted(order, key=lambda key: (self._depth[key], key)))
        self._made: dict[str, Node] = {}

    def _linked(self) -> dict[str, list[str]]:
        """The children of each node."""
        children: dict[str, list[str]] = {key: [] for key in self._parents}
        for key, above in self._parents.items():
            for parent in above:
                if parent not in children:
                    name = self._texts[key][0]
                    raise HierarchyError(f"node {key} ({name}) has the parent {parent}, which doesn't exist")
                children[parent].append(key)
        return children

    def _owners(self) -> dict[int, str]:
        """The node of each class that has one."""
        owners: dict[int, str] = {}
        for key, index in self._own.items():
            if not 0 <= index < self.n_classes:
                name, n = self._texts[key][0], self.n_classes
                raise HierarchyError(f"node {key} ({name}) names class {index}, but there are {n} classes")
            if owners.setdefault(index, key) != key:
                raise HierarchyError(f"nodes {owners[index]} and {key} both claim class {index}")
        return owners

    def _parents_first(self) -> Sequence[str]:
        """The keys in an order in which parents come before their children; as given, if they stand so."""
        seen: set[str] = set()
        for key, above in self._parents.items():
            if not seen.issuperset(above):
                break
            seen.add(key)
        else:
            return tuple(self._parents)
        try:
            return tuple(TopologicalSorter(self._parents).static_order())
        except CycleError as error:
            cycle = " -> ".join(str(key) for key in error.args[1])
            raise HierarchyError(f"the hierarchy has a cycle: {cycle}") from error

    @classmethod
    def from_json(cls, data: Mapping[str, Any], classes: ClassTable) -> Hierarchy:
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

        return {"format": 1, "nodes": {key: entry(node) for key, node in self.items()}}

    def __getitem__(self, key: str) -> Node:
        """The node of a key, or of a name that only it has."""
        if key not in self._parents:
            key = self._key_of(key)
        if key not in self._made:  # thousands take milliseconds, and a window shows some thirty at first
            name, synonyms, gloss = self._texts[key]
            self._made[key] = Node(
                key=key,
                name=name,
                parents=self._parents[key],
                children=tuple(sorted(self._children[key])),
                classes=ClassSet.of_valid(self._below[key]),
                depth=self._depth[key],
                class_index=self._own.get(key),
                synonyms=synonyms,
                gloss=gloss,
            )
        return self._made[key]

    def _key_of(self, name: Any) -> str:
        found = [
            key
            for key, texts in self._texts.items()
            if isinstance(name, str) and fold_text(texts[0]) == fold_text(name)
        ]
        if len(found) != 1:
            several = f"names several nodes: {', '.join(found)}" if found else "is no node's key or name"
            raise _NoSuchNodeError(f"{name!r} {several}")
        return found[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __repr__(self) -> str:
        return f"<Hierarchy: {len(self)} nodes over {self.n_classes} classes>"

    def __contains__(self, key: object) -> bool:
        return key in self._parents

    @cached_property
    def _by_set(self) -> dict[ClassSet, Node]:
        return {node.classes: node for node in sorted(self.values(), key=lambda node: node.depth)}

    def node_of(self, classes: ClassSet) -> Node | None:
        """The deepest node that stands for exactly these classes, or None."""
        return self._by_set.get(classes)

    @cached_property
    def roots(self) -> tuple[Node, ...]:
        """Nodes without parents."""
        return tuple(self[key] for key in self._order if not self._parents[key])

    @cached_property
    def max_depth(self) -> int:
        """Depth of the deepest node."""
        return max(self._depth.values())

    def ancestors(self, key: str) -> frozenset[str]:
        """Keys of all nodes above `key`, without itself."""
        return self.with_ancestors([key]) - {key}

    def with_ancestors(self, keys: Iterable[str]) -> frozenset[str]:
        """Keys of some nodes and of all above them."""
        found = set(keys)
        todo = list(found)
        while todo:
            new = set(self[todo.pop()].parents) - found
            found |= new
            todo.extend(new)
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
        return len(node.children) == 1 and node.class_index is None  # which no other node can bring

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
        level = [node for node in self.values() if node.depth == depth and node.classes]
        covered = frozenset(i for node in level for i in node.classes)
        ends = [self[key] for index, key in self.by_class.items() if index not in covered]
        return tuple(sorted({node.key: node for node in (*level, *ends)}.values(), key=lambda node: node.key))

    @cached_property
    def _classes_in_turn(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
        """The classes of all nodes one after another, where each node's begin, and which nodes have any."""
        sets = [sorted(self._below[key]) for key in self._order]
        sizes = np.array([len(classes) for classes in sets], dtype=np.intp)
        indices = np.array([index for classes in sets for index in classes], dtype=np.intp)
        return indices, np.cumsum(sizes) - sizes, sizes > 0

    def probabilities(self, class_probabilities: NDArray[np.floating[Any]]) -> dict[str, float]:
        """p(node|x) of every node.

        Parameters
        ----------
        class_probabilities : ndarray, (C,)

        Returns
        -------
        dict of key to float
        """
        indices, starts, filled = self._classes_in_turn
        values = np.zeros(len(starts))
        values[filled] = np.add.reduceat(np.asarray(class_probabilities, dtype=np.float64)[indices], starts[filled])
        return dict(zip(self._order, values.tolist(), strict=True))


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
    classes : ClassTable, optional
        With them, a class may be given by its name or wnid too.
    """

    def __init__(
        self, hierarchy: Hierarchy | None, keys: Iterable[str] = (), classes: ClassTable | None = None
    ) -> None:
        self.keys = frozenset(keys) & frozenset(hierarchy or ())
        self._hierarchy = hierarchy
        self._classes = classes
        self._node_of: dict[int, Node | None] = {}

    def __getitem__(self, item: int | str | ClassInfo | Node) -> ClassSet:
        """The superset of a class; the class alone where none is listed.

        Raises
        ------
        ClassLookupError
            If there is no such class, or several have that name.
        """
        index = self._index(item)
        node = self.node(index)
        return node.classes if node else ClassSet([index])

    def _index(self, item: Any) -> int:
        if isinstance(item, Node):
            item = item.class_index if item.class_index is not None else item.key
        if isinstance(item, ClassInfo):
            item = item.index
        if self._classes is not None:
            return self._classes[item].index
        if isinstance(item, (bool, str)) or not hasattr(item, "__index__"):
            raise ClassLookupError(f"{item!r} is no index of a class")
        return ClassSet([item]).indices.item()

    def __repr__(self) -> str:
        return f"<SupersetTable: {len(self.keys)} groups>"

    def node(self, index: int) -> Node | None:
        """The listed node whose classes are the superset of class `index`, or None."""
        if index not in self._node_of:
            self._node_of[index] = self._nearest(index)
        return self._node_of[index]

    def _nearest(self, index: int) -> Node | None:
        if self._hierarchy is None or index not in self._hierarchy.by_class:
            return None
        return _nearest_at_or_above(self._hierarchy, self._hierarchy.by_class[index], self.keys)


def _nearest_at_or_above(hierarchy: Hierarchy, start: str, keys: frozenset[str]) -> Node | None:
    level = {start}
    while level:
        if found := level & keys:
            return min((hierarchy[key] for key in found), key=lambda node: (len(node.classes), node.key))
        level = {parent for key in level for parent in hierarchy[key].parents}
    return None
