"""A picture that fails is listed, the rest of the evaluation is done, and the status says so."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_evaluation_layouts import WNIDS, cub, save, write
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.api import load_checkpoint
from calm_gui.errors import DataError
from calm_gui.model.loaded import LoadedModel
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.evaluate import main
from calm_training.evaluate import sweep as module
from calm_training.evaluate.accuracy import accuracy
from calm_training.evaluate.comparison import compared
from calm_training.evaluate.sweep import SweepOptions

BROKEN = "2.png"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny.safetensors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five pictures with boxes; the third is damaged."""
    root = tmp_path / "set"
    root.mkdir()
    write_tiny_set(root, 5, boxes="10 10 50 60")
    (root / BROKEN).write_bytes(b"not a picture")
    return root


def command(name: str, checkpoint: Path, folder: Path, out: Path, *more: str) -> list[str]:
    every = ["--data", str(folder), "--quiet", "--device", "cpu", "--out", str(out)]
    return [name, "--checkpoint", str(checkpoint), *every, *more]


def without_it(folder: Path) -> None:
    with (folder / "index.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    with (folder / "index.csv").open("w", newline="") as file:
        csv.writer(file).writerows(row for row in rows if row[0] != BROKEN)


FEW = {"removal": ("--map", "attribution", "--most", "10"), "axioms": ("--no-pixels",)}
FEW["many passes"] = ("--map", "attribution", "--measure", "deletion")


@pytest.mark.parametrize("name", ["accuracy", "wsol", "removal", "axioms", "measures", "many passes"])
def test_a_damaged_picture_is_listed_and_the_rest_is_as_without_it(checkpoint, folder, tmp_path, capsys, name):
    more, name = FEW.get(name, ()), name.replace("many passes", "measures")
    assert main(command(name, checkpoint, folder, tmp_path / "a.json", *more)) == 1
    said = capsys.readouterr()
    assert "1 picture failed" in said.err and BROKEN in said.err and "--overwrite" in said.err
    assert "picture that failed" in said.out and "1 more failed" in said.out
    (found,) = json.loads((tmp_path / "a.json").read_text())["results"].values()
    (failed,) = found.pop("failed")
    assert failed["picture"] == str(folder / BROKEN) and "isn't a picture" in failed["reason"]
    assert str(folder / BROKEN) in (tmp_path / "a.md").read_text()
    assert not (tmp_path / "a.json.journal").exists()
    without_it(folder)
    assert main(command(name, checkpoint, folder, tmp_path / "b.json", *more)) == 0
    (rest,) = json.loads((tmp_path / "b.json").read_text())["results"].values()
    assert found == rest and found["images"] == 4
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_a_damaged_mask_or_picture_is_listed(checkpoint, tmp_path):
    for i in range(4):
        pixels = np.random.default_rng(i).integers(0, 255, (72, 96, 3), dtype=np.uint8)
        (tmp_path / "images").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / f"images/{i}.png")
        mask = np.zeros((72, 96), np.uint8)
        mask[20:40, 20:60] = 255
        Image.fromarray(mask).save(tmp_path / f"images/m{i}.png")
    tables = {"image_ids": "{}.png", "class_labels": "{}.png,{}", "localization": "{}.png,m{}.png,"}
    (tmp_path / "metadata/test").mkdir(parents=True)
    for table, line in tables.items():
        (tmp_path / f"metadata/test/{table}.txt").write_text("".join(line.format(i, i) + "\n" for i in range(4)))
    mask_file = tmp_path / "images/m1.png"
    mask_file.write_bytes(mask_file.read_bytes()[:60])
    (tmp_path / "images" / BROKEN).write_bytes(b"")
    assert main(command("masks", checkpoint, tmp_path, tmp_path / "a.json")) == 1
    (found,) = json.loads((tmp_path / "a.json").read_text())["results"].values()
    assert [Path(one["picture"]).name for one in found["failed"]] == ["1.png", BROKEN]
    assert "m1.png can't be read as a mask" in found["failed"][0]["reason"] and found["images"] == 2


def test_composites_without_those_of_a_damaged_picture(checkpoint, folder, tmp_path, capsys):
    assert main(command("composites", checkpoint, folder, tmp_path / "a.json")) == 1
    assert "2 pictures failed" in capsys.readouterr().err
    (found,) = json.loads((tmp_path / "a.json").read_text())["results"].values()
    assert found["images"] == 3 and all(BROKEN in one["reason"] for one in found["failed"])


