"""Entry to the library: bundled checkpoints and pictures, and loading by name or path."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import calm_resources

if TYPE_CHECKING:
    from calm_gui.model.loaded import LoadedModel

__all__ = [
    "bundled_checkpoints",
    "bundled_facts",
    "from_module",
    "load_checkpoint",
    "resolve_checkpoint",
    "sample_pictures",
]

FIRST_PICTURE = "afghan_hound.jpg"
"""The sample that is open at first start: the class of the paper's figure 3."""


def bundled_checkpoints() -> dict[str, Path]:
    """Names and files of the checkpoints that ship with the program (``demo``, ``demo-cam``, ``demo-large``)."""
    found = calm_resources.path("checkpoints").glob("*.safetensors")
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def bundled_facts(name: str) -> str:
    """Size, top-1 accuracy and speed of a bundled checkpoint, for menus."""
    facts = json.loads(calm_resources.path("checkpoints/facts.json").read_text("utf-8"))[name]
    size = bundled_checkpoints()[name].stat().st_size / 1e6
    return f"{size:.1f} MB, top-1 {facts['top-1 in percent']:.1f} %, {facts['milliseconds a picture']} ms a picture"


def sample_pictures() -> list[Path]:
    """The bundled pictures, the one of the first start first."""
    paths = sorted(calm_resources.path("samples").glob("*.jpg"))
    return sorted(paths, key=lambda path: path.name != FIRST_PICTURE)


def resolve_checkpoint(name: str | Path) -> Path:
    """Path of a checkpoint given by bundled name or path; a file that is called as a bundled one is ``./demo``."""
    return bundled_checkpoints().get(str(name), Path(name))


def load_checkpoint(path: str | Path = "demo", device: Any = "auto", **answers: Any) -> "LoadedModel":
    """Load a checkpoint.

    Parameters
    ----------
    path : str or Path
        A file, or the name of a bundled one: ``"demo"`` or ``"demo-large"`` (CALM), ``"demo-cam"``.
    device : str or torch.device
        ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
    **answers
        What a file of another program doesn't say: ``method="calm-em"``, ``saliency_activation="relu"``,
        ``large_feature_map=True``, ``classes=[names]``, ``averaged=False``, ``architecture="resnet18"``.

    Returns
    -------
    LoadedModel

    Raises
    ------
    CheckpointError
        If the file can't be used; the message says why.
    """
    from calm_gui.model.answers import Answers
    from calm_gui.model.class_names import names_in_order
    from calm_gui.model.loaded import load_model
    from calm_gui.render import PRESENTER

    if answers.get("classes") is not None:
        answers["classes"] = names_in_order(answers["classes"])
    return load_model(resolve_checkpoint(path), device, PRESENTER, answers=Answers(**answers))


def from_module(network: Any, classes: Any = None, **options: Any) -> "LoadedModel":
    """Make any torch classifier in memory a model that explains.

    Parameters, results and errors are those of `calm_gui.model.from_module.from_module`:
    ``from_module(network, classes=names, input=224, features="layer4", head="fc")``.
    """
    from calm_gui.model.from_module import from_module as made
    from calm_gui.render import PRESENTER

    return made(network, classes, **{"presenter": PRESENTER, **options})
