"""Attribution methods of others, one file each, on every checkpoint. All attribute log p(A|x).

Importing this registers them and loads neither torch nor captum. Those of torchcam are there if it is installed
(``pip install calm-gui[methods]``).
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from calm_gui.core.lookup import ClassSetLike
from calm_gui.core.maps import Map

from calm_gui.methods.method import METHODS, Method, Tick  # isort: skip
from calm_gui.methods import gradient  # isort: skip
from calm_gui.methods import integrated_gradients  # isort: skip
from calm_gui.methods import smoothgrad  # isort: skip
from calm_gui.methods import vargrad  # isort: skip
from calm_gui.methods import grad_cam  # isort: skip
from calm_gui.methods import occlusion  # isort: skip
from calm_gui.methods import legrad  # isort: skip

OF_TORCHCAM = ("layer_cam", "grad_cam_plus_plus", "score_cam", "finer_cam")
"""Modules whose methods need torchcam to compute anything."""

if find_spec("torchcam"):
    for _name in OF_TORCHCAM:
        import_module(f"calm_gui.methods.{_name}")

__all__ = [
    "METHODS",
    "OF_TORCHCAM",
    "Method",
    "Tick",
    "attribute",
    "grad_cam",
    "gradient",
    "integrated_gradients",
    "legrad",
    "occlusion",
    "smoothgrad",
    "vargrad",
]


def attribute(
    method: str,
    model: Any,
    picture: Any,
    target: ClassSetLike,
    tick: Tick = lambda number, of: None,
    contrast: ClassSetLike | None = None,
) -> Map:
    """The map of a method by its name, which settings may follow (``smoothgrad:samples=50``); see `Method.map`."""
    return METHODS[method].map(model, picture, target, tick, contrast=contrast)
