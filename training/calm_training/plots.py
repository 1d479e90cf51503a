"""Plots of results: one figure for each command, as PNG and SVG."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from calm_gui.model.files import atomic_path
from calm_gui.render.drawing import drawing
from calm_gui.render.lettering import font_families, printable

__all__ = ["draw", "plot_of"]

Results = Mapping[str, Mapping[str, Any]]


def plot_of(command: str, results: Results) -> Figure:
    """The figure of a command's results.

    Accuracy: reliability against the diagonal. Removal: R_k over k with 95 % intervals, as the paper's figure 5.
    Others: bars of the score of every map.
    """
    results = {printable(name): result for name, result in results.items()}
    maps = [name for result in results.values() for name in result.get("maps", ())]
    families = font_families("".join([*results, *maps]))  # checkpoints are named in any letters
    with drawing({"font.family": families}):
        figure = Figure(figsize=(8.0, max(4.0, 0.4 * len(maps) + 1.2)), dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        if command == "accuracy":
            _reliability(axes, results)
        elif command == "removal":
            _curves(axes, results)
        else:
            _bars(axes, command, results)
    return figure


def draw(command: str, results: Results, path: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the figure of a command's results beside `path`, as ``.png`` and ``.svg``; the same bytes every time.

    Errors as for `calm_gui.model.files.atomic_path`.
    """
    figure = plot_of(command, results)
    written = []
    for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
        target = path.with_suffix(suffix)
        with atomic_path(target, overwrite=overwrite) as temporary, drawing():
            figure.savefig(temporary, metadata=metadata)
        written.append(target)
    return written


def _reliability(axes: Any, results: Results) -> None:
    axes.plot([0, 1], [0, 1], color="gray", linewidth=0.8, label="as often right as said")
    for name, result in results.items():
        bins = result["calibration"]["bins"]
        label = f"{name} (ECE {100 * result['calibration']['ECE']:.1f} %)"
        axes.plot([b["confidence"] for b in bins], [b["accuracy"] for b in bins], marker="o", label=label)
    axes.set(xlabel="p(y|x) of the predicted class, mean of the bin", ylabel="share that is right")
    axes.legend()


def _label(text: str) -> str:
    """Of at most 40 letters, so that long names leave room for the bars."""
    return text if len(text) <= 40 else f"{text[:15]}…{text[-24:]}"


def _curves(axes: Any, results: Results) -> None:
    for name, result in results.items():
        for shown, curve in result["maps"].items():
            shares = [100 * share for share in curve["shares"]]
            line = axes.plot(shares, curve["relative"], marker="o", markersize=3, label=f"{name}: {shown}")[0]
            low, high = zip(*curve["interval"], strict=True)
            axes.fill_between(shares, low, high, color=line.get_color(), alpha=0.1, linewidth=0)
    axes.axhline(1, color="gray", linewidth=0.8)
    axes.set(xlabel="erased pixels, %", ylabel="accuracy relative to erasing at random", ylim=(0, 1.5))
    axes.legend(fontsize="small")


def _bars(axes: Any, command: str, results: Results) -> None:
    def value(shown: Any) -> float:
        if command == "wsol":
            return float(shown["MaxBoxAccV2"])
        if command == "cues":
            return float(shown["mean"])
        if command == "axioms":
            return float(shown["completeness"]["median"])
        return float(shown)

    bars = {f"{n}: {m}": value(shown) for n, result in results.items() for m, shown in result["maps"].items()}
    axes.barh(range(len(bars)), list(bars.values()), tick_label=[_label(name) for name in bars])
    axes.invert_yaxis()
    if command == "axioms":
        axes.set_xscale("log")
        axes.set_xlabel("|sum of the map - p| / p, median over pictures")
    else:
        axes.set_xlabel({"wsol": "MaxBoxAccV2", "cues": "mPxAP over all pairs", "masks": "PxAP"}[command])
