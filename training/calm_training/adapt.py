"""A plain classifier made a CALM on pictures without labels: ``calm-train adapt`` (docs/adapting.md).

The class branch is the classifier's own linear layer, divided between a place and the mean of all places so that
their sum is nearly the classifier's own logits everywhere (`context_head`); the saliency branch learns by the M-step
where the classifier sees its most probable classes. The backbone stays, so that its features are computed once; or
its last stages learn too.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from calm_gui.errors import CheckpointError, DataError
from calm_gui.model.calm import CalmHead, HeadNetwork, log_class_probabilities
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.loaded import LoadedModel
from calm_training.adapt_run import AdaptRun, Progress, Seen
from calm_training.adapt_teacher import Teacher
from calm_training.metrics.calibration import Calibration
from calm_training.objectives import calm_m_step, calm_ml
from calm_training.teach_places import PlacesSettings, context_head

__all__ = ["AdaptSettings", "What", "adapt", "last_stages"]

What = Literal["saliency", "head", "last-stages"]
"""What is trained: the saliency branch; the class branch and its context too; the backbone's last stages too."""

_LAST = 0.25
"""Share of the backbone's parameters that its last stages hold at least."""


@dataclass(frozen=True)
class AdaptSettings:
    """How a classifier is adapted.

    Attributes
    ----------
    what : {"saliency", "head", "last-stages"} or None
        None for saliency where the classifier has CAM, and head where its own head is more than that.
    steps, batch : int
    learning_rate : float
        Of AdamW, falling to 0 as a cosine.
    target_classes : int
        The most probable classes that make up the target.
    held_out : float
        Share of the pictures that is measured on and not trained on.
    seed : int
    places : PlacesSettings
        Of these, how the class branch is divided between place and context.
    """

    what: What | None = None
    steps: int = 200
    batch: int = 32
    learning_rate: float = 1e-3
    target_classes: int = 10
    held_out: float = 0.2
    seed: int = 0
    places: PlacesSettings = field(
        default_factory=lambda: PlacesSettings(class_factor=0.25, context_factor=0.9, saliency_power=1.0)
    )


def adapt(
    model: LoadedModel,
    pictures: Sequence[Path],
    out: Path,
    settings: AdaptSettings | None = None,
    progress: Progress = lambda stage, done, of: None,
) -> tuple[Path, dict[str, Any]]:
    """Make a plain classifier a CALM.

    Parameters
    ----------
    model : LoadedModel
        A classifier from a file of a network that can be built again.
    pictures : sequence of Path
        At least two. Those that can't be opened are left out.
    out : Path
        Folder of the run. A run of the same classifier, pictures and settings in it goes on, or has its result already.
    settings : AdaptSettings, optional
    progress : callable

    Returns
    -------
    Path
        The checkpoint, called as the classifier with ``-calm.safetensors`` behind it.
    dict
        What was reached on the pictures held out: ``top-1 agreement`` and ``mean |dp|`` of the class that the original
        predicts, ``mean confidence`` and ``ECE against agreement``, for which right is what the original says; how many
        pictures these are, and why others were left out.

    Raises
    ------
    CheckpointError
        If the checkpoint is a CALM already, or no CALM can be made of it.
    DataError
        If there are too few pictures, or the folder holds another run.
    """
    settings = settings or AdaptSettings()
    if len(pictures) < 2:
        raise DataError(f"adapt needs at least two pictures, not {len(pictures)}; give a folder of them with --data")
    if model.info.is_own_network:
        raise CheckpointError(
            f"{model.name} is a network in memory, and no file could say how to build it; save its state dictionary, "
            "and open that with --arch NAME, a network of timm's or torchvision's"
        )
    teacher = Teacher(model, settings.target_classes)
    what: What = settings.what or ("saliency" if model.info.is_cam else "head")
    settings = replace(settings, what=what)
    run = AdaptRun(out, model, pictures, asdict(settings), settings.batch)
    if (reached := run.finished()) is not None:
        return run.checkpoint, reached
    seen = run.look(teacher, settings.held_out, settings.seed, progress, keep_features=what != "last-stages")
    backbone = copy.deepcopy(teacher.backbone) if what == "last-stages" else teacher.backbone
    head = _start(teacher, settings)
    trained = HeadNetwork(backbone, head)
    features = _Features(run, seen, backbone)
    _train(trained, run, seen, features, settings, progress)
    head.temperature = _temperature(head, seen, features)
    measures = _measured(head, seen, features)
    info = _info(model, teacher, head, settings, measures, len(pictures))
    save_checkpoint(run.checkpoint, trained, info, overwrite=True)
    run.clean()
    return run.checkpoint, measures


