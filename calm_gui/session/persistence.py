"""Sessions on disk (`*.calm.json`): what is open and chosen, with relative paths, validated when loaded."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from calm_gui.api import bundled_checkpoints
from calm_gui.errors import ReadingError, SessionError, why_unreadable
from calm_gui.model.files import read_bounded, sha256_of, write_text
from calm_gui.render.colormap import DIVERGING, SEQUENTIAL
from calm_gui.session.expression import Expression, Term
from calm_gui.session.former_demo import FORMER_DEMO, REPLACED
from calm_gui.session.limits import Limits
from calm_gui.session.pane import MAX_PANES, About, Pane, shows_text
from calm_gui.session.state import (
    RegionShape,
    ScaleMode,
    Selection,
    State,
    Threshold,
    View,
)

__all__ = [
    "FORMAT",
    "SavedSession",
    "expression_from_json",
    "expression_to_json",
    "load_session",
    "save_session",
    "session_to_json",
]

FORMAT = 2
"""2 has the table of ground truth; 1, of version 0.1, is read too."""

_MAX_BYTES = 20_000_000
_BUNDLED = "bundled:"
_DEMO = f"{_BUNDLED}demo"
T = TypeVar("T")


_NONE: Mapping[str, str] = {}


@dataclass(frozen=True)
class SavedSession:
    """A session that was read.

    Attributes
    ----------
    state : State
        With absolute paths; pictures that were found again stand at their new place.
    missing : tuple of str
        Pictures that are nowhere; they are not in the state.
    shown : tuple of str
        What the panes said when the session was saved, a line each.
    sentence : str
        What the ledger said.
    note : str
        What else its user must know, in one sentence; empty if nothing.
    hashes : mapping of str to str
        What pictures and checkpoints were, by path, as `calm_gui.session.as_saved.hashes_of` gives it.
    """

    state: State
    missing: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    sentence: str = ""
    note: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)


def save_session(
    path: str | Path, state: State, shown: tuple[str, ...] = (), sentence: str = "", hashes: Mapping[str, str] = _NONE
) -> None:
    """Write a session; errors as for `calm_gui.model.files.atomic_path`."""
    path = Path(path)
    data = session_to_json(state, path.absolute().parent, shown, sentence, hashes)
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1), overwrite=True, inputs=state.files)


def session_to_json(
    state: State, base: Path, shown: tuple[str, ...], sentence: str, hashes: Mapping[str, str] = _NONE
) -> dict[str, Any]:
    """The JSON of a session that lies in a folder; of the hashes those of its own files."""
    known = [(path, hashes[path]) for path in state.files if path in hashes]
    return {
        "calm_session": FORMAT,
        "checkpoint": _checkpoint_name(state.selection.checkpoint, base),
        "target": expression_to_json(state.selection.target),
        "contrast": expression_to_json(state.selection.contrast),
        "pictures": [_relative(p, base) for p in state.pictures],
        "current": state.current,
        "panes": [
            {
                "reading": shows_text(pane.shows),
                "about": pane.about,
                "checkpoint": pane.checkpoint and _checkpoint_name(pane.checkpoint, base),
                "picture": pane.picture and _relative(pane.picture, base),
            }
            for pane in state.panes
        ],
        "active": state.active,
        "truth_table": state.truth_table and _relative(state.truth_table, base),
        "view": {
            **state.view._asdict(),
            "limits": [
                {**limits._asdict(), "picture": limits.picture and _relative(limits.picture, base)}
                for limits in state.view.limits
            ],
            "threshold": state.view.threshold._asdict(),
        },
        "regions": [{**region._asdict(), "picture": _relative(region.picture, base)} for region in state.regions],
        "named_sets": [expression_to_json(e) for e in state.named_sets],
        "hashes": [[_checkpoint_name(path, base), sha256] for path, sha256 in known],
        "shown": list(shown),
        "sentence": sentence,
    }


def load_session(path: str | Path) -> SavedSession:
    """Read a session.

    Pictures that aren't where they were are looked for beside the session file.

    Raises
    ------
    SessionError
        If the file isn't a session, is from a newer program, or holds values that make no sense.
    """
    path = Path(path)
    text = read_bounded(path, _MAX_BYTES, SessionError, "sessions")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SessionError(f"{path.name} isn't a session: {why_unreadable(error)}") from error
    version = data.get("calm_session") if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise SessionError(f"{path.name} isn't a calm-gui session")
    if version > FORMAT:
        raise SessionError(
            f"{path.name} has session format {version}, this program reads up to {FORMAT}; update calm-gui"
        )
    try:
        return _from_json(data, path.absolute().parent)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, OSError, ReadingError) as error:
        raise SessionError(f"{path.name} holds an invalid value: {why_unreadable(error)}") from error


def _from_json(data: Mapping[str, Any], base: Path) -> SavedSession:
    named = _found_pictures(data, base)
    pictures = tuple(found for found in named.values() if found)
    current_name = data["pictures"][data["current"]] if 0 <= int(data["current"]) < len(data["pictures"]) else None
    current = named.get(current_name) if current_name else None
    panes = tuple(_pane(pane, base, named) for pane in data["panes"])
    if not 1 <= len(panes) <= MAX_PANES:
        raise ValueError(f"{len(panes)} panes")
    state = State(
        selection=Selection(
            _checkpoint_path(str(data["checkpoint"]), base),
            expression_from_json(data["target"]),
            expression_from_json(data["contrast"]),
        ),
        pictures=pictures,
        current=pictures.index(current) if current else (0 if pictures else -1),
        panes=panes,
        active=min(max(int(data["active"]), 0), len(panes) - 1),
        view=_view(data["view"], named),
        regions=tuple(r for r in (_region(region, named) for region in data["regions"]) if r),
        named_sets=tuple(expression_from_json(e) for e in data.get("named_sets", ())),
        truth_table=_table(data.get("truth_table"), base),
    )
    missing = tuple(name for name, found in named.items() if not found)
    used = {str(data["checkpoint"]), *(str(pane.get("checkpoint")) for pane in data["panes"])}
    replaced = data["calm_session"] == 1 and _DEMO in used and sha256_of(bundled_checkpoints()["demo"]) != FORMER_DEMO
    note = f"The session's numbers differ from then: {REPLACED}" if replaced else ""
    hashes = {named.get(name) or _checkpoint_path(name, base): str(known) for name, known in data.get("hashes", ())}
    return SavedSession(
        state, missing, tuple(map(str, data.get("shown", ()))), str(data.get("sentence", "")), note, hashes
    )


def _relative(path: str, base: Path) -> str:
    """A path below the session's folder as relative, others as they are."""
    try:
        return Path(path).relative_to(base).as_posix()
    except ValueError:
        return path


