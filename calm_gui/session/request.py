"""What is asked of every picture of a batch: readings of class sets, as they are typed on a command line."""

from collections.abc import Iterator
from dataclasses import dataclass

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.explanation import READINGS, AnyExplanation, CamExplanation, Map, Reading, WinnerMap, resolve
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import ClassLookupError, ReadingError
from calm_gui.session.expression import SPECIAL, Expression, evaluate

__all__ = ["Request", "check_sets", "parse_set"]


@dataclass(frozen=True)
class Request:
    """Readings and class sets.

    Attributes
    ----------
    readings : tuple of str
    targets : tuple of str
        Each as `parse_set` takes it.
    contrast : str
        Likewise, for the counterfactual.
    depth : int
        Of the winner map; a hierarchy that ends higher is cut at its deepest.
    """

    readings: tuple[Reading, ...] = ("attribution",)
    targets: tuple[str, ...] = ("@predicted",)
    contrast: str = "@runner-up"
    depth: int = 6

    def __post_init__(self) -> None:
        for reading in self.readings:
            if reading not in READINGS:
                raise ReadingError(f"there is no reading {reading!r}; there are {', '.join(READINGS)}")

    def maps(self, explanation: AnyExplanation) -> Iterator[Map | WinnerMap]:
        """The maps of one explanation: readings in order, each for every target that it takes; each map once."""
        seen: set[object] = set()
        for reading in self.readings:
            for target in self.targets:
                chosen = parse_set(target, explanation)
                contrast = None
                if reading == "counterfactual":
                    contrast = parse_set(self.contrast, explanation, chosen)
                key = (reading, *(() if reading in ("saliency", "winner") else (chosen, contrast)))
                if key not in seen:
                    seen.add(key)
                    yield self._map(reading, explanation, chosen, contrast)

    def _map(
        self, reading: Reading, explanation: AnyExplanation, target: ClassSet, contrast: ClassSet | None
    ) -> Map | WinnerMap:
        if isinstance(explanation, CamExplanation):
            return explanation.reading(reading, target)
        if reading == "winner":
            deepest = explanation.hierarchy.max_depth if explanation.hierarchy else 0
            return explanation.winner(min(self.depth, deepest))
        return explanation.reading(reading, target, contrast)


def parse_set(text: str, explanation: AnyExplanation, target: ClassSet | None = None) -> ClassSet:
    """The class set that a text names for one explanation.

    Parameters
    ----------
    text : str
        One or several of these, separated by commas: ``@predicted``, ``@superset``, ``@runner-up``, ``@rest``,
        ``@siblings``, a wnid or other key of the hierarchy, a unique name, a class index.
    explanation : Explanation or CamExplanation
    target : ClassSet, optional
        What ``@runner-up``, ``@rest`` and ``@siblings`` stand against; by default the first guess, as in the window.

    Raises
    ------
    ClassLookupError
        If a part names nothing or several things.
    """
    parts = _parts(text, explanation.classes, explanation.hierarchy)
    target = ClassSet([explanation.top(1)[0][0]]) if target is None else target
    return evaluate(Expression.of(*parts), explanation.classes, explanation.hierarchy, explanation, target)


def check_sets(request: Request, classes: ClassTable, hierarchy: Hierarchy | None) -> None:
    """Raise `ClassLookupError` for texts that name nothing in a checkpoint, before any picture is opened."""
    for text in (*request.targets, request.contrast):
        for part in _parts(text, classes, hierarchy):
            if part.startswith("@") and part not in SPECIAL:
                raise ClassLookupError(f"there is no set {part!r}; there are {', '.join(SPECIAL)}")
            if part not in SPECIAL:
                resolve(part, classes, hierarchy)


def _parts(text: str, classes: ClassTable, hierarchy: Hierarchy | None) -> list[str]:
    if "," not in text:
        return [text.strip()]
    try:  # a name may hold a comma itself
        resolve(text, classes, hierarchy)
    except ClassLookupError:
        return [part.strip() for part in text.split(",") if part.strip()] or [text]
    return [text]
