"""The hierarchy as a tree model: a node appears under each of its parents and has one state everywhere."""

from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QSortFilterProxyModel, Qt

from calm_gui.core.classes import ClassSet, fold_text
from calm_gui.core.hierarchy import Hierarchy, Node

__all__ = ["KEY_ROLE", "NAME", "PROBABILITY", "PROBABILITY_ROLE", "SIZE", "HierarchyFilter", "HierarchyModel"]

NAME, SIZE, PROBABILITY = range(3)
KEY_ROLE = Qt.ItemDataRole.UserRole
PROBABILITY_ROLE = Qt.ItemDataRole.UserRole + 1
_HEADERS = ("concept", "n", "p(node|x)")

Index = QModelIndex | QPersistentModelIndex


@dataclass(eq=False)
class _Item:
    """A place of a node in the unfolded graph."""

    key: str
    parent: "_Item | None"
    row: int
    children: list["_Item"] | None = None
    chain: tuple[str, ...] = field(default=())


class HierarchyModel(QAbstractItemModel):
    """Nodes, their numbers of classes, p(node|x) and ticks.

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
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hierarchy: Hierarchy | None = None
        self._roots: list[_Item] = []
        self._places: dict[str, list[_Item]] = {}
        self._probabilities: dict[str, float] = {}
        self._target = ClassSet()
        self._ticks: dict[str, Qt.CheckState] = {}
        self.folded = True

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy that is shown."""
        return self._hierarchy

    def set_hierarchy(self, hierarchy: Hierarchy | None, folded: bool = True) -> None:
        """Show another hierarchy, or the same one folded or unfolded."""
        self.beginResetModel()
        self._hierarchy = hierarchy
        self.folded = folded
        self._places = {}
        self._ticks = {}
        roots = [node.key for node in hierarchy.roots] if hierarchy else []
        self._roots = [self._item(key, None, row) for row, key in enumerate(roots)]
        todo = list(self._roots)
        while todo:  # the whole tree: filters and "show me this node" need every place
            todo.extend(self._children(todo.pop()))
        self.endResetModel()

    def _item(self, key: str, parent: _Item | None, row: int) -> _Item:
        assert self._hierarchy is not None
        chain = [key]
        while self.folded and self._hierarchy.is_redundant(chain[-1]):
            chain.append(self._hierarchy[chain[-1]].children[0])
        item = _Item(chain[-1], parent, row, None, tuple(chain))
        for each in chain:
            self._places.setdefault(each, []).append(item)
        return item

    def _children(self, item: _Item) -> list[_Item]:
        if item.children is None:
            assert self._hierarchy is not None
            keys = self._hierarchy[item.key].children
            item.children = [self._item(key, item, row) for row, key in enumerate(keys)]
        return item.children

    def show(self, probabilities: dict[str, float], target: ClassSet) -> None:
        """Take other probabilities and another target. No signal is sent: all rows change, and views repaint."""
        self._probabilities, self._target = probabilities, target
        self._ticks = {}

    def node(self, index: Index) -> Node | None:
        """The node at a place."""
        if not index.isValid() or self._hierarchy is None:
            return None
        return self._hierarchy[index.internalPointer().key]

    def places(self, key: str) -> list[QModelIndex]:
        """Where a node stands, folded or not."""
        return [self.createIndex(item.row, 0, item) for item in self._places.get(key, ())]

    # Qt's interface

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        siblings = self._children(parent.internalPointer()) if parent.isValid() else self._roots
        if 0 <= row < len(siblings) and 0 <= column < len(_HEADERS):
            return self.createIndex(row, column, siblings[row])
        return QModelIndex()

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008
        above = index.internalPointer().parent if index.isValid() else None
        return self.createIndex(above.row, 0, above) if above else QModelIndex()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if parent.column() > 0:
            return 0
        return len(self._children(parent.internalPointer())) if parent.isValid() else len(self._roots)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(_HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _HEADERS[section]
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == NAME else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = self.node(index)
        if node is None:
            return None
        if role == KEY_ROLE:
            return node.key
        if role == PROBABILITY_ROLE:
            return self._probabilities.get(node.key)
        column = index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                if column == NAME:
                    return node.name
                if column == SIZE:
                    return len(node.classes)
            case Qt.ItemDataRole.TextAlignmentRole if column == SIZE:
                return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            case Qt.ItemDataRole.CheckStateRole if column == NAME:
                return self._tick(node)
            case Qt.ItemDataRole.ToolTipRole:
                return self._tool_tip(node, index.internalPointer().chain)
            case Qt.ItemDataRole.AccessibleTextRole:
                p = self._probabilities.get(node.key)
                return f"{node.name}, {len(node.classes)} classes" + (f", probability {p:.3f}" if p is not None else "")
            case _:
                pass
        return None

    def _tick(self, node: Node) -> Qt.CheckState:
        tick = self._ticks.get(node.key)
        if tick is None:
            common = len(node.classes & self._target)
            full = common == len(node.classes) and common
            tick = (
                Qt.CheckState.Checked if full else Qt.CheckState.PartiallyChecked if common else Qt.CheckState.Unchecked
            )
            self._ticks[node.key] = tick
        return tick

    def _tool_tip(self, node: Node, chain: tuple[str, ...]) -> str:
        assert self._hierarchy is not None
        lines = [f"<b>{node.name}</b> · {node.key}"]
        if node.class_index is not None:
            lines[0] += f" · class {node.class_index}"
        if node.synonyms:
            lines.append("also: " + ", ".join(node.synonyms))
        if node.gloss:
            lines.append(f"<i>{node.gloss}</i>")
        if len(chain) > 1:
            lines.append("folded: " + " › ".join(self._hierarchy[key].name for key in chain[:-1]))
        if len(node.parents) > 1:
            lines.append("also under: " + ", ".join(self._hierarchy[key].name for key in node.parents))
        return "<p style='white-space:pre-wrap'>" + "<br>".join(lines) + "</p>"


class HierarchyFilter(QSortFilterProxyModel):
    """Keeps what a search finds, with its ancestors and what lies below it, and sorts siblings."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hits: frozenset[str] | None = None
        self.setRecursiveFilteringEnabled(True)
        self.setAutoAcceptChildRows(True)
        self.setDynamicSortFilter(False)

    def search(self, text: str) -> int:
        """Show only nodes whose name, synonym, wnid, gloss or class index match.

        Parameters
        ----------
        text : str
            Empty shows all.

        Returns
        -------
        int
            Number of nodes found.
        """
        model = self.sourceModel()
        assert isinstance(model, HierarchyModel)
        needle = fold_text(text)
        hits = None
        if needle and model.hierarchy:
            hits = frozenset(node.key for node in model.hierarchy.values() if _matches(node, needle))
        if hits != self._hits:
            self.beginFilterChange()
            self._hits = hits
            self.endFilterChange()
        return len(hits) if hits is not None else 0

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        if self._hits is None:
            return True
        model = self.sourceModel()
        return not self._hits.isdisjoint(model.index(row, 0, parent).internalPointer().chain)

    def lessThan(self, left: Index, right: Index) -> bool:
        model = self.sourceModel()
        assert isinstance(model, HierarchyModel)
        a, b = model.node(left), model.node(right)
        assert a is not None and b is not None
        match left.column():
            case x if x == SIZE:
                return len(a.classes) < len(b.classes)
            case x if x == PROBABILITY:
                return (left.data(PROBABILITY_ROLE) or 0.0) < (right.data(PROBABILITY_ROLE) or 0.0)
            case _:
                return (a.name.casefold(), a.key) < (b.name.casefold(), b.key)


def _matches(node: Node, needle: str) -> bool:
    return (
        needle in fold_text(node.name)
        or needle == node.key
        or needle == str(node.class_index)
        or any(needle in fold_text(s) for s in node.synonyms)
        or (len(needle) > 3 and needle in fold_text(node.gloss))
    )
