"""The network that a configuration describes: weights, frozen stages, statistics."""

import json
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn

from calm_gui.errors import CalmError, CheckpointError
from calm_gui.model.backbones import Backbone, build_backbone
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.checkpoint import read_checkpoint
from calm_gui.model.formats.file_content import find_weights, read_foreign
from calm_gui.model.info import CheckpointInfo, is_ours
from calm_gui.model.known_classes import KnownClasses
from calm_training.config import Config, ModelConfig
from calm_training.feature_cache import split_backbone
from calm_training.methods import Objective
from calm_training.pretrained import PACKAGES, efficientnet_lite

__all__ = ["Start", "checkpoint_info", "freeze", "make_network", "refuse_local_statistics", "set_training"]


class Start(NamedTuple):
    """A network before its first step.

    Attributes
    ----------
    network : HeadNetwork
    fresh : tuple of torch.nn.Parameter
        Those that pretrained weights lack: the head's, and layers that only our variant of the backbone has. Where
        nothing is pretrained, the head's alone.
    """

    network: HeadNetwork
    fresh: tuple[nn.Parameter, ...]


def make_network(model: ModelConfig, objective: Objective[Any], n_classes: int) -> Start:
    """A network with the wanted start.

    Parameters
    ----------
    model : ModelConfig
    objective : Objective
        Makes the head.
    n_classes : int

    Returns
    -------
    Start
        With a random head; the backbone starts from `model.weights`.

    Raises
    ------
    CheckpointError
        If the weights can't be had; the message says what to fetch and where to put it.
    """
    backbone, loaded = _backbone(model, objective.stands_on(model.backbone))
    head = objective.make_head(backbone.channels, n_classes)
    lacking = [parameter for name, parameter in backbone.named_parameters() if loaded and name not in loaded]
    return Start(HeadNetwork(backbone, head), (*head.parameters(), *lacking))


def freeze(network: HeadNetwork, model: ModelConfig) -> tuple[nn.Module, HeadNetwork]:
    """Split a network into its frozen first stages and the part that is trained.

    Returns
    -------
    frozen, trained
        `frozen` is an identity where nothing is. The parameters of both are the network's own.
    """
    backbone = network.backbone
    if not model.freeze:
        return nn.Identity(), network
    if model.freeze == "all":
        frozen, rest = backbone, nn.Sequential()
    else:
        assert isinstance(backbone, Backbone)
        frozen, rest = split_backbone(backbone, model.freeze)
    frozen.requires_grad_(False)
    return frozen, HeadNetwork(rest, network.head)


def set_training(trained: HeadNetwork, model: ModelConfig) -> None:
    """Training mode, but with batch statistics held where the configuration says so."""
    trained.train()
    if model.freeze_statistics:
        for module in _batch_norms(trained):
            module.eval()


def _batch_norms(network: nn.Module) -> Iterator[nn.Module]:
    return (module for module in network.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm))


def refuse_local_statistics(trained: HeadNetwork, model: ModelConfig, synchronised: bool) -> None:
    """Refuse to train in several processes where each would normalise by its own part of a batch.

    Raises
    ------
    CalmError
        If a layer takes batch statistics that aren't those of all processes: the weights would be others than one
        process's.
    """
    set_training(trained, model)
    if not synchronised and any(module.training for module in _batch_norms(trained)):
        raise CalmError(
            "each process would normalise by its own part of a batch, and the weights would be others than one "
            "process's; set run.sync_batch_norm=true on GPUs, or model.freeze_statistics=true"
        )


def checkpoint_info(
    config: Config, objective: Objective[Any], known: KnownClasses, training: Mapping[str, object]
) -> CheckpointInfo:
    """Metadata of a run's checkpoint; the class order is the data's."""
    model = config.model
    return CheckpointInfo(
        method=objective.reads_as,
        backbone=objective.stands_on(model.backbone),
        output_stride=model.output_stride,
        dilated=model.dilated,
        saliency_activation=objective.saliency_activation,
        input=model.input,
        classes=known.classes,
        hierarchy=known.hierarchy,
        supersets=known.supersets,
        training={"recipe": config.recipe, "settings": json.loads(json.dumps(config.to_json())), **training},
        licence=config.run.licence,
        **objective.head_options,
    )


def _backbone(model: ModelConfig, variant: str) -> tuple[Backbone, Container[str]]:
    """A backbone, and the names of its tensors that came from pretrained weights."""
    if model.weights == "pretrained" and model.backbone in PACKAGES:
        backbone = efficientnet_lite(model.backbone, model.output_stride)[0]
        return backbone, backbone.state_dict().keys()
    backbone = build_backbone(variant, model.output_stride, model.dilated)
    if model.weights == "none":
        return backbone, ()
    if model.weights == "pretrained":
        return backbone, _load_backbone(backbone, _published(model.backbone), model.backbone)
    return backbone, _load_backbone(backbone, _from_file(Path(model.weights)), model.weights)


def _from_file(path: Path) -> Mapping[str, Tensor]:
    """Tensors of a checkpoint of ours (its backbone) or of a plain state dictionary."""
    if is_ours(path):
        _, tensors = read_checkpoint(path)
        return {k.removeprefix("backbone."): v for k, v in tensors.items() if k.startswith("backbone.")}
    return find_weights(read_foreign(path), path.name)[0]


def _published(name: str) -> Mapping[str, Tensor]:
    """torchvision's or timm's ImageNet weights, from their cache or the network."""
    try:
        if name.startswith("timm:"):
            import timm

            network = timm.create_model(name.removeprefix("timm:"), pretrained=True, num_classes=0)
            return {f"trunk.{k}": v for k, v in network.state_dict().items()}
        from torchvision.models import get_model

        return dict(get_model(name, weights="IMAGENET1K_V1").state_dict())
    except Exception as error:  # download errors of either library have no common base
        raise CheckpointError(
            f"the pretrained weights of {name} can't be fetched ({type(error).__name__}); where there is a network, "
            f"save its state dictionary to a file, and give that file with --set model.weights=FILE, or start "
            f"from random ones with --set model.weights=none"
        ) from error


def _load_backbone(backbone: Backbone, tensors: Mapping[str, Tensor], name: str) -> Container[str]:
    """Load what fits by name and shape, and give its names; our variant's own layers keep their random start."""
    state = backbone.state_dict()
    if not any(key in state for key in tensors):  # a network of timm's or torchvision's as it is, ours holds it whole
        tensors = {f"trunk.{key}": tensor for key, tensor in tensors.items()}
    fitting = {k: v for k, v in tensors.items() if k in state and v.shape == state[k].shape}
    if len(fitting) < 0.8 * len(state):
        raise CheckpointError(
            f"only {len(fitting)} of the backbone's {len(state)} tensors are in {name}; these are another network's"
        )
    backbone.load_state_dict(fitting, strict=False)
    return fitting.keys()
