"""The hierarchy as a tree model: a node appears under each of its parents and has one mark everywhere.

Searching and sorting are done here, on lists, and not by a proxy model: a proxy asks Python for every row many times
over, which takes ten times as long (docs/decisions/0004).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from calm_gui.core.classes import ClassSet, Searchable, fold_text
from calm_gui.core.hierarchy import Hierarchy, Node
from calm_gui.qt.classes.mark import Mark, mark_of
from calm_gui.qt.widgets import numbers

__all__ = ["KEY_ROLE", "MARK_ROLE", "NAME", "PROBABILITY", "PROBABILITY_ROLE", "SIZE", "HierarchyModel", "Row"]

NAME, SIZE, PROBABILITY = range(3)
KEY_ROLE = Qt.ItemDataRole.UserRole
PROBABILITY_ROLE = Qt.ItemDataRole.UserRole + 1
MARK_ROLE = Qt.ItemDataRole.UserRole + 2
_HEADERS = ("class or group, classes in it", "n", "p")
_TIPS = (
    "The name, and after it the number of classes of a group. Marks: the letter where it is A or B, a dot where the "
    "set holds it, a ring where the set holds some of it",
    "Number of classes",
    "Probability of the class or group, p(A|x)",
)

Index = QModelIndex | QPersistentModelIndex


@dataclass(eq=False, repr=False, slots=True)
class _Item:
    """A place of a node in the unfolded graph. What hangs below is made when it's first asked for."""

    node: Node
    parent: "_Item | None"
    chain: tuple[str, ...]
    depth: int = 0
    children: list["_Item"] | None = None
    shown: list["_Item"] | None = None
    row: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """Keys from the root down to this place."""
        return (*(self.parent.path if self.parent else ()), self.chain[0])


class Row(NamedTuple):
    """What a row shows: of its node name, number of classes, probability and mark; its depth; if rows hang below."""

    name: str
    size: int
    probability: float | None
    mark: Mark
    depth: int
    has_children: bool


