"""Conditions on rows of a batch's summary, such as ``share_in_box < 0.5 and p > 0.3``, tested without running code."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from calm_gui.errors import DataError

__all__ = ["matching", "parse_condition", "what_is_empty"]

Row = Mapping[str, Any]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class _MissingError(Exception):
    """A row lacks a value that the condition needs."""


def parse_condition(text: str, columns: Iterable[str]) -> Callable[[Row], bool]:
    """A test for rows.

    Parameters
    ----------
    text : str
        Comparisons (``< <= > >= == !=``) of columns, numbers and quoted texts, with ``+ - * /``, joined by
        ``and``, ``or``, ``not`` and parentheses.
    columns : iterable of str
        The names there are.

    Returns
    -------
    callable
        Row -> bool; False for a row that lacks a value it needs.

    Raises
    ------
    DataError
        If the text is anything else or names an unknown column.
    """
    known = tuple(columns)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"the condition {text!r} can't be read; write something like: share_in_box < 0.5") from error
    if sum(1 for _ in ast.walk(tree)) > 500:
        raise DataError("the condition is too long")
    _check(tree, text, known)

    def test(row: Row) -> bool:
        try:
            return bool(_value(tree, row))
        except (_MissingError, TypeError, ZeroDivisionError, OverflowError):
            return False

    return test


def matching(rows: Iterable[Row], text: str) -> list[Row]:
    """The rows that meet a condition, in order."""
    rows = list(rows)
    if not rows:
        return []
    test = parse_condition(text, rows[0])
    return [row for row in rows if test(row)]


def what_is_empty(rows: Iterable[Row], text: str) -> str:
    """Which columns of a condition have no value in how many rows, in words: without one a row can't match."""
    rows = list(rows)
    named = {node.id: None for node in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(node, ast.Name)}
    empty = {name: sum(row.get(name) in (None, "") for row in rows) for name in named}
    return ", ".join(f"{name} is empty in {number} of {len(rows)} rows" for name, number in empty.items() if number)


def _check(node: ast.expr, text: str, columns: tuple[str, ...], inside: bool = False) -> None:
    """Refuse all but comparisons, logic and arithmetic of columns and constants."""
    parts: list[ast.expr]
    match node:
        case ast.BoolOp() if not inside:
            parts = node.values
        case ast.UnaryOp(op=ast.Not()) if not inside:
            parts = [node.operand]
        case ast.Compare() if not inside and all(type(op) in _COMPARE for op in node.ops):
            for part in (node.left, *node.comparators):
                _check(part, text, columns, inside=True)
            return
        case ast.BinOp() if inside and type(node.op) in _ARITHMETIC:
            parts = [node.left, node.right]
        case ast.UnaryOp(op=ast.USub()) if inside:
            parts = [node.operand]
        case ast.Constant(value=str() | int() | float()) if inside:
            return
        case ast.Name() if inside:
            if node.id not in columns:
                raise DataError(f"there is no column {node.id!r}; there are {', '.join(columns)}")
            return
        case _:
            raise DataError(
                f"the condition {text!r} isn't made of comparisons of columns, numbers and quoted texts; "
                "write something like: share_in_box < 0.5 and p > 0.3"
            )
    for part in parts:
        _check(part, text, columns, inside)


def _value(node: ast.expr, row: Row) -> Any:
    match node:
        case ast.BoolOp():
            combine = all if isinstance(node.op, ast.And) else any
            return combine(_value(part, row) for part in node.values)
        case ast.UnaryOp(op=ast.Not()):
            return not _value(node.operand, row)
        case ast.UnaryOp():
            return -_value(node.operand, row)
        case ast.Compare():
            values = [_value(part, row) for part in (node.left, *node.comparators)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(node.ops, values[:-1], values[1:], strict=True))
        case ast.BinOp():
            return _ARITHMETIC[type(node.op)](_value(node.left, row), _value(node.right, row))
        case ast.Constant():
            return node.value
        case ast.Name():
            value = row.get(node.id)
            if value is None or value == "":
                raise _MissingError
            return value
    raise TypeError(node)
