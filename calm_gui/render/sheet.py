"""Contact sheets: many small overlays on one page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from calm_gui.core.geometry import Box
from calm_gui.core.maps import Map
from calm_gui.errors import ExportError
from calm_gui.render.drawing import drawing
from calm_gui.render.figure_file import MapFigure
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.render.lettering import font_families, wrap
from calm_gui.render.manifest import write_export
from calm_gui.render.map_scale import scales_of
from calm_gui.render.mark_colours import TRUTH
from calm_gui.render.panel import compose

__all__ = ["SHEET_SUFFIXES", "SheetItem", "contact_sheet", "save_sheet", "thumbnail"]

SHEET_SUFFIXES = (".png", ".pdf")


@dataclass(frozen=True, eq=False)
class SheetItem:
    """One picture of a sheet: pixels (h,w,3), uint8, and the lines below it."""

    pixels: NDArray[np.uint8]
    lines: tuple[str, ...]


def thumbnail(
    shown: Map, side: int = 320, spec: FigureSpec | None = None, boxes: Sequence[Box] = ()
) -> NDArray[np.uint8]:
    """A map over its picture with boxes (in the picture's pixels), no side longer than `side` pixels.

    Returns
    -------
    ndarray (h,w,3), uint8
    """
    spec = spec or FigureSpec()
    width, height = shown.geometry.picture
    factor = min(1.0, side / max(width, height))
    size = (max(1, round(height * factor)), max(1, round(width * factor)))
    image = Image.fromarray(compose(shown.explanation, shown, scales_of([shown], "fit", spec.spacing)[0], spec, size))
    draw = ImageDraw.Draw(image)
    for box in boxes:
        draw.rectangle([v * factor for v in (box.x0, box.y0, box.x1, box.y1)], outline=TRUTH, width=2)
    return np.asarray(image)


@drawing()
def contact_sheet(
    sections: Sequence[tuple[str, Sequence[SheetItem]]], columns: int = 6, width: float = 200.0, dpi: int = 200
) -> MapFigure:
    """A page of sections, each a heading and its pictures in rows.

    Parameters
    ----------
    sections : sequence of (heading, items)
    columns : int
    width : float
        Of the page in millimetres.
    dpi : int

    Raises
    ------
    ExportError
        If there is nothing to show.
    """
    if not any(items for _, items in sections):
        raise ExportError("a contact sheet needs at least one picture")
    cell = width / columns
    line, gap, heading = 2.6, 2.0, 6.0
    below = max(len(item.lines) for _, items in sections for item in items) * line + gap
    rows = [math.ceil(len(items) / columns) for _, items in sections]
    height = sum(heading + n * (cell + below) for n in rows) + gap
    figure = MapFigure(figsize=(width / 25.4, height / 25.4), dpi=dpi)
    figure.ground = (1.0, 1.0, 1.0)
    top = gap

    def write(text: str, x: float, y: float, size: float, bold: bool = False) -> None:
        fitting = wrap(text, (cell - gap if not bold else width - 2 * gap) * 72 / 25.4, size, lines=1, bold=bold)
        families = font_families(text)
        weight = "bold" if bold and len(families) == 1 else "normal"
        place = (x / width, 1 - y / height)
        look: dict[str, Any] = {"fontsize": size, "fontfamily": families, "fontweight": weight, "va": "top"}
        figure.text(*place, fitting[0] if fitting else "", parse_math=False, **look)

    for (title, items), n in zip(sections, rows, strict=True):
        write(title, gap, top, 9, bold=True)
        top += heading
        for number, item in enumerate(items):
            row, column = divmod(number, columns)
            x, y = column * cell + gap / 2, top + row * (cell + below)
            pixel_height, pixel_width = item.pixels.shape[:2]
            factor = (cell - gap) / max(pixel_height, pixel_width)
            w, h = pixel_width * factor, pixel_height * factor
            axes = figure.add_axes((x / width, 1 - (y + cell - gap) / height, w / width, h / height))
            axes.imshow(item.pixels, aspect="auto", interpolation="antialiased")
            axes.set_axis_off()
            for index, text in enumerate(item.lines):
                write(text, x, y + cell - gap + 0.6 + index * line, 5.5)
        top += n * (cell + below)
    return figure


def save_sheet(figure: MapFigure, path: str | Path, manifest: dict[str, Any]) -> None:
    """Write a contact sheet as PNG or PDF, and `<name>.json` that lists what is on it.

    Raises
    ------
    ExportError
        If the file can't be written.
    """
    write_export(path, SHEET_SUFFIXES, "contact sheet", figure.savefig, manifest)
