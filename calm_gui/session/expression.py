"""Class sets as the user builds them: unions and differences of nodes and classes, one chip each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from calm_gui.core.classes import ClassSet, ClassTable
from calm_gui.core.comparison import class_named
from calm_gui.core.explanation import AnyExplanation
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.core.lookup import resolve
from calm_gui.errors import ClassLookupError
from calm_gui.late import np

__all__ = [
    "SPECIAL",
    "Expression",
    "Term",
    "class_key",
    "evaluate",
    "named_terms",
    "shortest_expression",
    "smallest_node",
    "term_name",
    "with_sets",
]

SPECIAL = {
    "@predicted": "predicted class",
    "@superset": "superset of the predicted class",
    "@runner-up": "runner-up",
    "@rest": "everything else",
    "@siblings": "siblings of the target",
}
"""Terms that follow the picture or the target, and what they are called."""


class Term(NamedTuple):
    """One chip: a node or class that is added or taken away.

    Attributes
    ----------
    key : str
        A hierarchy key, a wnid, ``#index`` for a class without wnid, or one of `SPECIAL`.
    sign : {"+", "-"}
    name : str
        Of the class of an ``#index``, whose place another checkpoint may give to another class; empty if not known.
    """

    key: str
    sign: Literal["+", "-"] = "+"
    name: str = ""


class Expression(NamedTuple):
    """Terms, applied from left to right. Empty means nothing is chosen.

    Attributes
    ----------
    terms : tuple of Term
    name : str
        The user's name for it, or empty.
    """

    terms: tuple[Term, ...] = ()
    name: str = ""

    @classmethod
    def of(cls, *keys: str) -> Expression:
        """The union of nodes and classes."""
        return cls(tuple(Term(key) for key in keys))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def without(self, position: int) -> Expression:
        """The expression without one of its terms."""
        return Expression(self.terms[:position] + self.terms[position + 1 :])

    def including(self, key: str) -> Expression:
        """The expression with a node added; earlier terms of the same node go."""
        return Expression((*(t for t in self.terms if t.key != key), Term(key)))

    def excluding(self, key: str) -> Expression:
        """The expression with a node taken away; where it was a term of its own, that term just goes."""
        kept = tuple(t for t in self.terms if t.key != key)
        was_added = any(t.key == key and t.sign == "+" for t in self.terms)
        return Expression(kept if was_added and len(kept) else (*kept, Term(key, "-")) if kept else ())


def class_key(index: int, classes: ClassTable) -> str:
    """The key of a class in expressions: its wnid, or ``#index``."""
    return classes[index].wnid or f"#{index}"


def named_terms(expression: Expression, classes: ClassTable) -> Expression:
    """The expression with the name of every class that is meant by its index alone."""
    terms = tuple(
        term._replace(name=classes[index].name)
        if not term.name and (index := _index_of(term.key)) is not None and index < len(classes)
        else term
        for term in expression.terms
    )
    return expression if terms == expression.terms else expression._replace(terms=terms)


def _index_of(key: str) -> int | None:
    """The index that a key of the form ``#index`` holds."""
    return int(key[1:]) if key.startswith("#") and key[1:].isdecimal() else None


def evaluate(
    expression: Expression,
    classes: ClassTable,
    hierarchy: Hierarchy | None,
    explanation: AnyExplanation | None = None,
    target: ClassSet | None = None,
) -> ClassSet:
    """The class set that an expression stands for.

    Parameters
    ----------
    expression : Expression
    classes, hierarchy
        Of the checkpoint that is asked; keys that it lacks are an error.
    explanation : Explanation, optional
        What "predicted" and "runner-up" refer to; without it they are empty.
    target : ClassSet, optional
        What "everything else", "siblings" and "runner-up" stand against.

    Raises
    ------
    ClassLookupError
        If a key names nothing in this checkpoint.
    """
    chosen: set[int] = set()
    for term in expression.terms:
        classes_of_term = _evaluate_term(term, classes, hierarchy, explanation, target or ClassSet())
        (chosen.update if term.sign == "+" else chosen.difference_update)(classes_of_term)
    return ClassSet(chosen)


