"""What a researcher met who came new to the commands of version 0.1, row by row; rows on layouts, tick labels and NaN
are in `test_evaluation_layouts`, those on reports in `test_report`."""

import shutil
from pathlib import Path

import pytest
from synthetic import CLASSES, SAMPLE, calm_explanation
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.cli import main
from calm_gui.cli.parser import build_parser
from calm_gui.core.classes import ClassSet
from calm_gui.errors import ClassLookupError
from calm_gui.session.request import Request, check_sets, parse_set


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "x.safetensors", size=64))


def explain(*arguments: str) -> int:
    return main([*arguments, "--quiet"])


def test_a_method_asked_for_as_a_reading_is_told_how_to_ask(capsys):
    with pytest.raises(SystemExit):
        explain(str(SAMPLE), "--reading", "grad_cam")
    assert "grad_cam is another method, not a reading; use --map grad_cam" in capsys.readouterr().err


def test_the_kind_of_a_file_has_a_word_of_its_own():
    for word in ("--kind", "--method"):
        assert build_parser().parse_args(["x.png", word, "CALM_EM"]).method == "calm-em"


def test_every_line_names_what_its_map_is_about(checkpoint, capsys):
    asked = ["--target", "beagle", "--target", "tabby", "--contrast", "tabby"]
    maps = ["--reading", "attribution", "--reading", "saliency", "--reading", "counterfactual"]
    assert explain(str(SAMPLE), "--checkpoint", checkpoint, *asked, *maps) == 0
    said = [line.split(":")[0].strip() for line in capsys.readouterr().out.splitlines() if "adds up" in line]
    assert said == [
        "attribution of beagle",
        "attribution of tabby",
        "saliency",
        "counterfactual of beagle − tabby",
        "counterfactual of tabby − tabby (the same classes)",
    ]


@pytest.mark.parametrize("spelling", [["--target", "-beagle"], ["--target=-beagle"]])
def test_a_set_may_begin_with_a_minus(checkpoint, spelling, capsys):
    assert explain(str(SAMPLE), "--checkpoint", checkpoint, *spelling) == 0
    assert f"attribution of {len(CLASSES) - 1} classes: sum" in capsys.readouterr().out


def test_differences_as_typed():
    explanation = calm_explanation()
    beagle = parse_set("beagle", explanation)
    assert parse_set("dog,-beagle", explanation) == parse_set("dog", explanation) - beagle
    assert parse_set("-beagle", explanation) == ClassSet(range(len(CLASSES))) - beagle
    assert parse_set("-dog, -tabby", explanation) == ClassSet(range(len(CLASSES))) - parse_set("dog,tabby", explanation)
    with pytest.raises(ClassLookupError, match="nothing"):
        check_sets(Request(targets=("-nothing",)), explanation.classes, explanation.hierarchy)


def test_a_folder_of_class_folders_is_gone_through_and_says_the_truth(checkpoint, tmp_path, capsys):
    for number, name in enumerate(("beagle", "tabby")):
        Path(tmp_path / "pets" / name).mkdir(parents=True)
        shutil.copy(SAMPLE, tmp_path / "pets" / name / f"{number}.jpg")
    out = tmp_path / "out"
    assert explain(str(tmp_path / "pets"), "--checkpoint", checkpoint, "--out", str(out), "--format", "none") == 0
    summary = (out / "summary.csv").read_text()
    assert ",beagle," in summary and ",tabby," in summary
    capsys.readouterr()
