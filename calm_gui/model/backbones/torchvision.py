"""torchvision's classifiers, all families, as they are."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.family import Family
from calm_gui.model.backbones.parts import Parts, headless, watched
from calm_gui.model.choices import Interpolation
from calm_gui.model.info import InputSpec
from calm_gui.model.tap import Tap, opened

__all__ = [
    "FAMILY",
    "TorchvisionBackbone",
    "is_of_torchvision",
    "torchvision_classifier",
    "torchvision_input",
    "torchvision_parts",
]

PREFIX = "torchvision:"


class _Cut(NamedTuple):
    """Where a family's features end.

    Attributes
    ----------
    module : str
        Whose output they are.
    tail : str
        What comes behind the pooling.
    linear : bool
        Whether that is one linear layer.
    relu : bool
        Whether the features are cut off at zero on the way to the pooling.
    prefix : int or None
        Tokens before those of places, where there are tokens.
    """

    module: str
    tail: str
    linear: bool = True
    relu: bool = False
    prefix: int | None = None


_CUTS = {
    "ResNet": _Cut("layer4", "fc"),
    "DenseNet": _Cut("features", "classifier", relu=True),
    "AlexNet": _Cut("features", "classifier", linear=False),
    "VGG": _Cut("features", "classifier", linear=False),
    "SqueezeNet": _Cut("features", "classifier", linear=False),
    "MobileNetV2": _Cut("features", "classifier.1"),
    "MobileNetV3": _Cut("features", "classifier", linear=False),
    "EfficientNet": _Cut("features", "classifier.1"),
    "ConvNeXt": _Cut("features", "classifier", linear=False),
    "RegNet": _Cut("trunk_output", "fc"),
    "GoogLeNet": _Cut("inception5b", "fc"),
    "Inception3": _Cut("Mixed_7c", "fc"),
    "ShuffleNetV2": _Cut("conv5", "fc"),
    "MNASNet": _Cut("layers", "classifier.1"),
    "SwinTransformer": _Cut("permute", "head"),
    "MaxVit": _Cut("blocks", "classifier", linear=False),
    "VisionTransformer": _Cut("encoder", "heads", linear=False, prefix=1),
}


class TorchvisionBackbone(Backbone):
    """A network of torchvision's up to where its features end.

    Parameters
    ----------
    trunk : torch.nn.Module
        The network without what comes behind the pooling.
    """

    def __init__(self, trunk: nn.Module) -> None:
        super().__init__()
        self.trunk = trunk
        size = torchvision_size(trunk)
        probe = torch.zeros(1, 3, size, size, device=next(trunk.parameters()).device)
        training = trunk.training
        trunk.eval()
        with torch.no_grad():
            self.channels = int(self(probe).shape[1])
        trunk.train(training)

    def forward(self, pictures: Tensor) -> Tensor:
        """Features (B,L,H,W) of pictures (B,3,h,w)."""
        cut = _CUTS[type(self.trunk).__name__]
        size = (int(pictures.shape[2]), int(pictures.shape[3]))
        last = self.trunk.get_submodule(cut.module)
        if isinstance(last, nn.ModuleList):
            last = last[-1]
        with watched(last) as seen:
            self.trunk(pictures)
        layout = Tap(cut.module, None, cut.prefix).layout(seen[-1], size)
        assert layout is not None
        spread = opened(seen[-1], layout, size)[0]
        return functional.relu(spread) if cut.relu else spread


def torchvision_size(network: nn.Module) -> int:
    """A side of pictures that a network takes."""
    return {"Inception3": 299}.get(type(network).__name__, int(getattr(network, "image_size", 224)))


def torchvision_classifier(name: str, classes: int) -> nn.Module:
    """A whole network of torchvision's with random weights and this number of outputs.

    Raises
    ------
    CheckpointError
        If there is no such network.
    """
    from torchvision import models

    short = name.removeprefix(PREFIX)
    if short not in models.list_models(module=models):
        raise CheckpointError(
            f"torchvision has no classifier called {short!r}; `torchvision.models.list_models()` lists those it has"
        )
    options: dict[str, Any] = {}
    if short in ("googlenet", "inception_v3"):  # published weights take another input than torchvision normalises to
        options = {"aux_logits": False, "init_weights": False, "transform_input": classes == 1000}
    network: nn.Module = models.get_model(short, weights=None, num_classes=classes, **options)
    return network


def torchvision_parts(network: nn.Module) -> Parts:
    """The parts of a whole network of torchvision's."""
    cut = _CUTS[type(network).__name__]
    backbone = TorchvisionBackbone(headless(network, [cut.tail]))
    heads = (network.get_submodule(cut.tail),) if cut.linear else ()
    if cut.prefix is None:
        last = network.get_submodule(cut.module)
        name = f"{cut.module}.{len(last) - 1}" if isinstance(last, nn.ModuleList) else cut.module
        return Parts(backbone, heads, (Tap(name),))
    layers = [f"encoder.layers.{name}" for name, _ in network.get_submodule("encoder.layers").named_children()]
    taps = tuple(Tap(name, None, cut.prefix) for name in reversed(layers))
    return Parts(backbone, heads, taps, int(getattr(network, "patch_size", 16)))


def is_of_torchvision(network: nn.Module) -> bool:
    """Whether a network is one of torchvision's own."""
    return type(network).__module__.startswith("torchvision.models.") and type(network).__name__ in _CUTS


def torchvision_input(name: str) -> InputSpec:
    """The input that torchvision's weights of a network were trained with."""
    from torchvision.models import get_model_weights

    transforms = next(iter(get_model_weights(name.removeprefix(PREFIX)))).transforms()
    interpolation: Interpolation = "bicubic" if transforms.interpolation.value == "bicubic" else "bilinear"
    return InputSpec(transforms.crop_size[0], "squash", interpolation, tuple(transforms.mean), tuple(transforms.std))


def _build(name: str, output_stride: int, _: bool) -> Backbone:
    parts = torchvision_parts(torchvision_classifier(name, 1))
    assert parts.backbone is not None
    if output_stride != parts.stride:
        raise CheckpointError(f"{name} has the output stride {parts.stride} only, not {output_stride}")
    return parts.backbone


FAMILY = Family(
    (PREFIX,), _build, strides=(), whole=torchvision_classifier, parts=torchvision_parts, input=torchvision_input
)
