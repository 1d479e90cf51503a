"""From a map to colours, pictures, figures and files. Importing this loads no drawing library."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.maps import Map, WinnerMap
from calm_gui.core.presenter import Presenter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PRESENTER"]


class _Presenter:
    """Fulfils `core.explanation.Presenter`; loads what draws or writes only when asked to."""

    def save_map(self, shown: Map | WinnerMap, path: str) -> None:
        from calm_gui.render.arrays import save_map

        save_map(shown, path)

    def figure(self, explanation: AnyExplanation, maps: Sequence[Map | WinnerMap], **options: Any) -> "Figure":
        from calm_gui.render.figure import map_figure

        return map_figure(explanation, maps, **options)

    def plot(self, axes: "Axes", shown: Map | WinnerMap, **options: Any) -> None:
        from calm_gui.render.figure import plot_map

        plot_map(axes, shown, **options)

    def png(self, explanation: AnyExplanation, maps: Sequence[Map | WinnerMap]) -> bytes:
        from calm_gui.render.figure import preview_png

        return preview_png(explanation, maps)

    def html(self, explanation: AnyExplanation) -> str:
        from calm_gui.render.notebook import explanation_html

        return explanation_html(explanation)


PRESENTER: Presenter = _Presenter()
"""What `calm_gui.load_checkpoint` hands to every explanation."""
