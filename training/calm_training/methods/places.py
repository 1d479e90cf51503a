"""Where in a backbone a method acts: modules by name, which mustn't be frozen."""

from collections.abc import Mapping

from torch import nn

from calm_gui.errors import CalmError
from calm_gui.model.calm import HeadNetwork

__all__ = ["places_in"]


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
    if backbone not in known:
        raise CalmError(f"{method} has no places in {backbone}; it has some in {', '.join(known)}")
    try:
        modules = [network.backbone.get_submodule(name) for name in known[backbone]]
    except AttributeError as error:
        raise CalmError(
            f"{method} can't stand beside a method that leaves layers of {backbone} out: {error}"
        ) from error
    within = set(trained.modules())
    for name, module in zip(known[backbone], modules, strict=True):
        if module not in within:
            raise CalmError(f"{method} acts behind {name} of {backbone}, which is frozen; freeze less (model.freeze)")
    return modules
