"""A WordNet hierarchy for classes that have names only."""

from collections.abc import Mapping
from typing import Any

from calm_gui.core.classes import ClassTable
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.model import wordnet

__all__ = ["match_classes", "matched_hierarchy"]

ROOT = "n00001740"
UNMATCHED = "unmatched"


def match_classes(classes: ClassTable, below: str | None = None) -> dict[int, str | None]:
    """The WordNet noun of each class: its wnid, else what its name says (whole name, then its last word).

    Parameters
    ----------
    classes : ClassTable
    below : str, optional
        Only nouns below this wnid; for a data set of birds ``n01503061``.

    Returns
    -------
    dict of class index to wnid or None
    """
    return {info.index: info.wnid or wordnet.find_synset(info.name, below) for info in classes}


def matched_hierarchy(classes: ClassTable, matches: Mapping[int, str | None]) -> Hierarchy:
    """The hierarchy above matched classes.

    Each class is a node of its own below its noun, since several may share one (a hundred kinds of warbler), unless its
    wnid says that it is the noun. Classes without a match stand below the root.

    Parameters
    ----------
    classes : ClassTable
    matches : mapping of class index to wnid or None
    """
    nodes: dict[str, dict[str, Any]] = {}
    todo = [wnid for wnid in dict.fromkeys(matches.values()) if wnid]
    while todo:
        wnid = todo.pop()
        if wnid in nodes:
            continue
        name, synonyms, gloss = wordnet.describe(wnid)
        parents = list(wordnet.hypernyms(wnid))
        nodes[wnid] = {"name": name, "synonyms": list(synonyms), "gloss": gloss, "parents": parents}
        todo.extend(parents)
    unmatched = [info for info in classes if not matches.get(info.index)]
    if unmatched:
        nodes.setdefault(ROOT, {"name": "entity", "parents": []})
        nodes[UNMATCHED] = {"name": "not found in WordNet", "parents": [ROOT]}
    for info in classes:
        above = matches.get(info.index) or UNMATCHED
        if above == info.wnid:
            nodes[above]["class"] = info.index
            continue
        nodes[f"#{info.index}"] = {"name": info.name, "class": info.index, "parents": [above]}
    return Hierarchy(nodes, len(classes))
