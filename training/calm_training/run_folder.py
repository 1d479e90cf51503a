"""The folder of a run: never overwritten unasked, its files written whole or not at all."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import torch

from calm_gui.core.comparison import Change, compare_values, say_changes
from calm_gui.errors import CalmError, why_unreadable
from calm_gui.model.files import check_free, read_bounded, write_bytes, write_text
from calm_training.config import Config

__all__ = ["RunFolder"]

_MAX_BYTES = 20_000_000

_FILES = ("config.json", "state.pt", "log.csv", "best.safetensors", "last.safetensors")
_EVENTS = "tensorboard"
"""What a run writes into its folder."""

_DECISIVE = ("data", "model", "methods", "optimizer")
_DECISIVE_OF_RUN = ("seed", "select", "boxes")
"""Settings that a run can't be gone on with if they change: of sections, all, and those of the section ``run``."""

_GROWS = "optimizer.epochs"
"""The one of them that may be more when a run is gone on with."""


class RunFolder:
    """Files of one training run; nothing is written before `begin`.

    Parameters
    ----------
    path : Path
    config : Config
    resume, overwrite : bool
        What may be done with a folder that holds a run already.

    Attributes
    ----------
    path : Path
    best, last : Path
        Checkpoints that the window opens.
    note : str
        What has to be said of a run that goes on; empty if nothing.

    Raises
    ------
    CalmError
        If the folder isn't empty and neither is wanted, if the run in it had other settings than fewer epochs, or if a
        run that is to be replaced holds the weights that this one starts from.
    """

    def __init__(self, path: Path, config: Config, *, resume: bool = False, overwrite: bool = False) -> None:
        self._event_writer = _event_writer() if config.run.tensorboard else None
        self._fresh: Config | None = None
        self._longer: Config | None = None
        self.note = ""
        self.path = path
        self.best, self.last = path / "best.safetensors", path / "last.safetensors"
        self._state, self._settings = path / "state.pt", path / "config.json"
        if path.exists() and any(path.iterdir()):
            if resume and self._settings.exists():
                self._refuse_other_settings(config)
                return
            if not overwrite:
                raise CalmError(
                    f"{path} isn't empty; choose another --out, continue with --resume, or replace it with --overwrite"
                )
            if not self._settings.exists():
                raise CalmError(f"{path} holds no training run, so it isn't overwritten; choose another --out")
            for name in _FILES:
                check_free(path / name, overwrite=True, inputs=[config.model.weights])
        self._fresh = config

    def begin(self) -> None:
        """Put a run that is replaced away and write down the settings of the new one, or the epochs of a longer one.

        Only the files of a run go; whatever else lies in the folder stays.
        """
        if self._longer is not None:
            write_text(self._settings, json.dumps(self._longer.to_json(), indent=1), overwrite=True)
            self._longer = None
        if self._fresh is None:
            return
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path / _EVENTS, ignore_errors=True)
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(self._settings, json.dumps(self._fresh.to_json(), indent=1), overwrite=True)
        self._fresh = None

    def save_state(self, state: dict[str, Any]) -> None:
        """Write everything that resuming needs."""
        content = io.BytesIO()  # not a file, where torch reports a full disk as an error of its own
        torch.save(state, content)
        write_bytes(self._state, content.getvalue(), overwrite=True)

    def load_state(self) -> dict[str, Any] | None:
        """The state to go on from, None if the run was ended before the first one."""
        if not self._state.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(self._state, map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises anything from OSError to UnpicklingError
            refused = isinstance(error, OSError) and error.filename  # before a byte was read
            reason = why_unreadable(error) if refused else "it is damaged or isn't this program's"
            raise CalmError(
                f"the state of the run in {self.path} can't be read: {reason}; continue from a copy of it, or start "
                "again with --overwrite"
            ) from error
        if not isinstance(state, dict):
            raise CalmError(f"the state of the run in {self.path} isn't this program's; start again with --overwrite")
        return state

    def write_log(self, history: list[dict[str, float]]) -> None:
        """Write ``log.csv``, one row for each epoch, and the last row to TensorBoard if that is wanted."""
        if not history:
            return
        if self._event_writer:
            epoch = int(history[-1]["epoch"])
            # An epoch that is done again after a crash replaces what was written of it.
            with self._event_writer(str(self.path / _EVENTS), purge_step=epoch) as events:
                for name, value in history[-1].items():
                    events.add_scalar(name, value, epoch)
        text = io.StringIO()
        writer = csv.DictWriter(text, list(history[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(history)
        write_text(self.path / "log.csv", text.getvalue(), overwrite=True)

    def _refuse_other_settings(self, config: Config) -> None:
        try:
            before = json.loads(read_bounded(self._settings, _MAX_BYTES, CalmError, "settings"))
            if "model" in before and "methods" not in before:
                raise ValueError("it was started by version 0.1, which has to finish it")
            before = _decisive(before)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CalmError(
                f"the settings of the run in {self.path} can't be read: {why_unreadable(error)}; start again with "
                "--overwrite"
            ) from error
        changes = compare_values(before, _decisive(json.loads(json.dumps(config.to_json()))))
        if [change.key for change in changes] == [_GROWS] and _is_more(changes[0]):
            self._longer = config
            self.note = f"the run in {self.path} gets longer: {say_changes(changes)}"
            if config.optimizer.schedule == "cosine":
                self.note += "; the learning rate goes on along the cosine of the longer run"
        elif changes:
            raise CalmError(
                f"the run in {self.path} had other settings ({say_changes(changes)}); it can't be resumed with these, "
                f"as only {_GROWS} may grow"
            )


def _decisive(settings: dict[str, Any]) -> dict[str, Any]:
    """What may not change of settings as ``config.json`` has them; the order of methods decides what each draws."""
    return {
        **{section: dict(settings[section]) for section in _DECISIVE},
        "methods in order": list(settings["methods"]),
        "run": {name: value for name, value in settings["run"].items() if name in _DECISIVE_OF_RUN},
    }


def _is_more(change: Change) -> bool:
    """Whether a number was given, and is larger now."""
    return isinstance(change.before, int) and change.before < change.now


def _event_writer() -> Any:
    """TensorBoard's writer; looked for before the training begins."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise CalmError(
            "TensorBoard isn't installed: pip install 'calm-gui[tensorboard]', or leave run.tensorboard out"
        ) from error
    return SummaryWriter
