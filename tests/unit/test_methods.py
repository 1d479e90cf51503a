"""The methods that the paper compares with, on the bundled checkpoints and against slow references."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from tiny_checkpoint import backbone_for, write_tiny_checkpoint

import calm_gui
from calm_gui.core.classes import ClassSet
from calm_gui.errors import ClassLookupError, ReadingError
from calm_gui.methods import METHODS, attribute
from calm_gui.methods.method import BLUR
from calm_gui.model.loaded import LoadedModel, load_model
from calm_gui.model.picture import load_picture
from calm_gui.render.naming import map_slug, map_title

PICTURE = calm_gui.sample_pictures()[0]
DOGS = ClassSet(range(151, 269))
CATS = ClassSet(range(281, 286))


@pytest.fixture(scope="module", params=["demo", "demo-cam"])
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return calm_gui.load_checkpoint(request.param, device="cpu")


def log_p(model: LoadedModel, inputs: torch.Tensor, classes: ClassSet) -> torch.Tensor:
    """log p(A|x) from the definitions."""
    f, a = model.network(inputs)
    if a is None:
        p = torch.softmax(f.mean(dim=(2, 3)), dim=1)[0]
    else:
        s = torch.nn.functional.softplus(a)[0, 0]
        p = (torch.softmax(f[0], dim=0) * (s / s.sum())).sum(dim=(1, 2))
    return p[list(classes)].sum().log()


@pytest.mark.parametrize("method", ["gradient", "grad_cam"])
def test_fast_methods_on_both_kinds_of_checkpoint(model: LoadedModel, method: str) -> None:
    shown = attribute(method, model, PICTURE, DOGS)
    assert shown.values.min() == 0.0 and shown.values.max() == 1.0
    assert shown.check is None and shown.upsampled().shape == shown.explanation.picture.shape[:2]
    assert (
        map_title(shown)[0] == f"{METHODS[method].title} — dog"
        and map_slug(shown) == f"{method.replace('_', '-')}.dog-n02084071"
    )


def test_gradient_is_the_blurred_largest_derivative(model: LoadedModel) -> None:
    shown = attribute("gradient", model, PICTURE, DOGS)
    inputs = model.prepare(load_picture(PICTURE))[0].requires_grad_(True)
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(log_p(model, inputs, DOGS), inputs)
    blurred = gaussian_filter(slope[0].abs().amax(dim=0).numpy(), BLUR)
    expected = (blurred - blurred.min()) / (blurred.max() - blurred.min())
    np.testing.assert_allclose(shown.values, expected, atol=2e-3)


def test_a_name_of_0_1_goes_on_working_with_a_note(model: LoadedModel) -> None:
    shown = attribute("gradient", model, PICTURE, DOGS)
    with pytest.warns(DeprecationWarning, match=r"Map\.method_name is now Map\.kind\.title"):
        assert shown.method_name == METHODS["gradient"].title
    own = shown.explanation.reading(shown.explanation.own_reading.key, DOGS)
    with pytest.warns(DeprecationWarning):
        assert own.method_name == ""


def test_grad_cam_weighs_features_by_their_mean_derivative(model: LoadedModel) -> None:
    shown = attribute("grad_cam", model, PICTURE, DOGS)
    kept: list[torch.Tensor] = []
    hook = model.network.backbone.register_forward_hook(lambda *call: kept.append(call[2]))
    inputs = model.prepare(load_picture(PICTURE))[0].requires_grad_(True)
    with torch.enable_grad():
        score = log_p(model, inputs, DOGS)
        hook.remove()
        (slope,) = torch.autograd.grad(score, kept[0])
    cam = torch.relu((slope.mean(dim=(2, 3), keepdim=True) * kept[0]).sum(dim=1))[0].detach().numpy()
    np.testing.assert_allclose(shown.values, (cam - cam.min()) / (cam.max() - cam.min()), atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", [key for key in METHODS if key != "legrad"])  # that has tests of its own
def test_every_method_repeats_itself_and_leaves_the_model_alone(method: str) -> None:
    model = calm_gui.load_checkpoint("demo", device="cpu")
    before = {name: tensor.clone() for name, tensor in model.network.state_dict().items()}
    state = torch.random.get_rng_state()
    first, again = (attribute(method, model, PICTURE, DOGS, contrast=CATS).values for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.isfinite(first).all()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not model.network.training
    assert all(torch.equal(before[name], tensor) for name, tensor in model.network.state_dict().items())
    assert all(p.grad is None and not p.requires_grad for p in model.network.parameters())


def test_a_tick_that_raises_stops_the_computation(model: LoadedModel) -> None:
    told = []

    def tick(number: int, of: int) -> None:
        told.append(number)
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attribute("occlusion", model, PICTURE, DOGS, tick)
    assert told == [1, 2, 3]


@pytest.mark.parametrize("method", METHODS)
def test_passes_are_told_with_how_many_there_will_be(method: str, tmp_path: Path) -> None:
    small = load_model(write_tiny_checkpoint(tmp_path / "x.safetensors", backbone=backbone_for(method)), "cpu")
    told: list[tuple[int, int]] = []
    attribute(method, small, PICTURE, ClassSet([1]), lambda number, of: told.append((number, of)), ClassSet([2]))
    assert told == [(number, len(told)) for number in range(1, len(told) + 1)]


def test_unknown_methods_and_empty_sets_are_refused(model: LoadedModel) -> None:
    with pytest.raises(ReadingError, match="grad_cam"):
        attribute("magic", model, PICTURE, DOGS)
    with pytest.raises(ReadingError, match="at least one class"):
        attribute("gradient", model, PICTURE, ClassSet())


def test_methods_take_whatever_names_a_class_set(tmp_path: Path) -> None:
    model = load_model(write_tiny_checkpoint(tmp_path / "tiny.safetensors"), "cpu")
    for what, classes in (
        *((0, [0]), (np.int64(0), [0]), ("Afghan hound", [0]), ("n02088094", [0]), (model.classes[0], [0])),
        *((model.hierarchy["dog"], [0, 1]), ([0, "beagle"], [0, 1]), ((5, 0.5), [5])),
    ):
        assert list(attribute("grad_cam", model, PICTURE, what).target) == classes
    for wrong in (True, 1.5, "crane", 99):
        with pytest.raises(ClassLookupError):
            attribute("grad_cam", model, PICTURE, wrong)
    with pytest.raises(ReadingError, match="at least one class"):
        attribute("grad_cam", model, PICTURE, ())
