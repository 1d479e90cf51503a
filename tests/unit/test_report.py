"""The report and the page of results: what stands in them, and that they go on where they were."""

import base64
import io
import shlex
from pathlib import Path

import pymupdf
import pytest
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.errors import DataError
from calm_gui.model.loaded import load_model
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.evaluate import main, report
from calm_training.evaluate.documented_results import parts, with_tables
from calm_training.evaluate.evaluation import EVALUATIONS, Plan
from calm_training.evaluate.examples import chosen_examples, figures_of
from calm_training.evaluate.intervals import Estimate
from calm_training.evaluate.maps import maps_of
from calm_training.evaluate.page import Command, Heading, Paragraph, Picture, as_markdown
from calm_training.evaluate.page_html import as_html
from calm_training.evaluate.page_pdf import write_pdf
from calm_training.evaluate.paper import WSOL
from calm_training.evaluate.report import Part, run_part
from calm_training.evaluate.sweep import SweepOptions
from calm_training.evaluate.table import Table, markdown
from calm_training.evaluate.wsol import BoxResult, BoxScores


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_tiny_set(tmp_path_factory.mktemp("set"), 3, boxes="10 10 50 60")
    for method in ("calm-em", "cam"):
        write_tiny_checkpoint(root / f"{method}.safetensors", method)
    return root


@pytest.mark.slow
def test_a_report_says_everything_and_goes_on(folder, tmp_path, monkeypatch, capsys):
    out = tmp_path / "report"
    checkpoints = [str(folder / f"{method}.safetensors") for method in ("calm-em", "cam")]
    arguments = ["report", *checkpoints, "--data", str(folder), "--out", str(out), "--slow", "2", "--quiet"]
    assert main(arguments) == 0
    page = (out / "report.md").read_text()
    for title in ("Accuracy and calibration", "object localization", "Remove and classify", "Axioms", "Figure 6"):
        assert title in page
    assert "the paper's (ImageNet)" in page and "3 pictures; no picture skipped" in page
    assert f"calm-evaluate removal --checkpoint {checkpoints[0]}" in page
    assert "torch " in page
    for line in page.splitlines():
        if line.startswith("!["):
            picture = out / line.split("(")[1].rstrip(")")
            assert picture.exists() and picture.with_suffix(".svg").exists()
    assert not list(out.glob("*.journal"))
    of_one_file = (out / "report.html").read_text()
    assert "http" not in of_one_file and of_one_file.count("data:image/png;base64,") == page.count("![")
    for title in ("Measures of maps", "best by the energy-based pointing game", "Settings"):
        assert title in page and title in of_one_file
    with pymupdf.open(out / "report.pdf") as pdf:
        text = " ".join(sheet.get_text() for sheet in pdf)
        assert "Remove and classify" in text and "MaxBoxAccV2" in text and len(pdf) > 5

    monkeypatch.setattr(report, "measure", None)  # nothing may be measured again
    assert main([*arguments, "--resume"]) == 0
    assert (out / "report.md").read_text() == page
    capsys.readouterr()


