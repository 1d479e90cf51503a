"""Measures of maps: values worked out by hand, properties, and Quantus on the same inputs."""

import csv
import json
import math
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import made_up_measure
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from synthetic import CLASSES
from tiny_checkpoint import write_tiny_checkpoint, write_tiny_set

import calm_gui
from calm_gui.errors import DataError
from calm_gui.model.loaded import load_model
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.evaluate import main
from calm_training.evaluate.accuracy import accuracy
from calm_training.evaluate.axioms import axiom_numbers
from calm_training.evaluate.cases import inside_boxes, with_random_layers
from calm_training.evaluate.evaluation import EVALUATIONS, Plan
from calm_training.evaluate.measures import measure_maps
from calm_training.evaluate.wsol import box_accuracy
from calm_training.metrics import deletion, top_k_intersection
from calm_training.metrics.calibrated_mass import SHARES
from calm_training.metrics.deletion import area_under
from calm_training.metrics.measure import Case, Measure
from calm_training.metrics.measures import MEASURES
from calm_training.metrics.region_probability import region_masses

COUNTING = np.arange(16, dtype=np.float32).reshape(4, 4)
CORNER = np.zeros((4, 4), bool)
CORNER[2:, 2:] = True


def case(values: np.ndarray, inside: np.ndarray | None = CORNER, **more) -> Case:
    """A map at the picture's own size."""
    values = np.asarray(values, np.float32)
    spread = np.ptp(values)
    scores = (values - values.min()) / spread if spread else np.zeros_like(values)
    return Case(values, values, scores, inside, **more)


def score(key: str, one: Case) -> float:
    return MEASURES[key].score(one)


def seen(values: np.ndarray, predict, **more) -> Case:
    """A case with a white picture and a network."""
    picture = np.ones((3, 4, 4), np.float32)
    return case(values, picture=picture, mean_colour=np.zeros(3, np.float32), predict=predict, **more)


def brightness(pictures: np.ndarray) -> np.ndarray:
    return pictures.mean((1, 2, 3)).astype(np.float64)


# --- by hand


def test_values_by_hand_on_a_map_of_4_by_4(monkeypatch):
    assert score("pointing", case(COUNTING)) == 1
    assert score("pointing", case(-COUNTING)) == 0
    tied = np.zeros((4, 4))
    tied[0, 0] = tied[3, 3] = 1
    assert score("pointing", case(tied)) == 0.5
    assert score("energy", case(COUNTING)) == pytest.approx((10 + 11 + 14 + 15) / 120)
    assert score("energy", case(COUNTING - 12)) == pytest.approx((2 + 3) / (1 + 2 + 3))
    monkeypatch.setattr(top_k_intersection, "K_OF_224", 4 * 224**2 / 16)
    assert score("top_k", case(COUNTING)) == 0.5  # of 12 to 15, 14 and 15
    pair = np.zeros((4, 4))
    pair[0, :2] = 3
    assert score("entropy", case(pair)) == pytest.approx(math.log(2) / math.log(16))
    assert score("area", case(pair)) == pytest.approx(1.8 / 16)
    # Four equal cells in the object: a region reaches each share with a whole number of them.
    by_hand = sum(math.ceil(round(4 * s, 9)) / 4 - s for s in SHARES) / len(SHARES)
    found = MEASURES["calibrated_mass"].score(case(CORNER.astype(float)))
    assert MEASURES["calibrated_mass"].figure(np.array([found])) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(2.0 / 19)


def test_region_probability_by_hand():
    corner = np.zeros((4, 4), bool)
    corner[0, 0] = True
    even = np.full((4, 4), 1 / 16)
    assert region_masses(even) == pytest.approx(np.full((3, 3), 1 / 9))
    assert score("region_probability", case(even, corner)) == pytest.approx(9 / 81 - 2 / 9 + 1)
    assert score("region_probability", case(even / 2, corner)) == pytest.approx(9 / 324 - 1 / 9 + 1)
    assert score("region_probability", case(corner, corner)) == 0  # sure and right
    assert score("region_probability", case(0 * even, corner)) == 1  # says that it isn't there


def test_additivity_by_hand():
    whole, part = np.ones((4, 4), np.float32), np.full((4, 4), 0.25, np.float32)
    assert score("additivity", case(whole, parts=lambda: (whole, [part, part]))) == 0.5
    assert score("additivity", case(whole, parts=lambda: (whole, [part, 3 * part]))) == 0
    assert math.isnan(score("additivity", case(whole, parts=lambda: (whole, []))))