class _Features:
    """Features of pictures: those that are kept, or the backbone's as it is now."""

    def __init__(self, run: AdaptRun, seen: Seen, backbone: nn.Module) -> None:
        self._run, self._seen, self._backbone = run, seen, backbone

    def __call__(self, numbers: np.ndarray) -> Tensor:
        """Features (n,L,H,W), float32."""
        if self._seen.features is not None:
            return torch.from_numpy(self._seen.features[numbers].astype(np.float32))
        features: Tensor = self._backbone(self._run.inputs(numbers.tolist()))
        return features.float()


def last_stages(backbone: nn.Module) -> list[nn.Parameter]:
    """Parameters of the backbone's last blocks: as few as hold a quarter of all parameters.

    Blocks are in the order in which the network names them; those of lists of blocks count one by one. Batch
    statistics are no parameters and stay.
    """
    blocks: list[nn.Module] = [getattr(backbone, "trunk", backbone)]
    while (opened := [inner for block in blocks for inner in _inside(block)]) != blocks:
        blocks = opened
    wanted = _LAST * sum(parameter.numel() for parameter in backbone.parameters())
    chosen: list[nn.Parameter] = []
    for block in reversed(blocks):
        if sum(parameter.numel() for parameter in chosen) >= wanted:
            break
        chosen = [*block.parameters(), *chosen]
    return chosen


def _inside(block: nn.Module) -> list[nn.Module]:
    """What a list of blocks, or what holds one, is made of; anything else is a block."""
    lists = (nn.Sequential, nn.ModuleList)
    children = list(block.children())
    holds = isinstance(block, lists) or any(isinstance(child, lists) and len(child) > 1 for child in children)
    return children if holds else [block]


