"""The bundled demo checkpoints: ``python -m calm_training.demo --shared FOLDER --out FOLDER``.

The following is about ``demo``; ``demo-large`` (``--recipe imagenet-demo-large``) is made of EfficientNet-Lite2 in the
same way, but that its second part starts from the original classifier.

EfficientNet-Lite0's linear layer becomes the class branch (supplement A); its stages behind stride 16 and the two
branches are then trained by CALM-EM. No label is used:

- classes come from the original classifier, each picture's most probable ones with their probabilities;
- the E-step's theta' is the original classifier too, not the present network: q'_yz is its class activation map of y,
  negative values cut off, from a larger input and its mirror image. With theta' = theta the saliency gathers on few
  places, which is what holds superset maps back; a fixed theta' that looks at the whole object doesn't let it.

Then the head gets a context, and both branches and the same stages learn from composites which place shows which
class (`calm_training.teach_places`, docs/context.md). Last, a temperature is fitted on pictures that this
second part leaves out; only there labels are used.

The CAM checkpoint beside it is the original classifier at the same output stride, not trained at all.
"""

import argparse
import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from calm_gui.model.calm import CalmHead, HeadNetwork
from calm_gui.model.checkpoint import fitted_network, read_checkpoint, save_checkpoint
from calm_gui.model.imagenet import imagenet_classes, imagenet_hierarchy, imagenet_supersets
from calm_gui.model.info import CheckpointInfo, read_info
from calm_gui.model.loaded import load_model
from calm_training.config import ModelConfig
from calm_training.datasets.boxes import read_boxes_csv
from calm_training.datasets.split import CHOSEN_ON, split_by_hash
from calm_training.demo_data import HELD_OUT, TRAINING_SETS, TrainingPicture, held_out, training_pictures
from calm_training.demo_e_step import e_step, kept_e_step, make_cam, read_inputs
from calm_training.evaluate.sweep import SweepOptions
from calm_training.evaluate.wsol import box_accuracy
from calm_training.feature_cache import FeatureCache
from calm_training.memory import keep_freed_memory
from calm_training.network import freeze
from calm_training.objectives import TopTarget, calm_m_step, calm_ml
from calm_training.precision import fast_autocast
from calm_training.pretrained import LITE0, LITE0_INPUT, LITE2, PACKAGES, efficientnet_lite, warm_start
from calm_training.rescale import Rescaling, rescale
from calm_training.teach_places import PlacesSettings, Source, context_head, pixel_composites, teach_places
from calm_training.temperature import fit_temperature

__all__ = [
    "DemoSettings",
    "calibrate",
    "e_step",
    "main",
    "make_calm",
    "make_cam",
    "make_info",
    "make_places",
]

LICENCE = "Apache-2.0 (weights, as EfficientNet-Lite's); training pictures are not included"

CALIBRATED_ON = f"{HELD_OUT} labelled pictures of ImageNet's classes, kept out of the training of places"
"""What a calibrated checkpoint says of its temperature."""


@dataclass(frozen=True)
class DemoSettings:
    """How the demo is trained.

    Attributes
    ----------
    backbone : str
        Of `calm_training.pretrained.PACKAGES`.
    input_size, output_stride : int
        Pixels of a side, and of a cell's.
    every : int
        Of the two sets of ten classes each, every so many pictures are used.
    freeze : str
        Last frozen stage; the outputs of the frozen ones are computed once.
    epochs, batch : int
        Without any epoch the second part starts from the original classifier.
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
    places : PlacesSettings
        Of the second part.
    rescaling : Rescaling
        Of what the second part gives.
    """

    backbone: str = LITE0
    input_size: int = LITE0_INPUT.size
    output_stride: int = 16
    every: int = 1
    freeze: str = "blocks.4"
    epochs: int = 2
    batch: int = 32
    learning_rate: float = 3e-4
    saliency_factor: float = 5.0
    m_step: float = 1.0
    target_classes: int = 10
    map_size: int = 288
    seed: int = 0
    places: PlacesSettings = field(default_factory=PlacesSettings)
    rescaling: Rescaling = field(default_factory=Rescaling)


LARGE = DemoSettings(
    backbone=LITE2,
    input_size=256,  # published for 260; this makes 16 x 16 cells of 16 pixels
    every=2,
    epochs=0,
    map_size=320,
    places=PlacesSettings(steps=300, learning_rate=3e-4),
)
"""The settings of ``demo-large``."""

RECIPES = {"imagenet-demo": DemoSettings(), "imagenet-demo-large": LARGE}


