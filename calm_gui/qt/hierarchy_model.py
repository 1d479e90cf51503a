"""The hierarchy as a tree model: a node appears under each of its parents and has one state everywhere.

Searching and sorting are done here, on lists, and not by a proxy model: a proxy asks Python for every row many times
over, which takes ten times as long (docs/decisions/0011).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from calm_gui.core.classes import ClassSet, Searchable, fold_text
from calm_gui.core.hierarchy import Hierarchy, Node

__all__ = ["KEY_ROLE", "NAME", "PROBABILITY", "PROBABILITY_ROLE", "SIZE", "HierarchyModel", "Row"]

NAME, SIZE, PROBABILITY = range(3)
KEY_ROLE = Qt.ItemDataRole.UserRole
PROBABILITY_ROLE = Qt.ItemDataRole.UserRole + 1
_HEADERS = ("concept", "n", "p(node|x)")

Index = QModelIndex | QPersistentModelIndex


@dataclass(eq=False)
class _Item:
    """A place of a node in the unfolded graph."""

    node: Node
    parent: "_Item | None"
    chain: tuple[str, ...]
    depth: int = 0
    children: list["_Item"] = field(default_factory=list)
    shown: list["_Item"] = field(default_factory=list)
    row: int = 0


class Row(NamedTuple):
    """What a row shows: of its node name, number of classes, probability and tick; its depth; if rows hang below."""

    name: str
    size: int
    probability: float | None
    tick: Qt.CheckState
    depth: int
    has_children: bool


class HierarchyModel(QAbstractItemModel):
    """Nodes, their numbers of classes, p(node|x) and ticks; folded, searched and sorted.

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
    target : ClassSet
        What ticks tell of.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hierarchy: Hierarchy | None = None
        self._top = _Item(Node("", "", (), (), ClassSet(), 0), None, ())
        self._places: dict[str, list[_Item]] = {}
        self._probabilities: dict[str, float] = {}
        self.target = ClassSet()
        self._ticks: dict[str, Qt.CheckState] = {}
        self._texts: dict[str, Searchable] = {}
        self._hits: frozenset[str] | None = None
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
        self._places, self._ticks, self._hits = {}, {}, None
        self._top.children = [self._grown(node.key, None) for node in hierarchy.roots] if hierarchy else []
        self._arrange(self._top)
        self.endResetModel()

    def _grown(self, key: str, parent: _Item | None) -> _Item:
        assert self._hierarchy is not None
        chain = [key]
        while self.folded and self._hierarchy.is_redundant(chain[-1]):
            chain.append(self._hierarchy[chain[-1]].children[0])
        node = self._hierarchy[chain[-1]]
        item = _Item(node, parent, tuple(chain), parent.depth + 1 if parent else 0)
        for each in chain:
            self._places.setdefault(each, []).append(item)
        item.children = [self._grown(child, item) for child in node.children]
        return item

    def show(self, probabilities: dict[str, float], target: ClassSet) -> None:
        """Take other probabilities and another target. No signal is sent: all rows change, and views repaint."""
        self._probabilities, self.target = probabilities, target
        self._ticks = {}

    def tick_anew(self, target: ClassSet, rows: list[QModelIndex]) -> list[QModelIndex]:
        """Take another target; returns those of some rows whose tick has changed, for views to repaint."""
        nodes = [row.internalPointer().node for row in rows]
        before = [self._tick(node) for node in nodes]
        self.target, self._ticks = target, {}
        return [row for row, node, tick in zip(rows, nodes, before, strict=True) if self._tick(node) is not tick]

    def search(self, text: str) -> int:
        """Show only nodes whose name, synonym, wnid, description or class index match, and what is above and below.

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
            self._arrange(self._top)
            self.endResetModel()
        return len(hits) if hits is not None else 0

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
        self._arrange(self._top)
        after = [self.createIndex(i.internalPointer().row, i.column(), i.internalPointer()) for i in before]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    @property
    def sorted_by_probability(self) -> bool:
        """Whether new probabilities call for `resort`."""
        return self._sorting[0] == PROBABILITY

    def _arrange(self, item: _Item, below_hit: bool = False) -> bool:
        """Fill `shown` of an item and all below; whether the item itself is to be shown."""
        hit = below_hit or self._hits is None or not self._hits.isdisjoint(item.chain)
        shown = [child for child in item.children if self._arrange(child, hit and item is not self._top)]
        shown.sort(key=self._key(), reverse=self._sorting[1])
        for row, child in enumerate(shown):
            child.row = row
        item.shown = shown
        return hit or bool(shown)

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
        found = []
        for item in self._places.get(key, ()):
            above: _Item | None = item
            while above is not None and above in (above.parent or self._top).shown:
                above = above.parent
            if above is None:
                found.append(self.createIndex(item.row, 0, item))
        return found

    # Qt's interface

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        shown = self._below(parent)
        inside = 0 <= row < len(shown) and 0 <= column < len(_HEADERS)
        return self.createIndex(row, column, shown[row]) if inside else QModelIndex()

    def _below(self, parent: Index) -> list[_Item]:
        """What hangs below a place; only its first column has children."""
        if parent.isValid():
            return parent.internalPointer().shown if parent.column() == 0 else []
        return self._top.shown

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008
        above = index.internalPointer().parent if index.isValid() else None
        return self.createIndex(above.row, 0, above) if above else QModelIndex()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self._below(parent))

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return bool(self._below(parent))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(_HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _HEADERS[section]
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
                return self._tick(node) if column == NAME else None
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column == SIZE else None
            case x if x == KEY_ROLE:
                return node.key
            case x if x == PROBABILITY_ROLE:
                return self._probabilities.get(node.key)
            case Qt.ItemDataRole.ToolTipRole:
                return self._tool_tip(item)
            case Qt.ItemDataRole.AccessibleTextRole:
                p = self._probabilities.get(node.key)
                return f"{node.name}, {len(node.classes)} classes" + (f", probability {p:.3f}" if p is not None else "")
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
            self._tick(node),
            item.depth,
            bool(item.shown),
        )

    def _tick(self, node: Node) -> Qt.CheckState:
        tick = self._ticks.get(node.key)
        if tick is None:
            common = len(node.classes & self.target)
            full = common == len(node.classes) and common
            tick = (
                Qt.CheckState.Checked if full else Qt.CheckState.PartiallyChecked if common else Qt.CheckState.Unchecked
            )
            self._ticks[node.key] = tick
        return tick

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


def _searchable(node: Node) -> Searchable:
    return Searchable((node.name, *node.synonyms), node.key, node.gloss, node.class_index)
