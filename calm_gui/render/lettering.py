"""Text in figures: which fonts there are, which characters they lack, and how wide a line comes out."""

import logging
from collections.abc import Iterable
from functools import lru_cache

from matplotlib.font_manager import FontProperties, fontManager, get_font
from matplotlib.textpath import text_to_path

from calm_gui.errors import ExportError

__all__ = [
    "DEFAULT_FONT",
    "available_fonts",
    "font_families",
    "missing_glyphs",
    "printable",
    "text_width",
    "wrap",
]

DEFAULT_FONT = "DejaVu Sans"
"""Comes with matplotlib, so that figures look alike everywhere."""

_FALLBACKS = (
    DEFAULT_FONT,
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Arial Unicode MS",
)

_LAST_RESORT = "Last Resort High-Efficiency"
"""Comes with matplotlib too and draws a box for every character. Named as the last stand-in it does so without one of
matplotlib's warnings for each letter each time."""

_log = logging.getLogger(__name__)
_said: set[str] = set()
"""Characters of which the log knows."""


@lru_cache(maxsize=1)
def available_fonts() -> tuple[str, ...]:
    """Names of the font families of this machine."""
    return tuple(sorted({entry.name for entry in fontManager.ttflist} - {_LAST_RESORT}))


def font_families(text: str, font: str = DEFAULT_FONT) -> list[str]:
    """A font and those that fill in for the characters of a text that it lacks.

    Where no font here can draw a character, the last of them draws a box, and the log says so once.

    Raises
    ------
    ExportError
        If this machine doesn't have the font.
    """
    families, lacking = _families(text, font)
    if gaps := set(_visible(lacking)) - _said:
        _said.update(gaps)
        _log.warning("no font here can draw %s; a box is drawn instead", " ".join(sorted(gaps)))
    return [*families, _LAST_RESORT] if lacking else families


def printable(text: str) -> str:
    """A text as it can be drawn: characters that stand for bytes of a file name that isn't UTF-8 become escapes."""
    return text.encode("utf-8", errors="backslashreplace").decode()


def _families(text: str, font: str) -> tuple[list[str], list[str]]:
    """A font with its stand-ins, and the characters that none of them can draw."""
    if font not in available_fonts():
        raise ExportError(f"there is no font {font!r} on this machine; {DEFAULT_FONT} is always there")
    families = [font]
    lacking = _lacking(text, _characters(font))
    for name in _FALLBACKS:
        if not lacking:
            break
        if name in available_fonts() and len(rest := _lacking("".join(lacking), _characters(name))) < len(lacking):
            families.append(name)
            lacking = rest
    return families, lacking


def missing_glyphs(texts: Iterable[str], font: str = DEFAULT_FONT) -> str:
    """The characters of some texts that neither the font nor its stand-ins can draw, each once, in order."""
    return _visible(_families("".join(texts), font)[1])


def _lacking(text: str, known: frozenset[int]) -> list[str]:
    return [c for c in dict.fromkeys(text) if ord(c) not in known and c != "\n"]


def _visible(characters: Iterable[str]) -> str:
    return "".join(c for c in characters if c.isprintable() and not c.isspace())


@lru_cache(maxsize=16)
def _characters(family: str) -> frozenset[int]:
    return frozenset(get_font(fontManager.findfont(FontProperties(family=family))).get_charmap())


def text_width(text: str, size: float, font: str = DEFAULT_FONT, bold: bool = False) -> float:
    """Width of a line in points."""
    if not text:
        return 0.0
    text = printable(text)
    families = tuple(font_families(text, font))
    properties = _properties(families, size, bold and len(families) == 1)
    width, _, _ = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
    return float(width)


@lru_cache(maxsize=64)
def _properties(families: tuple[str, ...], size: float, bold: bool) -> FontProperties:
    return FontProperties(family=families, size=size, weight="bold" if bold else "normal")


def wrap(
    text: str, width: float, size: float, font: str = DEFAULT_FONT, lines: int = 3, bold: bool = False
) -> list[str]:
    """A text in lines no wider than `width` points, at most so many; what doesn't fit ends in an ellipsis."""
    result: list[str] = []
    for paragraph in printable(text).split("\n"):
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if line and text_width(longer, size, font, bold) > width:
                result.append(line)
                line = word
            else:
                line = longer
        if line:
            result.append(line)
    if len(result) > lines:
        result = [*result[: lines - 1], f"{result[lines - 1]} …"]
    return [_cut(line, width, size, font, bold) for line in result]


def _cut(line: str, width: float, size: float, font: str, bold: bool) -> str:
    if text_width(line, size, font, bold) <= width:
        return line
    stem = line.rstrip("… ")
    while len(stem) > 1 and text_width(f"{stem}…", size, font, bold) > width:
        stem = stem[:-1]
    return f"{stem}…"
