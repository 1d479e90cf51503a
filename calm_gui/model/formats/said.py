"""What files of other programs say of themselves after all."""

import json
from collections.abc import Mapping
from typing import Any, get_args

from calm_gui.errors import CheckpointError
from calm_gui.model.answers import Answers
from calm_gui.model.choices import AnsweredMethod

__all__ = ["architecture_of", "stated_answers"]

_KEYS = ("arch", "architecture", "model_name")
_HOLDERS = ("args", "hyper_parameters", "config", "hparams")
"""Where training programs keep their settings."""


def architecture_of(content: Mapping[str, Any]) -> str:
    """What a file calls its network; empty if it doesn't, or if it is the released code's."""
    if "attribution_method" in content:
        return ""
    for key in _KEYS:
        if isinstance(content.get(key), str):
            return str(content[key])
    for holder in _HOLDERS:
        kept = content.get(holder)
        fields = kept if isinstance(kept, Mapping) else getattr(kept, "__dict__", {})
        for key in (*_KEYS, "model"):
            if isinstance(fields.get(key), str):
                return str(fields[key])
    return ""


def stated_answers(content: Mapping[str, Any], name: str) -> Answers:
    """What a file says of itself: ``attribution_method`` and ``classes``, a list or its JSON.

    Both spellings of the methods are in use, CALM_EM and CALM-EM.

    Raises
    ------
    CheckpointError
        If the classes aren't JSON.
    """
    said = str(content.get("attribution_method", "")).lower().replace("_", "-")
    classes = content.get("classes")
    if isinstance(classes, str):
        try:
            classes = json.loads(classes)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"the classes in the metadata of {name} aren't JSON ({error})") from error
    method = said if said in get_args(AnsweredMethod) else None
    names = isinstance(classes, list) and all(isinstance(name, str) for name in classes)  # numbers are no names
    return Answers.from_json({"method": method, **({"classes": classes} if names else {})})
