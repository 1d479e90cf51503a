"""A real checkpoint file, small and with random weights, for tests that need a network but no knowledge."""

from pathlib import Path

import torch
from synthetic import CLASSES, HIERARCHY

from calm_gui.model.checkpoint import CheckpointInfo, InputSpec, build_network, save_checkpoint


def write_tiny_checkpoint(path: Path, method: str = "calm-em", size: int = 96) -> Path:
    """A MobileNetV2 of a third of the width at output stride 16 with the six classes of `synthetic`."""
    torch.manual_seed(0)
    info = CheckpointInfo(
        method=method,  # type: ignore[arg-type]
        backbone="timm:mobilenetv2_035",
        output_stride=16,
        classes=CLASSES,
        saliency_activation=None if method == "cam" else "softplus",
        input=InputSpec(size=size),
        hierarchy=HIERARCHY,
        supersets=("dog",),
        licence="none needed",
    )
    network = build_network(info)
    with torch.no_grad():
        network.head.class_branch.weight *= 40  # so that classes differ from cell to cell
    save_checkpoint(path, network, info)
    return path
