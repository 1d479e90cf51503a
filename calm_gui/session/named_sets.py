"""Named sets belong to the user: they are kept in a file of their own, whatever is open."""

import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path

import platformdirs

from calm_gui.errors import CalmError, SessionError
from calm_gui.model.files import read_bounded, write_text
from calm_gui.session.expression import Expression
from calm_gui.session.persistence import expression_from_json, expression_to_json
from calm_gui.session.state import State
from calm_gui.session.workspace import Workspace

__all__ = ["keep_named_sets", "named_sets_path", "read_named_sets"]

_MAX_BYTES = 5_000_000
_log = logging.getLogger(__name__)


def named_sets_path() -> Path:
    """Where the user's sets are kept."""
    return Path(platformdirs.user_config_dir("calm-gui", appauthor=False)) / "named_sets.json"


def read_named_sets(path: Path) -> tuple[Expression, ...]:
    """The sets in a file, none where there is no file.

    Raises
    ------
    SessionError
        If the file can't be used.
    """
    if not os.path.lexists(path):
        return ()
    data = read_bounded(path, _MAX_BYTES, SessionError, "files of named sets")
    try:
        return tuple(expression_from_json(one) for one in json.loads(data)["named_sets"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SessionError(f"{path} holds no named sets ({error}); it stays as it is") from error


def keep_named_sets(workspace: Workspace, path: Path) -> None:
    """Give a workspace the user's sets, and write every change to their file.

    Another program may have written to the file meanwhile: only what was kept or forgotten here is changed in it.

    Parameters
    ----------
    workspace : Workspace
    path : Path
        A file that can't be read is told of, and never written over.
    """
    try:
        workspace.store.update(undoable=False, named_sets=read_named_sets(path))
    except SessionError as error:
        workspace.complain(str(error))
        return

    def follow(old: State, new: State) -> None:
        if new.named_sets is old.named_sets:
            return
        gone = {e.name for e in old.named_sets} - {e.name for e in new.named_sets}
        fresh = [e for e in new.named_sets if e not in old.named_sets]
        try:
            _write(path, _merged(read_named_sets(path), gone, fresh))
        except (CalmError, OSError) as error:
            _log.warning("named sets not saved: %s", error)
            workspace.complain(f"The named sets can't be saved: {error}")

    workspace.store.observe(follow)


def _merged(there: Iterable[Expression], gone: set[str], fresh: list[Expression]) -> list[Expression]:
    replaced = gone | {e.name for e in fresh}
    return [*(e for e in there if e.name not in replaced), *fresh]


def _write(path: Path, named_sets: list[Expression]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {"format": 1, "named_sets": [expression_to_json(e) for e in named_sets]}
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1), overwrite=True)
