"""A real checkpoint file, small and with random weights, for tests that need a network but no knowledge."""

import csv
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from synthetic import CLASSES, HIERARCHY

from calm_gui.core.classes import ClassInfo, ClassTable
from calm_gui.model.checkpoint import CheckpointInfo, InputSpec, build_network, save_checkpoint


def write_tiny_checkpoint(
    path: Path,
    method: str = "calm-em",
    size: int = 96,
    seed: int = 0,
    backbone: str = "timm:mobilenetv2_035",
    names: Sequence[str] | None = None,
) -> Path:
    """By default a MobileNetV2 of a third of the width; at output stride 16 with the six classes of `synthetic`.

    With names the classes are called so, and have neither wnids nor a hierarchy; those of one name have one row of the
    class branch, wherever they stand.
    """
    torch.manual_seed(seed)
    info = CheckpointInfo(
        method=method,  # type: ignore[arg-type]
        backbone=backbone,
        output_stride=16,
        classes=CLASSES if names is None else ClassTable(ClassInfo(i, name) for i, name in enumerate(names)),
        saliency_activation=None if method == "cam" else "softplus",
        input=InputSpec(size=size),
        hierarchy=HIERARCHY if names is None else None,
        supersets=("dog",) if names is None else (),
        licence="none needed",
    )
    network = build_network(info)
    with torch.no_grad():
        branch = network.head.class_branch.weight
        for row, name in enumerate(names or ()):
            branch[row] = torch.randn(
                branch.shape[1:], generator=torch.Generator().manual_seed(zlib.crc32(name.encode()))
            )
        if names is not None and network.head.class_branch.bias is not None:
            network.head.class_branch.bias.zero_()
        branch *= 40 if names is None else 0.05  # so that classes differ from cell to cell
    save_checkpoint(path, network, info)
    return path


def backbone_for(method: str) -> str:
    """A small network that a method of others works on."""
    return "timm:test_vit" if method == "legrad" else "timm:mobilenetv2_035"


def write_tiny_set(
    root: Path, count: int, classes: int = 6, grain: tuple[int, int] = (6, 8), boxes: str = "10 10 50 60;0 0 20 20"
) -> Path:
    """Pictures of coloured noise with their ``index.csv``: classes in turn, the same boxes for each."""
    generator = np.random.default_rng(0)
    with (root / "index.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "class_index", "width", "height", "boxes"])
        for i in range(count):
            pixels = generator.integers(0, 255, (*grain, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((96, 72)).save(root / f"{i}.png")
            writer.writerow([f"{i}.png", i % classes, 96, 72, boxes])
    return root
