"""Explore where a classifier's evidence lies, with attributions that are probabilities (CALM).

>>> import calm_gui
>>> model = calm_gui.load_checkpoint("demo")
>>> explanation = model.explain("dog.jpg")
>>> explanation.attribution("n02084071").sum  # p(dog|x)

Importing this package loads neither torch nor Qt; the first use of a name below does what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calm_gui.version import __version__

if TYPE_CHECKING:
    from calm_gui.api import bundled_checkpoints, from_module, load_checkpoint, sample_pictures
    from calm_gui.core.cam_explanation import CamExplanation
    from calm_gui.core.classes import ClassInfo, ClassSet, ClassTable
    from calm_gui.core.classifier_explanation import ClassifierExplanation
    from calm_gui.core.explanation import Explanation
    from calm_gui.core.hierarchy import Hierarchy, Node
    from calm_gui.core.maps import Map, WinnerMap
    from calm_gui.core.region import Region
    from calm_gui.errors import CalmError
    from calm_gui.model.loaded import LoadedModel

_HOMES = {
    "CalmError": "calm_gui.errors",
    "CamExplanation": "calm_gui.core.cam_explanation",
    "ClassInfo": "calm_gui.core.classes",
    "ClassifierExplanation": "calm_gui.core.classifier_explanation",
    "ClassSet": "calm_gui.core.classes",
    "ClassTable": "calm_gui.core.classes",
    "Explanation": "calm_gui.core.explanation",
    "Hierarchy": "calm_gui.core.hierarchy",
    "LoadedModel": "calm_gui.model.loaded",
    "Map": "calm_gui.core.maps",
    "Node": "calm_gui.core.hierarchy",
    "Region": "calm_gui.core.region",
    "WinnerMap": "calm_gui.core.maps",
    "bundled_checkpoints": "calm_gui.api",
    "from_module": "calm_gui.api",
    "load_checkpoint": "calm_gui.api",
    "sample_pictures": "calm_gui.api",
}

__all__ = [
    "CalmError",
    "CamExplanation",
    "ClassInfo",
    "ClassSet",
    "ClassTable",
    "ClassifierExplanation",
    "Explanation",
    "Hierarchy",
    "LoadedModel",
    "Map",
    "Node",
    "Region",
    "WinnerMap",
    "__version__",
    "bundled_checkpoints",
    "from_module",
    "load_checkpoint",
    "sample_pictures",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
