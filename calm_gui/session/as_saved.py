"""Whether what a session opens is what it was when it was saved: its pictures and checkpoints by their content."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from calm_gui.core.explanation import AnyExplanation
from calm_gui.model.answers import identity

__all__ = ["AsSaved", "hashes_of"]


def hashes_of(explanations: Iterable[AnyExplanation]) -> dict[str, str]:
    """Hashes of the pictures and checkpoints (with what was answered about them) of explanations, by path."""
    found = {}
    for explanation in explanations:
        for what in ("picture", "checkpoint"):
            origin = explanation.source.get(what, {})
            if origin.get("path") and origin.get("sha256"):
                found[str(origin["path"])] = identity(origin["sha256"], origin.get("answers", {}))
    return found


class AsSaved:
    """What the files of a session were, until they are seen again."""

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}

    def begin(self, hashes: Mapping[str, str]) -> None:
        """Expect the files of a session that was opened."""
        self._hashes = dict(hashes)

    def compare(self, explanations: Iterable[AnyExplanation], told: Callable[[str], object]) -> None:
        """Tell which of the files that explanations are made from aren't what they were, each once."""
        if not self._hashes:
            return
        now = hashes_of(explanations)
        changed = [Path(path).name for path, was in self._hashes.items() if now.get(path, was) != was]
        self._hashes = {path: was for path, was in self._hashes.items() if path not in now}
        if changed:
            names = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
            told(f"Since the session was saved, {names} changed; maps and numbers may differ from what it showed")
