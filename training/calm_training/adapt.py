"""A plain classifier made a CALM on pictures without labels: ``calm-train adapt`` (docs/adapting.md).

The class branch is the classifier's own linear layer, divided between a place and the mean of all places so that
their sum is nearly the classifier's own logits everywhere (`context_head`); the saliency branch learns by the M-step
where the classifier sees its most probable classes. The backbone stays, so that its features are computed once.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from calm_gui.errors import DataError
from calm_gui.model.calm import CalmHead, HeadNetwork, log_class_probabilities
from calm_gui.model.checkpoint import save_checkpoint
from calm_gui.model.files import write_bytes
from calm_gui.model.info import CheckpointInfo
from calm_gui.model.input import network_input
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.picture import load_picture
from calm_training.adapt_teacher import Teacher
from calm_training.objectives import TopTarget, calm_m_step, calm_ml
from calm_training.teach_places import PlacesSettings, context_head

__all__ = ["AdaptSettings", "Progress", "What", "adapt"]

What = Literal["saliency", "head"]
"""What is trained: the saliency branch, or the class branch and its context too."""

Progress = Callable[[str, int, int], None]
"""Told a stage, how much of it is done, and of how much."""


@dataclass(frozen=True)
class AdaptSettings:
    """How a classifier is adapted.

    Attributes
    ----------
    what : {"saliency", "head"} or None
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
        At least two.
    out : Path
        Folder of the run. A run of the same classifier, pictures and settings in it goes on.
    settings : AdaptSettings, optional
    progress : callable

    Returns
    -------
    Path
        The checkpoint, ``adapted.safetensors``.
    dict
        What was reached: ``top-1 agreement`` and ``mean |dp|`` of the class that the original predicts, on the
        pictures held out, and how many these are.

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
    teacher = Teacher(model, settings.target_classes)
    what: What = settings.what or ("saliency" if model.info.is_cam else "head")
    settings = replace(settings, what=what)
    run = _Run(out, model, pictures, settings)
    seen = run.features(teacher, progress)
    head = run.trained(_start(teacher, settings), seen, progress)
    measures = _measured(head, seen)
    info = _info(model, teacher, head, settings, measures, len(pictures))
    path = out / "adapted.safetensors"
    save_checkpoint(path, HeadNetwork(teacher.backbone, head), info, overwrite=True)
    run.clean()
    return path, measures


@dataclass
class _Seen:
    """What is kept of all pictures.

    Attributes
    ----------
    features : ndarray (N,L,H,W), float16
    target : TopTarget
    posterior : Tensor (N,K,H,W), float16
    top : Tensor (N,)
        The teacher's probability of its most probable class.
    held_out : ndarray of int
        Numbers of the pictures that are measured on; of all of them where there are too few to hold some out.
    training : ndarray of int
    """

    features: np.ndarray
    target: TopTarget
    posterior: Tensor
    top: Tensor
    held_out: np.ndarray
    training: np.ndarray

    def batch(self, numbers: np.ndarray) -> tuple[Tensor, TopTarget, Tensor]:
        features = torch.from_numpy(self.features[numbers].astype(np.float32))
        target = TopTarget(self.target.classes[numbers], self.target.weights[numbers])
        return features, target, self.posterior[numbers].float()


