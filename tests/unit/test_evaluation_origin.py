"""What an evaluation is made from: classes that are those of the checkpoint, and a set and checkpoint that stay."""

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

from calm_gui.model.answers import Answers
from calm_gui.model.loaded import LoadedModel, load_model
from calm_training.evaluate.cli import main
from calm_training.evaluate.evaluation import Plan
from calm_training.evaluate.plan import digest_of, read_set
from calm_training.selection import localization_of, read_validation


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("ck") / "tiny.safetensors")


@pytest.fixture
def data(tmp_path) -> Path:
    root = tmp_path / "data"
    root.mkdir()
    write_tiny_set(root, 3)
    return root


def change(data: Path, **columns) -> None:
    """Set columns of the table by functions of the class index."""
    with (data / "index.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        index = int(row["class_index"])
        row.update({name: value(index) for name, value in columns.items()})
    with (data / "index.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("command", ["accuracy", "wsol"])
def test_wnids_beside_numbers_must_be_the_checkpoints(tiny, data, capsys, command):
    classes = load_model(tiny, "cpu").classes
    arguments = [command, "--checkpoint", str(tiny), "--data", str(data), "--quiet"]
    change(data, wnid=lambda i: classes[i].wnid or "")
    assert main(arguments) == 0, capsys.readouterr().err
    change(data, wnid=lambda i: f"n0208562{i}")
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "n02085620" in said and "3 classes differ" in said and "column class" in said and "Traceback" not in said


@pytest.mark.parametrize("command", ["accuracy", "wsol"])
def test_numbers_beyond_the_checkpoints_are_refused(tiny, data, capsys, command):
    change(data, class_index=lambda i: str(i + 100))
    assert main([command, "--checkpoint", str(tiny), "--data", str(data), "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "the checkpoint has 6 classes" in said and "unexpected" not in said


@pytest.mark.slow
@pytest.mark.parametrize("change_what", ["checkpoint", "picture", "table", "nothing"])
def test_a_report_measures_again_what_has_changed(tiny, data, tmp_path, monkeypatch, capsys, change_what):
    from calm_training.evaluate import report

    checkpoint = tmp_path / "best.safetensors"
    shutil.copy(tiny, checkpoint)
    arguments = [
        "report",
        str(checkpoint),
        "--data",
        str(data),
        "--out",
        str(tmp_path / "out"),
        "--slow",
        "1",
        "--quiet",
    ]
    assert main(arguments) == 0, capsys.readouterr().err
    match change_what:
        case "checkpoint":
            checkpoint.unlink()
            write_tiny_checkpoint(checkpoint, seed=5)
        case "picture":
            for path in sorted(data.glob("*.png"))[:1]:
                path.write_bytes(path.read_bytes() + b"\0")
        case "table":
            change(data, boxes=lambda _: "1 1 40 40")
    measured = []
    measure = report.measure
    monkeypatch.setattr(report, "measure", lambda *a: measured.append(a[0].command) or measure(*a))
    assert main([*arguments, "--resume"]) == 0, capsys.readouterr().err
    assert bool(measured) == (change_what != "nothing")


@pytest.mark.shared
def test_a_table_of_other_numbers(shared, capsys):
    folder = shared / "trials/inputs/eval_names_disagree"
    assert main(["wsol", "--checkpoint", "demo", "--data", str(folder), "--quiet"]) == 1
    assert "n02085620" in capsys.readouterr().err


@pytest.mark.shared
def test_a_checkpoint_read_in_another_way_has_results_of_its_own(shared):
    path = shared / "trials/inputs/checkpoints/ck_order_a.pth.tar"
    one, other = (load_model(path, "cpu", answers=Answers("calm-em", kind, False)) for kind in ("relu", "softplus"))
    assert one.sha256 == other.sha256 and one.identity != other.identity


def test_ours_are_known_by_their_hash(tiny):
    model = load_model(tiny, "cpu")
    assert model.identity == model.sha256 == json.loads(json.dumps(model.sha256))


def test_a_checkpoint_that_fails_leaves_the_results_of_the_others(tiny, data, tmp_path, capsys):
    bad = tmp_path / "bad.safetensors"
    content = tiny.read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    bad.write_bytes(content[:length] + b"\xff" * (len(content) - length))  # NaN everywhere
    arguments = ["accuracy", "--data", str(data), "--quiet", "--out", str(tmp_path / "r.json")]
    assert main([*arguments, "--checkpoint", str(bad), "--checkpoint", str(tiny)]) == 1
    assert "1 of 2 checkpoints have no results" in capsys.readouterr().err
    assert list(json.loads((tmp_path / "r.json").read_text())["results"]) == [str(tiny)]
    assert main([*arguments, "--overwrite", "--checkpoint", str(bad)]) == 1
    assert "NaN" in capsys.readouterr().err


def test_an_interrupted_evaluation_is_not_given_up_unasked(tiny, data, tmp_path, monkeypatch, capsys):
    from calm_training.evaluate.journal import Journal

    add = Journal.add

    def interrupted(self, *counts):
        add(self, *counts)
        raise KeyboardInterrupt

    arguments = [
        "accuracy",
        "--data",
        str(data),
        "--quiet",
        "--out",
        str(tmp_path / "r.json"),
        "--checkpoint",
        str(tiny),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", interrupted)
        assert main(arguments) == 130
    before = (tmp_path / "r.json.journal").read_bytes()
    assert main(arguments) == 1
    assert "--resume" in capsys.readouterr().err and (tmp_path / "r.json.journal").read_bytes() == before
    assert main([*arguments, "--resume"]) == 0
    assert not (tmp_path / "r.json.journal").exists()


def test_names_beside_numbers_must_not_be_other_classes(tiny, data, capsys):
    classes = load_model(tiny, "cpu").classes
    arguments = ["accuracy", "--checkpoint", str(tiny), "--data", str(data), "--quiet"]
    change(data, wnid=lambda i: "", name=lambda i: classes[i].name)
    assert main(arguments) == 0, capsys.readouterr().err
    change(data, name=lambda i: f"another word {i}")
    assert main(arguments) == 0, capsys.readouterr().err
    change(data, name=lambda i: classes[1 - i].name if i < 2 else classes[i].name)
    assert main(arguments) == 1
    assert f"class 0 is {classes[1].name}" in capsys.readouterr().err


# Sizes that are stated, and those that pictures have


@pytest.mark.parametrize("fault", ["another size", "turned by EXIF"])
def test_boxes_of_another_size_than_the_picture_are_not_counted(tiny, data, capsys, fault):
    arguments = ["wsol", "--checkpoint", str(tiny), "--data", str(data), "--quiet", "--json"]
    assert main(arguments) == 0
    (whole,) = json.loads(capsys.readouterr().out)["results"].values()
    with Image.open(data / "1.png") as picture:
        exif = picture.getexif()
        exif[0x0112] = 6
        if fault == "turned by EXIF":
            picture.save(data / "1.png", exif=exif)
        else:
            picture.crop((0, 0, 40, 60)).save(data / "1.png")
    assert main(arguments) == 1
    said = capsys.readouterr()
    (rest,) = json.loads(said.out)["results"].values()
    assert "1 picture failed" in said.err and "as it stands upright, but its boxes are of 96 x 72" in said.err
    assert rest["images"] == whole["images"] - 1
    change(data, width=lambda i: "96", height=lambda i: "96")  # squashed, as some sets are stored
    assert main(arguments) == 0, capsys.readouterr().err


def test_a_mask_that_lies_across_its_picture_is_not_counted(tiny, tmp_path, capsys):
    rows = ["file,mask,is_main,imagenet_classes"]
    for i in range(3):
        pixels = np.random.default_rng(i).integers(0, 255, (72, 96, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
        mask = np.zeros((72, 96), np.uint8)
        mask[20:40, 20:60] = 255
        image = Image.fromarray(mask if i else mask.T).resize((96, 72)[:: 1 if i else -1])
        (image.resize((48, 36)) if i == 2 else image).save(tmp_path / f"m{i}.png")  # a smaller mask is as good
        rows.append(f"{i}.png,m{i}.png,1,{i}")
    (tmp_path / "index.csv").write_text("\n".join(rows))
    assert main(["masks", "--checkpoint", str(tiny), "--data", str(tmp_path), "--quiet", "--json"]) == 1
    said = capsys.readouterr()
    (found,) = json.loads(said.out)["results"].values()
    assert "0.png has 96 x 72 pixels as it stands upright, but its mask m0.png has 72 x 96" in said.err
    assert found["images"] == 2


# What is gone on with is the same by content


@pytest.mark.parametrize("what", ["picture", "mask", "box", "size"])
def test_what_changes_in_a_set_changes_its_digest(tmp_path, what):
    for name in ("p.bmp", "m.bmp"):
        Image.new("L", (8, 6), 255).save(tmp_path / name)
    table = tmp_path / "index.csv"
    masks = what in ("picture", "mask")
    line = "p.bmp,m.bmp,1,3" if masks else "p.bmp,3,8,6,1 1 5 5"
    table.write_text(f"file,{'mask,is_main,imagenet_classes' if masks else 'class_index,width,height,boxes'}\n{line}\n")
    plan = Plan("masks" if masks else "wsol", tmp_path)
    before = digest_of(read_set(plan))
    assert digest_of(read_set(plan)) == before
    if masks:
        path = tmp_path / ("p.bmp" if what == "picture" else "m.bmp")
        size, mode = path.stat().st_size, path.stat()
        Image.new("L", (8, 6), 254 if what == "picture" else 0).save(path)
        os.utime(path, ns=(mode.st_atime_ns, mode.st_mtime_ns + 1))
        assert path.stat().st_size == size
    else:
        table.write_text(table.read_text().replace(*("1 1 5 5", "1 1 5 4") if what == "box" else (",8,6,", ",16,12,")))
    assert digest_of(read_set(plan)) != before


def test_the_score_that_is_kept_is_of_these_pictures(tiny, data, tmp_path):
    best = tmp_path / "best.safetensors"
    shutil.copy(tiny, best)
    first = localization_of(best, read_validation(data))
    kept = tmp_path / "best-localization.json"
    content = json.loads(kept.read_text())
    kept.write_text(json.dumps({**content, "MaxBoxAccV2": 0.123}))
    assert localization_of(best, read_validation(data)) == 0.123  # not measured twice
    change(data, boxes=lambda i: "1 1 95 71")
    assert localization_of(best, read_validation(data)) not in (0.123, first)
    kept.write_text("{ half")
    assert localization_of(best, read_validation(data)) != 0.123


# Results never take the place of what they are made from


@pytest.mark.parametrize("there", ["index.csv", "results.png"])
def test_results_replace_nothing_of_the_set_even_if_asked_to(tiny, data, capsys, there):
    if there == "results.png":
        change(data, file=lambda i: "results.png" if i == 1 else f"{i}.png")
        (data / "1.png").rename(data / "results.png")
    before = (data / there).read_bytes()
    out = str(data / there.replace(there.rpartition(".")[2], "json"))
    arguments = ["accuracy", "--checkpoint", str(tiny), "--data", str(data), "--quiet", "--overwrite", "--out", out]
    assert main(arguments) == 1
    assert "is what this is made from" in capsys.readouterr().err and (data / there).read_bytes() == before
    assert main([*arguments[:-1], str(data / "others.json")]) == 0
    assert main([*arguments[:-1], str(data / "others.json")]) == 0  # results of before are no part of the set


@pytest.mark.parametrize("there", ["accuracy.csv", "wsol.png", "figure-7-x.svg"])
def test_a_report_replaces_no_file_unasked(tiny, data, tmp_path, capsys, there):
    out = tmp_path / "report"
    out.mkdir()
    (out / there).write_text("mine")
    assert main(["report", str(tiny), "--data", str(data), "--out", str(out), "--quiet", "--slow", "1"]) == 1
    assert f"{there} already exists" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == [there] and (out / there).read_text() == "mine"


def test_results_name_what_they_are_made_from(tiny, data, tmp_path, capsys, monkeypatch):
    def results(*more: str) -> dict:
        out = tmp_path / "results.json"
        assert (
            main(["accuracy", "--checkpoint", str(tiny), "--data", str(data), "--quiet", "--out", str(out), *more]) == 0
        )
        return json.loads(out.read_text())

    first = results()
    assert first["made_from"]["data"] == str(data) and first["made_from"]["command"] == "accuracy"
    again, fewer = results("--overwrite"), results("--overwrite", "--select", "2")
    assert again == first and fewer["made_from"]["select"] == 2
    Image.new("RGB", (96, 72)).save(data / "1.png")
    assert results("--overwrite")["made_from"]["pictures"] != first["made_from"]["pictures"]
    assert all("answers" not in result for result in first["results"].values())  # ours says all that there is
    original = LoadedModel.__init__

    def answered(self, *arguments, **options):
        original(self, *arguments, **options)
        self.answers = {"saliency_activation": "relu"}

    monkeypatch.setattr(LoadedModel, "__init__", answered)
    (found,) = results("--overwrite")["results"].values()
    assert found["answers"] == {"saliency_activation": "relu"}
    capsys.readouterr()
