"""Sets to choose for A and B: what the picture suggests, what was kept, what a search finds."""

from __future__ import annotations

from typing import NamedTuple

from calm_gui.core.classes import ClassSet, Searchable, fold_text
from calm_gui.errors import CalmError
from calm_gui.render.naming import counted
from calm_gui.session.expression import Expression, Term, class_key
from calm_gui.session.scene import Scene

__all__ = ["Suggestion", "found_sets", "suggested_sets"]

_MOST_FOUND = 60


class Suggestion(NamedTuple):
    """A set that may be chosen.

    Attributes
    ----------
    title : str
    note : str
        Why it's suggested, or what it is.
    p : float or None
    expression : Expression
    kept : str
        The name that it was kept under; empty if it wasn't.
    """

    title: str
    note: str
    p: float | None
    expression: Expression
    kept: str = ""


def suggested_sets(scene: Scene, role: str) -> list[Suggestion]:
    """What the picture and the other set suggest for A (``target``) or B (``contrast``), and the sets that were kept.

    Suggestions that are empty, or the same set as one before, are left out.
    """
    found = _for_target() if role == "target" else _for_contrast(scene)
    found += [(kept.name, "kept", kept) for kept in scene.state.named_sets]
    rows, seen = [], set()
    for title, note, expression in found:
        classes = _classes(scene, expression)
        if classes is None or not classes or (classes in seen and note != "kept"):
            continue
        seen.add(classes)
        row = _row(scene, title or scene.name(expression), note, expression, classes)
        rows.append(row._replace(kept=title) if note == "kept" else row)
    return rows


def found_sets(scene: Scene, text: str) -> list[Suggestion]:
    """Classes and groups that a search finds, each once: names that are the text first, then by probability."""
    needle = fold_text(text)
    if not needle:
        return []
    rows = [
        (info.name, info.synonyms, f"class {info.index}", Expression.of(class_key(info.index, scene.classes)))
        for info in scene.classes.find(text)
    ]
    taken = {expression.terms[0].key for *_, expression in rows}
    for node in (scene.hierarchy or {}).values():
        known = Searchable((node.name, *node.synonyms), node.key, node.gloss, node.class_index)
        if node.key not in taken and len(node.classes) > 1 and known.matches(needle):
            rows.append((node.name, node.synonyms, "group", Expression.of(node.key)))

    def order(row: tuple[str, tuple[str, ...], str, Expression]) -> tuple[bool, bool, float]:
        names = [fold_text(name) for name in (row[0], *row[1])]
        p = scene.probability(_classes(scene, row[3]) or ClassSet())
        return fold_text(row[0]) != needle, not any(needle in name for name in names), -(p or 0.0)

    found = []
    for name, synonyms, note, expression in sorted(rows, key=order)[:_MOST_FOUND]:
        also = next((s for s in synonyms if needle in fold_text(s)), "") if needle not in fold_text(name) else ""
        classes = _classes(scene, expression) or ClassSet()
        found.append(_row(scene, name, note + (f" · also {also}" if also else ""), expression, classes))
    return found


def _for_target() -> list[tuple[str, str, Expression]]:
    return [
        ("", "predicted class", Expression.of("@predicted")),
        ("", "suggested group of the predicted class", Expression.of("@superset")),
    ]


def _for_contrast(scene: Scene) -> list[tuple[str, str, Expression]]:
    found = [("", "runner-up", Expression.of("@runner-up"))]
    hierarchy, lead = scene.hierarchy, scene.lead_class
    start = hierarchy.by_class.get(lead) if hierarchy is not None and lead is not None else None
    if hierarchy is not None and start is not None:
        parents = hierarchy[start].parents
        name = hierarchy[parents[0]].name if parents else ""
        found.append((f"other classes of {name}", "siblings of A", Expression.of("@siblings")))
        suggested = next((step.node for step in scene.strip if step.suggested), None)
        if suggested is not None and scene.target != suggested.classes and scene.target <= suggested.classes:
            terms = tuple(
                Term(term.key, "-" if term.sign == "+" else "+") for term in scene.state.selection.target.terms
            )
            if all(term.sign == "-" and not term.key.startswith("@") for term in terms):
                without = Expression((Term(suggested.key), *terms))
            else:
                without = Expression((Term(suggested.key), Term(start, "-")))
            found.append((f"other classes of {suggested.name}", "suggested group without A", without))
    found.append(("everything else", "all classes except A", Expression.of("@rest")))
    return found


def _classes(scene: Scene, expression: Expression) -> ClassSet | None:
    """The classes of an expression; None where this checkpoint lacks one of its terms."""
    try:
        return scene.classes_of(expression)
    except CalmError:
        return None


def _row(scene: Scene, title: str, note: str, expression: Expression, classes: ClassSet) -> Suggestion:
    size = f" · {counted(len(classes), 'class', 'classes')}" if len(classes) > 1 else ""
    return Suggestion(title, note + size, scene.probability(classes), expression)
