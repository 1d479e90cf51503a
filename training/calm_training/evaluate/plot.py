"""Plots of results: one figure for each evaluation, as PNG and SVG."""

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from calm_gui.core.comparison import distinct_ends
from calm_gui.model.files import atomic_path
from calm_gui.render.drawing import drawing
from calm_gui.render.lettering import font_families, printable
from calm_training.evaluate.evaluation import Evaluation, Results

__all__ = ["bars", "draw", "plot_of"]


def plot_of(evaluation: Evaluation, results: Results) -> Figure:
    """The figure of an evaluation's results."""
    names = distinct_ends(list(results))  # a whole path leaves no room for the plot
    names = names if len(set(names)) == len(names) else tuple(results)
    texts = [printable(name) for name in names]
    short = [_short(text) for text in texts]
    results = dict(zip(short if len(set(short)) == len(short) else texts, results.values(), strict=True))
    maps = [name for result in results.values() for name in result.estimates if name]
    families = font_families("".join([*results, *maps]))  # checkpoints are named in any letters
    with drawing({"font.family": families}):
        figure = Figure(figsize=(8.0, max(4.0, 0.4 * len(maps) + 1.2)), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        evaluation.plot(figure.subplots(), results)
    return figure


def draw(evaluation: Evaluation, results: Results, path: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the figure of results beside `path`, as ``.png`` and ``.svg``; the same bytes every time.

    Errors as for `calm_gui.model.files.atomic_path`.
    """
    figure = plot_of(evaluation, results)
    written = []
    for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
        target = path.with_suffix(suffix)
        with atomic_path(target, overwrite=overwrite) as temporary, drawing():
            figure.savefig(temporary, metadata=metadata)
        written.append(target)
    return written


def bars(axes: Any, results: Results, figure: str, label: str = "", *, logarithmic: bool = False) -> None:
    """Draw a bar for each map that has a figure, with its interval.

    Parameters
    ----------
    axes : matplotlib Axes
    results : mapping
    figure : str
        Name of the figure among a map's estimates.
    label : str
        Of the axis; by default the figure's name.
    logarithmic : bool
    """
    found = {
        f"{name}: {shown}": of_map[figure]
        for name, result in results.items()
        for shown, of_map in result.estimates.items()
        if figure in of_map and of_map[figure].value is not None
    }
    values = [one.value for one in found.values()]
    axes.barh(range(len(found)), values, tick_label=[_short(name) for name in found])
    for row, one in enumerate(found.values()):
        if one.interval:
            axes.plot(one.interval, (row, row), color="black", linewidth=1.2, solid_capstyle="butt")
    axes.invert_yaxis()
    axes.set_xlabel(label or figure)
    if logarithmic:
        axes.set_xscale("log")
        # matplotlib's own labels of decades are mathematical text, which isn't parsed here.
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        low, high = axes.get_xlim()
        if high < 10 * low:  # within a decade, so that no tick of one may lie there
            axes.xaxis.set_major_locator(FixedLocator([low, (low * high) ** 0.5, high]))


def _short(text: str) -> str:
    """Of at most 40 letters, so that long names leave room for the bars."""
    return text if len(text) <= 40 else f"{text[:15]}…{text[-24:]}"
