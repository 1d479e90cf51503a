"""A session with its pictures in one file, for somebody who has neither."""

import json
import zipfile
from pathlib import Path
from typing import Any

from calm_gui.errors import ExportError
from calm_gui.model.files import atomic_path
from calm_gui.session.as_saved import hashes_of
from calm_gui.session.ledger import sentence
from calm_gui.session.output_names import output_names
from calm_gui.session.persistence import session_to_json
from calm_gui.session.workspace import Workspace

__all__ = ["pack_session"]


def pack_session(path: str | Path, workspace: Workspace) -> str:
    """Write a zip of the session, its pictures and its table of ground truth; checkpoints are named, not packed.

    Parameters
    ----------
    path : str or Path
    workspace : Workspace

    Returns
    -------
    str
        What was packed, in a sentence.

    Raises
    ------
    ExportError
        If a picture can't be read, or the file can't be written.
    """
    state, path = workspace.state, Path(path)
    names = output_names(state.pictures)
    inside = {picture: f"pictures/{names[picture]}{Path(picture).suffix}" for picture in state.pictures}
    if state.truth_table:
        inside[state.truth_table] = Path(state.truth_table).name
    shown = tuple(content.heading for content in workspace.scene.panes)
    data = _renamed(
        session_to_json(
            state,
            path.absolute().parent / "nowhere",
            shown,
            sentence(workspace.scene),
            hashes_of(workspace.cache.explanations),
        ),
        inside,
    )
    try:
        with (
            atomic_path(path, overwrite=True, inputs=state.files) as temporary,
            zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed,
        ):
            packed.writestr("session.calm.json", json.dumps(data, ensure_ascii=False, indent=1))
            packed.writestr("CHECKPOINTS.txt", "\n".join(_checkpoints(workspace)) + "\n")
            for source, name in inside.items():
                packed.write(source, name)
    except (OSError, ValueError) as error:
        raise ExportError(f"the session can't be packed: {error}") from error
    return f"{path.name}: session and {len(state.pictures)} pictures; unpack it and open session.calm.json"


def _renamed(value: Any, inside: dict[str, str]) -> Any:
    """JSON whose paths of packed files are those inside the zip."""
    if isinstance(value, dict):
        return {key: _renamed(part, inside) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, inside) for part in value]
    return inside.get(value, value) if isinstance(value, str) else value


def _checkpoints(workspace: Workspace) -> list[str]:
    """Name and SHA-256 of every checkpoint that the session shows."""
    state, lines = workspace.state, []
    for key in dict.fromkeys((state.selection.checkpoint, *(pane.checkpoint for pane in state.panes))):
        if key:
            model = workspace.compute.models.get(key)
            lines.append(f"{Path(key).name}  SHA-256 {model.sha256 if model else 'not loaded when it was packed'}")
    return lines
