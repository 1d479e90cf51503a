"""Teaching places: the start of a head with context, and that composites pull each class into its own part."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from calm_gui.model.calm import CalmHead, HeadNetwork, log_conditional, log_saliency
from calm_training.composing import Part, compose_features, owners
from calm_training.objectives import TopTarget
from calm_training.rescale import Rescaling, rescale
from calm_training.teach_places import PlacesSettings, Source, context_head, pixel_composites, teach_places

SIDE, CHANNELS, CLASSES = 8, 12, 6
SETTINGS = PlacesSettings(steps=60, batch=8, squeezed=6, learning_rate=0.03, sharpness=1.0)


def pictures(number: int = 24) -> tuple[torch.Tensor, TopTarget, torch.Tensor]:
    """Feature maps of one class each, a channel of its own that is on everywhere; posteriors even."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(number) % CLASSES
    features = 0.3 * torch.randn(number, CHANNELS, SIDE, SIDE, generator=generator)
    features[torch.arange(number), labels] += 1
    classes = torch.stack([(labels + k) % CLASSES for k in range(5)], 1)
    weights = torch.tensor([0.9, 0.025, 0.025, 0.025, 0.025]).expand(number, -1)
    return features, TopTarget(classes, weights), torch.full((number, 5, SIDE, SIDE), 1 / SIDE**2)


def network_with_context(settings: PlacesSettings) -> HeadNetwork:
    torch.manual_seed(1)
    return HeadNetwork(nn.Identity(), context_head(CalmHead(CHANNELS, CLASSES), settings))


def taught(settings: PlacesSettings, kept=None) -> tuple[HeadNetwork, list[float]]:
    features, target, posterior = pictures()
    network = network_with_context(settings)
    squeezed, squeezed_target, squeezed_posterior = pixel_composites(
        lambda numbers: features[list(numbers)], target, posterior, settings
    )
    singles = Source(lambda numbers: features[numbers], target, posterior)
    composites = Source(lambda numbers: squeezed(list(numbers)), squeezed_target, squeezed_posterior)
    return network, teach_places(network, singles, composites, settings, kept)


@pytest.mark.parametrize("context", ["mean", "saliency"])
def test_a_head_with_context_starts_from_the_class_branch(context):
    plain = CalmHead(CHANNELS, CLASSES)
    head = context_head(plain, PlacesSettings(context=context, class_factor=0.25, context_factor=0.75))
    features = torch.randn(2, CHANNELS, 1, 1)  # a single place is its own context
    torch.testing.assert_close(head(features)[0], plain(features)[0])
    assert head.context == context and head.saliency_power == PlacesSettings().saliency_power


def share_of_own_part(network: HeadNetwork) -> float:
    """How much of g of the left picture's class lies in the left half of composites of two."""
    features, target, _ = pictures()
    owner = owners([Part(0, 0, SIDE, SIDE // 2), Part(0, SIDE // 2, SIDE, SIDE)], SIDE)
    shares = []
    for i in range(12):
        with torch.inference_mode():
            f, _ = network(compose_features(features[[i, i + 1]], owner)[None])
        g = log_conditional(f)[0, int(target.classes[i, 0])].exp()
        shares.append(float(g[:, : SIDE // 2].sum() / g.sum()))
    return float(np.mean(shares))


@pytest.mark.parametrize("context", ["mean", "saliency"])
def test_composites_pull_classes_into_their_own_parts(context):
    settings = replace(SETTINGS, context=context)
    without, _ = taught(replace(settings, composites=0.0))
    network, losses = taught(settings)
    assert len(losses) == 10 and losses[-1] < losses[0] - 0.5
    assert share_of_own_part(network) > max(0.7, share_of_own_part(without))
    assert isinstance(network.head, CalmHead) and network.head.saliency_power != settings.saliency_power


def test_the_same_seed_teaches_the_same_also_after_a_stop(tmp_path, monkeypatch):
    whole, losses = taught(SETTINGS)
    kept = tmp_path / "state.pt"

    class StoppedError(Exception):
        pass

    with monkeypatch.context() as patch:
        save = torch.save

        def stop(state, path):
            save(state, path)
            raise StoppedError

        patch.setattr(torch, "save", stop)
        with pytest.raises(StoppedError):
            taught(SETTINGS, kept)
    again, resumed = taught(SETTINGS, kept)
    assert resumed == losses
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name


def test_rescaling_is_the_formula_with_its_factors():
    head = context_head(CalmHead(CHANNELS, CLASSES), SETTINGS)
    with torch.no_grad():
        head.saliency_branch.bias.fill_(0.4)
    x = torch.randn(2, CHANNELS, SIDE, SIDE, generator=torch.Generator().manual_seed(2))
    w, v = (branch.weight.detach().clone().flatten(1) for branch in (head.class_branch, head.context_branch))
    b, a = head.class_branch.bias.detach().clone(), head.saliency_branch(x).detach().double()
    by = Rescaling(class_factor=2.0, context_factor=0.5, saliency_factor=3.0, saliency_shift=-1.0, saliency_power=1.5)
    rescale(head, by)
    with torch.inference_mode():
        f, raw = head(x)
        h = log_saliency(raw, "softplus").exp()
    whole = torch.einsum("cl,bl->bc", v, x.mean((2, 3)))[:, :, None, None]
    torch.testing.assert_close(f, torch.einsum("cl,blhw->bchw", 2 * w, x) + 0.5 * whole + b[:, None, None])
    s = torch.log1p(torch.exp(3 * a[:, 0] - 1)) ** 1.5
    torch.testing.assert_close(h.double(), s / s.sum((1, 2), keepdim=True), rtol=1e-4, atol=1e-7)
