"""Recipes: settings put together from parts, with where each of them came from.

A recipe names parts with ``+`` between them, for example ``cub+resnet50+calm-em``: files of `recipes/data`,
`recipes/backbone` and `recipes/method`, or paths of TOML or JSON files. What a later one says counts, and not what an
earlier one said; ``section.key=value`` counts before all of them.
"""

import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from calm_gui.errors import CalmError
from calm_training.config import Config
from calm_training.methods import method_named
from calm_training.methods.method import Objective
from calm_training.settings import idle

__all__ = ["KINDS", "OLD_NAMES", "Composed", "compose", "load_config", "recipe_parts"]

KINDS = ("data", "backbone", "method")
"""Folders of parts, in the order in which they are named."""

OLD_NAMES = {
    f"{data}-{backbone}-{method}": f"{data}+{backbone}+{method}"
    for data in ("cub", "ilsvrc", "openimages")
    for backbone in ("inceptionv3", "resnet50", "vgg16")
    for method in ("calm-em", "calm-ml", "cam")
}
"""Recipes of version 0.1, and what they are now."""

_MOVED = {
    "model.saliency_activation": "saliency_activation",
    "model.normaliser_gradient": "normaliser_gradient",
    "optimizer.e_step": "e_step",
    "optimizer.ema_decay": "ema_decay",
}
"""Settings of version 0.1 that are now their method's own."""

_SUFFIXES = (".toml", ".json")

DEFAULT = "default"
OVERRIDE = "--set"

Note = Callable[[str], object]


def _warn(note: str) -> None:
    warnings.warn(note, DeprecationWarning, stacklevel=4)


@dataclass(frozen=True)
class Composed:
    """A recipe put together.

    Attributes
    ----------
    config : Config
    sources : mapping
        Where each setting that isn't a default came from, by its dotted name.
    """

    config: Config
    sources: Mapping[str, str]

    def to_toml(self) -> str:
        """All settings that have an effect, each with its source; a recipe itself."""
        values = self.config.to_json()
        lines = [f"recipe = {json.dumps(values.pop('recipe'))}"]
        for name, section in _sections(values):
            lines += ["", f"[{name}]"]
            for key, value in section.items():
                source = self.sources.get(f"{name}.{key}", DEFAULT)
                lines.append(f"{key} = {_toml(value)}  # {source}")
        return "\n".join(lines)


def recipe_parts() -> dict[str, list[str]]:
    """Names of the bundled parts of each kind."""
    return {kind: sorted(name for name, _ in _bundled(kind)) for kind in KINDS}


def load_config(recipe: str, overrides: Sequence[str] = (), note: Note = _warn) -> Config:
    """Settings of a recipe; see `compose`."""
    return compose(recipe, overrides, note).config


def compose(recipe: str, overrides: Sequence[str] = (), note: Note = _warn) -> Composed:
    """Put a recipe together.

    Parameters
    ----------
    recipe : str
        Names of parts or paths of TOML or JSON files, with ``+`` between them. A data part alone takes the backbone
        and the method that its ``rest`` names.
    overrides : sequence of str
        ``section.key=value`` each, the value as TOML would have it; quotes around a string may be left out.
    note : callable
        Told in a sentence where something goes by a name of version 0.1; by default a `DeprecationWarning`.

    Raises
    ------
    CalmError
        If there is no such part, or a setting isn't known, is of the wrong type, out of its range or can have no
        effect.
    """
    if recipe in OLD_NAMES:
        note(f"the recipe {recipe} is now {OLD_NAMES[recipe]}; the old name still works in 0.2")
        recipe = OLD_NAMES[recipe]
    name = recipe
    named: list[tuple[str, dict[str, Any], list[str]]] = []
    alone = _Merge(lambda _: None)  # what the parts say that were named
    for part in [recipe] if Path(recipe).suffix in _SUFFIXES and Path(recipe).exists() else recipe.split("+"):
        source, values = _read_part(part)
        rest = [*filter(None, values.pop("rest", "").split("+"))]
        name = values.pop("recipe", name)
        named.append((source, values, rest))
        alone.add(source, values)
    merge = _Merge(note)
    for source, values, rest in named:
        merge.add(source, values)
        for part in rest:
            if not alone.has(_kind_of(part)) and not merge.has(_kind_of(part)):
                merge.add(*_read_part(part))
                name = f"{name}+{part}"
    for override in overrides:
        merge.override(override)
    return merge.composed(Path(name).stem if Path(name).suffix in _SUFFIXES else name)