def test_insertion_and_deletion_by_hand(monkeypatch):
    monkeypatch.setattr(deletion, "STEPS", 4)
    assert score("deletion", seen(COUNTING, brightness)) == pytest.approx(0.5)  # 1, 3/4, 1/2, 1/4, 0
    assert score("insertion", seen(COUNTING, brightness)) == pytest.approx(1)  # a blurred white picture is white

    def has_last(pictures: np.ndarray) -> np.ndarray:
        return (pictures[:, 0, 3, 3] == 1).astype(np.float64)

    assert score("deletion", seen(COUNTING, has_last)) == pytest.approx(0.125)  # 1, 0, 0, 0, 0
    assert score("deletion", seen(-COUNTING, has_last)) == pytest.approx(0.875)
    picture = np.random.default_rng(0).random((3, 4, 4)).astype(np.float32)

    def right_pixels(pictures: np.ndarray) -> np.ndarray:
        return (pictures == picture).all(1).mean((1, 2))

    assert score("insertion", replace(seen(COUNTING, right_pixels), picture=picture)) == pytest.approx(0.5)
    assert area_under(np.array([1.0, 0.0, 1.0])) == 0.5


def test_parameter_randomisation_by_hand():
    same = case(COUNTING, rebuilt=lambda share: COUNTING)
    assert score("parameter_randomisation", same) == pytest.approx(1)
    assert score("parameter_randomisation", case(COUNTING, rebuilt=lambda share: 15 - COUNTING)) == pytest.approx(-1)
    even = case(COUNTING, rebuilt=lambda share: np.ones((4, 4), np.float32))
    assert score("parameter_randomisation", even) == 0


# --- properties

maps = st.lists(st.floats(0, 1, width=32), min_size=36, max_size=36).map(lambda v: np.array(v).reshape(6, 6))
masks = st.lists(st.booleans(), min_size=36, max_size=36).map(lambda v: np.array(v).reshape(6, 6))
BOUNDED = ("pointing", "energy", "top_k", "entropy", "area")


@given(maps, masks)
def test_measures_lie_within_their_bounds(values, inside):
    for key in BOUNDED:
        found = score(key, case(values, inside))
        assert math.isnan(found) or -1e-9 <= found <= 1 + 1e-9
    covered = MEASURES["calibrated_mass"].score(case(values, inside))
    assert all(math.isnan(share) for share in covered) or np.all(np.diff(covered) >= 0)


@given(maps, masks, st.floats(0.125, 8))
def test_measures_do_not_depend_on_the_map_s_scale(values, inside, factor):
    values = np.round(values, 3)
    for key in BOUNDED:
        assert score(key, case(values, inside)) == pytest.approx(
            score(key, case(values * factor, inside)), rel=1e-4, nan_ok=True
        )


@given(masks.filter(lambda m: m.any()))
def test_a_perfect_map_scores_the_bound(inside):
    one = case(inside.astype(float), inside)
    for key in ("pointing", "energy", "top_k"):
        assert score(key, one) == 1


def test_random_maps_score_as_chance_says():
    generator = np.random.default_rng(0)
    inside = np.zeros((16, 16), bool)
    inside[:8, :8] = True
    found = {key: [] for key in ("pointing", "energy", "top_k")}
    for _ in range(4000):
        one = case(generator.random((16, 16)), inside)
        for key, scores in found.items():
            scores.append(score(key, one))
    for scores in found.values():
        assert np.mean(scores) == pytest.approx(0.25, abs=4 * np.std(scores) / len(scores) ** 0.5)


def test_a_calibrated_map_is_calibrated():
    """Objects of one pixel, drawn from the map itself."""
    generator = np.random.default_rng(0)
    scores = []
    for _ in range(3000):
        values = generator.random((12, 12)) ** 3
        inside = np.zeros(144, bool)
        inside[generator.choice(144, p=values.ravel() / values.sum())] = True
        scores.append(MEASURES["calibrated_mass"].score(case(values, inside.reshape(12, 12))))
    measure = MEASURES["calibrated_mass"]
    assert measure.figure(np.array(scores)) < 0.03
    overconfident = [measure.score(case(generator.random((12, 12)) ** 9, inside.reshape(12, 12))) for _ in range(300)]
    assert measure.figure(np.array(overconfident)) > 0.2


