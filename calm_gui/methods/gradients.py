"""The gradient and perturbation methods that the paper compares with, through captum.

All attribute log p(A|x). Maps of input gradients are blurred and scaled between their extremes, as in the paper's
section 5.1 (following the WSOL benchmark); Grad-CAM and occlusion are only scaled.
"""

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor, nn

from calm_gui.core.classes import ClassSet
from calm_gui.errors import NumericalError, ReadingError
from calm_gui.methods.protocol import Method, MethodMap, Tick, between_extremes
from calm_gui.model.calm import HeadNetwork, log_conditional, log_saliency
from calm_gui.model.loaded import LoadedModel, PictureLike
from calm_gui.model.picture import as_picture

__all__ = ["BLUR", "attribute"]

BLUR = 5.0
"""Standard deviation of the Gaussian over maps of input gradients, in input pixels."""

_SAMPLES = 16
_STEPS = 24
_SEED = 0


class _Score(nn.Module):
    """log p(A|x) of a network, (B,1), telling each pass."""

    def __init__(self, network: HeadNetwork, activation: str | None, target: ClassSet, tick: Tick) -> None:
        super().__init__()
        self.network = network
        self._activation = activation
        self._target = torch.from_numpy(target.indices.copy())
        self._tick = tick

    def forward(self, inputs: Tensor) -> Tensor:
        self._tick()
        f, a = self.network(inputs)
        if a is None:
            log_p = torch.log_softmax(f.mean(dim=(2, 3)), dim=1)
        else:
            log_h = log_saliency(a, self._activation)  # type: ignore[arg-type]
            log_p = torch.logsumexp(log_conditional(f) + log_h[:, None], dim=(2, 3))
        return torch.logsumexp(log_p[:, self._target.to(f.device)], dim=1, keepdim=True)


def _gradient(score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
    from captum.attr import Saliency

    return Saliency(score).attribute(inputs, target=0, abs=True)[0].amax(dim=0)


def _integrated_gradients(score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
    from captum.attr import IntegratedGradients

    found = IntegratedGradients(score).attribute(inputs, target=0, n_steps=_STEPS, internal_batch_size=4)
    return found[0].sum(dim=0).abs().float()


def _noisy(kind: str, score: nn.Module, inputs: Tensor) -> Tensor:
    from captum.attr import NoiseTunnel, Saliency

    spread = 0.15 * float((inputs.max() - inputs.min()).detach())
    with torch.random.fork_rng(devices=[inputs.device] if inputs.device.type == "cuda" else []):
        torch.manual_seed(_SEED)
        found = NoiseTunnel(Saliency(score)).attribute(
            inputs, target=0, nt_type=kind, nt_samples=_SAMPLES, nt_samples_batch_size=2, stdevs=spread, abs=True
        )
    return found[0].amax(dim=0)


def _smoothgrad(score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
    return _noisy("smoothgrad", score, inputs)


def _vargrad(score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
    return _noisy("vargrad", score, inputs)


def _grad_cam(score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
    from captum.attr import LayerGradCam

    return LayerGradCam(score, backbone).attribute(inputs, target=0, relu_attributions=True)[0, 0]


def _occlusion(score: nn.Module, backbone: nn.Module, inputs: Tensor) -> Tensor:
    from captum.attr import Occlusion

    window, step = inputs.shape[-1] // 7, inputs.shape[-1] // 14
    with torch.no_grad():
        found = Occlusion(score).attribute(
            inputs,
            target=0,
            sliding_window_shapes=(3, window, window),
            strides=(3, step, step),
            perturbations_per_eval=4,
        )
    return found[0, 0]


_METHODS: dict[str, Method] = {
    "gradient": _gradient,
    "integrated_gradients": _integrated_gradients,
    "smoothgrad": _smoothgrad,
    "vargrad": _vargrad,
    "grad_cam": _grad_cam,
    "occlusion": _occlusion,
}
_BLURRED = ("gradient", "integrated_gradients", "smoothgrad", "vargrad")


def attribute(
    method: str, model: LoadedModel, picture: PictureLike, target: ClassSet, tick: Tick = lambda: None
) -> MethodMap:
    """The map of a method for a class set.

    Parameters
    ----------
    method : str
        One of `calm_gui.methods.METHODS`.
    model : LoadedModel
        Not changed; its parameters get no gradients.
    picture : path, PIL image, uint8 array or Picture
    target : ClassSet
    tick : callable
        Called at every forward pass; an exception it raises ends the computation.

    Returns
    -------
    MethodMap
        Values 0..1, on the grid of input pixels (Grad-CAM: of features).

    Raises
    ------
    ReadingError
        If there is no such method, or the set is empty.
    NumericalError
        If the result isn't finite.
    """
    if method not in _METHODS:
        raise ReadingError(f"there is no method {method!r}; there are {', '.join(_METHODS)}")
    if not target:
        raise ReadingError("a method needs a target that holds at least one class")
    picture = as_picture(picture)
    explanation = model.explain(picture)
    inputs, _ = model.prepare(picture)
    score = _Score(model.network, model.info.saliency_activation, target, tick)
    with torch.enable_grad():
        inputs = inputs.to(model.device).requires_grad_(True)
        values = _METHODS[method](score, model.network.backbone, inputs).detach().float().cpu().numpy()
    if not np.isfinite(values).all():
        raise NumericalError(f"{method} gave NaN or infinity for this picture")
    if method in _BLURRED:
        values = gaussian_filter(values, BLUR)
    return MethodMap(
        between_extremes(values),
        "cam",
        explanation,
        target=target,
        unit="place between the extremes",
        method=method,
    )