def test_a_folder_with_nothing_to_measure_is_refused(tmp_path, capsys):
    assert main(["report", "demo", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "nothing to measure" in capsys.readouterr().err


def test_tables_replace_only_what_stands_between_their_markers():
    page = "# Results\n\nby hand\n<!-- one -->\nold\n<!-- end -->\nmore\n<!-- two -->\nkept\n<!-- end -->\n"
    changed = with_tables(page, {"one": "\\1 new"})
    assert changed == page.replace("old", "\\1 new")
    with pytest.raises(DataError, match="0 places for the table 'three'"):
        with_tables(page, {"three": ""})


def test_the_committed_page_has_a_place_for_every_table():
    page = (Path(__file__).parents[2] / "docs/results.md").read_text()
    names = [part.name for part in parts(Path("data"), ["cub"])]
    assert with_tables(page, dict.fromkeys([*names, "versions"], "x")).count("\nx\n") == len(names) + 1


@pytest.mark.shared
def test_the_paper_s_numbers_are_those_of_its_text(shared):
    text = (shared / "paper/calm-iccv2021.tex").read_text().replace("\\textbf{", "").replace("}", "")
    rows = {tuple(part.strip(" \\") for part in line.split("&")) for line in text.splitlines() if "&" in line}
    for values in WSOL.values():
        wanted = tuple(f"{value:.1f}" for value in values)
        assert any(tuple(cell for cell in row if cell)[-3:] == wanted for row in rows), wanted


def test_a_table_marks_the_paper_s_numbers():
    per_iou = {0.3: 0.6, 0.5: 0.5, 0.7: 0.4}
    scores = BoxScores(0.5, per_iou, dict.fromkeys(per_iou, 0.2), 7)
    of_map = {"MaxBoxAccV2": Estimate(0.5, (0.4, 0.625)), **{f"IoU {k}": Estimate(v) for k, v in per_iou.items()}}
    estimates = {"": {"top-1": Estimate(0.75)}, "superset": of_map, "saliency": of_map}
    result = BoxResult(7, 0.75, {"superset": scores, "saliency": scores}, method="calm-em", estimates=estimates)
    (table,) = map(markdown, EVALUATIONS["wsol"].tables({"m|n": result}))
    assert "| m\\|n | superset | 7 | 75.0 | 50.0 (40.0 to 62.5) | 60.0 | 50.0 | 40.0 | 62.8 |" in table
    assert "| m\\|n | saliency | 7 | 75.0 | 50.0 (40.0 to 62.5) | 60.0 | 50.0 | 40.0 |  |" in table


def test_a_page_in_three_forms(tmp_path):
    picture = tmp_path / "p.png"
    Image.new("RGB", (2000, 500), "red").save(picture)
    wide = Table.of([f"column {i}" for i in range(14)], [[f"{i}.5 (0.1 to 0.9)" for i in range(14)]] * 60)
    blocks = [Heading("All & <more>", 1), Command("run --it"), Paragraph("word " * 300), wide, Picture(picture, "red")]
    said = as_markdown(blocks)
    assert "# All & <more>" in said and "    run --it" in said and "![red](p.png)" in said
    page = as_html(blocks)
    assert "<h1>All &amp; &lt;more&gt;</h1>" in page and page.count("<tr>") == 61
    assert page.count('<td>1.5 <span class="whole">(0.1 to 0.9)</span></td>') == 60
    data = base64.b64decode(page.split("base64,")[1].split('"')[0])
    with Image.open(io.BytesIO(data)) as embedded:
        assert embedded.size == (1600, 400)
    write_pdf(blocks, tmp_path / "page.pdf")
    write_pdf(blocks, tmp_path / "again.pdf")
    assert (tmp_path / "page.pdf").read_bytes() == (tmp_path / "again.pdf").read_bytes()
    with pymupdf.open(tmp_path / "page.pdf") as pdf:
        for sheet in pdf:
            for word in sheet.get_text("words"):
                assert word[0] > 0 and word[2] < sheet.rect.width and word[3] < sheet.rect.height
        assert len(pdf) > 1 and len(pdf[-1].get_images()) == 1
        lines = pdf[0].get_text().splitlines()
        assert any("(0.1 to 0.9)" in line for line in lines) and not any(line.endswith(" to") for line in lines)


def test_two_pictures_fit_on_a_sheet(tmp_path):
    Image.new("RGB", (900, 500), "red").save(tmp_path / "p.png")
    pictures = [Picture(tmp_path / "p.png", f"picture {i}") for i in range(4)]
    write_pdf([Heading("Pictures", 2), *pictures], tmp_path / "page.pdf")
    with pymupdf.open(tmp_path / "page.pdf") as pdf:
        assert [sheet.get_text().count("picture") for sheet in pdf] == [2, 2]


def test_examples_are_the_best_the_median_and_the_worst(tmp_path):
    table = tmp_path / "measures.csv"
    rows = [f"c,{i}.png,attribution,{value}" for i, value in enumerate((0.4, 0.9, 0.1, 0.5, 0.2))]
    table.write_text("\n".join(["checkpoint,picture,map,energy", *rows, "c,0.png,saliency,1", "d,9.png,cam,1"]))
    shown, measure, examples = chosen_examples(table, "c")
    assert (shown, measure) == ("attribution", "energy-based pointing game")
    assert examples == [("best", "1.png", 0.9), ("median", "0.png", 0.4), ("worst", "2.png", 0.1)]
    assert chosen_examples(tmp_path / "none.csv", "c") == ("", "", [])


def test_a_part_may_tell_what_one_map_has_over_another(folder, tmp_path):
    calm, cam = (str(folder / f"{method}.safetensors") for method in ("calm-em", "cam"))
    pair = (f"{calm}:attribution", f"{cam}:cam")
    part = Part(Plan("wsol", folder), (calm, cam), "wsol", (pair,))
    first, beside = run_part(part, tmp_path, load_model).tables
    levels = {row[1]: float(row[first.head.index("MaxBoxAccV2")].split()[0]) for row in first.rows}
    (row,) = (row for row in beside.rows if row[2] == "MaxBoxAccV2")
    assert row[0] == " - ".join(pair)
    assert float(row[3].split()[0]) == pytest.approx((levels["attribution"] - levels["cam"]) / 100, abs=0.001)
    assert part.command.endswith(shlex.join(["--compare", *pair]))


def test_removal_up_to_a_share_is_the_same_as_far_as_it_goes(folder, tmp_path):
    (name,) = names = (str(folder / "calm-em.safetensors"),)
    whole, half = (
        Part(Plan("removal", folder, maps=("attribution",), settings=settings), names, f"removal{len(settings)}")
        for settings in ({}, {"most": 30})
    )
    assert "--most" not in whole.command and half.command.endswith("--map attribution --most 30")
    (all_shares,), (few,) = (run_part(part, tmp_path, load_model).tables for part in (whole, half))
    assert few.head == all_shares.head[:6]
    assert [tuple(row[:6]) for row in all_shares.rows] == [tuple(row) for row in few.rows]
    with pytest.raises(DataError, match="must be one of 10, 20"):
        Plan("removal", folder, settings={"most": 55})
    assert name in half.command


def test_supersets_of_one_class_have_neither_rows_nor_figures(tmp_path):
    """Where every class is its own superset, its map is the class's own."""
    write_tiny_set(tmp_path, 3, boxes="10 10 50 60")
    for name, names in (("groups", None), ("singletons", ["a", "b", "c", "d", "e", "f"])):
        for method, usual in (("calm-em", ["attribution", "superset", "saliency"]), ("cam", ["cam", "cam-superset"])):
            model = load_model(
                write_tiny_checkpoint(tmp_path / f"{name}-{method}.safetensors", method, names=names), "cpu"
            )
            there = [one.name for one in maps_of(model)]
            assert there == [one for one in usual if name == "groups" or "superset" not in one]
            assert [one.name for one in maps_of(model, usual)] == usual  # asked for
    model = load_model(write_tiny_checkpoint(tmp_path / "singletons.safetensors", names=list("abcdef")), "cpu")
    pictures = read_boxes_csv(tmp_path / "index.csv")
    result = EVALUATIONS["wsol"].measure(Plan("wsol", tmp_path), model, pictures, SweepOptions())
    (table,) = EVALUATIONS["wsol"].tables({"m": result})
    assert [row[1] for row in table.rows] == ["attribution", "saliency"]
    titles = [one.caption for one in figures_of({"m": model}, {"m": pictures}, tmp_path) if isinstance(one, Picture)]
    assert titles[0] == "m, Figure 3: attribution, saliency, conditional, counterfactual"