def test_what_is_not_known_does_not_count():
    known = ~CORNER
    ignoring = replace(case(COUNTING), known=known)
    assert math.isnan(score("pointing", ignoring))
    assert score("energy", ignoring) == 0
    with pytest.raises(DataError, match="boxes or masks"):
        score("pointing", case(COUNTING, None))


def test_boxes_are_where_centres_of_pixels_lie():
    inside = inside_boxes(np.array([[0.0, 0.0, 2.0, 1.0], [3.5, 3.6, 4.0, 4.0]]), 4)
    assert np.argwhere(inside).tolist() == [[0, 0], [0, 1]]
    assert inside_boxes(np.array([[3.5, 3.5, 4.0, 4.0]]), 4)[3, 3]


# --- Quantus


@pytest.fixture(scope="module")
def quantus():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("quantus", reason="pip install calm-gui[quantus]")


@pytest.mark.filterwarnings("ignore")
def test_localization_agrees_with_quantus(quantus):
    generator = np.random.default_rng(0)
    inside = np.zeros((224, 224), bool)
    inside[30:150, 60:200] = True
    for _ in range(5):
        values = generator.random((224, 224)).astype(np.float32)
        arguments = {
            "model": None,
            "x_batch": np.zeros((1, 3, 224, 224)),
            "y_batch": np.zeros(1, int),
            "a_batch": values[None, None],
            "s_batch": inside[None, None],
            "device": "cpu",
        }
        options = {"disable_warnings": True, "normalise": False, "abs": False}
        theirs = {
            "pointing": quantus.PointingGame(**options)(**arguments),
            "energy": quantus.AttributionLocalisation(positive_attributions=True, **options)(**arguments),
            "top_k": quantus.TopKIntersection(k=1000, **options)(**arguments),
        }
        for key, (found,) in theirs.items():
            assert score(key, case(values, inside)) == pytest.approx(float(found), abs=1e-6), key


@pytest.mark.filterwarnings("ignore")
def test_insertion_and_deletion_agree_with_quantus(quantus, monkeypatch):
    """Pixel flipping of one channel; insertion is flipping from the smallest pixel on, read backwards."""
    generator = np.random.default_rng(0)
    weights = torch.from_numpy(generator.random((1, 1, 8, 8)))

    class Network(torch.nn.Module):
        def forward(self, x):
            return torch.sigmoid((x.double() * weights).sum((1, 2, 3)) - 5)[:, None]

    network = Network().eval()
    picture = generator.random((1, 8, 8)).astype(np.float32)
    picture[0, 0, 0] = 0  # Quantus's black is the smallest value that there is
    values = generator.permutation(64).reshape(8, 8).astype(np.float32)

    def flipped(order: np.ndarray) -> np.ndarray:
        metric = quantus.PixelFlipping(
            features_in_step=8, perturb_baseline="black", normalise=False, disable_warnings=True
        )
        more = {"y_batch": np.zeros(1, int), "device": "cpu", "softmax": False}
        (curve,) = metric(model=network, x_batch=picture[None], a_batch=order[None, None], **more)
        return np.ravel(curve)

    def predict(pictures: np.ndarray) -> np.ndarray:
        return network(torch.from_numpy(pictures))[:, 0].numpy()

    whole, nothing = predict(np.stack([picture, np.zeros_like(picture)]))
    monkeypatch.setattr(deletion, "STEPS", 8)
    ours = case(values, picture=picture, mean_colour=np.zeros(1, np.float32), predict=predict)
    expected = area_under(np.concatenate([[whole], flipped(values)]))
    assert score("deletion", ours) == pytest.approx(expected, abs=1e-6)
    kept = deletion.curve(ours, np.zeros(1, np.float32)[:, None, None], keep=True)
    backwards = np.concatenate([[whole], flipped(-values)])[::-1]
    assert kept == pytest.approx(backwards, abs=1e-6)
    assert kept[0] == pytest.approx(nothing)