class _Merge:
    """Settings by their dotted names, each with its value and the number of the layer that gave it."""

    def __init__(self, note: Note) -> None:
        self.note = note
        self.layers: list[str] = []
        self.given: dict[str, tuple[Any, int]] = {}

    def add(self, source: str, values: Mapping[str, Any]) -> None:
        """Put a layer over those before it."""
        self.layers.append(source)
        flat = dict(_flat(values))
        if "model.method" in flat:
            self._change_objective(str(flat.pop("model.method")))
        for key, value in flat.items():
            self.given[key] = value, len(self.layers) - 1

    def override(self, text: str) -> None:
        """Put a single setting over all others."""
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or "." not in key:
            raise CalmError(f"--set needs section.key=value, not {text!r}")
        method = re.fullmatch(r"methods\.([^.]+)\..*", key)
        if method and method[1] not in self.methods():
            raise CalmError(
                f"--set {text} can have no effect: the run trains {' with '.join(self.methods())}; "
                f"put +{method[1]} into the recipe"
            )
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value
        inside = next((known for known in self.given if key.startswith(f"{known}.")), None)
        if inside is not None:
            raise CalmError(f"--set {text}: {inside} is no section")
        self.add(OVERRIDE, {key: parsed})

    def has(self, kind: str) -> bool:
        """Whether any layer says something that a part of this kind says."""
        if kind == "method":
            return bool(self.methods())
        return any(key == "model.backbone" for key in self.given)

    def methods(self) -> list[str]:
        """Names of the methods that are switched on."""
        return list(dict.fromkeys(key.split(".")[1] for key in self.given if key.startswith("methods.")))

    def composed(self, name: str) -> Composed:
        """The settings of all layers."""
        objective = next((method for method in self.methods() if _is_objective(method)), None)
        if objective is None:
            objective = "cam"
            self.given["methods.cam"] = {}, len(self.layers)
            self.layers.append(DEFAULT)
        self._move(objective)
        order = sorted(self.methods(), key=lambda method: method != objective)
        values: dict[str, Any] = {"recipe": name, "methods": {method: {} for method in order}}
        for key, (value, _) in self.given.items():
            _put(values, key, value)
        config = Config.from_json(values)
        sources = {key: self.layers[layer] for key, (_, layer) in self.given.items()}
        for key in self._idle(config):
            del sources[key]
        return Composed(config, sources)

    def _change_objective(self, name: str) -> None:
        """What ``model.method`` did: another objective, which keeps those settings that it has too."""
        self.note(f"model.method={name} is now +{name} in the recipe; the old setting still works in 0.2")
        if not _is_objective(name):
            raise CalmError(f"model.method must name a method that brings heads and loss, which {name} doesn't")
        known = {entry.name for entry in fields(method_named(name).Settings)}
        kept = {}
        for key in [key for key in self.given if key.startswith("methods.") and _is_objective(key.split(".")[1])]:
            value, layer = self.given.pop(key)
            setting = key.split(".")[2:]
            if setting and setting[0] in known:
                kept[f"methods.{name}.{setting[0]}"] = value, layer
        self.given |= {f"methods.{name}": ({}, len(self.layers) - 1), **kept}

    def _move(self, objective: str) -> None:
        """Give the settings of version 0.1 that are a method's own to it."""
        known = {entry.name for entry in fields(method_named(objective).Settings)}
        for old, setting in _MOVED.items():
            if old not in self.given:
                continue
            if setting not in known:
                raise CalmError(f"{old} can have no effect: the run trains {objective}, which has no such setting")
            new = f"methods.{objective}.{setting}"
            self.note(f"{old} is now {new}; the old name still works in 0.2")
            value, layer = self.given.pop(old)
            if layer >= self.given.get(new, (None, -1))[1]:
                self.given[new] = value, layer

    def _idle(self, config: Config) -> Iterator[str]:
        """Settings without effect, which one given later took it from; others are refused."""
        for key, (_, layer) in self.given.items():
            path, _, name = key.rpartition(".")
            if not path:  # a section without settings
                continue
            section: Any = config
            for step in path.split("."):
                section = section[step] if isinstance(section, Mapping) else getattr(section, step)
            if isinstance(section, Mapping) or not (reason := idle(section, name)):
                continue
            if layer >= self.given.get(f"{path}.{reason[0]}", (None, -1))[1]:
                raise CalmError(f"{key} can have no effect: {reason[1]}")
            yield key


def _is_objective(name: str) -> bool:
    return issubclass(method_named(name), Objective)


def _flat(values: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, Any]]:
    """Values by their dotted names; a table that is empty stands for itself."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{where}{key}.")
        else:
            yield where + key, value


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    *sections, name = key.split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise CalmError(f"{key}: {section} is no section")
    if isinstance(value, Mapping):
        values.setdefault(name, {})
    else:
        values[name] = value


def _read_part(part: str) -> tuple[str, dict[str, Any]]:
    """Where a part came from, and what it says."""
    path = Path(part)
    if path.suffix in _SUFFIXES:
        return part, _read(path, part)
    for kind in KINDS:
        for name, file in _bundled(kind):
            if name == part:
                return f"recipes/{kind}/{name}.toml", _read(file, part)
    raise CalmError(f"there is no recipe {part!r}; `calm-train list` lists the parts there are")


def _read(file: Traversable, name: str) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        values: Any = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    except FileNotFoundError as error:
        raise CalmError(f"there is no recipe {name!r}; `calm-train list` lists the parts there are") from error
    except (OSError, ValueError, RecursionError) as error:
        raise CalmError(f"{name} can't be read as {name.rpartition('.')[2].upper()}: {error}") from error
    if not isinstance(values, dict):
        raise CalmError(f"{name} isn't a recipe: a table of settings is expected")
    return values


def _bundled(kind: str) -> Iterator[tuple[str, Traversable]]:
    for entry in files("calm_training").joinpath("recipes", kind).iterdir():
        if entry.name.endswith(".toml"):
            yield entry.name.removesuffix(".toml"), entry


def _kind_of(part: str) -> str:
    return next(kind for kind in KINDS if any(name == part for name, _ in _bundled(kind)))


def _sections(values: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables without the tables in them, by their dotted names; those in them after them."""
    for name, section in values.items():
        plain = {key: value for key, value in section.items() if not isinstance(value, Mapping)}
        tables = {key: value for key, value in section.items() if isinstance(value, Mapping)}
        if plain or not tables:
            yield where + name, plain
        yield from _sections(tables, f"{where}{name}.")


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)