def _evaluate_term(
    term: Term,
    classes: ClassTable,
    hierarchy: Hierarchy | None,
    explanation: AnyExplanation | None,
    target: ClassSet,
) -> ClassSet:
    key = term.key
    if key == "@rest":
        return target.complement(len(classes))
    if key == "@siblings":
        return _siblings(target, hierarchy)
    if key in SPECIAL:
        if explanation is None:
            return ClassSet()
        first = int(np.argmax(explanation.class_probabilities))
        if key == "@predicted":
            return ClassSet([first])
        if key == "@superset":
            return explanation.supersets[first]
        if len(target) == len(classes):
            return ClassSet()
        p = explanation.class_probabilities.copy()
        p[target.indices] = -1.0
        return ClassSet([int(np.argmax(p))])
    if (index := _index_of(key)) is not None:
        return ClassSet([_class_at(index, term.name, classes)])
    return resolve(key, classes, hierarchy)


def _class_at(index: int, name: str, classes: ClassTable) -> int:
    """The class that an index means where the class had that name; by the name where it has another place here."""
    if index < len(classes) and name in ("", classes[index].name):
        return index
    if name and (found := class_named(name, classes)):
        return found.index
    raise ClassLookupError(
        f"{name} is not a class of this checkpoint"
        if name
        else f"there is no class {index}; the checkpoint has the classes 0 to {len(classes) - 1}"
    )


def _siblings(target: ClassSet, hierarchy: Hierarchy | None) -> ClassSet:
    """The other classes below the parents of the target's smallest node."""
    if hierarchy is None or not target:
        return ClassSet()
    home = smallest_node(target, hierarchy)
    above: Iterable[str] = hierarchy.ancestors(home) if home else ()
    larger = sorted((hierarchy[k].classes for k in above if len(hierarchy[k].classes) > len(target)), key=len)
    return larger[0] - target if larger else ClassSet()


def smallest_node(classes: ClassSet, hierarchy: Hierarchy) -> str | None:
    """Key of the smallest node that holds all of a set; of several the deepest, then the lowest key."""
    if not classes:
        return None
    holders = [
        node
        for key in {hierarchy.by_class.get(next(iter(classes)), "")} & set(hierarchy)
        for node in (hierarchy[k] for k in (key, *hierarchy.ancestors(key)))
        if classes <= node.classes
    ]
    best = min(holders, key=lambda node: (len(node.classes), -node.depth, node.key), default=None)
    return best.key if best else None


def shortest_expression(wanted: ClassSet, classes: ClassTable, hierarchy: Hierarchy | None) -> Expression:
    """A set in few terms: whole nodes and single classes, or the smallest node around it without some of them.

    Few, not always fewest: the largest node that fits is taken first.

    Parameters
    ----------
    wanted : ClassSet
    classes, hierarchy
        Of the checkpoint that the set belongs to.
    """
    inside = Expression.of(*_cover(wanted, classes, hierarchy))
    home = smallest_node(wanted, hierarchy) if hierarchy is not None else None
    if hierarchy is None or home is None:
        return inside
    missing = _cover(hierarchy[home].classes - wanted, classes, hierarchy)
    if 1 + len(missing) >= len(inside.terms):
        return inside
    return Expression((Term(home), *(Term(key, "-") for key in missing)))


def _cover(wanted: ClassSet, classes: ClassTable, hierarchy: Hierarchy | None) -> list[str]:
    """Keys of nodes and classes that are together exactly a set, the largest first."""
    left, keys = set(wanted), []
    nodes = [node for node in (hierarchy or {}).values() if 1 < len(node.classes) <= len(wanted)]
    for node in sorted(nodes, key=lambda node: (-len(node.classes), -node.depth, node.key)):
        if node.classes <= wanted and not left.isdisjoint(node.classes):
            keys.append(node.key)
            left.difference_update(node.classes)
    return [*keys, *(class_key(index, classes) for index in sorted(left))]


def term_name(term: Term, classes: ClassTable, hierarchy: Hierarchy | None) -> str:
    """What a chip says: the node's or class's name."""
    key = term.key
    if key in SPECIAL:
        return SPECIAL[key]
    if (index := _index_of(key)) is not None:
        return classes.name_of(_class_at(index, term.name, classes))
    if hierarchy is not None and key in hierarchy:
        node = hierarchy[key]
        return node.name if node.class_index is None else classes.name_of(node.class_index)
    if info := classes.by_wnid(key):
        return classes.name_of(info.index)
    raise ClassLookupError(f"{key} names nothing in this checkpoint")


def with_sets(kept: tuple[Expression, ...], others: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Named sets and those of another origin; what has the name of a different set that is kept gets a number."""
    together = list(kept)
    for expression in others:
        name, number = expression.name, 2
        while any(e.name == name and e.terms != expression.terms for e in together):
            name, number = f"{expression.name} {number}", number + 1
        if all(e.name != name for e in together):
            together.append(expression._replace(name=name))
    return tuple(together)
