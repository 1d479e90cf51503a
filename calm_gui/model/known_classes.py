"""Classes with what WordNet knows of them."""

from dataclasses import replace
from typing import NamedTuple

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import ClassLookupError
from calm_gui.model.class_matching import match_classes, matched_hierarchy
from calm_gui.model.imagenet import imagenet_classes, imagenet_hierarchy, imagenet_supersets
from calm_gui.model.wordnet import describe

__all__ = ["KnownClasses", "known_classes"]


class KnownClasses(NamedTuple):
    """Classes with what WordNet knows of them.

    Attributes
    ----------
    classes : ClassTable
    hierarchy : Hierarchy or None
    supersets : tuple of str
    """

    classes: ClassTable
    hierarchy: Hierarchy | None = None
    supersets: tuple[str, ...] = ()


def known_classes(classes: ClassTable) -> KnownClasses:
    """Classes that all have wnids, as ImageNet's folders are called, with names and hierarchy; others as they are."""
    if not all(info.wnid for info in classes):
        return KnownClasses(classes)
    whole = imagenet_classes()
    if [info.wnid for info in classes] == [info.wnid for info in whole]:
        whole = ClassTable(
            replace(known, name=_own_name(info, known)) for info, known in zip(classes, whole, strict=True)
        )
        return KnownClasses(whole, imagenet_hierarchy(whole), imagenet_supersets())
    known = {info.wnid: info for info in whole}
    try:
        named = [
            replace(known[info.wnid], index=info.index, name=_own_name(info, known[info.wnid]))
            if info.wnid in known
            else ClassInfo(info.index, info.name if info.name != info.wnid else name, info.wnid, synonyms, gloss)
            for info in classes
            for name, synonyms, gloss in [describe(str(info.wnid))]
        ]
        table = ClassTable(named)
        return KnownClasses(table, matched_hierarchy(table, match_classes(table)))
    except ClassLookupError:  # an id that looks like a noun of WordNet and is none
        return KnownClasses(classes)


def _own_name(info: ClassInfo, known: ClassInfo) -> str:
    """The name that was given to a class, unless that is its wnid."""
    return known.name if info.name == info.wnid else info.name
