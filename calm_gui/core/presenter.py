"""What turns maps into files and figures; handed in from above, since the core knows neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from calm_gui.core.explanation import AnyExplanation
    from calm_gui.core.maps import AnyMap

__all__ = ["Presenter"]


class Presenter(Protocol):
    """Files and figures of maps."""

    def save_map(self, shown: AnyMap, path: str) -> None:
        """Write a map's numbers to `path` and what they are to `<name>.json`."""

    def figure(self, explanation: AnyExplanation, maps: Sequence[AnyMap], **options: Any) -> Any:
        """A matplotlib Figure of maps over their picture."""

    def plot(self, axes: Any, shown: AnyMap, **options: Any) -> None:
        """Draw one map over its picture into given matplotlib Axes."""

    def png(self, explanation: AnyExplanation, maps: Sequence[AnyMap]) -> bytes:
        """A small figure as PNG, for notebooks."""

    def html(self, explanation: AnyExplanation) -> str:
        """Picture, first guesses and their maps as HTML, for notebooks."""
