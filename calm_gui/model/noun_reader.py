"""nltk's WordNet reader over one zip file of nouns, safe to use from several threads."""

import re
import threading
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.data import PathPointer, SeekableUnicodeStreamReader

from calm_gui.errors import ClassLookupError, DataError

__all__ = ["NounReader", "open_nouns"]


class ZipFolder(PathPointer):  # type: ignore[misc]  # nltk has no type information
    """A folder or file inside a zip, as nltk wants to see it.

    nltk's own pointer refuses files that the user's group may write, and under Ubuntu's default umask 002
    every clone and every installation consists of such files.

    Parameters
    ----------
    archive : Path
        The zip file.
    entry : str
        Path inside it.
    """

    def __init__(self, archive: Path, entry: str) -> None:
        self.archive = archive
        self.entry = entry

    def open(self, encoding: str | None = None) -> Any:
        """Give the whole entry as a stream in memory, decoded if `encoding` is named."""
        with ZipFile(self.archive) as opened:
            content = BytesIO(opened.read(self.entry))
        return content if encoding is None else SeekableUnicodeStreamReader(content, encoding)

    def file_size(self) -> int:
        """Size of the entry in bytes, unpacked."""
        with ZipFile(self.archive) as opened:
            return opened.getinfo(self.entry).file_size

    def join(self, fileid: str) -> "ZipFolder":
        """Point to `fileid` below this folder."""
        return ZipFolder(self.archive, f"{self.entry}/{fileid}")


class NounReader(WordNetCorpusReader):  # type: ignore[misc]  # nltk has no type information
    """WordNet's nouns. As in nltk, but synsets may be asked for from any thread.

    Parameters
    ----------
    archive : Path
        Zip file with a folder ``wordnet`` of WordNet's data files.
    """

    def __init__(self, archive: Path) -> None:
        self._reading = threading.RLock()
        # nltk warns when it's given no reader of other languages; nothing here ever asks this one.
        super().__init__(ZipFolder(archive, "wordnet"), omw_reader=object())
        # Asked for an offset where no synset starts, nltk warns and answers None.
        self._offsets = frozenset(
            offset for senses in self._lemma_pos_offset_map.values() for offset in senses.get("n", ())
        )

    def open(self, file: str) -> Any:
        """Open one of WordNet's files; nltk would first look for it on ``nltk.data.path``."""
        return self._root.join(file).open(self._encoding)

    def synset_from_pos_and_offset(self, pos: str, offset: int) -> Any:
        """Read one synset; nltk seeks and reads one shared stream, hence the lock."""
        with self._reading:
            return super().synset_from_pos_and_offset(pos, offset)

    def map_wn(self, version: str = "wordnet") -> None:
        """Map nothing: the map to other WordNet versions serves other languages and takes a second."""

    def describe(self, wnid: str) -> tuple[str, tuple[str, ...], str]:
        """Name, synonyms and gloss of a synset: `calm_gui.model.wordnet.describe`."""
        synset = self._noun(wnid)
        name, *synonyms = (lemma.replace("_", " ") for lemma in synset.lemma_names())
        return name, tuple(synonyms), synset.definition()

    def hypernyms(self, wnid: str) -> tuple[str, ...]:
        """Wnids directly above a synset: `calm_gui.model.wordnet.hypernyms`."""
        synset = self._noun(wnid)
        above = [*synset.hypernyms(), *synset.instance_hypernyms()]
        return tuple(sorted({f"n{parent.offset():08d}" for parent in above}))

    def _noun(self, wnid: str) -> Any:
        if re.fullmatch(r"n\d{8}", wnid):
            offset = int(wnid[1:])
            if offset in self._offsets:
                return self.synset_from_pos_and_offset("n", offset)
        raise ClassLookupError(f"{wnid!r} is not a noun of WordNet 3.0; a wnid looks like 'n02084071'")


def open_nouns(archive: Path) -> NounReader:
    """Open a zip of WordNet's nouns (takes about a second).

    Parameters
    ----------
    archive : Path
        Zip file with a folder ``wordnet`` of WordNet's data files.

    Returns
    -------
    NounReader
        The reader; answers from any thread.

    Raises
    ------
    DataError
        If the file is missing, damaged or lacks one of WordNet's files.
    """
    try:
        return NounReader(archive)
    except (OSError, KeyError, BadZipFile, RuntimeError, ValueError) as reason:
        raise DataError(
            f"WordNet's nouns can't be read from {archive} ({reason}); install calm-gui again to restore them"
        ) from reason
