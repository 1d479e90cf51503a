"""EfficientNet-Lite, the bundled checkpoints' backbone: timm's network, with the published weights' own input."""

from dataclasses import replace

from calm_gui.model.backbones import timm
from calm_gui.model.info import InputSpec

__all__ = ["FAMILY", "LITE0", "LITE0_INPUT", "LITE2"]

LITE0 = "timm:tf_efficientnet_lite0"
LITE2 = "timm:tf_efficientnet_lite2"
LITE0_INPUT = InputSpec(size=224, resize="squash", mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
"""The published weights expect (x * 255 - 127) / 128 for x in 0..1."""

FAMILY = replace(
    timm.FAMILY,
    names=tuple(f"timm:tf_efficientnet_lite{number}" for number in range(5)),
    build=timm.build_dilated,
    strides=(8, 16, 32),
    input=lambda name: replace(LITE0_INPUT, size=timm.timm_input(name).size),
)
