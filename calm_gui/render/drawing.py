"""One set of matplotlib's settings for everything that is drawn."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context, rcParamsDefault

__all__ = ["drawing"]

_OURS: dict[str, Any] = {
    "text.usetex": False,
    "text.parse_math": False,
    "svg.hashsalt": "calm-gui",  # no random id may enter a file
    "svg.fonttype": "path",
    "svg.image_inline": True,
    "pdf.fonttype": 42,
    "pdf.compression": 6,
    "image.composite_image": False,
    "savefig.facecolor": "auto",
    "savefig.edgecolor": "auto",
    "savefig.dpi": "figure",
    "path.simplify": False,
}
"""Where we differ from matplotlib's defaults, or must not follow them if they change."""

_OF_THE_PROCESS = {"backend", "backend_fallback", "interactive", "toolbar", "timezone", "date.epoch"}
"""Not about how a figure looks; a change of some of them has effects elsewhere."""


@contextmanager
def drawing(changed: Mapping[str, Any] | None = None) -> Iterator[None]:
    """matplotlib's own defaults with our few changes while a figure is made or saved.

    A person's matplotlibrc, style sheet or ``rcParams`` must not change what a figure shows, nor its bytes.

    Parameters
    ----------
    changed : mapping, optional
        Settings that differ this once.
    """
    defaults = {name: value for name, value in rcParamsDefault.items() if name not in _OF_THE_PROCESS}
    with rc_context({**defaults, **_OURS, **(changed or {})}):
        yield
