"""The bundled data: counts that WordNet and the paper fix, licences, and that its command makes it again.

Long: one file for all that is bundled.
"""

import csv
import json
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zipfile import ZipFile

import nltk
import pytest
from PIL import Image

import calm_gui
import calm_resources
from calm_gui.core.hierarchy import Hierarchy, SupersetTable
from calm_gui.errors import ClassLookupError, DataError
from calm_gui.model import noun_reader, wordnet
from calm_gui.model.noun_reader import open_nouns

CANINE, BIRD, CAR, TRUCK = "n02083346", "n01503061", "n02958343", "n04490091"
DEBIAN_WORDNET = Path("/usr/share/wordnet")


def load(name: str) -> dict:
    return json.loads(calm_resources.path(f"imagenet/{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def nodes() -> dict[str, dict]:
    return load("hierarchy")["nodes"]


@pytest.fixture(scope="module")
def ancestors(nodes) -> dict[str, dict[str, int]]:
    """For each class's wnid: every node at or above it, with the fewest steps up to it."""
    result = {}
    for wnid, node in nodes.items():
        if "class" in node:
            steps = {wnid: 0}
            for current in (queue := [wnid]):
                for parent in nodes[current]["parents"]:
                    if parent not in steps:
                        steps[parent] = steps[current] + 1
                        queue.append(parent)
            result[wnid] = steps
    return result


def test_a_thousand_classes_in_the_order_of_their_wnids():
    classes = load("classes")["classes"]
    assert [entry["index"] for entry in classes] == list(range(1000))
    wnids = [entry["wnid"] for entry in classes]
    assert wnids == sorted(set(wnids))
    assert all(entry["name"] and entry["gloss"] for entry in classes)
    assert classes[0] == {
        "index": 0,
        "wnid": "n01440764",
        "name": "tench",
        "synonyms": ["Tinca tinca"],
        "gloss": "freshwater dace-like game fish of Europe and western Asia noted for ability to survive outside water",
    }


def test_only_crane_and_maillot_are_names_of_two_classes():
    names = Counter(entry["name"] for entry in load("classes")["classes"])
    assert {name: n for name, n in names.items() if n > 1} == {"crane": 2, "maillot": 2}


@pytest.mark.shared
def test_names_are_those_of_the_reference_code(shared):
    with (shared / "data" / "imagenet-classes.csv").open() as table:
        expected = [(int(r["class_index"]), r["wnid"], r["name"].replace("_", " ")) for r in csv.DictReader(table)]
    assert [(e["index"], e["wnid"], e["name"]) for e in load("classes")["classes"]] == expected


def test_hierarchy_is_wordnet_above_the_classes(nodes):
    assert len(nodes) == 1860
    assert sum(len(node["parents"]) > 1 for node in nodes.values()) == 75
    assert [wnid for wnid, node in nodes.items() if not node["parents"]] == ["n00001740"]
    assert all(parent in nodes for node in nodes.values() for parent in node["parents"])
    assert all(node["parents"] == sorted(set(node["parents"])) for node in nodes.values())
    assert {node["class"]: wnid for wnid, node in nodes.items() if "class" in node} == {
        entry["index"]: entry["wnid"] for entry in load("classes")["classes"]
    }


def test_hierarchy_is_acyclic(nodes):
    placed: set[str] = set()
    waiting = set(nodes)
    while waiting:
        ready = {wnid for wnid in waiting if placed.issuperset(nodes[wnid]["parents"])}
        assert ready, f"a cycle among {sorted(waiting)[:5]}"
        placed |= ready
        waiting -= ready


def test_every_node_is_at_or_above_a_class(nodes, ancestors):
    assert set().union(*ancestors.values()) == set(nodes)


@pytest.mark.parametrize(("wnid", "count"), [(CANINE, 130), (BIRD, 59), ("n02084071", 118), ("n00001740", 1000)])
def test_classes_below_a_node(ancestors, wnid, count):
    assert sum(wnid in above for above in ancestors.values()) == count


def test_the_supersets_are_the_papers(nodes):
    rows = load("supersets")["rows"]
    assert len(rows) == len({row["wnid"] for row in rows}) == 118
    assert all(row["wnid"] in nodes for row in rows)
    printed = {row["name"]: row["paper_classes"] for row in rows}
    assert (printed["canine"], printed["bird"], printed["railcar"], printed["shore"]) == (116, 52, 2, 2)


def test_eleven_supersets_differ_from_the_papers_count(ancestors):
    below = Counter(wnid for above in ancestors.values() for wnid in above)
    differing = {
        row["name"]: (row["paper_classes"], below[row["wnid"]])
        for row in load("supersets")["rows"]
        if row["paper_classes"] != below[row["wnid"]]
    }
    assert differing == {
        "canine": (116, 130),
        "bird": (52, 59),
        "feline": (8, 13),
        "building": (12, 14),
        "ball": (9, 10),
        "place of business": (8, 9),
        "truck": (7, 8),
        "stringed instrument": (6, 8),
        "ship": (4, 6),
        "piece of cloth": (4, 5),
        "aircraft": (3, 4),
    }


def test_a_class_takes_its_nearest_listed_ancestor(nodes, ancestors):
    listed = {row["wnid"] for row in load("supersets")["rows"]}
    nearest = {
        nodes[wnid]["class"]: min((steps, node) for node, steps in above.items() if node in listed)[1]
        for wnid, above in ancestors.items()
        if listed.intersection(above)
    }
    assert len(nearest) == 702
    hierarchy = Hierarchy(load("hierarchy")["nodes"], n_classes=1000)
    table = SupersetTable(hierarchy, listed)
    for index in range(1000):
        node = table.node(index)
        assert (node.key if node else None) == nearest.get(index)
    minivan = 656
    assert nearest[minivan] == CAR
    assert TRUCK in ancestors["n03770679"], "minivan is the one class for which the rule matters"
    assert table[minivan] == hierarchy[CAR].classes


def test_bundled_wordnet_answers_offline(monkeypatch):
    def online(*_, **__):
        raise AssertionError("something asks the net")

    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, online)
    monkeypatch.setattr(nltk.data, "path", [])  # a WordNet of the machine's own isn't taken either
    monkeypatch.setattr(wordnet, "_loaded", [])
    assert wordnet.describe("n01440764")[:2] == ("tench", ("Tinca tinca",))
    assert wordnet.hypernyms("n01440764") == ("n01439121",)
    assert wordnet.hypernyms("n00001740") == ()


def test_json_is_what_wordnet_says(nodes):
    for wnid, node in nodes.items():
        name, synonyms, gloss = wordnet.describe(wnid)
        assert (node["name"], tuple(node["synonyms"]), node["gloss"]) == (name, synonyms, gloss)
        assert tuple(node["parents"]) == wordnet.hypernyms(wnid)


@pytest.mark.parametrize("wnid", ["n01440765", "n00000000", "n99999999", "v01440764", "tench", "n1440764", ""])
def test_what_is_no_wnid_is_refused(wnid):
    with pytest.raises(ClassLookupError, match="not a noun of WordNet"):
        wordnet.describe(wnid)


@pytest.mark.parametrize(
    ("name", "wnid"),
    [
        ("002.Laysan_Albatross", "n02058221"),
        ("Black_footed_Albatross", "n02058747"),
        ("albatross", "n02058221"),
        ("tench", "n01440764"),
        ("Great Dane", "n02109047"),
        ("AFRICAN ELEPHANT", "n02504458"),
        ("Red-winged Blackbird", "n01575401"),
        ("red_winged_Blackbird", "n01575401"),
        ("geese", "n01855672"),
        ("crane", "n03126707"),
        ("xyzzy", None),
        ("", None),
        ("003.", None),
    ],
)
def test_a_class_name_finds_its_synset(name, wnid):
    assert wordnet.find_synset(name) == wnid


def test_a_class_name_is_looked_for_below_a_node():
    assert wordnet.find_synset("017.Cardinal", below=BIRD) == "n01541386"
    assert wordnet.find_synset("crane", below=BIRD) == "n02012849"
    assert wordnet.find_synset("minivan", below=BIRD) is None
    with pytest.raises(ClassLookupError):
        wordnet.find_synset("crane", below="bird")


def test_the_nouns_are_read_once_whoever_asks_first(monkeypatch):
    opened, original = [], noun_reader.open_nouns

    def slow(archive):
        opened.append(archive)
        time.sleep(0.3)
        return original(archive)

    monkeypatch.setattr(noun_reader, "open_nouns", slow)
    monkeypatch.setattr(wordnet, "_loaded", [])
    with ThreadPoolExecutor(4) as pool:
        readers = list(pool.map(lambda _: wordnet.nouns(), range(4)))
    assert len(opened) == 1 and all(reader is readers[0] for reader in readers)


@pytest.mark.parametrize("round", range(3))
def test_eight_threads_may_ask_at_once(round):
    asking = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from calm_gui.model import wordnet
wnids = json.loads(sys.stdin.read())
start = Barrier(8)
def ask(_):
    start.wait()
    return [[*wordnet.describe(w), wordnet.hypernyms(w)] for w in wnids]
with ThreadPoolExecutor(8) as pool:
    print(json.dumps(list(pool.map(ask, range(8)))))
"""
    wnids = [entry["wnid"] for entry in load("classes")["classes"][round::10]]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", asking], input=json.dumps(wnids), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = json.loads(json.dumps([[*wordnet.describe(w), wordnet.hypernyms(w)] for w in wnids]))
    assert json.loads(done.stdout) == [expected] * 8


def test_readers_from_many_threads_agree_with_one():
    reader = open_nouns(calm_resources.path("wordnet/corpora/wordnet.zip"))
    wnids = list(load("hierarchy")["nodes"])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(reader.describe, wnids))
    assert answers == [wordnet.describe(wnid) for wnid in wnids]


def test_looking_up_leaves_nltk_as_it_was_and_loads_no_torch():
    code = """
import nltk.data, sys
before = list(nltk.data.path)
from calm_gui.model import wordnet
wordnet.find_synset("tench")
assert nltk.data.path == before
assert "torch" not in sys.modules and "PySide6" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_importing_the_module_does_not_load_nltk():
    code = "import sys, calm_gui.model.wordnet; assert 'nltk' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_wordnet_is_read_where_the_group_may_write(tmp_path):
    archive = tmp_path / "wordnet.zip"
    archive.write_bytes(calm_resources.path("wordnet/corpora/wordnet.zip").read_bytes())
    archive.chmod(0o664)
    tmp_path.chmod(0o775)
    assert open_nouns(archive).describe("n01440764")[0] == "tench"


@pytest.mark.parametrize("content", [None, b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_a_damaged_wordnet_is_an_error_in_words(tmp_path, content):
    archive = tmp_path / "wordnet.zip"
    if content is not None:
        archive.write_bytes(content)
    with pytest.raises(DataError, match=r"wordnet\.zip .*install calm-gui again"):
        open_nouns(archive)


def test_plain_nltk_reads_the_folder_too():
    code = """
import sys, nltk
nltk.data.path[:] = [sys.argv[1]]
from nltk.corpus import wordnet
synset = wordnet.synset_from_pos_and_offset("n", 1440764)
assert synset.lemma_names() == ["tench", "Tinca_tinca"]
assert wordnet.get_version() == "3.0"
assert wordnet.lemma_from_key("tench%1:05:00::").synset() == wordnet.synset("tench.n.01")
assert wordnet.lemma_from_key("dog%1:05:00::").count() == 42
"""
    subprocess.run([sys.executable, "-c", code, str(calm_resources.path("wordnet"))], check=True)


def test_the_archive_carries_the_licence_and_no_dates():
    with ZipFile(calm_resources.path("wordnet/corpora/wordnet.zip")) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        licence = archive.read("wordnet/LICENSE").decode()
    assert licence == calm_resources.path("wordnet/LICENSE").read_text()
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in licence
    assert calm_resources.path("wordnet/corpora/wordnet.zip").stat().st_size < 6.5e6


@pytest.mark.slow
def test_the_command_makes_the_json_again_from_the_bundled_wordnet():
    from calm_training import resources_build

    nouns = wordnet.nouns()
    for name, table in (
        ("classes", resources_build.class_table(nouns)),
        ("hierarchy", resources_build.hierarchy_table(nouns)),
        ("supersets", resources_build.superset_table()),
    ):
        assert json.loads(json.dumps(table)) == load(name)


@pytest.mark.slow
@pytest.mark.skipif(not (DEBIAN_WORDNET / "data.noun").exists(), reason="Debian's wordnet-base isn't installed")
def test_the_command_makes_the_same_files_again(tmp_path):
    from calm_training import resources_build

    assert resources_build.main(["--wordnet", str(DEBIAN_WORDNET), "--out", str(tmp_path)]) == 0
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert len(made) == 5
    for path in made - {Path("wordnet/corpora/wordnet.zip")}:
        assert (tmp_path / path).read_bytes() == calm_resources.path(path.as_posix()).read_bytes()
    # Compressed bytes depend on the version of liblzma; what they hold doesn't.
    with (
        ZipFile(tmp_path / "wordnet/corpora/wordnet.zip") as again,
        ZipFile(calm_resources.path("wordnet/corpora/wordnet.zip")) as shipped,
    ):
        assert again.namelist() == shipped.namelist()
        assert all(again.read(name) == shipped.read(name) for name in shipped.namelist())


def test_the_command_says_where_wordnet_is_missing(tmp_path, capsys):
    from calm_training import resources_build

    assert resources_build.main(["--wordnet", str(tmp_path / "nowhere"), "--out", str(tmp_path)]) == 2
    assert "apt-get install wordnet-base" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def credits() -> list[dict[str, str]]:
    with calm_resources.path("samples/credits.csv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def test_every_sample_is_a_picture_with_a_complete_credit():
    rows = credits()
    pictures = {path.name for path in calm_resources.path("samples").iterdir() if path.suffix == ".jpg"}
    assert len(rows) == 13
    assert {row["file"] for row in rows} == pictures
    classes = load("classes")["classes"]
    for row in rows:
        assert all(row[key] for key in ("author", "license", "license_url", "origin", "changes"))
        assert row["license"] == "CC0" or row["source_page"].startswith("http")
        assert classes[int(row["class_index"])]["wnid"] == row["wnid"]
        with Image.open(calm_resources.path(f"samples/{row['file']}")) as picture:
            picture.load()
            assert picture.mode == "RGB"


def test_notice_credits_every_sample_and_source():
    notice = Path(__file__).resolve().parents[2].joinpath("NOTICE").read_text(encoding="utf-8")
    for row in credits():
        assert f"{row['file']}: {row['author']}, {row['license']}" in notice
    assert calm_resources.path("wordnet/LICENSE").read_text().strip() in notice
    assert "Apache License" in notice
    assert "Version 2.0" in calm_resources.path("licences/Apache-2.0.txt").read_text()


TOOLBAR = "open checkpoint previous next undo redo export swap search rectangle lasso fit theme fold add close"


@pytest.mark.parametrize("name", TOOLBAR.split())
def test_toolbar_icons_are_monochrome_and_draw_something(name, qapp):
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    renderer = QSvgRenderer(str(calm_resources.path(f"icons/{name}.svg")))
    assert renderer.isValid()
    assert renderer.defaultSize().toTuple() == (24, 24)
    image = QImage(24, 24, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    colors = [image.pixelColor(x, y) for x in range(24) for y in range(24)]
    drawn = [color for color in colors if color.alpha() > 0]
    assert 20 < len(drawn) < 400
    assert {color.lightness() for color in drawn if color.alpha() > 100} == {0}


@pytest.mark.parametrize("name", ["check", "partial", "dot", "chevron", "chevron-small", "chevron-up"])
def test_marks_of_controls_are_there_for_screens_of_up_to_three_pixels_to_a_point(name):
    sheet = (Path(calm_gui.__file__).parent / "qt" / "theme.py").read_text("utf-8")
    side = int(re.search(rf"{name}\.png\); width: (\d+)px", sheet)[1]) if "chevron" in name else 12
    assert f"{{icons}}/{name}.png" in sheet
    for ratio in (1, 2, 3):
        with Image.open(calm_resources.path(f"icons/{name}{f'@{ratio}x' if ratio > 1 else ''}.png")) as mark:
            assert mark.size == (side * ratio, side * ratio)
            least, most = mark.convert("RGBA").getchannel("A").getextrema()
            assert least == 0 and most > 200  # a line, on nothing


def test_the_program_icon_is_256_pixels_with_an_alpha_channel():
    with Image.open(calm_resources.path("icons/calm-gui.png")) as icon:
        assert (icon.size, icon.mode) == ((256, 256), "RGBA")
        assert icon.getpixel((0, 0))[3] == 0
        assert icon.getpixel((128, 128))[3] == 255


def test_a_missing_resource_is_named():
    with pytest.raises(FileNotFoundError, match=r"nothing called 'samples/none\.jpg'"):
        calm_resources.path("samples/none.jpg")
