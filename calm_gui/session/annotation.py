"""Superset annotation, as the paper did it: walk the hierarchy breadth first and mark each node (supplement)."""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from calm_gui.core.hierarchy import Hierarchy, Node
from calm_gui.errors import DataError, why_unreadable
from calm_gui.model.files import read_bounded, write_text

__all__ = ["Annotation", "Mark", "Progress"]

Mark = Literal["hom", "het"]
FORMAT = 1
_MAX_BYTES = 50_000_000


@dataclass(frozen=True)
class Progress:
    """How far an annotation is.

    Attributes
    ----------
    settled : int
        Classes whose superset is decided.
    total : int
        All classes.
    supersets : int
        Nodes marked *hom* that hold at least two classes.
    """

    settled: int
    total: int
    supersets: int


class Annotation:
    """Marks of nodes: *hom* where all classes below share one structure of parts, *het* where they don't.

    Nodes below a *hom* node aren't asked for. Classes themselves need no mark: they stand alone.

    Parameters
    ----------
    hierarchy : Hierarchy
    homogeneous : iterable of str
        Nodes that are *hom* from the start (an existing superset table); everything above them is *het*.
    """

    def __init__(self, hierarchy: Hierarchy, homogeneous: "frozenset[str] | tuple[str, ...]" = ()) -> None:
        self.hierarchy = hierarchy
        self._marks: dict[str, Mark] = {}
        self._history: list[str] = []
        for key in homogeneous:
            if key in hierarchy:
                self._marks[key] = "hom"
                for above in hierarchy.ancestors(key):
                    self._marks.setdefault(above, "het")

    @property
    def marks(self) -> dict[str, Mark]:
        """All marks by node."""
        return dict(self._marks)

    @property
    def supersets(self) -> tuple[str, ...]:
        """Nodes marked *hom* with at least two classes: the superset table."""
        return tuple(
            sorted(k for k, mark in self._marks.items() if mark == "hom" and len(self.hierarchy[k].classes) > 1)
        )

    def _open_nodes(self) -> "list[Node]":
        """Nodes that still want a mark, breadth first, each once."""
        found: dict[str, Node] = {}
        todo = deque(node.key for node in self.hierarchy.roots)
        seen = set(todo)
        while todo:
            node = self.hierarchy[todo.popleft()]
            mark = self._marks.get(node.key)
            if mark == "hom" or len(node.classes) < 2:
                continue
            if mark is None:
                found[node.key] = node
                continue
            for child in node.children:
                if child not in seen:
                    seen.add(child)
                    todo.append(child)
        return list(found.values())

    @property
    def current(self) -> Node | None:
        """The node to be marked next, or None when all is decided."""
        waiting = self._open_nodes()
        return waiting[0] if waiting else None

    @property
    def progress(self) -> Progress:
        """How many classes are decided."""
        undecided = {i for node in self._open_nodes() for i in node.classes}
        total = self.hierarchy.n_classes
        return Progress(total - len(undecided), total, len(self.supersets))

    def mark(self, key: str, mark: Mark) -> None:
        """Mark a node.

        Raises
        ------
        DataError
            If the hierarchy has no such node.
        """
        if key not in self.hierarchy:
            raise DataError(f"the hierarchy has no node {key}")
        self._history.append(key)
        self._marks[key] = mark

    def undo(self) -> str | None:
        """Take back the last mark; its node, or None if there was none."""
        if not self._history:
            return None
        key = self._history.pop()
        self._marks.pop(key, None)
        return key

    def save(self, path: str | Path, inputs: Iterable[str] = ()) -> None:
        """Write the marks as JSON, but over none of `inputs`; errors as for `calm_gui.model.files.atomic_path`."""
        data = {"format": FORMAT, "marks": dict(sorted(self._marks.items())), "history": self._history}
        write_text(path, json.dumps(data, indent=1), overwrite=True, inputs=inputs)

    @classmethod
    def load(cls, path: str | Path, hierarchy: Hierarchy) -> "Annotation":
        """Read marks that `save` wrote, for the same hierarchy.

        Raises
        ------
        DataError
            If the file isn't one, or marks nodes that the hierarchy lacks (the first few are named).
        """
        path = Path(path)
        try:
            data = json.loads(read_bounded(path, _MAX_BYTES, DataError, "annotations"))
            marks, history = data["marks"], data.get("history", [])
            usable = (
                isinstance(marks, dict)
                and all(mark in ("hom", "het") for mark in marks.values())
                and isinstance(history, list)
                and all(isinstance(key, str) for key in history)
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"{path.name} isn't a superset annotation: {why_unreadable(error)}") from error
        if not usable:
            raise DataError(f"{path.name} isn't a superset annotation: marks must be hom or het")
        unknown = [key for key in marks if key not in hierarchy]
        if unknown:
            raise DataError(
                f"{path.name} marks {len(unknown)} nodes that this hierarchy lacks: {', '.join(unknown[:3])}"
            )
        annotation = cls(hierarchy)
        annotation._marks = dict(marks)
        annotation._history = [key for key in history if key in marks]
        return annotation
