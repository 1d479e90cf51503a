"""Any torch classifier in memory as a model that explains."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from calm_gui.core.classes import ClassTable
from calm_gui.core.hierarchy import Hierarchy
from calm_gui.core.presenter import Presenter
from calm_gui.errors import CheckpointError
from calm_gui.model.backbones import Backbone, Parts, known_parts
from calm_gui.model.backbones.parts import watched
from calm_gui.model.calm import HeadNetwork
from calm_gui.model.class_names import names_in_order
from calm_gui.model.classifier import logits_of, noise, split
from calm_gui.model.device import choose_device
from calm_gui.model.formats.outputs import classes_of
from calm_gui.model.info import OWN_NETWORK, CheckpointInfo, InputSpec
from calm_gui.model.known_classes import KnownClasses, known_classes
from calm_gui.model.loaded import LoadedModel
from calm_gui.model.one_output import TOLD, OneOutput, inside, two_classes
from calm_gui.model.tap import Tap, opened

__all__ = ["Features", "from_module", "weights_hash"]

Features = str | Callable[[Tensor], Tensor] | None
"""A module's dotted name, or what maps pictures (B,3,h,w) to features (B,L,H,W)."""

Classes = Iterable[str] | Mapping[int, str] | ClassTable | None
"""Names of classes in order or by number, or classes; None where the network's number of outputs says enough."""


class _Tapped(Backbone):
    """What a module of a network gives, as a map."""

    def __init__(self, network: nn.Module, tap: Tap) -> None:
        super().__init__()
        self.trunk, self.tap = network, tap

    def forward(self, pictures: Tensor) -> Tensor:
        size = (int(pictures.shape[2]), int(pictures.shape[3]))
        with watched(self.trunk.get_submodule(self.tap.module)) as seen:
            self.trunk(pictures)
        layout = self.tap.layout(seen[-1], size) if seen else None
        if layout is None:
            what = f"gives {_words(seen[-1])}" if seen else "isn't used"
            raise CheckpointError(
                f"{self.tap.module!r} {what}, which is no map of features; name another module, such as "
                'features="layer4", or give a function'
            )
        return opened(seen[-1], layout, size)[0]


