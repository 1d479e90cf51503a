"""Backbones: pictures (B,3,h,w) to features (B,L,H,W), in the paper's large-map variants and from timm.

torchvision's three networks keep torchvision's tensor names, so that its pretrained weights load as they are.
"""

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.errors import CheckpointError

__all__ = ["Backbone", "OutputStride", "build_backbone"]

OutputStride = Literal[8, 16, 32]


class Backbone(nn.Module):
    """A network without its classifier.

    Attributes
    ----------
    channels : int
        Channels L of the features.
    """

    channels: int


class _ResNet50(Backbone):
    """torchvision's ResNet50 up to layer4.

    Output stride 8 is the paper's 28x28 variant: stride 1 in layer3 and layer4, not dilated. Stride 16 keeps
    layer3's stride (14x14, the released code's small map).
    """

    def __init__(self, output_stride: int, dilated: bool) -> None:
        super().__init__()
        from torchvision.models import resnet50

        dilate = [False, output_stride < 16, output_stride < 32] if dilated else None
        trunk = resnet50(weights=None, replace_stride_with_dilation=dilate)
        if not dilated:
            if output_stride < 16:
                _set_stride_one(trunk.layer3)
            if output_stride < 32:
                _set_stride_one(trunk.layer4)
        for name in ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4"):
            self.add_module(name, getattr(trunk, name))
        self.channels = trunk.fc.in_features

    def forward(self, pictures: Tensor) -> Tensor:
        x = pictures
        for layer in self.children():
            x = layer(x)
        return x


def _set_stride_one(layer: nn.Module) -> None:
    for module in layer.modules():
        if isinstance(module, nn.Conv2d):
            module.stride = (1, 1)


class _Vgg16(Backbone):
    """torchvision's VGG16 features without the last pools, then a 3x3 convolution to 1024 channels.

    Output stride 8 (28x28) drops the last two pools, 16 the last one. `layers` may hold batch normalisation.
    """

    def __init__(self, output_stride: int, batch_norm: bool = False) -> None:
        super().__init__()
        from torchvision.models import vgg16, vgg16_bn

        layers = list((vgg16_bn if batch_norm else vgg16)(weights=None).features)
        pools = [i for i, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d)]
        dropped = {8: pools[-2:], 16: pools[-1:], 32: []}[output_stride]
        # Identity in a dropped pool's place keeps torchvision's numbering of the others.
        self.features = nn.Sequential(*(nn.Identity() if i in dropped else layer for i, layer in enumerate(layers)))
        self.conv6 = nn.Conv2d(512, 1024, kernel_size=3, padding=1)
        self.bn6 = nn.BatchNorm2d(1024) if batch_norm else nn.Identity()
        self.channels = 1024

    def forward(self, pictures: Tensor) -> Tensor:
        return functional.relu(self.bn6(self.conv6(self.features(pictures))))


class _StrideOneMixed6a(nn.Module):
    """torchvision's Mixed_6a with stride 1 in all three branches (its pooling branch has stride 2 written in)."""

    def __init__(self, original: Any) -> None:
        super().__init__()
        self.branch3x3: nn.Module = original.branch3x3
        self.branch3x3dbl_1: nn.Module = original.branch3x3dbl_1
        self.branch3x3dbl_2: nn.Module = original.branch3x3dbl_2
        self.branch3x3dbl_3: nn.Module = original.branch3x3dbl_3
        for branch in (original.branch3x3, original.branch3x3dbl_3):
            branch.conv.stride, branch.conv.padding = (1, 1), (1, 1)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), double, functional.max_pool2d(x, 3, stride=1, padding=1)], 1)


