"""Make the WordNet and ImageNet tables that ship with calm-gui.

``python -m calm_training.resources_build --wordnet /usr/share/wordnet --out resources/calm_resources``

The input is WordNet 3.0 as Princeton's tar file or Debian's package ``wordnet-base`` unpacks it. The same
input gives the same bytes: keys are sorted and the zip carries no dates (its compressed bytes also depend
on the liblzma that Python was built with).
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

from timm.data import ImageNetInfo

from calm_gui.errors import CalmError, DataError
from calm_gui.model.noun_reader import NounReader, open_nouns

__all__ = ["class_table", "hierarchy_table", "main", "superset_table", "wordnet_files", "write_archive"]

_OTHER_PARTS = ("adj", "adv", "verb")

# WordNet's lexicographer files in the order of their numbers: manual page lexnames(5WN).
_LEXICOGRAPHER_FILES = """
adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition
noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object
noun.person noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape
noun.state noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition
verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession
verb.social verb.stative verb.weather adj.ppl
"""
_PART_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def wordnet_files(wordnet: Path) -> dict[str, str]:
    """Contents of the files that nltk wants in a WordNet folder: nouns whole, other parts of speech empty.

    ``lexnames`` and ``index.sense``, which Debian leaves out, are derived. Each otherwise empty data and
    index file carries WordNet's licence, as the real ones do.

    Parameters
    ----------
    wordnet : Path
        Folder with WordNet 3.0's ``data.noun``, ``index.noun``, ``noun.exc`` and ``cntlist.rev``.

    Returns
    -------
    dict of str to str
        File name to content.

    Raises
    ------
    DataError
        If a file is missing or it isn't WordNet 3.0.
    """
    try:
        data, index, exceptions, counts = (
            (wordnet / name).read_text(encoding="ascii")
            for name in ("data.noun", "index.noun", "noun.exc", "cntlist.rev")
        )
    except OSError as reason:
        raise DataError(
            f"WordNet can't be read from {wordnet} ({reason.strerror}: {reason.filename}); "
            "give --wordnet the folder with data.noun (Debian: apt-get install wordnet-base)"
        ) from reason
    header = "".join(line for line in data.splitlines(keepends=True) if line.startswith("  "))
    if "WordNet 3.0 Copyright" not in header:
        raise DataError(f"{wordnet / 'data.noun'} isn't WordNet 3.0's; wnids are offsets into that version")
    noun_counts = [line for line in counts.splitlines() if line.split("%", 1)[1].startswith("1:")]
    contents = {
        "data.noun": data,
        "index.noun": index,
        "noun.exc": exceptions,
        "cntlist.rev": _lines(noun_counts),
        "index.sense": _lines(_sense_index(data, index, noun_counts)),
        "lexnames": _lines(
            f"{number:02d}\t{name}\t{_PART_NUMBERS[name.split('.')[0]]}"
            for number, name in enumerate(_LEXICOGRAPHER_FILES.split())
        ),
        "LICENSE": _lines(re.sub(r"^ *\d+ ", "", line).rstrip() for line in header.splitlines()),
    }
    for part in _OTHER_PARTS:
        contents |= {f"data.{part}": header, f"index.{part}": header, f"{part}.exc": ""}
    return contents


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _sense_index(data: str, index: str, noun_counts: Sequence[str]) -> list[str]:
    """Lines of ``index.sense`` for nouns: key, offset, sense number, tag count; manual page senseidx(5WN)."""
    sense_numbers: dict[tuple[str, str], int] = {}
    for line in index.splitlines():
        if not line.startswith(" "):
            fields = line.split()
            for number, offset in enumerate(fields[-int(fields[2]) :], start=1):
                sense_numbers[fields[0], offset] = number
    tag_counts = {line.split()[0]: line.split()[2] for line in noun_counts}
    lines = []
    for line in data.splitlines():
        if line.startswith(" "):
            continue
        offset, lexicographer_file, _, count, *fields = line.split(" | ")[0].split()
        for word, lexical_id in zip(fields[0 : 2 * int(count, 16) : 2], fields[1::2], strict=False):
            lemma = word.lower()
            key = f"{lemma}%1:{lexicographer_file}:{int(lexical_id, 16):02d}::"
            lines.append(f"{key} {offset} {sense_numbers[lemma, offset]} {tag_counts.get(key, '0')}")
    return sorted(lines)


def write_archive(contents: Mapping[str, str], archive: Path) -> None:
    """Zip files into a folder ``wordnet``, in the order of their names and without dates.

    Parameters
    ----------
    contents : mapping of str to str
        File name to content (ASCII).
    archive : Path
        The zip file to write; its folder is made.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(archive, "w", ZIP_LZMA) as opened:
        for name in sorted(contents):
            entry = ZipInfo(f"wordnet/{name}")
            entry.compress_type = ZIP_LZMA
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            opened.writestr(entry, contents[name].encode("ascii"))


