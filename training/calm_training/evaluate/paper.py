"""The paper's own numbers, which tables show beside ours and mark as the paper's."""

from collections.abc import Mapping

__all__ = ["ACCURACY", "CUES", "WSOL", "paper_number"]

CUES: dict[str, tuple[float, ...]] = {
    "gradient": (10.0, 13.7, 15.3, 13.9),
    "integrated_gradients": (12.0, 15.1, 17.3, 15.7),
    "smoothgrad": (11.8, 15.5, 18.6, 16.5),
    "vargrad": (16.7, 21.1, 23.1, 21.4),
    "cam": (24.1, 28.3, 32.2, 29.6),
    "attribution calm-ml": (23.6, 26.7, 28.8, 27.3),
    "attribution calm-em": (30.4, 33.3, 36.3, 34.3),
}
"""mPxAP for 1, 2 and 3 differing parts and the mean, percent: the paper's table of cue localization (ResNet50,
31 + 64 + 96 pairs of whole CUB)."""

WSOL: dict[str, tuple[float, ...]] = {
    "cam": (62.4, 61.1, 60.0),
    "cam-superset": (60.6, 63.4, 60.0),
    "attribution calm-em": (62.5, 52.5, 62.7),
    "superset calm-em": (62.8, 65.4, 62.7),
    "attribution calm-ml": (62.6, 61.3, 62.3),
    "superset calm-ml": (62.7, 68.0, 62.3),
}
"""ImageNet and CUB (MaxBoxAccV2), OpenImages (PxAP), percent: the paper's table of WSOL, means of three backbones."""

ACCURACY: dict[str, tuple[float, ...]] = {
    "cam": (74.5, 70.6, 72.1),
    "calm-em": (70.4, 71.8, 70.1),
    "calm-ml": (70.6, 59.6, 70.9),
}
"""Top-1 on ImageNet, CUB and OpenImages, percent: the paper's table of classification accuracy."""


def paper_number(table: Mapping[str, tuple[float, ...]], name: str, method: str, column: int) -> str:
    """A number of the paper's for a map of a method's checkpoint, percent, as text; empty where it has none."""
    found = table.get(name) or table.get(f"{name} {method}")
    return f"{found[column]:.1f}" if found else ""