class _InceptionV3(Backbone):
    """torchvision's Inception v3 up to Mixed_6e, then two 3x3 convolutions to 1024 channels.

    Stem and Mixed_6a are padded so that 224 pixels give 28 cells; Mixed_6a has stride 1, and the pool before it
    is dropped at output stride 8. The names A3_1b and A3_2b are the released code's.
    """

    def __init__(self, output_stride: int, with_6e: bool = True) -> None:
        super().__init__()
        from torchvision.models import inception_v3

        trunk = inception_v3(weights=None, init_weights=False, aux_logits=False)
        for name, module in trunk.named_children():
            if name.startswith(("Conv2d", "Mixed_5", "Mixed_6")):
                self.add_module(name, module)
        for padded in (trunk.Conv2d_1a_3x3, trunk.Conv2d_2b_3x3):
            padded.conv.padding = (1, 1)
        self.Mixed_6a = _StrideOneMixed6a(trunk.Mixed_6a)
        self.A3_1b = nn.Sequential(nn.Conv2d(768, 1024, 3, padding=1), nn.ReLU(inplace=True))
        self.A3_2b = nn.Sequential(nn.Conv2d(1024, 1024, 3, padding=1), nn.ReLU(inplace=True))
        self.pool_before_6a = output_stride == 16
        self.with_6e = with_6e
        self.channels = 1024

    def forward(self, pictures: Tensor) -> Tensor:
        x = pictures
        for name, module in self.named_children():
            if name in ("Conv2d_3b_1x1", "Mixed_5b"):
                x = functional.max_pool2d(x, kernel_size=3, stride=2, padding=1, ceil_mode=True)
            if name == "Mixed_6a" and self.pool_before_6a:
                x = functional.max_pool2d(x, kernel_size=3, stride=2, ceil_mode=True)
            if name != "Mixed_6e" or self.with_6e:
                x = module(x)
        return x


class _Timm(Backbone):
    """Any timm network whose classifier is average pooling and one linear layer."""

    def __init__(self, name: str, output_stride: int) -> None:
        super().__init__()
        import timm

        if not timm.is_model(name):
            raise CheckpointError(f"timm has no network called {name!r}; `timm.list_models()` lists those it has")
        try:
            self.trunk = timm.create_model(
                name, pretrained=False, num_classes=0, global_pool="", output_stride=output_stride
            )
        except TypeError as error:
            raise CheckpointError(
                f"timm's {name} can't be built with an output stride of {output_stride}: {error}"
            ) from error
        self.channels = self.trunk.num_features

    def forward(self, pictures: Tensor) -> Tensor:
        features: Tensor = self.trunk.forward_features(pictures)
        return features


def build_backbone(name: str, output_stride: int = 8, dilated: bool = False) -> Backbone:
    """Build a backbone with random weights.

    Parameters
    ----------
    name : str
        ``resnet50``, ``vgg16``, ``vgg16_bn``, ``inception_v3``, ``inception_v3_without_6e`` (the released code
        computes Mixed_6e and goes on from Mixed_6d) or ``timm:<name>``.
    output_stride : {8, 16, 32}
        Input pixels per cell of the native grid: 8 gives 28x28 at 224 pixels. `inception_v3` has no 32.
    dilated : bool
        Dilate where a stride was taken away (torchvision's ResNet50; timm always does).

    Returns
    -------
    Backbone

    Raises
    ------
    CheckpointError
        If there is no such network or it can't have that stride.
    """
    if output_stride not in get_args(OutputStride):
        raise CheckpointError(f"output stride must be one of {get_args(OutputStride)}, not {output_stride}")
    if name.startswith("timm:"):
        return _Timm(name.removeprefix("timm:"), output_stride)
    if name == "resnet50":
        return _ResNet50(output_stride, dilated)
    if dilated:
        raise CheckpointError(f"{name} has no dilated variant")
    if name in ("vgg16", "vgg16_bn"):
        return _Vgg16(output_stride, batch_norm=name == "vgg16_bn")
    if name in ("inception_v3", "inception_v3_without_6e"):
        if output_stride == 32:
            raise CheckpointError("inception_v3 up to Mixed_6e has an output stride of 8 or 16, not 32")
        return _InceptionV3(output_stride, with_6e=name == "inception_v3")
    raise CheckpointError(
        f"unknown backbone {name!r}; known are resnet50, vgg16, vgg16_bn, inception_v3 and timm:<name>"
    )
