"""Where everything in a figure goes, in whole pixels from its top left corner."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from calm_gui.core.maps import Map, WinnerMap
from calm_gui.errors import ExportError
from calm_gui.render.figure_spec import MAX_SIDE, FigureSpec
from calm_gui.render.lettering import text_width, wrap
from calm_gui.render.naming import number_text
from calm_gui.render.overlay import winner_colours
from calm_gui.render.scale import Scale, remark
from calm_gui.render.units import brief_unit

__all__ = ["Area", "Bar", "Layout", "Line", "Panel", "Place", "arrange"]

Area = tuple[int, int, int, int]
"""Left, top, width, height."""

_LEADING = 1.28
_SMALL = 0.9
_MAX_LEGEND = 10
_MOST_BESIDE = 1 / 3
"""Of a panel's width that its colour bar may take; a wider one goes below the picture."""
_TALLEST = 1.5
"""Without a given height no picture gets higher than this many times the figure's width."""


@dataclass(frozen=True)
class Panel:
    """One picture with or without a map.

    Attributes
    ----------
    shown : Map, WinnerMap or None
    scale : Scale or None
    size : (int, int)
        Width and height of its picture.
    title : tuple of str
        The heading and, if there is one, the smaller line below it.
    caption : str
    """

    shown: Map | WinnerMap | None
    scale: Scale | None
    size: tuple[int, int]
    title: tuple[str, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Place:
    """A panel's image."""

    panel: Panel
    image: Area


@dataclass(frozen=True)
class Bar:
    """A colour bar and its ticks (positions from 0, bottom or left, to 1 and labels)."""

    scale: Scale
    colour_map: str
    area: Area
    ticks: tuple[tuple[float, str], ...]
    lying: bool = False


@dataclass(frozen=True)
class Line:
    """A line of text: its baseline's point, size in points, and style."""

    text: str
    x: float
    y: float
    size: float
    strong: bool = False
    faint: bool = False
    align: Literal["left", "center", "right"] = "left"
    rotation: float = 0.0


@dataclass
class Layout:
    """Everything in a figure of `width` x `height` pixels."""

    width: int
    height: int = 0
    places: list[Place] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    swatches: list[tuple[Area, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Block:
    """A panel's text, wrapped."""

    panel: Panel
    heading: list[str]
    formula: list[str]
    caption: list[str]
    legend: list[tuple[str, str]]


def arrange(panels: Sequence[Panel], spec: FigureSpec, table: Sequence[Sequence[str]] = ()) -> Layout:
    """Place panels in rows of equal columns, with their texts and colour bars.

    Bars stand beside the pictures; where that would leave these too small, they lie below, and neighbours of one
    scale share one.

    Raises
    ------
    ExportError
        If the size leaves no room for the pictures.
    """
    return _Arranger(panels, spec, table).arrange()


class _Arranger:
    def __init__(self, panels: Sequence[Panel], spec: FigureSpec, table: Sequence[Sequence[str]]) -> None:
        self.spec = spec
        self.table = table
        self.px = spec.dpi / 72  # pixels per point
        self.em = spec.font_size * self.px
        self.small = spec.font_size * _SMALL
        self.margin = max(1, round(0.7 * self.em))
        self.gap = max(1, round(1.0 * self.em))
        in_one_row = spec.layout in ("single", "pair", "strip") or len(panels) <= 3
        self.columns = len(panels) if in_one_row else math.ceil(math.sqrt(len(panels)))
        self.rows = [panels[i : i + self.columns] for i in range(0, len(panels), self.columns)]
        mapped = {(p.scale, self._colour_map(p)) for p in panels if p.scale is not None}
        several = sum(p.scale is not None for p in panels) > 1
        self.common = next(iter(mapped)) if several and len(mapped) == 1 and spec.colour_bar else None
        self.lying = False
        self.layout = Layout(spec.pixels[0])

    def _colour_map(self, panel: Panel) -> str:
        signed = isinstance(panel.shown, Map) and panel.shown.signed
        return self.spec.diverging if signed else self.spec.sequential

    def _own_scale(self, panel: Panel) -> Scale | None:
        """The scale that a panel's own colour bar shows, or None for no bar of its own."""
        return panel.scale if self.spec.colour_bar and self.common is None else None

    def _bar_width(self, scale: Scale) -> int:
        labels = max(text_width(label, self.small, self.spec.font) for _, label in scale.ticks())
        return math.ceil(2.9 * self.em + labels * self.px)

    def arrange(self) -> Layout:
        beside = [
            max(
                (self._bar_width(scale) for row in self.rows for p in row[c : c + 1] if (scale := self._own_scale(p))),
                default=0,
            )
            for c in range(self.columns)
        ]
        shared = self._bar_width(self.common[0]) if self.common else 0
        width = self.layout.width
        free = width - 2 * self.margin - shared - self.gap * (self.columns - 1)
        self.lying = max(beside) > _MOST_BESIDE * free / self.columns
        if self.lying:
            beside = [0] * self.columns
        room = (free - sum(beside)) // self.columns
        if room < 1:
            raise ExportError(f"a figure {width} pixels wide has no room for {self.columns} pictures; make it wider")
        blocks = [[self._block(panel, room + beside[c]) for c, panel in enumerate(row)] for row in self.rows]
        sizes = self._image_sizes(room, blocks)
        top = self.margin
        first_top = None
        for row, heights in zip(blocks, sizes, strict=True):
            top += self._title_height(row)
            first_top = top if first_top is None else first_top
            image_height = max(h for _, h in heights)
            left = self.margin
            for c, (block, (w, h)) in enumerate(zip(row, heights, strict=True)):
                self._place(block, left + (room - w) // 2, top, w, h, left)
                left += room + beside[c] + self.gap
            if self.lying:
                self._bars_below(row, top + image_height, room)
            last_bottom = top + image_height
            top = last_bottom + self._below_height(row) + self.gap
        top -= self.gap
        if self.common and first_top is not None:
            self._bar(*self.common, width - self.margin - shared, first_top, last_bottom - first_top)
        top = self._draw_table(top)
        wanted = self.spec.pixels[1]
        self.layout.height = wanted or top + self.margin
        if self.layout.height > MAX_SIDE:
            raise ExportError(
                f"the figure would be {self.layout.height} pixels high; make it narrower or lower the dpi"
            )
        return self.layout

    def _block(self, panel: Panel, width: int) -> _Block:
        points = width / self.px
        spec = self.spec
        title = panel.title if spec.titles else ()
        notes = [panel.caption] if panel.caption and spec.captions else []
        if isinstance(panel.shown, Map) and (note := remark(panel.shown.values)):
            notes.append(note)
        return _Block(
            panel,
            heading=wrap(title[0], points, spec.font_size, spec.font, 3, bold=True) if title else [],
            formula=wrap(title[1], points, self.small, spec.font, 3) if len(title) > 1 else [],
            caption=wrap("\n".join(notes), points, self.small, spec.font, 8) if notes else [],
            legend=self._legend(panel.shown, points) if isinstance(panel.shown, WinnerMap) else [],
        )

    def _legend(self, shown: WinnerMap, width: float) -> list[tuple[str, str]]:
        _, palette = winner_colours(shown)
        entries = []
        rows = shown.legend()
        for node, cells, mass in rows[:_MAX_LEGEND]:
            text = f"{node.name} {number_text(mass)}, {cells} {'cell' if cells == 1 else 'cells'}"
            code = "#{:02x}{:02x}{:02x}".format(*palette[shown.nodes.index(node)])
            entries.append((code, wrap(text, width - 1.4 * self.small, self.small, self.spec.font, 1)[0]))
        if len(rows) > _MAX_LEGEND:
            entries.append(("", f"and {len(rows) - _MAX_LEGEND} more"))
        return entries

    def _title_height(self, row: Sequence[_Block]) -> int:
        return max(
            round(_LEADING * self.px * (len(b.heading) * self.spec.font_size + len(b.formula) * self.small))
            for b in row
        )

    def _below_height(self, row: Sequence[_Block]) -> int:
        step = _LEADING * self.px * self.small
        lines = [len(b.caption) + len(b.legend) for b in row]
        texts = [step * (count + 0.3) if count else 0.0 for count in lines]
        return round(max(text + self._lying_height(b) for text, b in zip(texts, row, strict=True)))

    def _lying_height(self, block: _Block) -> float:
        """What a bar below the picture takes, with its ticks and its unit."""
        lies = self.lying and self._own_scale(block.panel) is not None
        return 1.3 * self.em + 2.5 * self.small * self.px if lies else 0.0

    def _table_height(self) -> int:
        return round(1.45 * self.px * self.small * len(self.table) + self.gap) if self.table else 0

    def _image_sizes(self, room: int, blocks: Sequence[Sequence[_Block]]) -> list[list[tuple[int, int]]]:
        """Width and height of each image, the same scale for all that are alike."""
        fixed = sum(self._title_height(row) + self._below_height(row) for row in blocks) + self._table_height()
        fixed += 2 * self.margin + self.gap * (len(blocks) - 1)
        wanted = self.spec.pixels[1]
        if wanted is not None and wanted <= fixed:
            raise ExportError(f"a figure {wanted} pixels high has no room for its pictures; make it higher")
        row_room = (wanted - fixed) / len(blocks) if wanted is not None else _TALLEST * self.layout.width
        sizes = []
        for row in blocks:
            of_row = []
            for block in row:
                width, height = block.panel.size
                factor = min(room / width, row_room / height)
                of_row.append((max(1, round(width * factor)), max(1, math.floor(height * factor + 1e-9))))
            sizes.append(of_row)
        return sizes

    def _place(self, block: _Block, left: int, top: int, width: int, height: int, text_left: int) -> None:
        self.layout.places.append(Place(block.panel, (left, top, width, height)))
        y = float(top) - 0.35 * self.em
        for texts, size, strong in ((block.formula, self.small, False), (block.heading, self.spec.font_size, True)):
            for text in reversed(texts):
                self.layout.lines.append(Line(text, text_left, y, size, strong=strong, faint=not strong))
                y -= _LEADING * size * self.px
        step = _LEADING * self.small * self.px
        y = top + height + 1.2 * self.small * self.px + self._lying_height(block)
        for text in block.caption:
            self.layout.lines.append(Line(text, text_left, y, self.small))
            y += step
        side = max(1, round(0.8 * self.small * self.px))
        for code, text in block.legend:
            if code:
                self.layout.swatches.append(((text_left, round(y) - side, side, side), code))
            self.layout.lines.append(Line(text, text_left + 1.4 * self.small * self.px, y, self.small))
            y += step
        if not self.lying and (scale := self._own_scale(block.panel)):
            self._bar(scale, self._colour_map(block.panel), left + width, top, height)

    def _bar(self, scale: Scale, colour_map: str, left: int, top: int, height: int) -> None:
        left += round(0.5 * self.em)
        width = max(1, round(0.8 * self.em))
        about = max(1, min(6, int(height / (2.4 * self.em))))
        ticks = scale.ticks(about) if height > 2.2 * self.em else scale.ticks(1)[-1:]
        self.layout.bars.append(Bar(scale, colour_map, (left, top, width, height), tuple(ticks)))
        half = 0.36 * self.small * self.px
        x = left + width + 0.5 * self.em
        for position, label in ticks:
            y = min(max(top + (1 - position) * height + half, top + 2 * half), top + height)
            self.layout.lines.append(Line(label, x, y, self.small))
        labels = max(text_width(label, self.small, self.spec.font) for _, label in ticks) * self.px
        text = self._unit(scale, height / self.px)
        self.layout.lines.append(
            Line(
                text, x + labels + 0.95 * self.em, top + height / 2, self.small, faint=True, align="center", rotation=90
            )
        )

    def _bars_below(self, row: Sequence[_Block], top: int, room: int) -> None:
        """Lay a bar below each picture, or below all neighbours whose colours mean the same."""
        places = self.layout.places[-len(row) :]
        known = [(self._own_scale(block.panel), self._colour_map(block.panel)) for block in row]
        start = 0
        for end in range(1, len(row) + 1):
            if end < len(row) and known[end] == known[start]:
                continue
            scale, colour_map = known[start]
            if scale is not None:
                left = places[start].image[0]
                self._lying_bar(scale, colour_map, left, top, places[end - 1].image, room)
            start = end

    def _lying_bar(self, scale: Scale, colour_map: str, left: int, top: int, last: Area, room: int) -> None:
        size, px, font = self.small, self.px, self.spec.font
        width = max(last[0] + last[2] - left, 1)
        top += round(0.5 * self.em)
        height = max(1, round(0.8 * self.em))
        ticks = self._ticks_apart(scale, width)
        self.layout.bars.append(Bar(scale, colour_map, (left, top, width, height), tuple(ticks), lying=True))
        y = top + height + 1.2 * size * px
        for position, label in ticks:
            wide = text_width(label, size, font) * px
            x = min(max(left + position * width - wide / 2, left), left + width - wide)
            self.layout.lines.append(Line(label, x, y, size))
        unit = self._unit(scale, max(width, room) / px)
        middle = left + width / 2
        self.layout.lines.append(Line(unit, middle, y + _LEADING * size * px, size, faint=True, align="center"))

    def _unit(self, scale: Scale, points: float) -> str:
        """The unit's words, in full where there is room."""
        kinds = (", logarithmic", ", log") if scale.spacing == "log" else ("",)
        known = [unit + kind for unit in (scale.unit, brief_unit(scale.unit)) for kind in kinds]
        words = [wrap(text, points, self.small, self.spec.font, 1)[0] for text in known]
        return next((text for text in words if not text.endswith("…")), words[0])

    def _ticks_apart(self, scale: Scale, width: int) -> list[tuple[float, str]]:
        """As many ticks as have room for their labels beside each other; the ends come first."""
        ticks = scale.ticks(5)
        if len(ticks) < 3:
            return ticks
        wide = [text_width(label, self.small, self.spec.font) * self.px for _, label in ticks]
        gap, first, last = 0.7 * self.em, ticks[0], ticks[-1]
        kept, right = [first], wide[0]
        for (position, label), across in zip(ticks[1:-1], wide[1:-1], strict=True):
            left = position * width - across / 2
            if left > right + gap and left + across + gap < width - wide[-1]:
                kept.append((position, label))
                right = left + across
        return [*kept, last]

    def _draw_table(self, top: int) -> int:
        if not self.table:
            return top
        font = self.spec.font
        n = max(len(row) for row in self.table)
        natural = [
            max(text_width(row[c], self.small, font) for row in self.table if c < len(row)) * self.px + self.em
            for c in range(n)
        ]
        shrink = min(1.0, (self.layout.width - 2 * self.margin) / sum(natural))
        y = top + self.gap + 0.8 * self.small * self.px
        for r, row in enumerate(self.table):
            x = float(self.margin)
            for c, text in enumerate(row):
                room = natural[c] * shrink
                cut = wrap(text, (room - 0.5 * self.em) / self.px, self.small, font, 1) or [""]
                self.layout.lines.append(Line(cut[0], x, y, self.small, strong=r == 0))
                x += room
            y += 1.45 * self.small * self.px
        return top + self._table_height()
