"""Names of classes from a file, for checkpoints that don't hold them."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.errors import CheckpointError, DataError
from calm_gui.model.files import read_bounded

__all__ = ["class_table", "names_in_order", "read_class_names"]

_MAX_BYTES = 20_000_000
_WNID = re.compile(r"(n[0-9]{8})(?:\s+(\S.*))?")


def names_in_order(classes: Iterable[object] | Mapping[int, object]) -> tuple[str, ...]:
    """Names of classes in the order of their indices: as they come, or by their numbers (``{0: "cat", 1: "dog"}``).

    Raises
    ------
    CheckpointError
        If they are one text, or their numbers aren't all from 0 on.
    """
    if isinstance(classes, str):
        raise CheckpointError(f"classes are a list of names, not the text {classes!r}")
    if not isinstance(classes, Mapping):
        return tuple(map(str, classes))
    if set(classes) != set(range(len(classes))):
        raise CheckpointError("classes by number are numbered from 0 on, each once")
    return tuple(str(classes[index]) for index in range(len(classes)))


def read_class_names(path: str | Path) -> tuple[str, ...]:
    """Names in the order of the classifier's outputs.

    Parameters
    ----------
    path : str or Path
        A text file with a name or wnid in each line; JSON: a list of names, or an object of index to name or
        ``[wnid, name]`` as ImageNet's index; CSV with a header line and columns ``name`` and, optional, ``wnid`` and
        ``index``. UTF-8 with or without byte order mark, else Latin-1. Blank lines at the end don't count.

    Returns
    -------
    tuple of str
        As `calm_gui.model.answers.Answers` takes them; where there is a wnid it stands before the name. Names may
        repeat: classes are told apart by their index.

    Raises
    ------
    DataError
        If the file can't be read, holds no names, or leaves an index out.
    """
    path = Path(path)
    data = read_bounded(path, _MAX_BYTES, DataError, "class lists")
    if b"\0" in data:
        raise DataError(f"{path.name} isn't a text file with class names")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if text.lstrip().startswith(("{", "[")):
        names = _from_json(text, path.name)
    elif _has_header(text):
        names = _from_csv(text, path.name)
    else:
        names = [line.strip() for line in text.rstrip().splitlines()]
    if not names:
        raise DataError(f"{path.name} holds no class names")
    if "" in names:
        raise DataError(f"{path.name} has no name for class {names.index('')}")
    return tuple(names)


def class_table(names: tuple[str, ...]) -> ClassTable:
    """Classes of names; ``n02012849 crane`` is the wnid and the name, a wnid alone is its own name."""
    found = [_WNID.fullmatch(name) for name in names]
    wnids = [match[1] for match in found if match]
    unique = len(set(wnids)) == len(wnids)  # an id that two classes have identifies neither
    return ClassTable(
        ClassInfo(i, match[2] or match[1], match[1]) if match and unique else ClassInfo(i, name)
        for i, (name, match) in enumerate(zip(names, found, strict=True))
    )


def _from_json(text: str, name: str) -> list[str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} isn't valid JSON ({error})") from error
    if isinstance(data, dict) and isinstance(data.get("classes"), list):
        data = data["classes"]
    if isinstance(data, dict):
        try:
            rows = {int(key): value for key, value in data.items()}
        except ValueError as error:
            raise DataError(f"{name} must be a list of names, or an object of index to name ({error})") from error
        return _in_order(rows, name)
    return _in_order(dict(enumerate(data)), name)


def _from_csv(text: str, name: str) -> list[str]:
    try:
        rows = list(csv.DictReader(io.StringIO(text)))
        values = [[row.get("wnid") or "", row["name"] or ""] for row in rows]
        indices = [int(row["index"]) if row.get("index") else i for i, row in enumerate(rows)]
    except (csv.Error, ValueError, AttributeError) as error:
        raise DataError(f"{name} can't be read as a table of classes ({error})") from error
    if len(set(indices)) != len(indices):
        raise DataError(f"{name} gives an index twice")
    return _in_order(dict(zip(indices, values, strict=True)), name)


def _has_header(text: str) -> bool:
    first = text.split("\n", 1)[0].strip().split(",")
    return len(first) > 1 and "name" in first


def _in_order(rows: dict[int, Any], name: str) -> list[str]:
    missing = next((i for i in range(len(rows)) if i not in rows), None)
    if missing is not None:
        raise DataError(f"{name} leaves out class {missing}; the indices must be 0 to {len(rows) - 1}")
    return [_one(rows[i], f"{name}, class {i}") for i in range(len(rows))]


def _one(value: Any, where: str) -> str:
    if isinstance(value, dict):
        value = [value.get("wnid") or "", value.get("name") or ""]
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str) for part in parts) or not 1 <= len(parts) <= 2:
        raise DataError(f"{where}: expected a name or [wnid, name], not {str(value)[:60]}")
    return " ".join(" ".join(parts).split())
