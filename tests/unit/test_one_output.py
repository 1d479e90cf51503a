"""One output is a sigmoid between two classes, never a softmax that is always 1."""

import numpy as np
import pytest
import torch
from torch import nn

import calm_gui
from calm_gui.errors import CheckpointError
from calm_gui.model.loaded import load_model
from calm_gui.model.one_output import TOLD, check_outputs, two_classes

PIXELS = np.random.default_rng(0).integers(0, 255, (48, 48, 3), dtype=np.uint8)


class Pooled(nn.Module):
    """Convolution, average pooling, one linear output."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer4 = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU())
        self.fc = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.layer4(x).mean((2, 3)))


class Whole(Pooled):
    """The same with a head that is more than a linear layer."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.fc(self.layer4(x).amax((2, 3)))) * 3


@pytest.mark.parametrize("kind", [Pooled, Whole])
@pytest.mark.parametrize(
    ("names", "expected"),
    [(None, ["class 0", "class 1"]), (["tumour"], ["not tumour", "tumour"]), (["n", "y"], ["n", "y"])],
)
def test_its_probability_is_the_sigmoid(kind, names, expected):
    network = kind().eval()
    model = calm_gui.from_module(network, classes=names, input=48)
    explanation = model.explain(PIXELS)
    with torch.inference_mode():
        tensor = model.prepare(calm_gui.model.picture.picture_from_array(PIXELS))[0]
        p = torch.sigmoid(network(tensor)).item()
    assert [info.name for info in model.classes] == expected
    assert explanation.probability(1) == pytest.approx(p, rel=1e-4)
    assert explanation.probability(0) == pytest.approx(1 - p, rel=1e-4)
    assert TOLD in model.info.assumed


def test_three_names_for_one_output_are_refused():
    with pytest.raises(CheckpointError, match="one output"):
        two_classes(("a", "b", "c"), "x.pth")


@pytest.mark.parametrize(
    ("outputs", "n", "said"),
    [("sigmoid", 1, ""), (None, 1, ""), ("softmax", 5, ""), ("sigmoid", 5, "don't add up"), ("softmax", 1, "always 1")],
)
def test_sigmoids_side_by_side_and_the_softmax_of_one_are_refused(outputs, n, said):
    if not said:
        check_outputs(outputs, n, "x.pth")
        return
    with pytest.raises(CheckpointError, match=said):
        check_outputs(outputs, n, "x.pth")


@pytest.mark.shared
def test_a_file_with_one_output(shared):
    model = load_model(shared / "trials/inputs/checkpoints/ck_one_output_sigmoid.pth", "cpu")
    assert len(model.classes) == 2 and TOLD in model.info.assumed
    explanation = model.explain(PIXELS)
    assert explanation.probability(0) + explanation.probability(1) == pytest.approx(1)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["ck_compiled_submodules.pth", "ck_lightning.ckpt", "ck_torchvision_model_and_ema.pth"]
)
def test_names_and_counters_of_wrappers_go(shared, name):
    from calm_gui.model.answers import Answers

    path = shared / "trials/inputs/checkpoints" / name
    model = load_model(path, "cpu", answers=Answers(averaged=True if "ema" in name else None))
    assert model.info.backbone == "resnet50"
