"""Text in figures: which fonts there are, which characters they lack, and how wide a line comes out."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from matplotlib.font_manager import FontProperties, fontManager, get_font
from matplotlib.textpath import text_to_path

from calm_gui.errors import ExportError

__all__ = [
    "DEFAULT_FONT",
    "available_fonts",
    "font_families",
    "missing_glyphs",
    "quiet_about_glyphs",
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


@lru_cache(maxsize=1)
def available_fonts() -> tuple[str, ...]:
    """Names of the font families of this machine."""
    return tuple(sorted({entry.name for entry in fontManager.ttflist} - {"Last Resort High-Efficiency"}))


def font_families(text: str, font: str = DEFAULT_FONT) -> list[str]:
    """A font and those that fill in for the characters of a text that it lacks.

    Raises
    ------
    ExportError
        If this machine doesn't have the font.
    """
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
    return families


def missing_glyphs(texts: Iterable[str], font: str = DEFAULT_FONT) -> str:
    """The characters of some texts that neither the font nor its stand-ins can draw, each once, in order."""
    lacking = "".join(dict.fromkeys(c for text in texts for c in text))
    for family in font_families(lacking, font):
        lacking = "".join(_lacking(lacking, _characters(family)))
    return lacking


def _lacking(text: str, known: frozenset[int]) -> list[str]:
    return [c for c in text if ord(c) not in known and c.isprintable() and not c.isspace()]


@lru_cache(maxsize=16)
def _characters(family: str) -> frozenset[int]:
    return frozenset(get_font(fontManager.findfont(FontProperties(family=family))).get_charmap())


@contextmanager
def quiet_about_glyphs() -> Iterator[None]:
    """Without matplotlib's warnings about missing glyphs, which `missing_glyphs` names once and for all."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def text_width(text: str, size: float, font: str = DEFAULT_FONT, bold: bool = False) -> float:
    """Width of a line in points."""
    if not text:
        return 0.0
    families = tuple(font_families(text, font))
    properties = _properties(families, size, bold and len(families) == 1)
    with quiet_about_glyphs():
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
    for paragraph in text.split("\n"):
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