def make_info(recipe: str, method: str, metrics: dict[str, Any], head: CalmHead | None = None) -> CheckpointInfo:
    """Metadata of a checkpoint of one of `RECIPES`; of `head`, what it has beyond the paper's."""
    settings = RECIPES[recipe]
    classes = imagenet_classes()
    trained = method != "cam"
    return CheckpointInfo(
        method=method,  # type: ignore[arg-type]
        backbone=settings.backbone,
        output_stride=settings.output_stride,
        dilated=True,
        saliency_activation="softplus" if trained else None,
        input=replace(LITE0_INPUT, size=settings.input_size),
        classes=classes,
        hierarchy=imagenet_hierarchy(classes),
        supersets=imagenet_supersets(),
        training={
            "recipe": recipe,
            "start": f"as published, from PyPI {PACKAGES[settings.backbone].replace('_', '-')}",
            "data": [f"{name} (classes and maps of the start; no labels)" for name in TRAINING_SETS] if trained else [],
            "settings": asdict(settings) if trained else {"output_stride": settings.output_stride},
            "epochs": settings.epochs if trained else 0,
            "seed": settings.seed,
            "metrics": metrics,
            "versions": {name: version(name) for name in ("torch", "timm", "calm-gui")},
            **({"calibrated on": CALIBRATED_ON} if head and head.temperature != 1 else {}),
        },
        licence=LICENCE,
        context=head.context if head else "none",
        saliency_power=float(head.saliency_power) if head else 1.0,
        temperature=head.temperature if head else 1.0,
    )


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
    backbone, linear = efficientnet_lite(settings.backbone, settings.output_stride)
    head = CalmHead(backbone.channels, linear.out_features, "softplus")
    warm_start(head, linear)
    torch.nn.init.zeros_(head.saliency_branch.weight)
    torch.nn.init.ones_(head.saliency_branch.get_parameter("bias"))
    network = HeadNetwork(backbone, head).eval().to(memory_format=torch.channels_last)
    if not settings.epochs:
        return network, []
    target, posterior = kept_e_step(pictures, settings, kept)
    frozen, trained = freeze(network, ModelConfig(freeze=settings.freeze))

    def inputs(numbers: Sequence[int]) -> Tensor:
        return read_inputs([pictures[i] for i in numbers], settings.input_size)

    with (
        tempfile.TemporaryDirectory() as folder,
        tqdm(total=len(pictures), desc="frozen stages", unit="picture") as bar,
        FeatureCache(frozen, inputs, len(pictures), Path(folder), progress=bar.update) as features,
    ):
        history = _train(trained, features, target, posterior, settings)
    return network, history


def make_places(
    pictures: Sequence[Path],
    network: HeadNetwork,
    target: TopTarget,
    posterior: Tensor,
    settings: DemoSettings,
    kept: Path | None = None,
) -> list[float]:
    """Give a network's head a context and teach it places.

    Parameters
    ----------
    pictures : sequence of Path
    network : HeadNetwork
        As `make_calm` gives it; its head is replaced.
    target, posterior
        Of the pictures, as `e_step` gives them.
    settings : DemoSettings
    kept : Path, optional
        As in `teach_places`.

    Returns
    -------
    list of float
        As `teach_places`.
    """
    assert isinstance(network.head, CalmHead)
    places = settings.places
    network.head = context_head(network.head, places)
    frozen, trained = freeze(network.eval(), ModelConfig(freeze=settings.freeze))

    def inputs(numbers: Sequence[int]) -> Tensor:
        return read_inputs([pictures[i] for i in numbers], settings.input_size)

    composed, squeezed_target, squeezed_posterior = pixel_composites(inputs, target, posterior, places)
    with (
        tempfile.TemporaryDirectory() as folder,
        tqdm(total=len(pictures) + places.squeezed, desc="frozen stages", unit="picture") as bar,
        FeatureCache(frozen, composed, places.squeezed, Path(folder), progress=bar.update) as squeezed,
        FeatureCache(frozen, inputs, len(pictures), Path(folder), progress=bar.update) as features,
    ):
        return teach_places(
            trained,
            Source(features.__getitem__, target, posterior),
            Source(squeezed.__getitem__, squeezed_target, squeezed_posterior),
            places,
            kept,
        )


