"""What a classifier says of pictures without labels: p(y|x), features, and where it sees its most probable classes."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from calm_gui.errors import CheckpointError
from calm_gui.model.backbones import Backbone, Parts, known_parts
from calm_gui.model.backbones.parts import watched
from calm_gui.model.calm import CamHead, HeadNetwork
from calm_gui.model.classifier import Classifier, class_branches, logits_of
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.one_output import OneOutput
from calm_gui.model.tap import grid_of_tokens
from calm_training.objectives import TopTarget, top_target

__all__ = ["Seen", "Teacher"]

_FLOOR = 1e-4
"""Added to every place: a class without any positive evidence is looked for everywhere."""


class Seen(NamedTuple):
    """What a teacher says of a batch.

    Attributes
    ----------
    features : Tensor (B,L,H,W)
    probabilities : Tensor (B,C)
    target : TopTarget
        The most probable classes with their probabilities.
    posterior : Tensor (B,K,H,W)
        Where each of these classes is seen; sums to 1.
    """

    features: Tensor
    probabilities: Tensor
    target: TopTarget
    posterior: Tensor


class Teacher:
    """A plain classifier as the source of the E-step.

    Parameters
    ----------
    model : LoadedModel
        A CAM checkpoint or a classifier.
    classes : int
        How many of the most probable classes make up the target.

    Attributes
    ----------
    backbone : Backbone
    weight, bias : Tensor (C,L), (C,)
        What the class branch starts from: the network's linear layer; zeros where none fits the features.
    maps : str
        Where the posterior comes from, in words.

    Raises
    ------
    CheckpointError
        If there is no map of features, or the checkpoint is a CALM already.
    """

    def __init__(self, model: LoadedModel, classes: int) -> None:
        if model.info.is_calm:
            raise CheckpointError(f"{model.name} is a CALM already; adapt takes a plain classifier")
        self.model = model
        self._classes = min(classes, len(model.classes))
        network = model.network
        if isinstance(network, HeadNetwork):
            if not isinstance(network.head, CamHead) or not isinstance(network.backbone, Backbone):
                raise CheckpointError(
                    f"{model.name} has output layers of its own ({model.info.method}); adapt takes a plain classifier"
                )
            branch = network.head.class_branch
            self.backbone = network.backbone
            self.weight = branch.weight.detach()[:, :, 0, 0]
            self.bias = torch.zeros(len(self.weight)) if branch.bias is None else branch.bias.detach()
            self.maps, self._attention = "class activation maps", None
            return
        assert isinstance(network, Classifier)
        if isinstance(network.network, OneOutput):
            raise CheckpointError(f"{model.name} has one output; adapt takes classifiers with one for each class")
        parts = known_parts(network.network)
        if parts is None or parts.backbone is None:
            raise CheckpointError(f"{model.name} gives no map of features that a CALM could be made of")
        self.backbone = parts.backbone.eval().requires_grad_(False)
        self.weight, self.bias = self._linear(network.network, parts)
        self._attention = _last_attention(network.network)
        if self._attention is not None:
            self.maps = "class-token attention of the last block"
        else:
            self.maps = "its linear layer at each place" if bool(self.weight.any()) else "the size of its features"

    def _linear(self, network: nn.Module, parts: Parts) -> tuple[Tensor, Tensor]:
        with torch.inference_mode():
            size = self.model.info.input.size
            channels = int(self.backbone(torch.zeros(1, 3, size, size, device=self.model.device)).shape[1])
        heads = parts.heads or tuple(m for m in network.modules() if isinstance(m, nn.Linear))[-1:]
        n = len(self.model.classes)
        for weight, bias in class_branches(network, heads, channels):
            if len(weight) == n:
                return weight, bias
        return torch.zeros(n, channels), torch.zeros(n)

    def look(self, inputs: Tensor) -> Seen:
        """What it says of network inputs (B,3,h,w)."""
        with torch.inference_mode():
            network = self.model.network
            if isinstance(network, HeadNetwork):
                features = self.backbone(inputs).float()
                f = network.head(features)[0]
                p = f.mean((2, 3)).softmax(1)
                target = top_target(p, self._classes)
                maps = f.gather(1, target.classes[:, :, None, None].expand(-1, -1, *f.shape[2:]))
            else:
                p, maps, features, target = self._whole(network, inputs)
            positive = maps.clamp_min(0)
            positive = positive / positive.amax((2, 3), keepdim=True).clamp_min(1e-12) + _FLOOR
            return Seen(features, p, target, positive / positive.sum((2, 3), keepdim=True))

    def _whole(self, network: Any, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, TopTarget]:
        features = self.backbone(inputs).float()
        size = (int(inputs.shape[2]), int(inputs.shape[3]))
        if self._attention is None:
            p = logits_of(network.network(inputs)).float().softmax(1)
            target = top_target(p, self._classes)
            if bool(self.weight.any()):
                rows = self.weight.to(features)[target.classes]
                return p, torch.einsum("bkl,blhw->bkhw", rows, features), features, target
            maps = features.norm(dim=1, keepdim=True)
        else:
            with watched(self._attention.qkv) as seen:
                p = logits_of(network.network(inputs)).float().softmax(1)
            target = top_target(p, self._classes)
            maps = _of_class_token(self._attention, seen[-1], size, tuple(features.shape[2:]))
        return p, maps.expand(-1, target.classes.shape[1], -1, -1), features, target


def _last_attention(network: Any) -> Any:
    """The attention of the last block of a network whose class token decides; None for others."""
    blocks = getattr(network, "blocks", None)
    attention = getattr(blocks[-1], "attn", None) if isinstance(blocks, nn.Sequential) and len(blocks) else None
    decides = getattr(network, "global_pool", "") == "token" and getattr(network, "num_prefix_tokens", 0) > 0
    return attention if decides and isinstance(getattr(attention, "qkv", None), nn.Linear) else None


def _of_class_token(attention: Any, qkv: Tensor, size: tuple[int, int], grid: tuple[int, ...]) -> Tensor:
    """How much the class token looks at each place, mean of the heads, (B,1,H,W)."""
    batch, tokens, _ = qkv.shape
    q, k, _ = qkv.reshape(batch, tokens, 3, attention.num_heads, -1).permute(2, 0, 3, 1, 4)
    q, k = (getattr(attention, name, nn.Identity())(value) for name, value in (("q_norm", q), ("k_norm", k)))
    weights = (q[:, :, :1] @ k.transpose(2, 3) * k.shape[-1] ** -0.5).softmax(-1).mean(1)
    places = weights[:, :, tokens - grid[0] * grid[1] :]
    rows, columns = grid_of_tokens(places.shape[2], size) or grid
    return places.reshape(batch, 1, rows, columns).float()
