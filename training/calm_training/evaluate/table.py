"""Tables of results, in Markdown and in HTML."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from calm_training.evaluate.intervals import Estimate

__all__ = ["Table", "html", "markdown", "percent", "percent_of", "shown"]


@dataclass(frozen=True)
class Table:
    """Rows of text under a head.

    Attributes
    ----------
    head : tuple of str
    rows : tuple of tuple of str
        Each as long as the head.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, head: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
        """A table of any sequences."""
        return cls(tuple(head), tuple(tuple(row) for row in rows))


def markdown(table: Table) -> str:
    """The table in Markdown."""
    rows = (table.head, ["---"] * len(table.head), *table.rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def html(table: Table) -> str:
    """The table in HTML; what is in brackets, such as an interval, is marked as ``whole``."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_marked(cell)}</td>' for cell in row)}</tr>\n" for row in table.rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def _marked(cell: str) -> str:
    return re.sub(r"\([^()]*\)", r'<span class="whole">\g<0></span>', escape(cell))


def percent(value: float) -> str:
    """A fraction in percent, with one digit after the point."""
    return f"{100 * value:.1f}"


def percent_of(estimate: Estimate) -> str:
    """An estimate in percent with its interval: ``62.5 (60.1 to 64.8)``."""
    return _with_interval(estimate, percent)


def shown(estimate: Estimate, digits: int = 3) -> str:
    """An estimate with its interval, in significant digits."""
    return _with_interval(estimate, lambda value: f"{value:.{digits}g}")


def _with_interval(estimate: Estimate, said: Callable[[float], str]) -> str:
    if estimate.value is None:
        return "-"
    text = said(estimate.value)
    return (
        text if estimate.interval is None else f"{text} ({said(estimate.interval[0])} to {said(estimate.interval[1])})"
    )