@pytest.mark.parametrize("name", ["accuracy", "composites"])
def test_where_every_picture_fails_there_is_one_sentence_and_no_result(checkpoint, folder, tmp_path, capsys, name):
    for path in folder.glob("*.png"):
        path.write_bytes(b"not a picture")
    assert main(command(name, checkpoint, folder, tmp_path / "a.json")) == 1
    said = capsys.readouterr()
    assert not said.out and said.err.count("\n") == 1 and "none of 5 pictures" in said.err
    assert not (tmp_path / "a.json").exists()


def interrupted(checkpoint: Path, folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, original = iter(range(9)), LoadedModel.raw

    def raw(self, inputs):
        if next(passes) == 3:
            raise KeyboardInterrupt
        return original(self, inputs)

    with monkeypatch.context() as patch:
        patch.setattr(LoadedModel, "raw", raw)
        assert main(command("accuracy", checkpoint, folder, out)) == 130


def test_resuming_with_the_damaged_picture_gives_the_same(checkpoint, folder, tmp_path, monkeypatch):
    interrupted(checkpoint, folder, tmp_path / "a.json", monkeypatch)
    assert main(command("accuracy", checkpoint, folder, tmp_path / "a.json", "--resume")) == 1
    assert main(command("accuracy", checkpoint, folder, tmp_path / "b.json")) == 1
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize("what", ["taken out", "mended"])
def test_resuming_after_a_picture_was_mended_or_taken_out_says_what_to_do(
    checkpoint, folder, tmp_path, monkeypatch, capsys, what
):
    out = tmp_path / "a.json"
    interrupted(checkpoint, folder, out, monkeypatch)
    if what == "mended":
        shutil.copy(folder / "1.png", folder / BROKEN)
    else:
        without_it(folder)
    capsys.readouterr()
    assert main(command("accuracy", checkpoint, folder, out, "--resume")) == 1
    said = capsys.readouterr().err
    assert "other pictures" in said and "--overwrite and without --resume" in said
    assert main(command("accuracy", checkpoint, folder, out, "--overwrite")) == 0


@pytest.mark.parametrize("error", [RuntimeError("odd"), MemoryError(), DataError("a sentence"), StopIteration()])
@pytest.mark.parametrize("seam", ["raw", "prepare"])
def test_whatever_is_raised_at_whatever_step_ends_one_picture(checkpoint, folder, monkeypatch, seam, error):
    """Also of a batch, which goes through the network picture by picture if it fails as a whole."""
    without_it(folder)
    pictures, model = read_boxes_csv(folder / "index.csv"), load_checkpoint(checkpoint, "cpu")
    whole = accuracy(model, pictures)
    bad = module.prepare(module.load_picture(pictures[1].path), model.info.input, model.grid)[0]
    original = getattr(LoadedModel if seam == "raw" else module, seam)

    def failing(*arguments):
        found = original(*arguments)
        inputs = arguments[1] if seam == "raw" else found[0]
        if any(bool((one == bad[0]).all()) for one in inputs):
            raise error
        return found

    monkeypatch.setattr(LoadedModel if seam == "raw" else module, seam, failing)
    rest = accuracy(model, pictures, SweepOptions(workers=0))
    assert [Path(one.picture).name for one in rest.failed] == ["1.png"] and rest.failed[0].reason
    assert rest.pictures == (whole.pictures[0], *whole.pictures[2:])
    sweep = module.Sweep(model, dict, lambda *_: None, lambda _: {})
    counts = list(sweep.run(pictures, 4, None))
    assert [isinstance(one, module.Failure) for one in counts] == [False, True, False, False]


def test_figures_of_other_pictures_are_not_paired(checkpoint, folder):
    without_it(folder)
    pictures, model = read_boxes_csv(folder / "index.csv"), load_checkpoint(checkpoint, "cpu")
    whole = accuracy(model, pictures)
    pictures[0].path.write_bytes(b"")
    part = accuracy(model, pictures)
    assert len(part.failed) == 1
    assert all(one.estimate.interval for one in compared({"a": whole, "b": whole}, [("a", "b")]))
    assert not any(one.estimate.interval for one in compared({"a": whole, "b": part}, [("a", "b")]))


def test_a_report_goes_on_without_it(checkpoint, folder, tmp_path, capsys):
    out = tmp_path / "report"
    arguments = ["report", str(checkpoint), "--data", str(folder), "--out", str(out), "--quiet", "--slow", "2"]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "is written, but" in said and BROKEN in said
    page = (out / "report.md").read_text()
    assert page.count(str(folder / BROKEN)) >= 3 and "Figure 3" in page
    shutil.copy(folder / "1.png", folder / BROKEN)
    assert main([*arguments, "--resume"]) == 0
    assert "failed" not in (out / "report.md").read_text()


def test_the_share_of_the_network_is_told_only_where_it_is_known(checkpoint, folder, tmp_path, capsys):
    without_it(folder)
    for name, more in (("accuracy", ()), ("measures", FEW["many passes"]), ("composites", ())):
        words = [w for w in command(name, checkpoint, folder, tmp_path / f"{name}.json", *more) if w != "--quiet"]
        assert main(words) == 0
        said = capsys.readouterr().err
        assert ("% in the network" in said) == (name == "accuracy")


def test_a_damaged_picture_of_cub_is_listed(checkpoint, tmp_path):
    """Its boxes are in pixels, but its size can't be read."""
    cub(tmp_path)
    bad = tmp_path / "images" / WNIDS[1] / "1.png"
    bad.write_bytes(b"not a picture")
    for name in ("accuracy", "wsol"):
        assert main(command(name, checkpoint, tmp_path, tmp_path / f"{name}.json")) == 1
        (found,) = json.loads((tmp_path / f"{name}.json").read_text())["results"].values()
        assert [one["picture"] for one in found["failed"]] == [str(bad)] and found["images"] == 1


def test_a_part_of_a_report_that_nothing_could_be_measured_in_leaves_the_others(checkpoint, folder, tmp_path, capsys):
    from calm_training.datasets.split import split_by_hash

    without_it(folder)
    (first,), _ = split_by_hash(read_boxes_csv(folder / "index.csv"), 1)
    first.path.write_bytes(b"not a picture")
    out = tmp_path / "report"
    arguments = ["report", str(checkpoint), "--data", str(folder), "--out", str(out), "--quiet", "--slow", "1"]
    assert main(arguments) == 1
    assert "Remove and classify: none of 1 pictures" in capsys.readouterr().err
    page = (out / "report.md").read_text()
    assert "Not measured: none of 1 pictures" in page and "MaxBoxAccV2" in page and "Figure 3" in page


BIRDS = ("009.Brewer_Blackbird", "010.Red_winged_Blackbird")


def birds_with_cues(root: Path, count: int) -> None:
    """Test pictures of two classes in turn that differ in their wings alone, all parts in sight."""
    numbers = range(1, count + 1)
    files = [f"{BIRDS[i % 2]}/{i}.png" for i in numbers]
    for i, file in zip(numbers, files, strict=True):
        save(root / "images" / file, i)
    write(root / "images.txt", *(f"{i} {file}" for i, file in zip(numbers, files, strict=True)))
    write(root / "image_class_labels.txt", *(f"{i} {9 + i % 2}" for i in numbers))
    write(root / "train_test_split.txt", *(f"{i} 0" for i in numbers))
    write(root / "bounding_boxes.txt", *(f"{i} 4.0 4.0 88.0 60.0" for i in numbers))
    write(root / "parts/parts.txt", "1 left wing", "2 tail")
    write(root / "parts/part_locs.txt", *(f"{i} {part} {30 * part}.0 40.0 1" for i in numbers for part in (1, 2)))
    write(root / "attributes/attributes.txt", "1 has_wing_color::red", "2 has_tail_shape::notched")
    write(root / "attributes/class_attribute_labels_continuous.txt", *["0.0 0.0"] * 9, "90.0 0.0")


def test_cues_without_a_damaged_picture(tmp_path, capsys):
    birds = tmp_path / "birds"
    birds_with_cues(birds, 4)
    trained = write_tiny_checkpoint(tmp_path / "birds.safetensors", names=BIRDS)
    bad = birds / "images" / BIRDS[1] / "3.png"
    bad.write_bytes(b"not a picture")
    assert main(command("cues", trained, birds, tmp_path / "a.json")) == 1
    said = capsys.readouterr()
    assert "1 picture failed" in said.err and bad.name in said.err and "picture that failed" in said.out
    (found,) = json.loads((tmp_path / "a.json").read_text())["results"].values()
    (failed,) = found.pop("failed")
    assert failed["picture"] == str(bad) and "isn't a picture" in failed["reason"]
    for name in ("images", "image_class_labels", "train_test_split"):
        lines = (birds / f"{name}.txt").read_text().splitlines()
        write(birds / f"{name}.txt", *(line for line in lines if not line.startswith("3 ")))
    assert main(command("cues", trained, birds, tmp_path / "b.json")) == 0
    (rest,) = json.loads((tmp_path / "b.json").read_text())["results"].values()
    assert found == rest and found["images"] == 3 and found["pairs"]["1"] == 1
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