def _train(
    trained: HeadNetwork, run: AdaptRun, seen: Seen, features: _Features, settings: AdaptSettings, progress: Progress
) -> None:
    """Train the head, and what else is asked for, going on where an interrupted run stopped."""
    head = trained.head
    assert isinstance(head, CalmHead)
    saliency = list(head.saliency_branch.parameters())
    rest = [parameter for parameter in head.parameters() if all(parameter is not own for own in saliency)]
    backbone = last_stages(trained.backbone) if settings.what == "last-stages" else []
    groups: list[dict[str, Any]] = [{"params": saliency, "lr": settings.learning_rate}]
    if settings.what != "saliency":
        groups.append({"params": rest, "lr": settings.learning_rate / 2})
    if backbone:
        groups.append({"params": backbone, "lr": settings.learning_rate / 20})
    learning = [parameter for group in groups for parameter in group["params"]]
    trained.eval().requires_grad_(False)  # batch statistics stay
    for parameter in learning:
        parameter.requires_grad_(True)
    optimizer = torch.optim.AdamW(groups, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps)
    first = 0
    if (state := run.state()) is not None:
        with torch.no_grad():
            for parameter, value in zip(learning, state["parameters"], strict=True):
                parameter.copy_(value)
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        first = state["step"]
    progress("training", first, settings.steps)
    for step in range(first, settings.steps):
        generator = np.random.default_rng([settings.seed, step])
        count = min(settings.batch, len(seen.training))
        numbers = np.sort(generator.choice(seen.training, count, replace=False))
        target, posterior = seen.part(numbers)
        f, a = head(features(numbers).to(seen.target.weights))
        loss = calm_m_step(f, a, target, posterior)
        if settings.what != "saliency":
            loss = loss + calm_ml(f, a, target)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        if (step + 1) % 25 == 0 or step + 1 == settings.steps:
            kept = {"parameters": [parameter.detach() for parameter in learning], "step": step + 1}
            run.keep_state({**kept, "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()})
        progress("training", step + 1, settings.steps)
    trained.requires_grad_(False)


def _start(teacher: Teacher, settings: AdaptSettings) -> CalmHead:
    """A head with context from the classifier's linear layer, and a saliency branch that is even."""
    torch.manual_seed(settings.seed)
    classes, channels = teacher.weight.shape
    plain = CalmHead(channels, classes, "softplus")
    with torch.no_grad():
        plain.class_branch.weight.copy_(teacher.weight[:, :, None, None])
        assert plain.class_branch.bias is not None and plain.saliency_branch.bias is not None
        plain.class_branch.bias.copy_(teacher.bias)
        plain.saliency_branch.weight.zero_()
        plain.saliency_branch.bias.fill_(1.0)
    return context_head(plain, settings.places)


def _temperature(head: CalmHead, seen: Seen, features: _Features) -> float:
    """What f is divided by so that p of the most probable classes is nearest to the classifier's own.

    The mean over places of probabilities is flatter than the classifier's softmax of the mean. Dividing f inside the
    softmax at each place leaves all sums as they are.
    """
    choices = np.round(np.geomspace(0.5, 1.5, 23), 3)
    apart = np.zeros(len(choices))
    numbers = seen.training[:: max(1, len(seen.training) // 128)]
    with torch.inference_mode():
        for part in np.array_split(numbers, math.ceil(len(numbers) / 32)):
            target, _ = seen.part(part)
            own = target.weights * (seen.top[part] / target.weights[:, 0])[:, None]
            f, a = head(features(part).to(target.weights))
            for i, choice in enumerate(choices):
                p = log_class_probabilities(f / float(choice), a, head.activation).exp()
                apart[i] += float((p.gather(1, target.classes) - own).square().sum())
    return float(choices[apart.argmin()])


def _measured(head: CalmHead, seen: Seen, features: _Features) -> dict[str, Any]:
    """How far the CALM agrees with the classifier that it was made from, on the pictures held out."""
    agree: list[bool] = []
    apart: list[float] = []
    calibration = Calibration()
    with torch.inference_mode():
        for part in np.array_split(seen.held_out, math.ceil(len(seen.held_out) / 32)):
            target, _ = seen.part(part)
            f, a = head(features(part).to(seen.target.weights))
            p = log_class_probabilities(f, a, head.activation).exp()
            own = target.classes[:, 0]
            agree += (p.argmax(1) == own).tolist()
            for confidence, agrees in zip(p.amax(1).tolist(), agree[-len(part) :], strict=True):
                calibration.update(confidence, agrees)
            apart += (p.gather(1, own[:, None])[:, 0] - seen.top[part]).abs().tolist()
    return {
        "pictures held out": len(seen.held_out),
        "top-1 agreement": round(float(np.mean(agree)), 4),
        "mean |dp|": round(float(np.mean(apart)), 4),
        "mean confidence": round(calibration.compute()["confidence"], 4),
        "ECE against agreement": round(calibration.compute()["ECE"], 4),
        **({"left out": list(seen.left_out)} if seen.left_out else {}),
    }


def _info(
    model: LoadedModel,
    teacher: Teacher,
    head: CalmHead,
    settings: AdaptSettings,
    measures: dict[str, Any],
    pictures: int,
) -> CheckpointInfo:
    """Metadata of the adapted checkpoint."""
    return replace(
        model.info,
        method="calm-em",
        saliency_activation=head.activation,
        hierarchy=model.hierarchy,
        context=head.context,
        saliency_power=float(head.saliency_power),
        temperature=head.temperature,
        training={
            "recipe": "adapt",
            "start": {"checkpoint": model.name, "sha256": model.sha256},
            "data": f"{pictures} pictures without labels",
            "maps of the E-step": teacher.maps,
            "settings": asdict(settings),
            "metrics": measures,
        },
    )
