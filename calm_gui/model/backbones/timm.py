"""Any timm network whose classifier is average pooling and one linear layer."""

from torch import Tensor

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones.family import Backbone, Family

__all__ = ["FAMILY", "TimmBackbone"]


class TimmBackbone(Backbone):
    """A timm network without its pooling and classifier; it dilates where a stride is taken away."""

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
        """Features (B,L,H,W) of pictures (B,3,h,w)."""
        features: Tensor = self.trunk.forward_features(pictures)
        return features


FAMILY = Family(
    ("timm:",), lambda name, output_stride, _: TimmBackbone(name.removeprefix("timm:"), output_stride), dilates=True
)
