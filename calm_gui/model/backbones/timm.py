"""Any timm network: convolutional ones, and those of tokens, whose patch tokens are the places."""

from typing import Any

import torch
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones.backbone import Backbone
from calm_gui.model.backbones.family import Family
from calm_gui.model.backbones.parts import Parts, headless
from calm_gui.model.choices import Interpolation
from calm_gui.model.info import InputSpec
from calm_gui.model.tap import Tap, layout_of, opened

__all__ = ["FAMILY", "TimmBackbone", "build_dilated", "is_of_timm", "timm_classifier", "timm_input", "timm_parts"]

PREFIX = "timm:"


class TimmBackbone(Backbone):
    """A timm network without its classifier; it dilates where a stride is taken away.

    Parameters
    ----------
    trunk : torch.nn.Module
        Its `forward_features` gives a map, places last, or tokens of which the first `num_prefix_tokens` are no places.
    """

    def __init__(self, trunk: nn.Module) -> None:
        super().__init__()
        self.trunk: Any = trunk
        self.channels = _width(self.trunk)

    def forward(self, pictures: Tensor) -> Tensor:
        """Features (B,L,H,W) of pictures (B,3,h,w)."""
        features = self.trunk.forward_features(pictures)
        size = (int(pictures.shape[2]), int(pictures.shape[3]))
        prefix = int(getattr(self.trunk, "num_prefix_tokens", 0))
        layout = layout_of(tuple(features.shape), size, self.channels, prefix) if _is_tensor(features) else None
        if layout is None:
            raise CheckpointError(
                f"timm's {type(self.trunk).__name__} gives no map of features, so neither CAM nor CALM can be made "
                "of it"
            )
        return opened(features, layout, size)[0]


def _width(trunk: Any) -> int:
    return int(trunk.num_features)


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def _build(name: str, output_stride: int, _: bool) -> Backbone:
    backbone = timm_parts(_create(name, output_stride, 1)).backbone
    assert backbone is not None
    return backbone


def build_dilated(name: str, output_stride: int, _: bool) -> TimmBackbone:
    """A convolutional network of timm's at a stride that it is known to take."""
    return TimmBackbone(_made(name, {"num_classes": 0, "output_stride": output_stride}))


def _create(name: str, output_stride: int, classes: int) -> nn.Module:
    """A timm network; the stride is passed on only where it is wanted and isn't the network's own."""
    options = {"num_classes": classes}
    if output_stride:
        with torch.device("meta"):
            native = _native_stride(_made(name, options))
        if output_stride != native:
            try:
                return _made(name, {**options, "output_stride": output_stride})
            except CheckpointError as error:
                raise CheckpointError(
                    f"{name} can't have an output stride of {output_stride}; its own is {native}"
                ) from error
    return _made(name, options)


def _made(name: str, options: dict[str, int]) -> nn.Module:
    """A network of timm's, of tokens for pictures of any size where it can be."""
    import timm

    short, _, side = name.removeprefix(PREFIX).partition("@")
    if not timm.is_model(short):
        raise CheckpointError(f"timm has no network called {short!r}; `timm.list_models()` lists those it has")
    config = timm.get_pretrained_cfg(short)
    choices: list[dict[str, Any]] = [{"img_size": int(side)} if side.isdecimal() else {}]
    if config is not None and config.fixed_input_size:
        choices.insert(0, {**choices[0], "dynamic_img_size": True})
    failure: Exception | None = None
    for choice in choices:
        try:
            made: nn.Module = timm.create_model(short, pretrained=False, **options, **choice)
        except Exception as error:  # options that a network doesn't know raise any type of error
            failure = error
        else:
            return made
    stride = options.get("output_stride")
    what = f"with an output stride of {stride}" if stride else "here"
    raise CheckpointError(f"timm's {short} can't be built {what}: {failure or type(failure).__name__}") from failure


def _native_stride(network: Any) -> int:
    info = getattr(network, "feature_info", None)
    return int(info[-1]["reduction"]) if isinstance(info, list) and info else 32


def timm_classifier(name: str, classes: int) -> nn.Module:
    """A whole network of timm's with random weights and this number of outputs, at its own stride."""
    return _create(name, 0, classes)


def timm_parts(network: nn.Module) -> Parts:
    """The parts of a whole network of timm's."""
    timm_network: Any = network
    found = timm_network.get_classifier()
    heads = tuple(found) if isinstance(found, (tuple, list, nn.ModuleList)) else (found,)
    names = [name for name, module in network.named_modules() if any(module is head for head in heads)]
    maps: list[dict[str, Any]] = list(getattr(network, "feature_info", None) or [])
    prefix = int(getattr(network, "num_prefix_tokens", 0))
    taps = tuple(Tap(row["module"], row["num_chs"], prefix) for row in reversed(maps) if row.get("module"))
    backbone = TimmBackbone(headless(network, names))
    return Parts(backbone, tuple(h for h in heads if isinstance(h, nn.Module)), taps, _native_stride(network))


def is_of_timm(network: Any) -> bool:
    """Whether a network is one of timm's own."""
    return type(network).__module__.startswith("timm.models.") and hasattr(network, "forward_features")


def timm_input(name: str) -> InputSpec:
    """The input that timm's weights of a network were trained with."""
    import timm

    short, _, side = name.removeprefix(PREFIX).partition("@")
    config = timm.get_pretrained_cfg(short)
    if config is None:
        return InputSpec()
    interpolation: Interpolation = "bilinear" if config.interpolation == "bilinear" else "bicubic"
    size = int(side) if side.isdecimal() else config.input_size[-1]
    return InputSpec(size, "squash", interpolation, tuple(config.mean), tuple(config.std))


FAMILY = Family((PREFIX,), _build, strides=(), dilates=True, whole=timm_classifier, parts=timm_parts, input=timm_input)