def calibrate(network: HeadNetwork, pictures: Sequence[TrainingPicture], size: int = LITE0_INPUT.size) -> float:
    """Fit the temperature of a network's head on labelled pictures, and set it."""
    head = network.head
    assert isinstance(head, CalmHead)
    head.temperature = 1.0
    outputs = []
    with torch.inference_mode():
        for picture in tqdm(pictures, desc="temperature", unit="picture"):
            f, a = network(read_inputs([picture.path], size))
            outputs.append((f.half(), a))  # 800 kB for each in float32
    head.temperature = fit_temperature(outputs, [picture.label for picture in pictures], head.activation)
    return head.temperature


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
                with fast_autocast():
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
    path: Path, network: HeadNetwork, recipe: str, method: str, shared: Path, losses: Sequence[float] = ()
) -> None:
    """Write a checkpoint in float16 with its figures on the pictures that no setting was chosen on."""
    head = network.head if isinstance(network.head, CalmHead) else None
    save_checkpoint(path, network, make_info(recipe, method, {}, head), overwrite=True)
    model = load_model(path, "cpu")  # what is measured is what is on disk
    _, pictures = split_by_hash(read_boxes_csv(shared / "data/imagenet-val-boxes/index.csv"), CHOSEN_ON)
    with tqdm(total=len(pictures), desc=f"measuring {path.name}", unit="picture") as bar:
        result = box_accuracy(model, pictures, options=SweepOptions(progress=bar.update))
    metrics = {
        "set": f"imagenet-val-boxes without the {CHOSEN_ON} pictures that settings were chosen on",
        "pictures": result.images,
        "top-1": round(result.top_one, 4),
        "MaxBoxAccV2": {name: round(boxes.max_box_acc_v2, 4) for name, boxes in result.maps.items()},
        "loss of each epoch": list(losses),
    }
    save_checkpoint(path, network, make_info(recipe, method, metrics, head), overwrite=True)


def _started(path: Path) -> HeadNetwork:
    network = fitted_network(*read_checkpoint(path), path.name)
    assert isinstance(network, HeadNetwork)  # it is a checkpoint of this recipe
    return network.eval()


def _taught(
    options: argparse.Namespace, pictures: Sequence[TrainingPicture], settings: DemoSettings
) -> tuple[HeadNetwork, list[float]]:
    """Both parts of the training."""
    out = {picture.path for picture in held_out(pictures)}
    paths = [picture.path for picture in pictures if settings.epochs or picture.path not in out]
    with tempfile.TemporaryDirectory() as folder:
        e_step_file = options.e_step or Path(folder) / "e-step.pt"
        if options.start:
            network, history = _started(options.start), list[float]()
        else:
            network, history = make_calm(paths, settings, e_step_file)
        target, posterior = kept_e_step(paths, settings, e_step_file)
    left = [i for i, path in enumerate(paths) if path not in out]
    target = TopTarget(target.classes[left], target.weights[left])
    history += make_places([paths[i] for i in left], network, target, posterior[left], settings, options.kept)
    return network, history


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the checkpoints of a recipe: demo and demo-cam, or demo-large."""
    parser = argparse.ArgumentParser(prog="calm_training.demo", description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="folder whose data/ holds the pictures")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the checkpoints into")
    parser.add_argument("--recipe", choices=RECIPES, default="imagenet-demo", help="default: imagenet-demo")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--e-step", type=Path, help="file to keep the E-step's result in, or to take it from")
    parser.add_argument("--start", type=Path, help="checkpoint of the first part, which is then left out")
    parser.add_argument("--kept", type=Path, help="file to keep the state of the second part in, or to go on from")
    parser.add_argument("--taught", type=Path, help="what taught.safetensors was; both parts are then left out")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    settings, name = RECIPES[options.recipe], options.recipe.removeprefix("imagenet-")
    pictures = training_pictures(options.shared, settings.every)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.taught:
        network = _started(options.taught)
        history = list(read_info(options.taught).training["metrics"].get("loss of each epoch", ()))
    else:
        network, history = _taught(options, pictures, settings)
    assert isinstance(network.head, CalmHead)
    metrics = {"loss of each epoch": history}
    info = make_info(options.recipe, "calm-em", metrics, network.head)
    save_checkpoint(options.out / f"{name.replace('demo', 'taught')}.safetensors", network, info, overwrite=True)
    rescale(network.head, settings.rescaling)
    calibrate(network, held_out(pictures), settings.input_size)
    save_measured(options.out / f"{name}.safetensors", network, options.recipe, "calm-em", options.shared, history)
    if name == "demo":
        cam = make_cam(settings.output_stride)
        save_measured(options.out / "demo-cam.safetensors", cam, options.recipe, "cam", options.shared)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
