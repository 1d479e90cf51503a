"""Attribution methods other than CALM's readings, by name, on every checkpoint: ``METHODS``.

Importing this loads neither torch nor captum.
"""

from calm_gui.methods.protocol import Method, MethodMap, Tick

__all__ = ["METHODS", "Method", "MethodMap", "Tick", "attribute"]

METHODS: dict[str, str] = {
    "gradient": "Gradient",
    "integrated_gradients": "Integrated gradients",
    "smoothgrad": "SmoothGrad",
    "vargrad": "VarGrad",
    "grad_cam": "Grad-CAM",
    "occlusion": "Occlusion",
}
"""Names of the methods, and what people call them."""


def attribute(method: str, model: object, picture: object, target: object, tick: Tick = lambda: None) -> MethodMap:
    """The map of a method; see `calm_gui.methods.gradients.attribute`."""
    from calm_gui.methods.gradients import attribute as compute

    return compute(method, model, picture, target, tick)  # type: ignore[arg-type]
