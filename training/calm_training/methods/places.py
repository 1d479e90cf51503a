"""Where in a backbone a method acts: modules by name, which mustn't be frozen."""

from collections.abc import Mapping

import torch
from torch import nn

from calm_gui.errors import CalmError
from calm_gui.model.calm import HeadNetwork

__all__ = ["channels_of", "names_in", "places_in"]


def names_in(backbone: str, known: Mapping[str, tuple[str, ...]], method: str) -> tuple[str, ...]:
    """Names of the modules of a backbone that a method acts behind.

    Raises
    ------
    CalmError
        If the backbone isn't known.
    """
    if backbone not in known:
        raise CalmError(f"{method} has no places in {backbone}; it has some in {', '.join(known)}")
    return known[backbone]


def places_in(
    network: HeadNetwork, trained: HeadNetwork, backbone: str, known: Mapping[str, tuple[str, ...]], method: str
) -> list[nn.Module]:
    """Modules of a backbone that a method acts behind.

    Parameters
    ----------
    network, trained : HeadNetwork
        The whole network, and its part behind the frozen stages.
    backbone : str
        Its name.
    known : mapping
        Names of the modules by the name of the backbone.
    method : str
        Name of the method, for a message.

    Raises
    ------
    CalmError
        If the backbone isn't known or one of the modules is frozen.
    """
    names = names_in(backbone, known, method)
    try:
        modules = [network.backbone.get_submodule(name) for name in names]
    except AttributeError as error:
        raise CalmError(
            f"{method} can't be combined with a method that leaves layers of {backbone} out: {error}"
        ) from error
    within = set(trained.modules())
    for name, module in zip(names, modules, strict=True):
        if module not in within:
            raise CalmError(f"{method} acts behind {name} of {backbone}, which is frozen; freeze less (model.freeze)")
    return modules


def channels_of(network: HeadNetwork, modules: list[nn.Module]) -> list[int]:
    """Channels of what modules give, found by a forward pass."""
    found: list[int] = []
    hooks = [module.register_forward_hook(lambda *call: found.append(int(call[2].shape[1]))) for module in modules]
    training, parameter = network.training, next(network.parameters())
    with torch.no_grad():
        network.eval().backbone(torch.zeros(1, 3, 96, 96, device=parameter.device))
    network.train(training)
    for hook in hooks:
        hook.remove()
    return found