def class_table(nouns: NounReader) -> dict[str, Any]:
    """The 1,000 classes of ImageNet-1k in the order of their index: wnid, name, synonyms, gloss.

    A class's name is the first lemma of its synset; two are called crane and two maillot.

    Parameters
    ----------
    nouns : NounReader
        WordNet 3.0.

    Returns
    -------
    dict
        Content of ``classes.json``.
    """
    return {
        "format": 1,
        "source": "ImageNet-1k (ILSVRC2012), wnids sorted; names, synonyms and glosses from WordNet 3.0",
        "classes": [
            {"index": index, "wnid": wnid, **_description(nouns, wnid)} for index, wnid in enumerate(_imagenet_wnids())
        ],
    }


def hierarchy_table(nouns: NounReader) -> dict[str, Any]:
    """The 1,000 classes and everything above them in WordNet, an individual's kind included.

    Parameters
    ----------
    nouns : NounReader
        WordNet 3.0.

    Returns
    -------
    dict
        Content of ``hierarchy.json``: 1,860 nodes, of which 75 have several parents.
    """
    classes = {wnid: index for index, wnid in enumerate(_imagenet_wnids())}
    nodes: dict[str, dict[str, Any]] = {}
    waiting = list(classes)
    while waiting:
        wnid = waiting.pop()
        if wnid in nodes:
            continue
        parents = nouns.hypernyms(wnid)
        nodes[wnid] = {**_description(nouns, wnid), "parents": parents}
        if wnid in classes:
            nodes[wnid]["class"] = classes[wnid]
        waiting.extend(parents)
    return {"format": 1, "source": "WordNet 3.0", "nodes": nodes}


def superset_table() -> dict[str, Any]:
    """The paper's supersets: each synset once, with the name and number of classes that are printed there.

    Returns
    -------
    dict
        Content of ``supersets.json``: 118 rows (the paper's table has 120; power tool and pot stand twice).
    """
    with files("calm_training").joinpath("paper_supersets.csv").open(encoding="utf-8") as table:
        printed = {row["wnid"]: row for row in csv.DictReader(table)}
    return {
        "format": 1,
        "source": "Keep CALM and Improve Visual Feature Attribution (ICCV 2021), table of supersets",
        "rows": [
            {"wnid": wnid, "name": row["name"], "paper_classes": int(row["classes"])}
            for wnid, row in sorted(printed.items())
        ],
    }


def _imagenet_wnids() -> list[str]:
    return list(ImageNetInfo("imagenet-1k").label_names())


def _description(nouns: NounReader, wnid: str) -> dict[str, Any]:
    name, synonyms, gloss = nouns.describe(wnid)
    return {"name": name, "synonyms": synonyms, "gloss": gloss}


def _write_json(content: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; the process's own if left out.

    Returns
    -------
    int
        Exit status: 0 done, 2 WordNet isn't where it was said to be.
    """
    parser = argparse.ArgumentParser(prog="calm_training.resources_build", description=__doc__)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"), help="folder with data.noun")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    options = parser.parse_args(arguments)
    try:
        contents = wordnet_files(options.wordnet)
        archive = options.out / "wordnet" / "corpora" / "wordnet.zip"
        write_archive(contents, archive)
        (options.out / "wordnet" / "LICENSE").write_text(contents["LICENSE"], encoding="ascii", newline="\n")
        nouns = open_nouns(archive)
        _write_json(class_table(nouns), options.out / "imagenet" / "classes.json")
        _write_json(hierarchy_table(nouns), options.out / "imagenet" / "hierarchy.json")
        _write_json(superset_table(), options.out / "imagenet" / "supersets.json")
    except CalmError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
