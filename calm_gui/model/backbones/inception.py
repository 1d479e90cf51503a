"""torchvision's Inception v3 with the paper's large maps."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.family import Family

__all__ = ["FAMILY", "InceptionV3"]


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


class InceptionV3(Backbone):
    """torchvision's Inception v3 up to Mixed_6e, then two 3x3 convolutions to 1024 channels.

    Stem and Mixed_6a are padded so that 224 pixels give 28 cells; Mixed_6a has stride 1, and the pool before it
    is dropped at output stride 8. The names A3_1b and A3_2b are the released code's; ACoL leaves these two out.
    """

    def __init__(self, output_stride: int, with_6e: bool = True, with_a3: bool = True) -> None:
        super().__init__()
        from torchvision.models import inception_v3

        trunk = inception_v3(weights=None, init_weights=False, aux_logits=False)
        for name, module in trunk.named_children():
            if name.startswith(("Conv2d", "Mixed_5", "Mixed_6")):
                self.add_module(name, module)
        for padded in (trunk.Conv2d_1a_3x3, trunk.Conv2d_2b_3x3):
            padded.conv.padding = (1, 1)
        self.Mixed_6a = _StrideOneMixed6a(trunk.Mixed_6a)
        if with_a3:
            self.A3_1b = nn.Sequential(nn.Conv2d(768, 1024, 3, padding=1), nn.ReLU(inplace=True))
            self.A3_2b = nn.Sequential(nn.Conv2d(1024, 1024, 3, padding=1), nn.ReLU(inplace=True))
        self.pool_before_6a = output_stride == 16
        self.with_6e = with_6e
        self.channels = 1024 if with_a3 else 768

    def forward(self, pictures: Tensor) -> Tensor:
        """Features (B,L,H,W) of pictures (B,3,h,w)."""
        x = pictures
        for name, module in self.named_children():
            if name in ("Conv2d_3b_1x1", "Mixed_5b"):
                x = functional.max_pool2d(x, kernel_size=3, stride=2, padding=1, ceil_mode=True)
            if name == "Mixed_6a" and self.pool_before_6a:
                x = functional.max_pool2d(x, kernel_size=3, stride=2, ceil_mode=True)
            if name != "Mixed_6e" or self.with_6e:
                x = module(x)
        return x


FAMILY = Family(
    ("inception_v3", "inception_v3_without_6e", "inception_v3_mixed6e"),
    lambda name, output_stride, _: InceptionV3(
        output_stride, with_6e=name != "inception_v3_without_6e", with_a3=name != "inception_v3_mixed6e"
    ),
    strides=(8, 16),  # up to Mixed_6e there is no more
)
"""The released code computes Mixed_6e and goes on from Mixed_6d: ``inception_v3_without_6e``. ACoL ends at Mixed_6e."""
