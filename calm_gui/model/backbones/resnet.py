"""torchvision's ResNet50 with the paper's large maps."""

from typing import Any

from torch import Tensor, nn

from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.family import Family
from calm_gui.model.backbones.parts import Parts
from calm_gui.model.backbones.torchvision import torchvision_classifier
from calm_gui.model.tap import Tap

__all__ = ["FAMILY", "ResNet50"]


class ResNet50(Backbone):
    """torchvision's ResNet50 up to layer4.

    Output stride 8 is the paper's 28x28 variant: stride 1 in layer3 and layer4, not dilated. Stride 16 keeps
    layer3's stride (14x14, the released code's small map).
    """

    def __init__(self, trunk: Any) -> None:
        super().__init__()
        for name in ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4"):
            self.add_module(name, getattr(trunk, name))
        self.channels = trunk.fc.in_features

    def forward(self, pictures: Tensor) -> Tensor:
        """Features (B,L,H,W) of pictures (B,3,h,w)."""
        x = pictures
        for layer in self.children():
            x = layer(x)
        return x


def _build(_: str, output_stride: int, dilated: bool) -> ResNet50:
    from torchvision.models import resnet50

    dilate = [False, output_stride < 16, output_stride < 32] if dilated else None
    trunk = resnet50(weights=None, replace_stride_with_dilation=dilate)
    if not dilated:
        if output_stride < 16:
            _set_stride_one(trunk.layer3)
        if output_stride < 32:
            _set_stride_one(trunk.layer4)
    return ResNet50(trunk)


def _set_stride_one(layer: nn.Module) -> None:
    for module in layer.modules():
        if isinstance(module, nn.Conv2d):
            module.stride = (1, 1)


def _parts(network: Any) -> Parts:
    return Parts(ResNet50(network), (network.fc,), (Tap("layer4"),))


FAMILY = Family(("resnet50",), _build, dilates=True, whole=torchvision_classifier, parts=_parts)
