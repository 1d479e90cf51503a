"""A set that was chosen under one checkpoint, in the classes of another: by wnid or name, or not at all."""

from calm_gui.core.classes import ClassSet
from calm_gui.core.comparison import class_there, same_classes
from calm_gui.errors import ClassLookupError
from calm_gui.render.naming import Named
from calm_gui.session.expression import Expression, Term, class_key, evaluate, named_terms, term_name

__all__ = ["carried", "speak_alike"]


def speak_alike(here: Named, there: Named) -> bool:
    """Whether every key means the same to both: the same classes in one order, and one hierarchy."""
    return here.hierarchy is there.hierarchy and same_classes(here.classes, there.classes)


def carried(expression: Expression, here: Named, there: Named, whose: str) -> Expression:
    """An expression in the classes of another checkpoint.

    Parameters
    ----------
    expression : Expression
        In the classes of `here`; terms that follow the picture are left as they are.
    here, there : Named
        What has the classes and groups of the two checkpoints.
    whose : str
        What the other checkpoint is called, for the error.

    Returns
    -------
    Expression
        A group that the other hierarchy has too is that group there, however many classes it holds.

    Raises
    ------
    ClassLookupError
        If the other checkpoint lacks a class.
    """
    if speak_alike(here, there):
        return expression
    terms = [moved for term in expression.terms for moved in _carried_term(term, here, there, whose)]
    return named_terms(expression._replace(terms=tuple(terms)), there.classes)


def _carried_term(term: Term, here: Named, there: Named, whose: str) -> list[Term]:
    by_index = term.key.startswith("#")
    kept = there.classes.by_wnid(term.key) is not None or (there.hierarchy is not None and term.key in there.hierarchy)
    if term.key.startswith("@") or (kept and not by_index):
        return [term]
    classes = evaluate(Expression((term._replace(sign="+"),)), here.classes, here.hierarchy)
    found = [class_there(index, here.classes, there.classes) for index in classes]
    if missing := found.count(None):
        name = term_name(term, here.classes, here.hierarchy)
        if len(found) == 1:
            raise ClassLookupError(f"{name} is not a class of {whose}")
        which = f"{missing} of the {len(found)}" if missing < len(found) else f"the {len(found)}"
        raise ClassLookupError(f"{which} classes of {name} are not classes of {whose}")
    chosen = ClassSet(index for index in found if index is not None)
    return [Term(class_key(index, there.classes), term.sign) for index in chosen]
