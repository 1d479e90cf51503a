"""torchvision's VGG16 with the paper's large maps, and as the methods of its tables need it."""

from torch import Tensor, nn
from torch.nn import functional

from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.family import Family

__all__ = ["FAMILY", "Vgg16"]


class Vgg16(Backbone):
    """torchvision's VGG16 features without the last pools, then 3x3 convolutions to 1024 channels.

    Output stride 8 (28x28) drops the last two pools, 16 the last one.

    Parameters
    ----------
    output_stride : int
    batch_norm : bool
        Whether there is batch normalisation between the layers.
    more : {0, 1, 2}
        Convolutions to 1024 channels: one as in the paper, two for SPG; none for ACoL, but an average pool of 3x3.
    """

    def __init__(self, output_stride: int, batch_norm: bool = False, more: int = 1) -> None:
        super().__init__()
        from torchvision.models import vgg16, vgg16_bn

        layers = list((vgg16_bn if batch_norm else vgg16)(weights=None).features)
        pools = [i for i, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d)]
        dropped = {8: pools[-2:], 16: pools[-1:], 32: []}[output_stride]
        # Identity in a dropped pool's place keeps torchvision's numbering of the others.
        self.features = nn.Sequential(*(nn.Identity() if i in dropped else layer for i, layer in enumerate(layers)))
        self.more = more
        if more > 0:
            self.conv6 = nn.Conv2d(512, 1024, kernel_size=3, padding=1)
            self.bn6 = nn.BatchNorm2d(1024) if batch_norm else nn.Identity()
        if more > 1:
            self.conv7 = nn.Conv2d(1024, 1024, kernel_size=3, padding=1)
        self.channels = 1024 if more else 512

    def forward(self, pictures: Tensor) -> Tensor:
        """Features (B,L,H,W) of pictures (B,3,h,w)."""
        x: Tensor = self.features(pictures)
        if not self.more:
            return functional.avg_pool2d(x, kernel_size=3, stride=1, padding=1)
        x = functional.relu(self.bn6(self.conv6(x)))
        return functional.relu(self.conv7(x)) if self.more > 1 else x


_MORE = {"vgg16_conv5": 0, "vgg16": 1, "vgg16_bn": 1, "vgg16_conv7": 2}

FAMILY = Family(
    tuple(_MORE),
    lambda name, output_stride, _: Vgg16(output_stride, batch_norm=name == "vgg16_bn", more=_MORE[name]),
)
