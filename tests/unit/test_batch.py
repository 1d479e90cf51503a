"""Batches: order, failures, resume, shards, memory, the summary and questions over it."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from synthetic import calm_explanation, cam_explanation
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.api import load_checkpoint
from calm_gui.core.geometry import Box
from calm_gui.errors import CalmError, ClassLookupError, DataError, ExportError, ReadingError
from calm_gui.model.parquet import has_parquet
from calm_gui.render.figure_spec import FigureSpec
from calm_gui.session.batch import (
    BatchPlan,
    explain_stream,
    output_names,
    run_batch,
    shard_of,
)
from calm_gui.session.batch_summary import summary_row, write_summary
from calm_gui.session.condition import matching, parse_condition, what_is_empty
from calm_gui.session.request import Request, parse_set
from calm_gui.session.summary_columns import COLUMNS
from calm_gui.session.truth import GroundTruth

SMALL = FigureSpec(width=30, dpi=60, font_size=4)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_checkpoint(write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny.safetensors"), "cpu")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> list[str]:
    """Twelve pictures of several shapes, the fourth and the last of them broken."""
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(1)
    paths = []
    for number in range(12):
        path = folder / f"p{number:02}.png"
        shape = (40 + 7 * number, 90 - 5 * number, 3)
        Image.fromarray(random.integers(0, 255, shape).astype(np.uint8)).save(path)
        paths.append(str(path))
    Path(paths[3]).write_text("no picture")
    Path(paths[11]).write_bytes(Path(paths[10]).read_bytes()[:200])
    return paths


def test_results_come_in_order_and_equal_those_of_one_by_one(model, pictures):
    found = list(explain_stream(model, pictures, batch_size=4))
    assert [path for path, _ in found] == pictures
    for path, explanation in found:
        if path in (pictures[3], pictures[11]):
            assert isinstance(explanation, CalmError) and Path(path).name in str(explanation)
        else:
            alone = model.explain(path)
            assert explanation.geometry == alone.geometry
            np.testing.assert_allclose(explanation.joint, alone.joint, rtol=1e-4, atol=1e-9)


def test_few_pictures_are_in_memory_at_a_time(model, pictures, monkeypatch):
    decoded, computed, most = 0, 0, 0
    prepare, explain_batch = model.prepare, model.explain_batch

    def counting_prepare(picture):
        nonlocal decoded, most
        decoded += 1
        most = max(most, decoded - computed)
        return prepare(picture)

    def counting_explain(batch, prepared):
        nonlocal computed
        result = explain_batch(batch, prepared)
        computed += len(batch)
        return result

    monkeypatch.setattr(model, "prepare", counting_prepare)
    monkeypatch.setattr(model, "explain_batch", counting_explain)
    good = [path for path in pictures if path not in (pictures[3], pictures[11])]
    assert len(list(explain_stream(model, good * 2, batch_size=3))) == 20
    assert most <= 2 * 3 + 2


def test_one_pictures_numbers_do_not_take_the_batch_along(model, pictures, monkeypatch):
    explain_batch = model.explain_batch
    poisoned = Path(pictures[5]).name

    def failing(batch, prepared):
        if any(picture.name == poisoned for picture in batch):
            raise ReadingError(f"{poisoned} is poisoned")
        return explain_batch(batch, prepared)

    monkeypatch.setattr(model, "explain_batch", failing)
    found = dict(explain_stream(model, pictures[4:8], batch_size=4))
    assert [isinstance(v, CalmError) for v in found.values()] == [False, True, False, False]


def test_stopping_early_ends_the_decoding(model, pictures):
    batch = run_batch(model, pictures, BatchPlan(), ".")
    next(batch)
    batch.close()  # waits for the threads; a hang would run into the time limit


def plan(*formats: str) -> BatchPlan:
    return BatchPlan(Request(("attribution", "saliency"), ("@predicted", "dog")), formats, SMALL)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_killed_and_resumed_batch_leaves_the_same_files(model, pictures, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    options = {"batch_size": 3}
    everything = plan("npz", "png", "csv")
    results = list(run_batch(model, pictures, everything, whole, journal=whole / "batch.jsonl", **options))
    assert [bool(result.error) for result in results].count(True) == 2

    batch = run_batch(model, pictures, everything, cut, journal=cut / "batch.jsonl", **options)
    for _ in range(5):
        next(batch)
    batch.close()
    # The sixth picture was killed between its files, and while the journal's line was being written.
    written = json.loads((whole / "batch.jsonl").read_text().splitlines()[6])["result"]["files"]
    with (cut / "batch.jsonl").open("a") as journal:
        journal.write(json.dumps({"begin": pictures[5], "files": written}) + '\n{"result": {"path": "/half')
    (cut / written[0]).write_bytes(b"half a file")

    done_before = {name: (cut / name).stat().st_mtime_ns for name in contents(cut) if name.startswith("p0")}
    resumed = list(run_batch(model, pictures, everything, cut, journal=cut / "batch.jsonl", resume=True, **options))
    assert contents(cut) == contents(whole)
    assert [r.to_json() for r in resumed] == [r.to_json() for r in results]
    untouched = [name for name, when in done_before.items() if (cut / name).stat().st_mtime_ns == when]
    assert len(untouched) >= 4 * 5  # those of the finished pictures were not made again


def test_resuming_another_batch_is_refused(model, pictures, tmp_path):
    list(run_batch(model, pictures[:2], plan("npz"), tmp_path, journal=tmp_path / "batch.jsonl"))
    with pytest.raises(DataError, match="other settings"):
        list(run_batch(model, pictures[:2], plan("csv"), tmp_path, journal=tmp_path / "batch.jsonl", resume=True))
    (tmp_path / "batch.jsonl").write_text("no journal\n")
    with pytest.raises(DataError, match="isn't the journal"):
        list(run_batch(model, pictures[:2], plan("npz"), tmp_path, journal=tmp_path / "batch.jsonl", resume=True))


def test_nothing_is_overwritten_unless_asked(model, pictures, tmp_path):
    list(run_batch(model, pictures[:1], plan("npz"), tmp_path))
    first = contents(tmp_path)
    (second,) = run_batch(model, pictures[:1], plan("npz"), tmp_path)
    assert {name: data for name, data in contents(tmp_path).items() if name in first} == first
    assert all("-2." in name for name in second.files) and all((tmp_path / name).exists() for name in second.files)
    (third,) = run_batch(model, pictures[:1], plan("npz"), tmp_path, overwrite=True)
    assert set(third.files) <= set(first)


def test_two_pictures_of_one_name_and_both_cranes_get_files_of_their_own(model, pictures, tmp_path):
    paths = []
    for folder in ("a", "B", "c"):
        (tmp_path / folder).mkdir()
        paths.append(str(tmp_path / folder / ("Dog.png" if folder == "B" else "dog.png")))
        Path(paths[-1]).write_bytes(Path(pictures[0]).read_bytes())
    assert list(output_names(paths).values()) == ["dog", "Dog-2", "dog-3"]
    out = tmp_path / "out"
    out.mkdir()
    cranes = BatchPlan(Request(("attribution",), ("2", "3")), ("npz",))
    files = [name for result in run_batch(model, paths, cranes, out) for name in result.files]
    assert len({name.casefold() for name in files}) == 6
    assert {"dog.attribution.crane-n02012849.npz", "dog.attribution.crane-n03126707.npz"} <= set(files)


def test_shards_share_the_work_and_the_names(pictures):
    parts = [shard_of(pictures, number, 5) for number in range(1, 6)]
    assert sorted(path for part in parts for path in part) == sorted(pictures)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    with pytest.raises(DataError):
        shard_of(pictures, 0, 5)


def test_long_and_strange_names_stay_writable(model, pictures, tmp_path):
    path = tmp_path / f"{'名' * 80}.png"
    path.write_bytes(Path(pictures[0]).read_bytes())
    (result,) = run_batch(model, [str(path)], plan("npz"), tmp_path)
    assert len(result.files) == 3 and all(len(name.encode()) < 255 for name in result.files)


def test_the_summarys_numbers_are_those_of_the_definitions():
    explanation = calm_explanation()
    width, height = explanation.geometry.picture
    truth = [Box(0, 0, width / 2, height), Box(width / 4, 0, width, height / 2)]
    row = summary_row(explanation, "dog", "n02123045", truth)
    shown = explanation.attribution("dog")
    inside = np.zeros((14, 14))
    inside[:, :7] = 1
    inside[:7, 3] = 1
    inside[:7, 3:] = 1
    inside[:7, 7:] = 1
    assert row["p"] == pytest.approx(float(explanation.joint[[0, 1]].sum(dtype=float)), rel=1e-5)
    assert row["mass_in_box"] == pytest.approx(float((shown.values * inside).sum()), rel=1e-5)
    assert row["share_in_box"] == pytest.approx(row["mass_in_box"] / row["p"], rel=1e-5)
    flat = np.sort(shown.values.ravel().astype(float))[::-1]
    fewest = int(np.searchsorted(np.cumsum(flat), 0.9 * flat.sum())) + 1
    assert row["area"] == pytest.approx(fewest / 196)
    peak = np.unravel_index(shown.values.argmax(), (14, 14))
    assert (row["peak_x"], row["peak_y"]) == pytest.approx(
        ((peak[1] + 0.5) / 14 * width, (peak[0] + 0.5) / 14 * height)
    )
    assert row["contrast_name"] == "tabby" and row["target_name"] == "dog" and row["target_size"] == 2
    assert 0 <= row["iou"] <= 1


def test_the_summary_of_cam_has_no_masses():
    row = summary_row(cam_explanation(), "dog", truth=[Box(0, 0, 10, 10)])
    assert "mass_in_box" not in row and 0 < row["p"] < 1


def test_the_summary_is_csv_and_parquet(tmp_path):
    rows = [{"file": 'a, "b".png', "p": 0.25, "target_name": "crane"}, {"file": "c.png", "p": 1 / 3, "iou": 0.5}]
    written = write_summary(rows, tmp_path / "summary.csv")
    with written[0].open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert tuple(read[0]) == COLUMNS
    assert read[0]["file"] == 'a, "b".png' and float(read[1]["p"]) == 1 / 3 and read[0]["iou"] == ""
    if not has_parquet():
        assert written == [tmp_path / "summary.csv"]
        return
    from pyarrow import parquet

    table = parquet.read_table(written[1]).to_pylist()
    assert table[1]["p"] == 1 / 3 and table[0]["iou"] is None


def test_ground_truth_reaches_the_summary(model, pictures):
    name = Path(pictures[0]).name
    truth = GroundTruth({name: 4}, {name: (Box(0, 0, 20, 20),)})
    with_truth, without = run_batch(model, pictures[:2], BatchPlan(), ".", truth=truth)
    (row,) = with_truth.rows
    assert row["truth_index"] == 4 and row["truth_name"].startswith("$x_i$") and row["iou"] is not None
    assert row["p_truth"] == pytest.approx(model.explain(pictures[0]).probability(4))
    assert without.rows[0]["truth_index"] is None and without.rows[0]["iou"] is None


ROWS = [
    {"file": "a", "p": 0.9, "share_in_box": 0.2, "target_name": "bird"},
    {"file": "b", "p": 0.2, "share_in_box": 0.8, "target_name": "dog"},
    {"file": "c", "p": 0.6, "share_in_box": None, "target_name": "bird"},
]


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("share_in_box < 0.5", "a"),
        ("p > 0.5", "ac"),
        ("0.1 < p <= 0.6", "bc"),
        ("p > 0.5 and not target_name == 'dog'", "ac"),
        ('p < 0.3 or target_name == "bird"', "abc"),
        ("p * 2 - 1 >= share_in_box - -0.6", "a"),
        ("not share_in_box < 0.5", "b"),
        ("p / (p - p) > 0", ""),
        ("p > 'x'", ""),
    ],
)
def test_conditions(condition, files):
    assert "".join(row["file"] for row in matching(ROWS, condition)) == files


@pytest.mark.parametrize(
    "condition",
    [
        *("", "p", "p >", "q < 1", "[p] == 1", "p in 'abc'", "p ** 9 ** 9 < 1", "p if p else p", "f'{p}' == 1"),
        *("__import__('os').system('x') == 0", "p.__class__ == 1", "p < (lambda: 1)()", "p < 1; p"),
        *("(" * 500, "p<1 and " * 400 + "p<1"),
    ],
)
def test_anything_but_a_condition_is_refused(condition):
    with pytest.raises(DataError):
        parse_condition(condition, ROWS[0])


def test_columns_without_a_value_are_named():
    rows = [{"p": 0.5, "share_in_box": None}, {"p": 0.1, "share_in_box": ""}, {"p": 0.2, "share_in_box": 0.4}]
    assert what_is_empty(rows, "p > 0.3 and share_in_box < 2") == "share_in_box is empty in 2 of 3 rows"
    assert what_is_empty(rows, "p > 0.3") == ""


def test_sets_as_typed():
    explanation = calm_explanation()
    order = [index for index, _ in explanation.top(6)]
    assert list(parse_set("@predicted", explanation)) == order[:1]
    assert list(parse_set("@runner-up", explanation)) == order[1:2]
    assert set(parse_set("@rest", explanation)) == set(range(6)) - set(order[:1])
    assert list(parse_set("dog", explanation)) == [0, 1]
    assert list(parse_set("n02088364, 5", explanation)) == [1, 5]
    assert list(parse_set("Afghan hound,tabby", explanation)) == [0, 5]
    assert set(parse_set("@rest", explanation, parse_set("dog", explanation))) == {2, 3, 4, 5}
    with pytest.raises(ClassLookupError, match=r"n02012849.*n03126707"):
        parse_set("crane", explanation)


def test_each_map_comes_once():
    explanation = calm_explanation()
    predicted = explanation.top(1)[0][0]
    request = Request(("attribution", "saliency", "winner"), ("@predicted", str(predicted), "dog"), depth=99)
    assert len(list(request.maps(explanation))) == 4
    with pytest.raises(ReadingError):
        Request(("nonsense",))  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="no format"):
        BatchPlan(formats=("gif",))


def test_probabilities_in_the_results_are_finite(model, pictures):
    results = list(run_batch(model, pictures[:3], BatchPlan(), "."))
    for result in results:
        assert all(math.isfinite(guess["probability"]) for guess in result.top)
        assert all(shown["check_passed"] for shown in result.maps)
