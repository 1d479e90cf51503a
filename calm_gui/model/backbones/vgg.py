"""torchvision's VGG16 with the paper's large maps."""

from torch import Tensor, nn
from torch.nn import functional

from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.family import Family

__all__ = ["FAMILY", "Vgg16"]


class Vgg16(Backbone):
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
        """Features (B,L,H,W) of pictures (B,3,h,w)."""
        return functional.relu(self.bn6(self.conv6(self.features(pictures))))


FAMILY = Family(
    ("vgg16", "vgg16_bn"), lambda name, output_stride, _: Vgg16(output_stride, batch_norm=name == "vgg16_bn")
)
