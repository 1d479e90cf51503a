"""What is asked of every picture of a batch: readings of class sets, as they are typed on a command line."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.core.lookup import resolve
from calm_gui.core.maps import AnyMap, Map
from calm_gui.errors import ClassLookupError, ReadingError
from calm_gui.methods import Method
from calm_gui.session.expression import SPECIAL, Expression, Term, evaluate
from calm_gui.session.pane import Picture, shows_from_text

__all__ = ["Request", "check_sets", "parse_set"]

MakeMethodMap = Callable[[Method, ClassSet, ClassSet | None], Map]
"""Computes a method's map of a target and a contrast, which takes the network."""


@dataclass(frozen=True)
class Request:
    """Readings, methods and class sets.

    Attributes
    ----------
    readings : tuple of str
        As `session.pane.shows_text` writes them: a reading's key, or ``method:<key>``.
    targets : tuple of str
        Each as `parse_set` takes it.
    contrast : str
        Likewise, for readings that take one.
    depth : int
        Of the winner map; a hierarchy that ends higher is cut at its deepest.
    """

    readings: tuple[str, ...] = ("attribution",)
    targets: tuple[str, ...] = ("@predicted",)
    contrast: str = "@runner-up"
    depth: int = 6

    def __post_init__(self) -> None:
        for text in self.readings:
            if isinstance(shows_from_text(text), Picture):
                raise ReadingError("the picture alone is no reading; choose one")

    def maps(self, explanation: AnyExplanation, make_method_map: MakeMethodMap | None = None) -> Iterator[AnyMap]:
        """The maps of one explanation: readings in order, each for every target that it takes; each map once.

        Parameters
        ----------
        explanation : Explanation or CamExplanation
        make_method_map : callable, optional
            Needed if a method is asked for.

        Raises
        ------
        ReadingError
            If the explanation can't answer one of them.
        """
        seen: set[object] = set()
        depth = min(self.depth, explanation.hierarchy.max_depth if explanation.hierarchy else 0)
        for shows in map(shows_from_text, self.readings):
            assert not isinstance(shows, Picture)
            for target in self.targets:
                chosen = parse_set(target, explanation) if shows.takes_target else ClassSet()
                contrast = parse_set(self.contrast, explanation, chosen) if shows.takes_contrast else None
                key = (shows, chosen, contrast)
                if key in seen:
                    continue
                seen.add(key)
                if not isinstance(shows, Method):
                    yield shows.map(explanation, explanation.asked(shows, chosen, contrast, depth=depth))
                elif make_method_map:
                    yield make_method_map(shows, chosen, contrast)
                else:
                    raise ReadingError(f"{shows.title} needs the network, not an explanation alone")


def parse_set(text: str, explanation: AnyExplanation, target: ClassSet | None = None) -> ClassSet:
    """The class set that a text names for one explanation.

    Parameters
    ----------
    text : str
        One or several of these, separated by commas: ``@predicted``, ``@superset``, ``@runner-up``, ``@rest``,
        ``@siblings``, a wnid or other key of the hierarchy, a unique name, a class index. What has a minus before it
        is taken away from those before it, or, where nothing else is named, from all classes.
    explanation : Explanation or CamExplanation
    target : ClassSet, optional
        What ``@runner-up``, ``@rest`` and ``@siblings`` stand against; by default the first guess, as in the window.

    Raises
    ------
    ClassLookupError
        If a part names nothing or several things.
    """
    classes, hierarchy = explanation.classes, explanation.hierarchy
    terms = tuple(
        Term(part.removeprefix("-").strip(), "-" if part.startswith("-") else "+")
        for part in _parts(text, classes, hierarchy)
    )
    target = ClassSet([explanation.top(1)[0][0]]) if target is None else target
    if any(term.sign == "+" for term in terms):
        return evaluate(Expression(terms), classes, hierarchy, explanation, target)
    without = Expression.of(*(term.key for term in terms))
    return evaluate(without, classes, hierarchy, explanation, target).complement(len(classes))


def check_sets(request: Request, classes: ClassTable, hierarchy: Hierarchy | None) -> None:
    """Raise `ClassLookupError` for texts that name nothing in a checkpoint, before any picture is opened."""
    for text in (*request.targets, request.contrast):
        for part in (part.removeprefix("-").strip() for part in _parts(text, classes, hierarchy)):
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
