"""Runs the cells of a notebook without Jupyter: for the documentation site, and for the test that they run."""

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Cell", "execute", "picture_of", "run"]


class Cell(NamedTuple):
    """A cell and what came of it.

    Attributes
    ----------
    kind : str
        "markdown" or "code".
    source : str
    printed : str
    value : object
        Of the last line, where that is an expression; else None.
    """

    kind: str
    source: str
    printed: str = ""
    value: object = None


def run(source: str, names: dict[str, Any]) -> object:
    """Run a cell's code among `names`; the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


def execute(path: Path) -> Iterator[Cell]:
    """Run all cells in order, as a notebook does."""
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"]).rstrip()
        if cell["cell_type"] != "code":
            yield Cell(cell["cell_type"], source)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            value = run(source, names)
        yield Cell("code", source, printed.getvalue(), value)


def picture_of(value: object) -> bytes | None:
    """The PNG by which a notebook shows a value; None where it has none."""
    show = getattr(value, "_repr_png_", None)
    if show is not None and (data := show()):
        return bytes(data)
    if hasattr(value, "savefig"):
        target = io.BytesIO()
        value.savefig(target, format="png", dpi=110)
        return target.getvalue()
    return None