def test_quantus_measures_by_hand(quantus):
    weights = COUNTING / COUNTING.sum()

    def weighed(pictures: np.ndarray) -> np.ndarray:
        return (pictures.mean(1) * weights).sum((1, 2)).astype(np.float64)

    picture = np.ones((3, 4, 4), np.float32)
    picture[:, 0, 0] = 0  # of no weight; Quantus's black is the smallest value that there is
    right = replace(seen(weights, weighed, remap=lambda _: 2 * weights), picture=picture)
    assert score("infidelity", right) == pytest.approx(0, abs=1e-12)
    # Half the map misses half of what the first k pixels, gone black one after another, cost.
    gone = COUNTING.cumsum() / COUNTING.sum()
    half = replace(right, native=weights / 2, enlarged=weights / 2)
    assert score("infidelity", half) == pytest.approx((gone**2 / 4).mean(), rel=1e-5)
    assert score("max_sensitivity", right) == pytest.approx(1, rel=1e-5)  # twice as large
    assert score("max_sensitivity", replace(right, remap=lambda _: weights)) == 0
    white = seen(weights, brightness)
    assert score("road", white) == pytest.approx(1, abs=0.01)  # around white there is white
    assert score("road", white) == score("road", white)
    for key in ("infidelity", "max_sensitivity"):  # Quantus refuses maps without variation
        assert math.isnan(score(key, seen(np.ones((4, 4)), weighed, remap=lambda _: weights)))


def test_without_quantus_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "quantus", None)
    with pytest.raises(DataError, match=r"pip install calm-gui\[quantus\]"):
        score("road", seen(COUNTING, brightness))


# --- the evaluation


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_tiny_set(tmp_path_factory.mktemp("set"), 4, boxes="10 10 50 60")
    for method in ("calm-em", "cam"):
        write_tiny_checkpoint(root / f"{method}.safetensors", method)
    return root


@pytest.fixture
def left_half() -> Iterator[Measure]:
    yield made_up_measure.register()
    MEASURES.forget("left_half")


def test_a_measure_from_outside_goes_through_command_table_plot_and_report(folder, tmp_path, left_half, capsys):
    out, checkpoint = tmp_path / "m.json", str(folder / "calm-em.safetensors")
    more = ["--data", str(folder), "--quiet", "--device", "cpu"]
    command = ["measures", "--checkpoint", checkpoint, "--measure", "left_half", *more, "--out", str(out)]
    assert main(command) == 0
    content = json.loads(out.read_text())
    found = content["results"][checkpoint]["maps"]["attribution"]["left_half"]
    assert 0 < found["value"] < 1 and found["pictures"] == 4
    assert "share of the map in the left half" in content["conventions"]
    assert "Left half" in out.with_suffix(".md").read_text()
    assert "Left half" in out.with_suffix(".svg").read_text()
    rows = list(csv.DictReader(out.with_suffix(".csv").read_text().splitlines()))
    shares = [float(row["left_half"]) for row in rows if row["map"] == "attribution"]
    assert np.mean(shares) == pytest.approx(found["value"])
    assert main(["report", checkpoint, *more, "--out", str(tmp_path / "report"), "--slow", "1", "--most", "2"]) == 0
    assert "Left half" in (tmp_path / "report/report.md").read_text()
    capsys.readouterr()


def test_what_a_measure_or_an_evaluation_lacks_is_said_when_it_is_registered():
    for name, lacking in (("source", {"source": ""}), ("key", {"key": ""})):
        with pytest.raises(TypeError, match=f"lacks its {name}"):
            MEASURES.register(type("Incomplete", (made_up_measure.LeftHalf,), lacking)())
    with pytest.raises(TypeError, match="already"):
        MEASURES.register(type(MEASURES["energy"])())
    with pytest.raises(TypeError, match="lacks its title"):
        EVALUATIONS.register(type("Incomplete", (type(EVALUATIONS["wsol"]),), {"key": "x", "title": ""})())
    with pytest.raises(DataError, match="there is no evaluation 'magic'"):
        Plan("magic", Path())
    with pytest.raises(DataError, match="mode must be one of benchmark, exact"):
        Plan("wsol", Path(), settings={"mode": "odd"})


