"""``calm-explain``, and what it shares with the other command lines: their options and their last net."""

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``calm-explain``; see `calm_gui.cli.explain.main`."""
    from calm_gui.cli.explain import main as run

    return run(arguments)
