"""Methods through torchcam against their definitions, on a real network of small size."""

import numpy as np
import pytest
import torch
from synthetic import SAMPLE
from tiny_checkpoint import write_tiny_checkpoint

from calm_gui.core.classes import ClassSet
from calm_gui.errors import ReadingError
from calm_gui.methods import METHODS, attribute
from calm_gui.methods.rivals import Rivals
from calm_gui.methods.score import Score
from calm_gui.model.loaded import LoadedModel, load_model
from calm_gui.model.picture import load_picture

KEYS = ("layer_cam", "grad_cam_plus_plus", "score_cam", "finer_cam")
TARGET = ClassSet([1, 2])

with_torchcam = pytest.mark.skipif("layer_cam" not in METHODS, reason="pip install calm-gui[methods]")


@pytest.fixture(scope="module", params=["calm-em", "cam"])
def model(request, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "x.safetensors", request.param), "cpu")


def score_of(model: LoadedModel) -> Score:
    return Score(model.network, model.info.saliency_activation, TARGET, lambda _: None)


def features_and_gradient(model: LoadedModel, objective) -> tuple[torch.Tensor, torch.Tensor]:
    """Features (L,H,W), and the gradient of an objective of all classes' log p."""
    inputs = model.prepare(load_picture(SAMPLE))[0]
    score = score_of(model)
    features = model.network.backbone(inputs).detach().requires_grad_(True)
    score.network = torch.nn.Module()
    score.network.forward = lambda _: model.network.head(features)  # type: ignore[method-assign]
    (gradient,) = torch.autograd.grad(objective(score.log_probabilities(inputs)), features)
    return features[0].detach(), gradient[0]


def of_target(log_p: torch.Tensor) -> torch.Tensor:
    return torch.logsumexp(log_p[0, [1, 2]], 0)


def between_extremes(values: torch.Tensor) -> np.ndarray:
    spread = values.max() - values.min()
    return ((values - values.min()) / spread if spread > 0 else torch.zeros_like(values)).numpy()


@with_torchcam
def test_layer_cam_by_its_definition(model):
    features, gradient = features_and_gradient(model, of_target)
    expected = (gradient.relu() * features).sum(0).relu()
    shown = attribute("layer_cam", model, SAMPLE, TARGET)
    np.testing.assert_allclose(shown.values, between_extremes(expected), atol=1e-4)


@with_torchcam
def test_finer_cam_by_its_definition(model):
    peaks = []
    for target in range(len(model.classes)):

        def contrast(log_p: torch.Tensor, target: int = target) -> torch.Tensor:
            others = log_p[0, [c for c in range(log_p.shape[1]) if c != target]]
            return log_p[0, target] - 0.6 * others[(others - log_p[0, target]).abs().argsort()[:3]].mean()

        features, gradient = features_and_gradient(model, contrast)
        expected = (gradient.mean((1, 2))[:, None, None] * features).sum(0).relu()
        shown = attribute("finer_cam", model, SAMPLE, ClassSet([target]))
        np.testing.assert_allclose(shown.values, between_extremes(expected), atol=1e-4)
        peaks.append(shown.values.max())
    assert max(peaks) == 1  # ReLU leaves nothing of some


@with_torchcam
def test_finer_cam_against_a_contrast_by_its_definition(model):
    contrast = ClassSet([0, 4])

    def difference(log_p: torch.Tensor) -> torch.Tensor:
        return of_target(log_p) - 0.25 * torch.logsumexp(log_p[0, [0, 4]], 0)

    features, gradient = features_and_gradient(model, difference)
    expected = (gradient.mean((1, 2))[:, None, None] * features).sum(0).relu()
    shown = attribute("finer_cam_contrast:strength=0.25", model, SAMPLE, TARGET, contrast=contrast)
    assert expected.max() > 0
    np.testing.assert_allclose(shown.values, between_extremes(expected), atol=1e-4)
    assert (shown.target, shown.contrast) == (TARGET, contrast)
    with pytest.raises(ReadingError, match="needs a contrast B"):
        attribute("finer_cam_contrast", model, SAMPLE, TARGET)


@with_torchcam
def test_finer_cam_takes_as_many_rivals_as_are_asked_for(model):
    def against_one(log_p: torch.Tensor) -> torch.Tensor:
        others = log_p[0, [0, 3, 4, 5]]
        return of_target(log_p) - others[(others - of_target(log_p)).abs().argsort()[0]]

    features, gradient = features_and_gradient(model, against_one)
    expected = (gradient.mean((1, 2))[:, None, None] * features).sum(0).relu()
    shown = attribute("finer_cam:rivals=1,strength=1", model, SAMPLE, TARGET)
    assert shown.kind.title == "Finer-CAM, rivals: 1, strength 1"
    np.testing.assert_allclose(shown.values, between_extremes(expected), atol=1e-4)


@with_torchcam
@pytest.mark.parametrize("key", KEYS)
def test_methods_of_torchcam_leave_the_checkpoint_as_it_was(model, key):
    before = model.explain(SAMPLE).f
    passes = []
    first, second = (attribute(key, model, SAMPLE, TARGET, lambda *told: passes.append(told)) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)
    assert first.values.min() == 0 and first.values.max() in (0, 1) and passes
    np.testing.assert_array_equal(model.explain(SAMPLE).f, before)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.network.modules())
    assert "no probability" in first.kind.meaning


def test_rivals_are_the_target_and_all_classes_outside_it(model):
    inputs = model.prepare(load_picture(SAMPLE))[0]
    score = score_of(model)
    with torch.inference_mode():
        found, log_p = Rivals(score)(inputs), score.log_probabilities(inputs)
    assert found.shape == (1, 1 + len(model.classes) - 2)
    torch.testing.assert_close(found[:, :1], score(inputs))
    torch.testing.assert_close(found[:, 1:], log_p[:, [0, *range(3, len(model.classes))]])
