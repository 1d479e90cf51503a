"""Training methods: one file each, found by name.

Another one is a file with a subclass of `TrainingMethod` or `Objective` and a line in `_OWN`. A package of its own adds
one through the entry point group `calm_training.methods`, whose values are such classes.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from calm_gui.errors import CalmError
from calm_training.methods.acol import Acol
from calm_training.methods.adl import Adl
from calm_training.methods.calm_em import CalmEm
from calm_training.methods.calm_ml import CalmMl
from calm_training.methods.cam import Cam
from calm_training.methods.cutmix import CutMix
from calm_training.methods.has import Has
from calm_training.methods.inca_reading import IncaReading
from calm_training.methods.method import Batch, Objective, Step, TrainingMethod
from calm_training.methods.spg import Spg

__all__ = ["Batch", "Objective", "Step", "TrainingMethod", "make_methods", "method_named", "training_methods"]

_OWN: tuple[type[TrainingMethod[Any]], ...] = (
    CalmEm,
    CalmMl,
    Cam,
    Has,
    CutMix,
    Adl,
    Acol,
    Spg,
    IncaReading,
)


@cache
def training_methods() -> Mapping[str, type[TrainingMethod[Any]]]:
    """Every training method by its name: this package's, then those of others in the order of their names.

    Raises
    ------
    CalmError
        If another package's can't be loaded, isn't a training method, or has a name that is taken.
    """
    found = {method.name: method for method in _OWN}
    for entry in sorted(entry_points(group="calm_training.methods"), key=lambda entry: entry.name):
        try:
            method = entry.load()
        except Exception as error:  # whatever another package's import raises
            raise CalmError(f"the training method {entry.name} ({entry.value}) can't be loaded: {error}") from error
        if not (isinstance(method, type) and issubclass(method, TrainingMethod)):
            raise CalmError(f"the training method {entry.name} ({entry.value}) isn't a subclass of TrainingMethod")
        if method.name in found:
            raise CalmError(f"there are two training methods called {method.name}: rename that of {entry.value}")
        found[method.name] = method
    return found


def method_named(name: str) -> type[TrainingMethod[Any]]:
    """A training method.

    Raises
    ------
    CalmError
        If there is none of that name.
    """
    methods = training_methods()
    if name not in methods:
        raise CalmError(f"there is no training method {name!r}; there are {', '.join(methods)}")
    return methods[name]


def make_methods(settings: Mapping[str, Any]) -> tuple[Objective[Any], tuple[TrainingMethod[Any], ...]]:
    """The methods of a run.

    Parameters
    ----------
    settings : mapping
        Settings of each method by its name.

    Returns
    -------
    Objective
        The one of them that brings heads and loss.
    tuple of TrainingMethod
        All of them, the objective first.

    Raises
    ------
    CalmError
        If not exactly one of them is an objective.
    """
    made = [method_named(name)(values) for name, values in settings.items()]
    objectives = [method for method in made if isinstance(method, Objective)]
    if len(objectives) != 1:
        both = " and ".join(method.name for method in objectives) or "none of " + ", ".join(settings)
        raise CalmError(f"a run has one method that brings heads and loss; {both} can't be it")
    return objectives[0], (objectives[0], *(method for method in made if method is not objectives[0]))