class _Run:
    """The folder of a run: what is done already isn't done again."""

    def __init__(self, out: Path, model: LoadedModel, pictures: Sequence[Path], settings: AdaptSettings) -> None:
        self.out, self.model, self.pictures, self.settings = out, model, pictures, settings
        out.mkdir(parents=True, exist_ok=True)
        about = {
            "checkpoint": model.sha256,
            "pictures": [str(path) for path in pictures],
            "settings": asdict(settings),
        }
        kept = out / "adapt.json"
        if not kept.exists():
            write_bytes(kept, json.dumps(about, indent=1).encode())
        elif json.loads(kept.read_text("utf-8")) != json.loads(json.dumps(about)):
            raise DataError(
                f"{out} holds a run of another classifier, other pictures or settings; give another folder with --out"
            )
        self._features, self._rest, self._state = out / "features.npy", out / "targets.pt", out / "state.pt"

    def features(self, teacher: Teacher, progress: Progress) -> _Seen:
        """What the teacher says of every picture, going on where an interrupted run stopped."""
        rows: dict[str, Tensor] = torch.load(self._rest, weights_only=True) if self._rest.exists() else {}
        done, total = len(rows.get("classes", ())), len(self.pictures)
        kept = np.lib.format.open_memmap(self._features, "r+") if done else None
        progress("features", done, total)
        for start in range(done, total, self.settings.batch):
            part = self.pictures[start : start + self.settings.batch]
            inputs = [network_input(load_picture(path).pixels, self.model.info.input) for path in part]
            seen = teacher.look(torch.stack(inputs).to(self.model.device))
            if kept is None:
                shape = (total, *seen.features.shape[1:])
                kept = np.lib.format.open_memmap(self._features, "w+", np.float16, shape)
            kept[start : start + len(part)] = seen.features.half().cpu().numpy()
            kept.flush()
            new = {"classes": seen.target.classes, "weights": seen.target.weights, "posterior": seen.posterior.half()}
            new["top"] = seen.probabilities.amax(1)
            rows = {key: torch.cat([rows[key], value.cpu()]) if rows else value.cpu() for key, value in new.items()}
            torch.save(rows, self._rest)
            progress("features", start + len(part), total)
        assert kept is not None
        order = np.random.default_rng(self.settings.seed).permutation(total)
        few = int(total * self.settings.held_out)
        held_out, training = (np.sort(order[:few]), np.sort(order[few:])) if few else (order, order)
        target = TopTarget(rows["classes"], rows["weights"])
        return _Seen(kept, target, rows["posterior"], rows["top"], held_out, training)

    def trained(self, head: CalmHead, seen: _Seen, progress: Progress) -> CalmHead:
        """The head after training, going on where an interrupted run stopped."""
        settings = self.settings
        saliency = list(head.saliency_branch.parameters())
        rest = [parameter for parameter in head.parameters() if all(parameter is not own for own in saliency)]
        head.requires_grad_(settings.what == "head")
        for parameter in saliency:
            parameter.requires_grad_(True)
        groups: list[dict[str, Any]] = [{"params": saliency, "lr": settings.learning_rate}]
        if settings.what == "head":
            groups.append({"params": rest, "lr": settings.learning_rate / 2})
        optimizer = torch.optim.AdamW(groups, weight_decay=1e-4)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps)
        first = 0
        if self._state.exists():
            state = torch.load(self._state, weights_only=True)
            head.load_state_dict(state["head"])
            optimizer.load_state_dict(state["optimizer"])
            schedule.load_state_dict(state["schedule"])
            first = state["step"]
        progress("training", first, settings.steps)
        for step in range(first, settings.steps):
            generator = np.random.default_rng([settings.seed, step])
            count = min(settings.batch, len(seen.training))
            numbers = np.sort(generator.choice(seen.training, count, replace=False))
            features, target, posterior = seen.batch(numbers)
            f, a = head(features)
            loss = calm_m_step(f, a, target, posterior)
            if settings.what == "head":
                loss = loss + calm_ml(f, a, target)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            if (step + 1) % 25 == 0 or step + 1 == settings.steps:
                kept = {"head": head.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
                torch.save({**kept, "schedule": schedule.state_dict()}, self._state)
            progress("training", step + 1, settings.steps)
        return head.requires_grad_(False)

    def clean(self) -> None:
        """Remove what only an interrupted run needs."""
        for path in (self._features, self._rest, self._state):
            path.unlink(missing_ok=True)


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


def _measured(head: CalmHead, seen: _Seen) -> dict[str, Any]:
    """How far the CALM agrees with the classifier that it was made from, on the pictures held out."""
    agree, apart = [], []
    with torch.inference_mode():
        for part in np.array_split(seen.held_out, math.ceil(len(seen.held_out) / 32)):
            features, target, _ = seen.batch(part)
            f, a = head(features)
            p = log_class_probabilities(f, a, head.activation).exp()
            own = target.classes[:, 0]
            agree += (p.argmax(1) == own).tolist()
            apart += (p.gather(1, own[:, None])[:, 0] - seen.top[part]).abs().tolist()
    return {
        "pictures held out": len(seen.held_out),
        "top-1 agreement": round(float(np.mean(agree)), 4),
        "mean |dp|": round(float(np.mean(apart)), 4),
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
