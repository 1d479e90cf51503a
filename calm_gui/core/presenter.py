"""What turns maps into files and figures; handed in from above, since the core knows neither."""

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Presenter"]


class Presenter(Protocol):
    """Files and figures of maps (`Map`, `WinnerMap`) and of their explanations (`AnyExplanation`)."""

    def save_map(self, shown: Any, path: str) -> None:
        """Write a map's numbers to `path` and what they are to `<name>.json`."""

    def figure(self, explanation: Any, maps: Sequence[Any], **options: Any) -> Any:
        """A matplotlib Figure of maps over their picture."""

    def plot(self, axes: Any, shown: Any, **options: Any) -> None:
        """Draw one map over its picture into given matplotlib Axes."""

    def png(self, explanation: Any, maps: Sequence[Any]) -> bytes:
        """A small figure as PNG, for notebooks."""

    def html(self, explanation: Any) -> str:
        """Picture, first guesses and their maps as HTML, for notebooks."""