class _Called(Backbone):
    """A function of the caller's that gives features."""

    def __init__(self, network: nn.Module, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.trunk, self._function = network, function

    def forward(self, pictures: Tensor) -> Tensor:
        features = self._function(pictures)
        if not isinstance(features, Tensor) or features.ndim != 4:
            raise CheckpointError(
                f"features gives {_words(features)}, not a map of the shape (pictures, channels, h, w)"
            )
        return features


def _words(value: object) -> str:
    return f"the shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"


def from_module(
    network: nn.Module,
    classes: Classes = None,
    input: InputSpec | Mapping[str, Any] | int | None = None,
    features: Features = None,
    head: str | nn.Module | None = None,
    *,
    hierarchy: Hierarchy | None = None,
    device: str | torch.device = "auto",
    name: str = "",
    presenter: Presenter | None = None,
) -> LoadedModel:
    """A classifier in memory as a model that explains, with everything that an opened file has.

    It shows the network's own p(y|x). CAM is offered where features and head, put together, give the network's own
    logits on noise; the methods of others always. The network itself isn't changed but for evaluation mode, its device
    and that its parameters get no gradients.

    Parameters
    ----------
    network : torch.nn.Module
        Maps pictures (B,3,h,w) to logits (B,C), or to something that names them ``logits``.
    classes : iterable of str, mapping of int to str, or ClassTable, optional
        Names in the order of the outputs, or by their numbers; ``n02012849 crane`` or a wnid alone brings WordNet's
        hierarchy. Without them 1,000 outputs are ImageNet's, others are called by number.
    input : InputSpec, mapping of its fields, or int, optional
        How pictures are brought to the network; an int is the side. Without it 224 pixels and ImageNet's mean and
        deviation.
    features : str or callable, optional
        The module whose output is the last features (B,L,H,W), (B,H,W,L) or tokens (B,N,L), or a function that gives
        them as a map. Found by itself in networks of torchvision and timm, and where the last map of a network is
        followed by pooling and one linear layer.
    head : str or torch.nn.Module, optional
        The linear layer behind the pooling. With it, parts that don't agree with the network are refused.
    hierarchy : Hierarchy, optional
        Of the classes.
    device : str or torch.device
    name : str
        What it is called in titles and exports; the class of the network by default.
    presenter : Presenter, optional

    Returns
    -------
    LoadedModel
        Known by the hash of the network's weights. It can't be saved as a checkpoint, since no file says how to build
        the network.

    Raises
    ------
    CheckpointError
        If the network doesn't run, gives no logits, or its parts don't agree; the message says what to do.
    """
    if not isinstance(network, nn.Module):
        raise CheckpointError(f"from_module takes a torch.nn.Module, not a {type(network).__name__}")
    chosen = choose_device(device)
    name = name or type(network).__name__
    kinds = {p.dtype for p in network.parameters() if p.is_floating_point()} - {torch.float32}
    if kinds:
        raise CheckpointError(f"{name} computes in {kinds.pop()}; give it in float32: network.float()")
    network.eval().to(chosen)
    spec = _spec(input, network)
    with torch.inference_mode():
        n = _outputs(network, spec.size, name)
    parts = _parts(network, features, head, spec.size, name)
    asked, parts = (OneOutput(network), inside(parts)) if n == 1 else (network, parts)
    found = split(asked, parts, spec.size, name, insist=head is not None)
    known, told = _classes(classes, n, name)
    info = CheckpointInfo(
        method="cam" if isinstance(found, HeadNetwork) else "classifier",
        backbone=f"{OWN_NETWORK}{type(network).__name__}",
        output_stride=parts.stride,
        classes=known.classes,
        saliency_activation=None,
        input=spec,
        hierarchy=hierarchy or known.hierarchy,
        supersets=() if hierarchy else known.supersets,
        licence="a network in memory",
        assumed=told,
    )
    return LoadedModel(found, info, chosen, name, weights_hash(network), presenter)


def weights_hash(network: nn.Module) -> str:
    """SHA-256 of a network's tensors with their names, in hexadecimal digits."""
    digest = hashlib.sha256()
    for key, tensor in sorted(network.state_dict().items()):
        digest.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _spec(given: InputSpec | Mapping[str, Any] | int | None, network: nn.Module) -> InputSpec:
    if isinstance(given, InputSpec):
        return given
    if isinstance(given, Integral):
        return InputSpec(int(given))
    if not isinstance(given, Mapping | None):
        raise CheckpointError(f"input is the side in pixels, an InputSpec or a mapping of its fields, not {given!r}")
    plain = InputSpec()
    if given is None:
        config = getattr(network, "pretrained_cfg", None)  # timm's networks say what they were trained with
        if not isinstance(config, Mapping) or "input_size" not in config:
            return plain
        side = getattr(getattr(network, "patch_embed", None), "img_size", None) or config["input_size"][1:]
        given = {"size": int(side[-1]), "mean": config["mean"], "std": config["std"]}
    return InputSpec.from_json({**plain.to_json(), **given})


def _outputs(network: nn.Module, size: int, name: str) -> int:
    try:
        logits = logits_of(network(noise(network, size)))
    except CheckpointError:
        raise
    except Exception as error:  # networks of others refuse inputs with any type of error
        raise CheckpointError(
            f"{name} can't take pictures of {size} x {size} pixels ({error}); say what it takes: input=SIDE"
        ) from error
    n = int(logits.shape[1])
    if n > 1 and bool((logits >= 0).all()) and torch.allclose(logits.sum(1), torch.ones(len(logits)).to(logits)):
        raise CheckpointError(f"{name} gives probabilities, not logits; leave out its last softmax")
    last = _run_last(network, size, lambda module: not list(module.children()))
    if isinstance(last, nn.Sigmoid | nn.Softmax | nn.Softmax2d):
        raise CheckpointError(
            f"{name} gives probabilities, not logits; leave out its last {type(last).__name__.lower()}"
        )
    return n


def _classes(classes: Classes, n: int, name: str) -> tuple[KnownClasses, tuple[str, ...]]:
    names = None if classes is None or isinstance(classes, ClassTable) else names_in_order(classes)
    if n == 1:
        known = tuple(info.name for info in classes) if isinstance(classes, ClassTable) else names
        return KnownClasses(two_classes(known, name)), (TOLD,)
    if isinstance(classes, ClassTable):
        if len(classes) != n:
            raise CheckpointError(f"{name} has {n} classes, but {len(classes)} were given")
        return known_classes(classes), ()
    return classes_of(names, n, name)


def _parts(network: nn.Module, features: Features, head: str | nn.Module | None, size: int, name: str) -> Parts:
    known = known_parts(network) if features is None else None
    if known is not None and head is None:
        return known
    heads = (_module(network, head, "head", name),) if head is not None else _last_linear(network, size)
    if isinstance(features, str):
        _module(network, features, "features", name)
        tap = Tap(features)
        return Parts(_Tapped(network, tap), heads, (tap,))
    if features is not None:
        return Parts(_Called(network, features), heads)
    if known is not None:
        return Parts(known.backbone, heads, known.taps, known.stride)
    taps = _maps(network, size)
    return Parts(_Tapped(network, taps[0]) if taps else None, heads, taps)


def _module(network: nn.Module, named: str | nn.Module, what: str, name: str) -> nn.Module:
    if isinstance(named, nn.Module):
        return named
    try:
        return network.get_submodule(named)
    except AttributeError as error:
        there = ", ".join(child for child, _ in network.named_children())
        raise CheckpointError(f"{name} has no module {named!r} for its {what}; it has {there}") from error


def _last_linear(network: nn.Module, size: int) -> tuple[nn.Module, ...]:
    """The linear layer whose output are the logits."""
    last = _run_last(network, size, lambda module: isinstance(module, nn.Linear))
    return () if last is None else (last,)


def _run_last(network: nn.Module, size: int, wanted: Callable[[nn.Module], bool]) -> nn.Module | None:
    """The module that runs last, of those wanted."""
    found: list[nn.Module] = []
    handles = [
        module.register_forward_hook(lambda module, _, __: found.append(module))
        for module in network.modules()
        if wanted(module)
    ]
    try:
        with torch.inference_mode():
            network(noise(network, size, 1))
    finally:
        for handle in handles:
            handle.remove()
    return found[-1] if found else None


def _maps(network: nn.Module, size: int) -> tuple[Tap, ...]:
    """Modules whose output is a map, the last first."""
    found: list[str] = []

    def note(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.ndim == 4 and min(output.shape[2:]) > 1:
                found.append(name)

        return hook

    handles = [module.register_forward_hook(note(name)) for name, module in network.named_modules() if name]
    try:
        with torch.inference_mode():
            network(noise(network, size, 1))
    finally:
        for handle in handles:
            handle.remove()
    return tuple(Tap(name) for name in reversed(found))
