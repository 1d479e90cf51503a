"""Hierarchies from files: our JSON, or a CSV of child,parent rows. Errors name the line."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from calm_gui.core.classes import ClassTable, fold_text
from calm_gui.core.comparison import class_named
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import HierarchyError
from calm_gui.model.files import read_bounded, write_text

__all__ = ["read_hierarchy", "write_hierarchy"]

_MAX_BYTES = 50_000_000


def read_hierarchy(path: str | Path, classes: ClassTable) -> Hierarchy:
    """Read a hierarchy over the classes of a checkpoint.

    A JSON file holds ``{"nodes": {key: {"name", "parents": [keys], "class"?: index}}}``; a node that has the name of
    another class than its index is that class. Any other file holds rows
    ``child,parent`` (comma, tab or blank between them; ``#`` begins a comment), where a name, wnid or index of a class
    stands for that class. Rows may also be ``parent,child``, as WordNet's is-a files are: a first line says so, or the
    classes do, which stand at the lower ends.

    Parameters
    ----------
    path : str or Path
    classes : ClassTable

    Returns
    -------
    Hierarchy
        Holds every class of the checkpoint, or the error lists those that are missing.

    Raises
    ------
    HierarchyError
        With line and reason: unreadable file, malformed row, cycle, unknown parent, class left out or named twice.
    """
    path = Path(path)
    try:
        text = read_bounded(path, _MAX_BYTES, HierarchyError, "hierarchies").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HierarchyError(f"{path.name} isn't UTF-8 text (byte {error.start})") from error
    if text.lstrip().startswith("{"):
        return _from_json(text, path.name, classes)
    return _from_rows(text, path.name, classes)


def _from_json(text: str, name: str, classes: ClassTable) -> Hierarchy:
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise HierarchyError(f"{name} isn't valid JSON: {error}") from error
    nodes = data.get("nodes") if isinstance(data, dict) else None
    if not isinstance(nodes, dict):
        raise HierarchyError(f'{name} has no "nodes" object')
    for key, node in nodes.items():
        parents = node.get("parents", []) if isinstance(node, dict) else None
        index = node.get("class") if isinstance(node, dict) else None
        if not isinstance(parents, list) or not all(isinstance(p, str) for p in parents):
            raise HierarchyError(f'{name}: node {key} needs "parents", a list of keys')
        if index is not None and not isinstance(index, int):
            raise HierarchyError(f"{name}: the class of node {key} must be an index, not {index!r}")
    data = {**data, "nodes": _with_places_here(nodes, classes, name)}
    return _complete(Hierarchy.from_json(data, classes), classes, name)


def _with_places_here(nodes: Mapping[str, Any], classes: ClassTable, name: str) -> dict[str, Any]:
    """Nodes with the index that their class has here, by its name; of what no class is called the index counts.

    The file may be of a checkpoint with the same classes in another order.
    """
    moved = {
        key: named.index
        for key, node in nodes.items()
        if node.get("class") is not None and classes.by_wnid(key) is None
        if (named := class_named(str(node.get("name", key)), classes)) and named.index != node["class"]
    }
    keys = {key: f"#{index}" for key, index in moved.items() if key.startswith("#")}
    found = {
        keys.get(key, key): {
            **node,
            "parents": [keys.get(parent, parent) for parent in node.get("parents", [])],
            **({"class": moved[key]} if key in moved else {}),
        }
        for key, node in nodes.items()
    }
    if len(found) < len(nodes):
        raise HierarchyError(f"{name} is a hierarchy of other classes: some of its names and indices contradict ours")
    return found


def _from_rows(text: str, name: str, classes: ClassTable) -> Hierarchy:
    nodes: dict[str, dict[str, Any]] = {}
    lines: dict[tuple[str, str], int] = {}

    def add(word: str, line: int) -> str:
        info = _class_named(word, classes, f"{name}, line {line}")
        key = word if info is None else classes[info].wnid or f"#{info}"
        entry = {"name": word.replace("_", " ") if info is None else classes[info].name, "parents": []}
        nodes.setdefault(key, entry if info is None else {**entry, "class": info})
        return key

    header, rows = _rows(text, name)
    for line, row in rows:
        if len(row) != 2:
            raise HierarchyError(f"{name}, line {line}: expected child,parent but found {len(row)} values")
    keys = [(line, row, (add(row[0], line), add(row[1], line))) for line, row in rows]
    turned = _parents_first(header, [pair for _, _, pair in keys], nodes)
    for line, row, pair in keys:
        child, parent = reversed(pair) if turned else pair
        if child == parent:
            raise HierarchyError(f"{name}, line {line}: {row[0]} is given as its own parent")
        nodes[child]["parents"].append(parent)
        lines[child, parent] = line
    if not nodes:
        raise HierarchyError(f"{name} holds no rows of child,parent")
    try:
        hierarchy = Hierarchy(nodes, len(classes))
    except HierarchyError as error:
        circle = str(error).split(": ")[-1].split(" -> ")
        on = [lines[p] for a, b in pairwise(circle) for p in ((a, b), (b, a)) if p in lines]
        where = f", line{'s' if len(on) > 1 else ''} {', '.join(map(str, sorted(set(on))))}" if on else ""
        raise HierarchyError(f"{name}{where}: {error}") from error
    return _complete(hierarchy, classes, name)


def _parents_first(header: str, pairs: list[tuple[str, str]], nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether rows are parent,child: where the header doesn't say, more of the lower ends are classes that way round.

    Read the wrong way round, groups hold no class and classes are roots.
    """
    if header:
        return header == "parent"
    first, second = {a for a, _ in pairs}, {b for _, b in pairs}

    def classes_among(ends: set[str]) -> float:
        return sum("class" in nodes[key] for key in ends) / len(ends) if ends else 0.0

    return classes_among(second - first) > classes_among(first - second)


def _rows(text: str, name: str) -> tuple[str, list[tuple[int, list[str]]]]:
    """What the header calls the first column, if there is one, and the rows with their line numbers."""
    found = []
    for line, raw in enumerate(io.StringIO(text), start=1):
        stripped = raw.split("#", 1)[0].strip() if not raw.lstrip().startswith('"') else raw.strip()
        if stripped:
            separator = next((s for s in (",", "\t", ";") if s in stripped), None)
            try:
                row = next(csv.reader([stripped], delimiter=separator)) if separator else stripped.split()
            except csv.Error as error:
                raise HierarchyError(f"{name}, line {line}: not a row of a table ({error})") from error
            found.append((line, [word.strip() for word in row]))
    header = [word.casefold() for word in found[0][1]] if found else []
    if sorted(header) == ["child", "parent"]:
        return header[0], found[1:]
    return "", found


def _class_named(word: str, classes: ClassTable, where: str) -> int | None:
    """Index of the class that a word names: by wnid, name or index; None if it names none."""
    if info := classes.by_wnid(word):
        return info.index
    named = classes.named(word)
    if len(named) > 1:
        raise HierarchyError(f"{where}: {word} names {len(named)} classes; use {' or '.join(i.label for i in named)}")
    if named and fold_text(named[0].name) == fold_text(word):
        return named[0].index
    if word.isdecimal():
        if int(word) < len(classes):
            return int(word)
        raise HierarchyError(f"{where}: there is no class {word}; there are {len(classes)}")
    return None


def _complete(hierarchy: Hierarchy, classes: ClassTable, name: str) -> Hierarchy:
    missing = [info.label for info in classes if info.index not in hierarchy.by_class]
    if missing:
        raise HierarchyError(
            f"{name} leaves out {len(missing)} of {len(classes)} classes: {', '.join(missing[:5])}"
            + (", …" if len(missing) > 5 else "")
        )
    return hierarchy


def write_hierarchy(path: str | Path, hierarchy: Hierarchy, inputs: Iterable[str] = ()) -> None:
    """Write a hierarchy as JSON, but over none of `inputs`; errors as for `calm_gui.model.files.atomic_path`."""
    write_text(path, json.dumps(hierarchy.to_json(), ensure_ascii=False, indent=1), overwrite=True, inputs=inputs)
