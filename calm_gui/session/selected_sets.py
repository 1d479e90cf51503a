"""What A and B are for the pictures and checkpoints at hand, and what they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import CalmError
from calm_gui.late import np
from calm_gui.model.info import CheckpointInfo
from calm_gui.render.naming import set_name
from calm_gui.session.cache import ExplanationCache, Pair
from calm_gui.session.carrying import carried, speak_alike
from calm_gui.session.checkpoint_names import checkpoint_names
from calm_gui.session.expression import Expression, Term, evaluate, term_name
from calm_gui.session.state import State

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SelectedSets", "terms_name"]

_MOST_TERMS = 6
"""Terms of a set that its name tells."""


class SelectedSets:
    """The class sets of one state, evaluated with the explanations at hand.

    Parameters
    ----------
    state : State
    infos : mapping of checkpoint key to CheckpointInfo
    cache : ExplanationCache
        What was computed; maps that are read for the scene go into it.
    failures : mapping of (picture, checkpoint) to str
        Why some explanations will not come.
    """

    def __init__(
        self,
        state: State,
        infos: Mapping[str, CheckpointInfo],
        cache: ExplanationCache,
        failures: Mapping[Pair, str],
    ) -> None:
        self.state = state
        self.infos = infos
        self._cache = cache
        self._failures = failures
        self._sets: dict[tuple[object, ...], ClassSet] = {}

    @cached_property
    def checkpoint_names(self) -> dict[str, str]:
        """What each open checkpoint is called: folder and file, and as much before them as tells it from the others."""
        return checkpoint_names(self._checkpoints)

    @cached_property
    def _checkpoints(self) -> tuple[str, ...]:
        """Keys of the open checkpoints, each once."""
        return tuple(dict.fromkeys((*self.infos, *(self.state.pane_keys(pane)[1] for pane in self.state.panes))))

    def source_of(self, checkpoint: str) -> str:
        """What a checkpoint is called where there are others; empty where it's the only one."""
        return self.checkpoint_names[checkpoint] if len(self._checkpoints) > 1 else ""

    @property
    def info(self) -> CheckpointInfo | None:
        """Metadata of the selection's checkpoint, once read."""
        return self.infos.get(self.state.selection.checkpoint)

    @property
    def classes(self) -> ClassTable:
        """Classes of the selection's checkpoint."""
        return self.info.classes if self.info else ClassTable([])

    @property
    def hierarchy(self) -> Hierarchy | None:
        """Hierarchy of the selection's checkpoint."""
        return self.info.hierarchy if self.info else None

    @cached_property
    def explanation(self) -> AnyExplanation | None:
        """Of the current picture under the selection's checkpoint."""
        return self.explanation_of(self.state.picture, self.state.selection.checkpoint)

    def explanation_of(self, picture: str | None, checkpoint: str) -> AnyExplanation | None:
        """Of any picture under any checkpoint, if it is at hand."""
        return self._cache.get((picture, checkpoint)) if picture else None

    @cached_property
    def class_probabilities(self) -> NDArray[np.float64] | None:
        """p(y|x), (C,)."""
        return self.explanation.class_probabilities if self.explanation else None

    @property
    def node_probabilities(self) -> dict[str, float]:
        """p(node|x) of every node; empty before the picture is explained."""
        return self.explanation.node_probabilities if self.explanation else {}

    @cached_property
    def target(self) -> ClassSet:
        """The class set A."""
        return self._set(self.state.selection.target)

    def target_in(self, explanation: AnyExplanation) -> ClassSet:
        """The class set A in the classes of an explanation; errors as for `classes_of` where it lacks one."""
        return self._set(self.state.selection.target, explanation)

    @cached_property
    def contrast(self) -> ClassSet:
        """The class set B."""
        return self._set(self.state.selection.contrast)

    def classes_of(self, expression: Expression) -> ClassSet:
        """Classes of an expression for the current picture; errors as for `calm_gui.session.expression.evaluate`."""
        return self._set(expression)

    def _set(
        self, expression: Expression, explanation: AnyExplanation | None = None, part_of: Expression | None = None
    ) -> ClassSet:
        """The classes of an expression (which may be a term of another), of a pane's picture or the current one.

        Terms that stand against the target do so against the first guess where they are the target's own.
        """
        explanation = explanation or self.explanation
        of_target = (part_of or expression) is self.state.selection.target
        key = (expression, of_target, explanation)
        if key not in self._sets:
            self._sets[key] = self._evaluated(self._carried(expression, explanation), of_target, explanation)
        return self._sets[key]

    def _carried(self, expression: Expression, explanation: AnyExplanation | None) -> Expression:
        """An expression, which speaks of the selection's classes, in those of an explanation.

        Raises
        ------
        ClassLookupError
            If the explanation's checkpoint lacks a class.
        """
        if explanation is None or self.info is None or speak_alike(self.info, explanation):
            return expression
        key = explanation.source.get("checkpoint", {}).get("path") or ""
        return carried(expression, self.info, explanation, self.checkpoint_names.get(key) or Path(key).name)

    def _evaluated(self, expression: Expression, of_target: bool, explanation: AnyExplanation | None) -> ClassSet:
        if (known := explanation or self.info) is None:
            return ClassSet()
        table, hierarchy = known.classes, known.hierarchy
        if of_target:
            against = ClassSet([explanation.top(1)[0][0]] if explanation else ())
        elif explanation is self.explanation:
            against = self.target
        else:
            target = self._carried(self.state.selection.target, explanation)
            against = evaluate(target, table, hierarchy, explanation)
        return evaluate(expression, table, hierarchy, explanation, against)

    def probability(self, classes: ClassSet) -> float | None:
        """p(A|x) of a set, or None before the picture is explained."""
        if self.class_probabilities is None:
            return None
        return float(self.class_probabilities[classes.indices].sum())

    def name(self, expression: Expression) -> str:
        """What an expression is called: its own name, or its terms'; of many terms the first few and their number."""
        return terms_name(expression, lambda term: self.term_text(expression, term))

    def term_text(self, expression: Expression, term: Term) -> str:
        """What a term of an expression is called: the class it stands for now, or its own name."""
        try:
            return self._dynamic_name(term.key, expression) or term_name(term, self.classes, self.hierarchy)
        except CalmError:
            return term.key

    def _dynamic_name(self, key: str, expression: Expression) -> str:
        """Name of the class that a term which follows the picture stands for now."""
        if self.explanation is None or key not in ("@predicted", "@runner-up", "@superset"):
            return ""
        classes = self._set(Expression.of(key), part_of=expression)
        if key == "@superset":
            node = self.explanation.supersets.node(self.explanation.top(1)[0][0])
            return node.name if node else set_name(classes, self)
        return set_name(classes, self)

    @property
    def lead_class(self) -> int | None:
        """The most probable class of the target: where the hierarchy strip begins."""
        if self.class_probabilities is None or not self.target:
            return None
        indices = self.target.indices
        return int(indices[int(np.argmax(self.class_probabilities[indices]))])

    def _name_in(self, expression: Expression, explanation: AnyExplanation) -> str:
        """What an expression is called in a pane, which may show another picture or checkpoint."""
        alike = self.info is None or speak_alike(self.info, explanation)
        follows = any(term.key.startswith("@") for term in expression.terms)
        if expression.name or (alike and not (follows and explanation is not self.explanation)):
            return self.name(expression)
        if follows or not expression:
            return set_name(self._set(expression, explanation), explanation)
        there = self._carried(expression, explanation)
        return terms_name(there, lambda term: term_name(term, explanation.classes, explanation.hierarchy))


def terms_name(expression: Expression, text: Callable[[Term], str]) -> str:
    """What an expression is called: its own name, or its terms'; of many terms the first few and their number."""
    if expression.name:
        return expression.name
    if not expression:
        return "nothing"
    shown = expression.terms[:_MOST_TERMS] if len(expression.terms) > _MOST_TERMS + 1 else expression.terms
    parts: list[str] = []
    for term in shown:
        parts.append(("− " if term.sign == "-" else "+ " if parts else "") + text(term))
    if more := len(expression.terms) - len(shown):
        parts.append(f"and {more} more")
    return " ".join(parts)
