"""A matplotlib figure that saves alike every time, and its file with the manifest beside it."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patheffects import Normal
from matplotlib.text import Text

from calm_gui.errors import ExportError
from calm_gui.model.files import write_bytes
from calm_gui.render.drawing import drawing
from calm_gui.render.lettering import missing_glyphs
from calm_gui.render.manifest import write_export
from calm_gui.version import __version__

if TYPE_CHECKING:
    pass


__all__ = ["FIGURE_SUFFIXES", "MapFigure", "save_figure"]


FIGURE_SUFFIXES = (".png", ".svg", ".pdf", ".tif", ".tiff", ".jpg", ".jpeg")
"""Extensions that `save_figure` takes."""


class MapFigure(Figure):
    """A matplotlib Figure that saves alike every time, and knows what it shows.

    Attributes
    ----------
    manifest : dict
        What is written beside it.
    options : dict
        What it was drawn with; enough to draw it again.
    """

    manifest: Mapping[str, Any]
    options: Mapping[str, Any]
    ground: tuple[float, float, float]

    def _repr_png_(self) -> bytes:
        """The figure itself in a notebook's cell."""
        target = io.BytesIO()
        self.savefig(target, format="png", dpi=min(self.dpi, 110))
        return target.getvalue()

    def savefig(self, fname: Any, **options: Any) -> None:
        """As matplotlib's, without dates, in the figure's own resolution unless told otherwise, whole or not at all.

        Raises
        ------
        ExportError
            If the file can't be written.
        """
        named = Path(fname).suffix[1:] if isinstance(fname, (str, Path)) else ""
        kind = str(options.get("format") or named or "png").lower()
        stamps: dict[str, dict[str, Any]] = {
            "pdf": {"Creator": _creator(), "Producer": None, "CreationDate": None},
            "svg": {"Creator": _creator(), "Date": None},
            "png": {"Software": _creator()},
        }
        if kind in stamps:
            options["metadata"] = {**stamps[kind], **options.get("metadata", {})}
        elif kind in ("jpg", "jpeg"):
            options.setdefault("facecolor", self.ground)
            options["pil_kwargs"] = {"quality": 95, "subsampling": 0, **options.get("pil_kwargs", {})}
        elif kind in ("tif", "tiff"):
            options["pil_kwargs"] = {"compression": "tiff_deflate", **options.get("pil_kwargs", {})}
        raster = kind not in ("pdf", "svg", "ps", "eps")
        for text in self.findobj(Text):
            # Agg draws letters as hinted bitmaps at whole pixels unless they are paths, as the vector formats' are.
            text.set_path_effects([Normal()] if raster else [])
        target: Any = io.BytesIO() if isinstance(fname, (str, Path)) else fname
        with drawing():
            super().savefig(target, **{**options, "format": kind})
        if isinstance(fname, (str, Path)):
            path = fname if named or "format" in options else f"{fname}.{kind}"
            write_bytes(path, target.getvalue(), overwrite=True)

    def missing_glyphs(self) -> str:
        """Characters of the figure's texts that no font here can draw."""
        texts = [text for text in self.findobj(Text) if text.get_text()]
        return missing_glyphs((t.get_text() for t in texts), texts[0].get_fontfamily()[0]) if texts else ""


def _creator() -> str:
    return f"calm-gui {__version__}"


def save_figure(figure: MapFigure, path: str | Path, manifest: Mapping[str, Any] | None = None) -> None:
    """Write a figure and `<name>.json` beside it; the extension decides the format.

    Parameters
    ----------
    figure : MapFigure
    path : str or Path
        Ends in one of `FIGURE_SUFFIXES`.
    manifest : mapping, optional
        Instead of the figure's own.

    Raises
    ------
    ExportError
        If the file can't be written. An existing one is then as it was.
    """

    def write(temporary: Path) -> None:
        try:
            figure.savefig(temporary)
        except MemoryError as error:
            raise ExportError(f"{path} needs more memory than there is; lower the dpi") from error

    write_export(path, FIGURE_SUFFIXES, "figure", write, dict(manifest or figure.manifest), **figure.options)