class HierarchyModel(QAbstractItemModel):
    """Nodes, their numbers of classes, p(node|x) and marks; folded, searched and sorted.

    It has more than 30 methods, since Qt asks a dozen of an item model.

    Roles
    -----
    KEY_ROLE : str
        Key of the node.
    PROBABILITY_ROLE : float or None
        p(node|x).

    Attributes
    ----------
    folded : bool
        Whether chains of nodes that repeat one class set appear as one row, named by the last.
    target, contrast : ClassSet
        What marks tell of.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hierarchy: Hierarchy | None = None
        self._top = _root(None)
        self._probabilities: dict[str, float] = {}
        self.target = ClassSet()
        self.contrast = ClassSet()
        self._marks: dict[str, Mark] = {}
        self._texts: dict[str, Searchable] = {}
        self._hits: frozenset[str] | None = None
        self._ways: frozenset[tuple[str, str]] = frozenset()
        self._sorting = (NAME, False)
        self.folded = True

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy that is shown."""
        return self._hierarchy

    def set_hierarchy(self, hierarchy: Hierarchy | None, folded: bool = True) -> None:
        """Show another hierarchy, or the same one folded or unfolded; a search ends."""
        self.beginResetModel()
        if hierarchy is not self._hierarchy:
            self._texts = {}
        self._hierarchy, self.folded = hierarchy, folded
        self._marks, self._hits = {}, None
        self._top = _root(hierarchy)
        self.endResetModel()

    def _children(self, item: _Item) -> list[_Item]:
        """All places right below a place, shown or not."""
        if item.children is None:
            above = None if item is self._top else item
            item.children = [self._made(key, above) for key in item.node.children]
        return item.children

    def _made(self, key: str, parent: _Item | None) -> _Item:
        assert self._hierarchy is not None
        chain = [key]
        while self.folded and self._hierarchy.is_redundant(chain[-1]):
            chain.append(self._hierarchy[chain[-1]].children[0])
        return _Item(self._hierarchy[chain[-1]], parent, tuple(chain), parent.depth + 1 if parent else 0)

    def _shown(self, item: _Item) -> list[_Item]:
        """The places right below a place that a search leaves, in order."""
        if item.shown is None:
            all_of_them = self._hits is None or self._within_hit(item)
            item.shown = [c for c in self._children(item) if all_of_them or (item.node.key, c.chain[0]) in self._ways]
            item.shown.sort(key=self._key(), reverse=self._sorting[1])
            for row, child in enumerate(item.shown):
                child.row = row
        return item.shown

    def _within_hit(self, item: _Item | None) -> bool:
        """Whether a search found what stands at a place or somewhere above it."""
        assert self._hits is not None
        while item is not None:
            if not self._hits.isdisjoint(item.chain):
                return True
            item = item.parent
        return False

    def _forget_order(self) -> None:
        """Let each place find anew what is shown below it."""
        todo = [self._top]
        while todo:
            item = todo.pop()
            item.shown = None
            todo.extend(item.children or ())

    def show(self, probabilities: dict[str, float], target: ClassSet, contrast: ClassSet) -> None:
        """Take other probabilities and other sets. No signal is sent: all rows change, and views repaint."""
        self._probabilities, self.target, self.contrast = probabilities, target, contrast
        self._marks = {}

    def mark_anew(self, target: ClassSet, contrast: ClassSet, rows: list[QModelIndex]) -> list[QModelIndex]:
        """Take other sets; returns those of some rows whose mark has changed, for views to repaint."""
        before = [(row, self._mark(row.internalPointer().node)) for row in rows]
        self.target, self.contrast, self._marks = target, contrast, {}
        return [row for row, mark in before if self._mark(row.internalPointer().node) != mark]

    def search(self, text: str) -> int:
        """Show only nodes whose name, synonym, wnid, description or class index match, and what is above and below.

        A node is shown at one place, however many parents it has.

        Parameters
        ----------
        text : str
            See `Searchable.matches`; a blank one shows all.

        Returns
        -------
        int
            Number of nodes found.
        """
        needle = fold_text(text)
        hits = None
        if needle and self._hierarchy is not None:
            if not self._texts:  # made at the first search, which leaves the start free of it
                self._texts = {node.key: _searchable(node) for node in self._hierarchy.values()}
            hits = frozenset(key for key, known in self._texts.items() if known.matches(needle))
        if hits != self._hits:
            self.beginResetModel()
            self._hits = hits
            self._ways = self._ways_to(hits or frozenset())
            self._forget_order()
            self.endResetModel()
        return len(hits) if hits is not None else 0

    def _ways_to(self, hits: frozenset[str]) -> frozenset[tuple[str, str]]:
        """Steps (from, to) down to each hit along one way, so that what has many places is found once."""
        ways: set[tuple[str, str]] = set()
        todo, done = list(hits), set(hits)
        while todo and self._hierarchy is not None:
            key = todo.pop()
            parents = self._hierarchy[key].parents
            above = next((parent for parent in parents if parent in done), parents[0]) if parents else ""
            ways.add((above, key))
            if above and above not in done:
                done.add(above)
                todo.append(above)
        return frozenset(ways)

    def is_hit(self, key: str) -> bool:
        """Whether the last search found a node."""
        return self._hits is not None and key in self._hits

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorting = (column, order == Qt.SortOrder.DescendingOrder)
        self.resort()

    def resort(self) -> None:
        """Sort again, after probabilities have changed."""
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        self._forget_order()
        after = [self._index_of(i.internalPointer(), i.column()) for i in before]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    @property
    def sorted_by_probability(self) -> bool:
        """Whether new probabilities call for `resort`."""
        return self._sorting[0] == PROBABILITY

    def _key(self) -> Callable[[_Item], Any]:
        match self._sorting[0]:
            case x if x == SIZE:
                return lambda item: len(item.node.classes)
            case x if x == PROBABILITY:
                return lambda item: self._probabilities.get(item.node.key, 0.0)
            case _:
                return lambda item: (item.node.name.casefold(), item.node.key)

    def node(self, index: Index) -> Node | None:
        """The node at a place."""
        return index.internalPointer().node if index.isValid() else None

    def places(self, key: str) -> list[QModelIndex]:
        """Where a node stands, folded or not, as far as a search shows it."""
        found = sorted(self._items(key), key=lambda item: item.path)
        return [self._index_of(item) for item in found if self._in_sight(item)]

    def _items(self, key: str) -> list[_Item]:
        """All places of a node, in any order."""
        if self._hierarchy is None or key not in self._hierarchy:
            return []
        parents = self._hierarchy[key].parents
        above = [item for parent in parents for item in self._items(parent)] if parents else [self._top]
        folded = [item for item in above if key in item.chain]
        return folded + [
            child for item in above if item not in folded for child in self._children(item) if child.chain[0] == key
        ]

    def _in_sight(self, item: _Item) -> bool:
        """Whether a search shows a place."""
        above = item.parent or self._top
        return item in self._shown(above) and (above is self._top or self._in_sight(above))

    def _index_of(self, item: _Item, column: int = NAME) -> QModelIndex:
        self._shown(item.parent or self._top)  # which numbers the rows
        return self.createIndex(item.row, column, item)

    # Qt's interface

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        shown = self._below(parent)
        inside = 0 <= row < len(shown) and 0 <= column < len(_HEADERS)
        return self.createIndex(row, column, shown[row]) if inside else QModelIndex()

    def _below(self, parent: Index) -> list[_Item]:
        """What hangs below a place; only its first column has children."""
        if parent.isValid():
            return self._shown(parent.internalPointer()) if parent.column() == 0 else []
        return self._shown(self._top)

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008
        above = index.internalPointer().parent if index.isValid() else None
        return self._index_of(above) if above else QModelIndex()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self._below(parent))

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return bool(self._below(parent))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(_HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _HEADERS[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TIPS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == PROBABILITY:
            return _RIGHT
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return _NAME_FLAGS if index.column() == NAME else _FLAGS

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item: _Item = index.internalPointer()
        node, column = item.node, index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return node.name if column == NAME else len(node.classes) if column == SIZE else None
            case Qt.ItemDataRole.CheckStateRole:
                return self._mark(node).a if column == NAME else None
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column == SIZE else None
            case x if x == KEY_ROLE:
                return node.key
            case x if x == PROBABILITY_ROLE:
                return self._probabilities.get(node.key)
            case x if x == MARK_ROLE:
                return self._mark(node)
            case Qt.ItemDataRole.ToolTipRole:
                return self._tool_tip(item)
            case Qt.ItemDataRole.AccessibleTextRole:
                p = self._probabilities.get(node.key)
                words = f"{node.name}, {len(node.classes)} classes"
                return words if p is None else f"{words}, probability {numbers.probability(p)}"
            case _:
                return None

    def row(self, index: Index) -> Row:
        """All that a row shows, at once: a view that asks for each role of each column takes much longer."""
        item: _Item = index.internalPointer()
        node = item.node
        return Row(
            node.name,
            len(node.classes),
            self._probabilities.get(node.key),
            self._mark(node),
            item.depth,
            bool(self._shown(item)),
        )

    def _mark(self, node: Node) -> Mark:
        mark = self._marks.get(node.key)
        if mark is None:
            mark = self._marks[node.key] = mark_of(node.classes, self.target, self.contrast)
        return mark

    def _tool_tip(self, item: _Item) -> str:
        assert self._hierarchy is not None
        node = item.node
        lines = [f"<b>{node.name}</b> · {node.key}"]
        if node.class_index is not None:
            lines[0] += f" · class {node.class_index}"
        if node.synonyms:
            lines.append("also: " + ", ".join(node.synonyms))
        if node.gloss:
            lines.append(f"<i>{node.gloss}</i>")
        if len(item.chain) > 1:
            lines.append("folded: " + " › ".join(self._hierarchy[key].name for key in item.chain[:-1]))
        if len(node.parents) > 1:
            lines.append("under: " + ", ".join(self._hierarchy[key].name for key in node.parents))
        return "<p>" + "<br>".join(lines) + "</p>"


_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
_NAME_FLAGS = _FLAGS | Qt.ItemFlag.ItemIsUserCheckable
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


def _root(hierarchy: Hierarchy | None) -> _Item:
    """What the topmost rows hang from; itself it isn't shown."""
    keys = tuple(node.key for node in hierarchy.roots) if hierarchy else ()
    return _Item(Node("", "", (), keys, ClassSet(), 0), None, ())


def _searchable(node: Node) -> Searchable:
    return Searchable((node.name, *node.synonyms), node.key, node.gloss, node.class_index)