def _found_pictures(data: Mapping[str, Any], base: Path) -> dict[str, str | None]:
    """Where each picture is now; a file beside the session is one picture at most, the one whose content it has."""
    names = list(map(str, data["pictures"]))
    named = {name: str((base / name).absolute()) if (base / name).is_file() else None for name in names}
    known = {str(name): str(sha256) for name, sha256 in data.get("hashes", ())}
    for file in dict.fromkeys(_found(name, base) for name in names if named[name] is None):
        wanted = [name for name in names if named[name] is None and _found(name, base) == file]
        if file is None or file in named.values():
            continue
        same = [name for name in wanted if len(wanted) > 1 and known.get(name) == sha256_of(Path(file))]
        named[(same or wanted)[0]] = file
    return named


def _found(name: str, base: Path) -> str | None:
    """Absolute path of a picture: where it was, or by its name beside the session."""
    places = (base / name, base / Path(name).name)
    return next((str(place.absolute()) for place in places if place.is_file()), None)


def _table(name: Any, base: Path) -> str | None:
    """Absolute path of a table of ground truth; where it's nowhere, where it was, for reading it to say so."""
    return (_found(str(name), base) or str((base / str(name)).absolute())) if name else None


def _checkpoint_name(path: str, base: Path) -> str:
    bundled = {str(p.absolute()): name for name, p in bundled_checkpoints().items()}
    return _BUNDLED + bundled[path] if path in bundled else _relative(path, base)


def _checkpoint_path(name: str, base: Path) -> str:
    if name.startswith(_BUNDLED):
        bundled = bundled_checkpoints().get(name.removeprefix(_BUNDLED))
        return str(bundled.absolute()) if bundled else name
    path = base / name
    path.exists()  # a name that no file can have is found out here
    return str(path.absolute())


