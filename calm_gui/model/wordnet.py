"""Look-ups in the WordNet that ships with calm-gui: names to wnids, and what lies above a wnid.

A wnid is ``n`` and the eight digits of a noun synset's offset in WordNet 3.0, as in ``n02084071``.
"""

import re
import threading
from typing import TYPE_CHECKING

import calm_resources
from calm_gui.errors import DataError

if TYPE_CHECKING:
    from calm_gui.model.noun_reader import NounReader

__all__ = ["describe", "find_synset", "hypernyms", "nouns"]

_PHYSICAL_ENTITY = "n00001930"

_loading = threading.Lock()
_loaded: list["NounReader"] = []


def nouns() -> "NounReader":
    """Give nltk's reader of the bundled WordNet 3.0 nouns.

    The first call reads the file (about two seconds with nltk's import); threads that call meanwhile wait
    for it. The reader may then be asked from any thread.

    Returns
    -------
    NounReader
        An ``nltk.corpus.reader.WordNetCorpusReader`` of nouns only.

    Raises
    ------
    DataError
        If the bundled file is missing or damaged.
    """
    with _loading:
        if not _loaded:
            from calm_gui.model.noun_reader import open_nouns

            try:
                archive = calm_resources.path("wordnet/corpora/wordnet.zip")
            except FileNotFoundError as missing:
                raise DataError(f"WordNet's nouns are missing ({missing}); install calm-gui again") from missing
            _loaded.append(open_nouns(archive))
        return _loaded[0]


def find_synset(name: str, below: str | None = None) -> str | None:
    """Find the noun synset that a class name means.

    The whole name is tried first, then shorter and shorter ends of it, down to the last word:
    ``"002.Laysan_Albatross"`` gives albatross. Case, underscores, hyphens and a leading number don't matter.
    Among several senses things that can be pictured go before others (the bird albatross before the burden)
    and kinds before individuals (the machine crane before Stephen Crane); then the one that WordNet calls
    most frequent wins.

    Parameters
    ----------
    name : str
        A class name, as in a data set's class list or folder names.
    below : str, optional
        Only senses at or below this wnid count, for example ``"n01503061"`` in a data set of birds.

    Returns
    -------
    str or None
        The wnid; None if no end of the name is a noun there.

    Raises
    ------
    ClassLookupError
        If `below` is no noun of WordNet.
    """
    if below is not None:
        describe(below)  # raises where there is no such noun
    words = re.sub(r"^\d+\W", "", name.strip().lower()).replace("_", " ").split()
    for start in range(len(words)):
        # WordNet's own spelling can have a hyphen where the name has none (red-winged blackbird), or the reverse.
        spelled = "_".join(words[start:])
        spellings = (spelled, spelled.replace("_", "-", 1), spelled.replace("-", "_"), spelled.replace("-", ""))
        for lemma in dict.fromkeys(spellings):
            wnid = _first_sense(lemma, below)
            if wnid is not None:
                return wnid
    last = re.split(r"[-\s]", words[-1])[-1] if words else ""
    return _first_sense(last, below) if last else None


def hypernyms(wnid: str) -> tuple[str, ...]:
    """Wnids directly above a synset, an individual's kind included, sorted.

    Parameters
    ----------
    wnid : str
        A noun of WordNet.

    Returns
    -------
    tuple of str
        Empty for ``entity``, the root; several where the hierarchy isn't a tree.

    Raises
    ------
    ClassLookupError
        If WordNet has no such noun.
    """
    return nouns().hypernyms(wnid)


def describe(wnid: str) -> tuple[str, tuple[str, ...], str]:
    """Name, synonyms and gloss of a synset.

    Parameters
    ----------
    wnid : str
        A noun of WordNet.

    Returns
    -------
    name : str
        Its first lemma, with spaces.
    synonyms : tuple of str
        Its other lemmas, with spaces.
    gloss : str
        Its definition, without the examples.

    Raises
    ------
    ClassLookupError
        If WordNet has no such noun.
    """
    return nouns().describe(wnid)


def _first_sense(lemma: str, below: str | None) -> str | None:
    candidates = []
    for sense in nouns().synsets(lemma, pos="n"):
        wnid = f"n{sense.offset():08d}"
        above = _at_or_above(wnid)
        if below is None or below in above:
            candidates.append((_PHYSICAL_ENTITY not in above, bool(sense.instance_hypernyms()), wnid))
    # min keeps the first of equals, and nltk gives senses by frequency.
    return min(candidates, key=lambda candidate: candidate[:2])[2] if candidates else None


def _at_or_above(wnid: str) -> set[str]:
    found: set[str] = set()
    waiting = [wnid]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting.extend(hypernyms(current))
    return found
