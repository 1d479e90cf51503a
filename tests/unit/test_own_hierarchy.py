"""``calm-explain --hierarchy FILE``: groups of one's own, in exports, batches and the library."""

import json
import shutil
from pathlib import Path

import pytest
from synthetic import CLASSES, SAMPLE
from tiny_checkpoint import write_tiny_checkpoint

import calm_gui
from calm_gui.cli import main
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.errors import CalmError
from calm_gui.model.hierarchy_file import read_hierarchy

SMALL = ["--width", "30", "--dpi", "60", "--quiet"]


@pytest.fixture
def own(tmp_path: Path) -> tuple[str, str]:
    """A checkpoint, and a table of groups."""
    rows = "child,parent\nAfghan hound,long\nbeagle,short\nn02012849,long\nn03126707,other\n4,other\ntabby,short\n"
    (tmp_path / "groups.csv").write_text(rows + "long,all\nshort,all\nother,all\n")
    return str(write_tiny_checkpoint(tmp_path / "tiny.safetensors")), str(tmp_path / "groups.csv")


def test_groups_are_targets_and_exports_insist_on_them(own: tuple[str, str], tmp_path: Path, capsys) -> None:
    checkpoint, groups = own
    command = [str(SAMPLE), "--checkpoint", checkpoint, "--target", "long", *SMALL]
    assert main([*command, "--hierarchy", groups, "--format", "npz", "--json", "--out", str(tmp_path / "out")]) == 0
    result = json.loads(capsys.readouterr().out)
    expected = calm_gui.load_checkpoint(checkpoint, "cpu").explain(SAMPLE).probability(["Afghan hound", "n02012849"])
    assert str(round(expected, 4))[:5] in json.dumps(result)
    assert main(command) == 2  # which the checkpoint's own hierarchy lacks
    assert "long" in capsys.readouterr().err
    manifest = next((tmp_path / "out").glob("*.json"))
    assert main(["--from", str(manifest), "--out", str(tmp_path / "again"), "--quiet"]) == 2
    assert "read in another way" in capsys.readouterr().err
    assert main(["--from", str(manifest), "--hierarchy", groups, "--out", str(tmp_path / "again"), "--quiet"]) == 0
    first, again = next((tmp_path / "out").glob("*.npz")), next((tmp_path / "again").glob("*.npz"))
    assert first.read_bytes() == again.read_bytes()


def test_a_batch_knows_the_groups_that_it_was_made_with(own: tuple[str, str], tmp_path: Path, capsys) -> None:
    checkpoint, groups = own
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("a.jpg", "b.jpg"):
        shutil.copy(SAMPLE, folder / name)
    command = [str(folder), "--checkpoint", checkpoint, "--format", "none", "--out", str(tmp_path / "out"), *SMALL]
    assert main([*command, "--hierarchy", groups, "--reading", "winner", "--depth", "1"]) == 0
    assert main([*command, "--hierarchy", groups, "--reading", "winner", "--depth", "1", "--resume"]) == 0
    assert main([*command, "--reading", "winner", "--depth", "1", "--resume"]) == 2
    assert "hierarchy" in capsys.readouterr().err


def test_groups_of_other_classes_are_refused_in_words(own: tuple[str, str], tmp_path: Path, capsys) -> None:
    checkpoint, _ = own
    (tmp_path / "part.csv").write_text("Afghan hound,dog\n")
    assert main([str(SAMPLE), "--checkpoint", checkpoint, "--hierarchy", str(tmp_path / "part.csv"), *SMALL]) == 2
    assert "part.csv leaves out 5 of 6 classes" in capsys.readouterr().err
    assert main([str(SAMPLE), "--checkpoint", checkpoint, "--hierarchy", str(tmp_path / "no.csv"), *SMALL]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_the_library_takes_them_too(own: tuple[str, str]) -> None:
    checkpoint, groups = own
    model = calm_gui.load_checkpoint(checkpoint, "cpu")
    model.give_hierarchy(read_hierarchy(groups, model.classes))
    explanation = model.explain(SAMPLE)
    assert explanation.attribution("long").sum == pytest.approx(explanation.probability([0, 2]), rel=1e-6)
    assert list(model.supersets[0]) == [0] and model.info.hierarchy is model.hierarchy
    with pytest.raises(CalmError, match="2 classes"):
        model.give_hierarchy(Hierarchy({"a": {"name": "a"}}, 2))
    assert len(model.classes) == len(CLASSES)
