"""A page of a report as PDF: sheets of A4, across, with text, tables and pictures from top to bottom."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.image import imread

from calm_gui.render.drawing import drawing
from calm_gui.render.lettering import font_families, printable
from calm_training.evaluate.page import Block, Command, Heading, Paragraph, Picture
from calm_training.evaluate.table import Table

__all__ = ["write_pdf"]

WIDTH, HEIGHT = 11.69, 8.27
"""A4 across, inches."""

MARGIN = 0.6
LINE = 1.35
"""Height of a line in sizes of its letters."""

LETTER = 0.5
"""Mean width of a letter in sizes; in cells of tables, which are short and may be bold, it is `CELL_LETTER`."""

CELL_LETTER = 0.65

PICTURE_WIDTH, PICTURE_HEIGHT = 7.0, 3.0
"""Most that a picture takes, inches; two with their captions fit on a sheet."""

SIZES = {1: 20, 2: 14, 3: 11}
"""Points of headings by level."""

TEXT, SMALL = 9, 7.5

TABLES = (*((size, most) for size in (8.0, 7.0, 6.0, 5.0) for most in (40, 26, 16)), (5.0, 12))
"""Sizes of letters and most letters in a line of a cell, in the order in which a table that is too wide tries them.

An interval such as (0.731 to 0.887) has 16.
"""


def write_pdf(blocks: Sequence[Block], path: Path) -> None:
    """Write the page; the same bytes every time."""
    everything = "".join(_words(block) for block in blocks)
    with drawing({"font.family": font_families(everything)}):
        sheets = _Sheets()
        for block in blocks:
            sheets.add(block)
        with PdfPages(path, metadata={"CreationDate": None, "Creator": None, "Producer": None}) as file:
            for figure in sheets.figures:
                file.savefig(figure)


def _words(block: Block) -> str:
    if isinstance(block, Table):
        return printable("".join(cell for row in (block.head, *block.rows) for cell in row))
    return printable(block.caption if isinstance(block, Picture) else block.text)


class _Sheets:
    """Sheets that are filled from top to bottom."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []
        self._top = 0.0
        self._turn()

    def _turn(self) -> None:
        figure = Figure(figsize=(WIDTH, HEIGHT))
        FigureCanvasAgg(figure)
        self.figures.append(figure)
        self._top = HEIGHT - MARGIN

    def _room(self, height: float) -> None:
        """Turn to a new sheet if so many inches don't fit on this one."""
        if self._top - height < MARGIN and self._top < HEIGHT - MARGIN:
            self._turn()

    def add(self, block: Block) -> None:
        """Put a block below the others."""
        match block:
            case Heading(text, level):
                if level == 2 and self._top < HEIGHT / 3:
                    self._turn()
                self._top -= 0.12 if self._top < HEIGHT - MARGIN else 0
                self._text(text, SIZES.get(level, TEXT), weight="bold")
            case Paragraph(text):
                self._text(text, TEXT)
            case Command(text):
                self._text(text, SMALL, family="monospace")
            case Picture(file, caption):
                self._picture(file, caption)
            case Table():
                self._table(block)
        self._top -= 0.1

    def _text(self, text: str, size: float, **style: Any) -> None:
        wide = 0.61 if style.get("family") == "monospace" else LETTER
        letters = int((WIDTH - 2 * MARGIN) * 72 / (size * wide))
        for line in textwrap.wrap(printable(text), letters, break_on_hyphens=False) or [""]:
            height = size * LINE / 72
            self._room(height)
            self._put(line, MARGIN, size, **style)
            self._top -= height

    def _put(self, text: str, left: float, size: float, **style: Any) -> None:
        self.figures[-1].text(left / WIDTH, self._top / HEIGHT, text, fontsize=size, va="top", ha="left", **style)

    def _picture(self, file: Path, caption: str) -> None:
        pixels = imread(file)
        rows, columns = pixels.shape[:2]
        width = min(PICTURE_WIDTH, PICTURE_HEIGHT * columns / rows)
        height = width * rows / columns
        self._room(height + 0.3)
        box = (MARGIN / WIDTH, (self._top - height) / HEIGHT, width / WIDTH, height / HEIGHT)
        axes = self.figures[-1].add_axes(box)
        axes.imshow(pixels, aspect="auto", interpolation="antialiased")
        axes.set_axis_off()
        self._top -= height + 0.05
        self._text(caption, SMALL, color="0.3")

    def _table(self, table: Table) -> None:
        rows = [tuple(map(printable, row)) for row in (table.head, *table.rows)]
        room = (WIDTH - 2 * MARGIN) * 72
        for size, most in TABLES:
            lines, widths = _wrapped(rows, size, most)
            if sum(widths) <= room:
                break
        for number, cells in enumerate(lines):
            height = max(map(len, cells)) * size * LINE / 72 + 0.04
            self._room(height)
            left = MARGIN
            for cell, width in zip(cells, widths, strict=True):
                style = {"weight": "bold"} if not number else {}
                self._put("\n".join(cell), left, size, linespacing=LINE * 0.85, **style)
                left += width / 72
            self._top -= height
            rule = (self._top + 0.02) / HEIGHT
            axes = self.figures[-1].add_axes((MARGIN / WIDTH, rule, 1 - 2 * MARGIN / WIDTH, 0.0005))
            axes.set_facecolor("0.85")
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set_visible(False)


def _wrapped(rows: Sequence[Sequence[str]], size: float, most: int) -> tuple[list[list[list[str]]], list[float]]:
    """Lines of each cell of each row, of at most so many letters, and widths of the columns in points."""
    lines = [[_cell_lines(cell, most) for cell in row] for row in rows]
    letters = [max(len(line) for row in lines for line in row[column]) for column in range(len(rows[0]))]
    return lines, [(count + 1.5) * size * CELL_LETTER for count in letters]


def _cell_lines(cell: str, most: int) -> list[str]:
    """Lines of a cell, which end before an interval in brackets rather than within it."""
    kept = re.sub(r"\([^()]*\)", lambda found: found[0].replace(" ", "\u00a0"), cell)
    lines = textwrap.wrap(kept, most, break_on_hyphens=False) or [""]
    return [line.replace("\u00a0", " ") for line in lines]