def expression_to_json(expression: Expression) -> dict[str, Any]:
    """JSON-ready form of an expression."""
    terms = [[term.sign, term.key, *([term.name] if term.name else [])] for term in expression.terms]
    return {"terms": terms, "name": expression.name}


def expression_from_json(data: Mapping[str, Any]) -> Expression:
    """Read what `expression_to_json` gave; KeyError, TypeError or ValueError for anything else."""
    return Expression(tuple(_term(*term) for term in data["terms"]), str(data.get("name", "")))


def _term(sign: Any, key: Any, name: Any = "") -> Term:
    """A term; those that were saved by version 0.1, and those of groups and wnids, have no name."""
    return Term(str(key), _one_of(sign, ("+", "-")), str(name))


def _one_of(value: T, allowed: Any) -> T:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(map(str, allowed))}")
    return value


def _pane(data: Mapping[str, Any], base: Path, named: Mapping[str, str | None]) -> Pane:
    checkpoint, picture = data.get("checkpoint"), data.get("picture")
    return Pane.of(
        str(data["reading"]),
        _one_of(data["about"], get_args(About)),
        _checkpoint_path(str(checkpoint), base) if checkpoint else None,
        named.get(str(picture)) if picture else None,
    )


def _limits(data: Mapping[str, Any], named: Mapping[str, str | None]) -> Limits | None:
    """Limits of colours; None where they belong to a picture that is nowhere."""
    picture = data.get("picture")
    if picture is not None and not named.get(str(picture)):
        return None
    low, high, percent = (_finite(data[key]) for key in ("low", "high", "percent"))
    return Limits(str(data["quantity"]), low, high, _number(0, 100)(percent), picture and named[str(picture)])


def _locked(locked: Any) -> tuple[Limits, ...]:
    """The locked scales of sessions of version 0.1."""
    return tuple(Limits(str(name), _finite(scale["low"]), _finite(scale["high"])) for name, scale in locked)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} isn't finite")
    return number


def _number(low: float, high: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        number = float(value)
        if not low <= number <= high:
            raise ValueError(f"{number} lies outside {low}..{high}")
        return number

    return check


_VIEW: dict[str, Callable[[Any], Any]] = {
    "sequential": lambda v: _one_of(v, SEQUENTIAL),
    "diverging": lambda v: _one_of(v, DIVERGING),
    "opacity": _number(0, 1),
    "scale_mode": lambda v: _one_of(v, get_args(ScaleMode)),
    "spacing": lambda v: _one_of(v, ("linear", "log")),
    "threshold": lambda v: Threshold(
        _one_of(v["kind"], ("none", "value", "mass", "min-max")),
        (_finite if v["kind"] == "value" else _number(0, 1))(v["value"]),
    ),
    "depth": lambda v: None if v is None else int(_number(0, 1000)(v)),
    "zoom": _number(1e-6, 1000),
    "centre": lambda v: (_number(0, 1)(v[0]), _number(0, 1)(v[1])),
}


def _view(data: Mapping[str, Any], named: Mapping[str, str | None]) -> View:
    found = tuple(_limits(one, named) for one in data.get("limits", ()))
    limits = tuple(one for one in found if one is not None)
    if data.get("scale_mode") == "locked":  # until version 0.1
        data = {**data, "scale_mode": "shared"}
        limits = _locked(data.get("locked", ()))
    else:
        _locked(data.get("locked", ()))  # which must make sense all the same
    plain = {key: value for key, value in data.items() if key in View._fields and key != "limits"}
    return View(**{key: _VIEW.get(key, bool)(value) for key, value in plain.items()}, limits=limits)


def _region(data: Mapping[str, Any], named: Mapping[str, str | None]) -> RegionShape | None:
    picture = named.get(str(data["picture"]))
    points = tuple((_finite(x), _finite(y)) for x, y in data["points"])
    kind = _one_of(data["kind"], ("box", "polygon", "brush"))
    if len(points) < {"box": 2, "polygon": 3, "brush": 1}[kind]:
        raise ValueError(f"a {kind} of {len(points)} points")
    return RegionShape(str(data["name"]), picture, kind, points, _finite(data.get("radius", 0))) if picture else None