def test_quantus_is_imported_only_for_its_own_measures():
    code = (
        "import sys\n"
        "import calm_training.evaluate, calm_training.metrics.measures\n"
        "print([m for m in ('quantus', 'cv2', 'torchcam', 'PySide6') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


def test_measures_of_checkpoints_and_their_differences(folder, tmp_path, capsys):
    checkpoints = [str(folder / f"{method}.safetensors") for method in ("calm-em", "cam")]
    named = [part for name in checkpoints for part in ("--checkpoint", name)]
    names = [part for name in ("attribution", "saliency", "cam", "grad_cam") for part in ("--map", name)]
    more = ["--data", str(folder), "--quiet", "--device", "cpu", "--json"]
    compare = ["--compare", "attribution", "saliency", "--compare", *checkpoints]
    assert main(["measures", *named, *names, *more, *compare]) == 0
    content = json.loads(capsys.readouterr().out)
    calm, cam = (content["results"][name]["maps"] for name in checkpoints)
    assert set(calm) == {"attribution", "saliency", "grad_cam"} and set(cam) == {"cam", "grad_cam"}
    assert "region_probability" in calm["attribution"] and "region_probability" not in calm["saliency"]
    assert "calibrated_mass" in calm["saliency"] and "calibrated_mass" not in cam["cam"]
    differences = {(d["first"], d["of"], d["figure"]): d["difference"] for d in content["differences"]}
    energy = calm["attribution"]["energy"]["value"] - calm["saliency"]["energy"]["value"]
    assert differences["attribution", checkpoints[0], "energy"] == pytest.approx(energy)
    of_methods = calm["grad_cam"]["energy"]["value"] - cam["grad_cam"]["energy"]["value"]
    assert differences[checkpoints[0], "grad_cam", "energy"] == pytest.approx(of_methods)
    for wrong in ("nothing", f"{checkpoints[0]}:nothing"):  # said before anything is measured
        assert main(["measures", *named, "--data", str(folder / "gone"), "--compare", "attribution", wrong]) == 1
        assert f"there is nothing called '{wrong}' to compare; there are" in capsys.readouterr().err
    assert main(["measures", *named, *more, "--compare", "attribution", "nothing"]) == 1
    assert "nothing called 'nothing'" in capsys.readouterr().err


def test_measures_of_many_passes_on_a_checkpoint(folder):
    model = load_model(folder / "calm-em.safetensors", "cpu")
    pictures = read_boxes_csv(folder / "index.csv")[:2]
    names = ["attribution", "grad_cam"]
    wanted = ["additivity", "deletion", "insertion", "parameter_randomisation"]
    result = measure_maps(model, pictures, maps=names, measures=wanted)
    for name in names:
        assert set(result.estimates[name]) == set(wanted)
        assert 0 <= result.estimates[name]["deletion"].value <= 1
    assert result.estimates["attribution"]["additivity"].value < 1e-6  # probabilities add up
    again = measure_maps(model, pictures, maps=names, measures=wanted)
    assert again.estimates == result.estimates


def test_random_layers_change_the_maps_but_not_the_checkpoint(folder):
    model = load_model(folder / "calm-em.safetensors", "cpu")
    before = model.explain(folder / "0.png").joint
    others = [with_random_layers(model, share).explain(folder / "0.png").joint for share in (0.0, 0.25, 1.0)]
    np.testing.assert_array_equal(others[0], before)
    assert not np.allclose(others[1], before) and not np.allclose(others[2], others[1])
    np.testing.assert_array_equal(model.explain(folder / "0.png").joint, before)


def test_a_classifier_without_branches_is_measured_by_the_methods_of_others(folder):
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        *(torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3, stride=2), torch.nn.ReLU()),
        *(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()),
        *(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 6)),
    )
    model = calm_gui.from_module(network, classes=[info.name for info in CLASSES], input=96, device="cpu")
    assert model.explain(folder / "0.png").own_reading is None
    pictures = read_boxes_csv(folder / "index.csv")
    result = accuracy(model, pictures)
    expected = [model.explain(picture.path).class_probabilities for picture in pictures]
    assert [row["confidence"] for row in result.pictures] == pytest.approx([float(p.max()) for p in expected])
    assert set(measure_maps(model, pictures).estimates) == {"grad_cam"}
    assert set(box_accuracy(model, pictures, maps=["gradient", "attribution"]).maps) == {"gradient"}
    with pytest.raises(DataError, match="no map of its own"):
        axiom_numbers(model, pictures)
    with pytest.raises(DataError, match="has no map attribution; it has gradient"):
        box_accuracy(model, pictures, maps=["attribution"])
